"""What the sweep found: one record for each program, and one for each case of a test."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARK = "SWEEP "
RIGHT, COMPILED, WRONG, FAILED, SKIPPED = "right", "compiled", "wrong", "failed", "skipped"
OUTCOMES = (RIGHT, COMPILED, WRONG, FAILED, SKIPPED)
# Programs for other hardware than one NVIDIA GPU, by a word of their path, and what it is.
ELSEWHERE = {
    "an Ascend chip or another DSA": r"(^|/)(dsa|custom|ascend)/|_dsa[_.]|test_(vec_|bind_|compile_hint|tle_with)",
    "a GPU of another maker": r"(^|/)(hcu|hip|musa|iluvatar|txda|tsingmicro)(/|_|\.)|_txda",
    "several GPUs": r"nvshmem|megamoe|isolated_repros|d2d|_node|node_|-node-|get_local_pe|put_mem|tle_signal|flagcx",
}


@dataclass
class Tried:
    """One program, or one case of a test.

    Attributes
    ----------
    outcome : ``right`` where it ran to its end and its own checks hold; ``compiled`` where a kernel of it does not run
        on this machine and all are compiled for the GPU; ``wrong`` where a check of its own fails, ``failed`` at
        another error, ``skipped`` where the program itself, or the sweep, says that it is for another machine.
    kernels : what was launched, each with "" or why it does not run here.
    gpu : with ``--compile-too`` what was compiled for the GPU beside, each with "" or what was wrong.
    printed : the last lines that a program prints: of some these are all of their checks.
    """

    script: str
    case: str = ""
    outcome: str = ""
    message: str = ""
    kernels: dict[str, str] | None = None
    number: int = 0
    printed: list[str] | None = None
    gpu: dict[str, str] | None = None


def say(tried: Tried) -> None:
    """From a program's own process to the sweep."""
    print(f"\n{MARK}{json.dumps(asdict(tried))}", flush=True)


def elsewhere(path: str) -> str:
    """The hardware that a program is for, if it is not one NVIDIA GPU; else ""."""
    return next((what for what, words in ELSEWHERE.items() if re.search(words, path)), "")


def table(found: Sequence[Tried], scripts: int) -> dict[str, Any]:
    """Counts, and the reasons of what does not run."""
    own = [t for t in found if not elsewhere(t.script)]
    others = Counter(elsewhere(t.script) for t in found if elsewhere(t.script))
    reasons: Counter[tuple[str, str]] = Counter()
    for tried in own:
        if tried.outcome != RIGHT:
            reasons[tried.outcome, _reason(tried)] += 1
    return {
        "files": scripts,
        "programs and cases": len(own),
        "for other hardware": dict(others),
        "outcomes": {outcome: sum(t.outcome == outcome for t in own) for outcome in OUTCOMES},
        "kernels compiled for the GPU too": _compiled_too(own),
        "reasons": [[count, *key] for key, count in reasons.most_common()],
        "files by outcome": _files(own),
    }


def _reason(tried: Tried) -> str:
    whys = [why for why in (tried.kernels or {}).values() if why]
    return (whys[0] if tried.outcome == COMPILED and whys else tried.message)[:140]


def _compiled_too(found: Sequence[Tried]) -> dict[str, int]:
    """By what was wrong, or ""."""
    return dict(Counter(why[:140] for tried in found for why in (tried.gpu or {}).values()))


def _files(found: Sequence[Tried]) -> dict[str, str]:
    files: dict[str, Counter[str]] = {}
    for tried in found:
        files.setdefault(tried.script, Counter())[tried.outcome] += 1
    return {file: ", ".join(f"{n} {what}" for what, n in counts.items()) for file, counts in files.items()}


def print_table(counts: dict[str, Any]) -> None:
    print(f"\n{counts['files']} files, {counts['programs and cases']} programs and cases of tests for one NVIDIA GPU")
    for outcome, count in counts["outcomes"].items():
        print(f"  {count:4}  {outcome}")
    for count, outcome, reason in counts["reasons"]:
        print(f"       {count:4} {outcome}: {reason}")
    for why, count in counts["kernels compiled for the GPU too"].items():
        print(f"  {count:4}  kernels compiled for the GPU: {why or 'right'}")
    for what, count in counts["for other hardware"].items():
        print(f"apart, {count} for {what}")
    for file, outcomes in counts["files by outcome"].items():
        print(f"  {file:70} {outcomes}")


def write_json(file: Path, found: Sequence[Tried], scripts: int) -> None:
    """Whole at any moment: a run that is killed leaves what it had."""
    text = json.dumps({"table": table(found, scripts), "tried": [asdict(t) for t in found]}, indent=1)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text)
    beside.replace(file)
