"""Mutated texts: each is a named error or a valid compilation, and the user's process lives."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.text_process import LONGEST_SECONDS

BATCH = 1000  # as many a process: memory that compilers keep does not pile up


@pytest.mark.one_triton
def test_a_mutated_text_is_a_named_error_or_compiles(texts, first_seed, tmp_path, capsys):
    outcomes: collections.Counter[str] = collections.Counter()
    failures: dict[str, str] = {}
    seed, end = first_seed, first_seed + texts
    while seed < end:
        seed = _run(seed, min(BATCH, end - seed), tmp_path, outcomes, failures)
    with capsys.disabled():
        print("", *(f"{count:6} {what}" for what, count in sorted(outcomes.items())), sep="\n")
    shown = "\n".join(f"{seed}:\n{said}" for seed, said in list(failures.items())[:10])
    assert not failures, f"{len(failures)} texts; `mutated(seed)` of text_process.py gives one\n{shown}"


def _run(first: int, count: int, folder: Path, outcomes: collections.Counter, failures: dict) -> int:
    """One user's process; the seed to go on with, which is behind the text that ended it."""
    at, told = folder / "at", folder / "outcomes"
    told.write_text("[{}, {}]")
    at.write_text(str(first))
    command = [sys.executable, "-m", "tests.fuzz.text_process", str(first), str(count), str(folder)]
    with (folder / "messages").open("wb") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)
        status = _watch(process, at)
    found, raw = json.loads(told.read_text())
    outcomes.update(found)
    failures.update(raw)
    if status == 0:
        return first + count
    seed = int(at.read_text())
    said = (folder / "messages").read_bytes()[-3000:].decode("utf-8", "replace")
    failures[str(seed)] = f"the user's process {'hung' if status is None else f'ended with {status}'}\n{said}"
    outcomes["the process ended"] += 1
    return seed + 1


def _watch(process: subprocess.Popen[bytes], at: Path) -> int | None:
    """Its status; None when one text took longer than its children may, of which a text has up to four."""
    while True:
        try:
            return process.wait(1)
        except subprocess.TimeoutExpired:
            if time.time() - at.stat().st_mtime > 6 * LONGEST_SECONDS:
                process.kill()
                process.wait()
                return None
