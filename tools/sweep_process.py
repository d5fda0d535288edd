"""One script of a sweep in a process of its own, ended with all that it started when its time is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def records_of(
    command: Sequence[str], folder: str | Path, limit: float, mark: str, environment: Mapping[str, str] | None = None
) -> tuple[list[dict[str, Any]], str]:
    """The last record of each number, said in lines that begin with ``mark``; and in words how it failed to end."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=folder,
        stdin=subprocess.DEVNULL, start_new_session=True, env=environment,
    )  # fmt: skip
    try:
        said, complaints = process.communicate(timeout=limit)
        trouble = f"exit status {process.returncode}: {complaints.strip()[-200:]}" if process.returncode else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        trouble = f"longer than {limit:.0f} seconds"
    lines = [json.loads(line[len(mark) :]) for line in said.splitlines() if line.startswith(mark)]
    last = {line["number"]: line for line in lines}
    return [last[number] for number in sorted(last)], trouble
