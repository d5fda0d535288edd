"""Launch each kernel of samples/tle_struct with specialised warps 10,000 times, with random sizes: none may hang.

    python tests/gpu/stress.py [SAMPLE ...] [--launches 10000] [--limit 60] [--seed 0]

A sample joins by a function ``stress(random)``, which gives a ``common.Stressed``: random sizes, with odd tails, fewer
tiles than slots, programs without a tile, a K that is smaller than a block; a launch; and what is right in double
precision. SAMPLE is the beginning of a file's name, ``09``; without one it is every sample that has the function.

Each sample has a process of its own, and all run at the same time, so that one compiles while another launches. A
process makes CASES cases and launches them in random order. All results of all launches are compared, on the GPU. A
launch that is not done after HUNG seconds ends the process, which names its sizes; ``--limit`` is for a process as a
whole. The exit status is 1 when anything hung or was wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "samples" / "tle_struct"
CASES = 100
HUNG = 10.0  # seconds
AHEAD = 64  # launches under way
HANGS = 3  # the exit status


def samples(beginnings: list[str]) -> list[Path]:
    """Those that have a ``stress``, in order."""
    files = (file for file in sorted(FOLDER.glob("[0-9][0-9]_*.py")) if "\ndef stress(" in file.read_text())
    return [file for file in files if not beginnings or file.name.startswith(tuple(beginnings))]


def load(file: Path) -> Any:
    sys.path.insert(0, str(ROOT / "samples"))
    import common

    return common.load(f"tle_struct/{file.name}")


class Watch:
    """Waits for launches without a call that blocks, so that one that hangs can be named."""

    def __init__(self) -> None:
        self.under_way: deque[tuple[Any, str]] = deque()

    def launched(self, what: str) -> None:
        import torch

        event = torch.cuda.Event()
        event.record()
        self.under_way.append((event, what))
        self.wait(AHEAD)

    def wait(self, most: int) -> None:
        """Until no more than so many launches are under way."""
        while len(self.under_way) > most:
            event, what = self.under_way[0]
            deadline = time.monotonic() + HUNG
            while not event.query():
                if time.monotonic() > deadline:
                    print(f"HANGS: {what}", flush=True)
                    os._exit(HANGS)  # nothing that waits for the GPU would return
            self.under_way.popleft()


def stress(file: Path, launches: int, seed: int) -> int:
    """In this process; the exit status."""
    import torch

    start = time.monotonic()
    try:
        module = load(file)
    except SystemExit as missing:
        print(f"{file.stem}: left out: {missing}", flush=True)
        return 0
    random, watch = Random(seed), Watch()
    torch.manual_seed(seed)
    cases = [module.stress(random) for _ in range(min(CASES, launches))]
    each = -(-launches // len(cases))
    written = [
        [torch.full((each, *w.shape), float("nan"), device=w.device, dtype=d) for w, d in zip(case.wanted, case.dtypes)]
        for case in cases
    ]
    for case, into in zip(cases, written):  # compiles; the same launch comes again
        case.launch(*(tensor[0] for tensor in into))
        watch.launched(f"{file.stem}, {case.what}, the first time")
    watch.wait(0)
    compiled = time.monotonic()
    order = [(number, turn) for number in range(len(cases)) for turn in range(each)]
    random.shuffle(order)
    for number, turn in order:
        cases[number].launch(*(tensor[turn] for tensor in written[number]))
        watch.launched(f"{file.stem}, {cases[number].what}")
    watch.wait(0)
    wrong = [what for case, into in zip(cases, written) for what in faults(case, into)]
    done = time.monotonic()
    words = "ok" if not wrong else f"WRONG in {len(wrong)} of {len(cases)} cases: " + "; ".join(wrong[:5])
    times = f"{compiled - start:.1f} s until all had run once, {done - compiled:.1f} s for all launches"
    print(f"{file.stem}: {len(order)} launches of {len(cases)} sizes: {words} ({times})", flush=True)
    return 1 if wrong else 0


def faults(case: Any, written: list[Any]) -> Iterator[str]:
    """The case, where one of its launches wrote something wrong, or left something out."""
    tolerances = zip(case.wanted, case.relative, case.absolute)
    for number, (tensor, (wanted, relative, absolute)) in enumerate(zip(written, tolerances)):
        allowed = absolute + relative * wanted.abs()
        right = (tensor.double() - wanted).abs() <= allowed  # not so for a NaN
        turns = (~right).flatten(1).any(1).nonzero().flatten().tolist()
        if turns:
            yield f"{case.what}: result {number} of {len(turns)} of {len(tensor)} launches"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", nargs="*", help="beginnings of files' names; all")
    parser.add_argument("--launches", type=int, default=10_000, help="of each kernel (%(default)s)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each process (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="in this process, one sample")
    options = parser.parse_args()
    files = samples(options.samples)
    if options.here:
        return stress(files[0], options.launches, options.seed)
    own = [sys.executable, __file__, f"--launches={options.launches}", f"--seed={options.seed}", "--here"]
    running = [(file, subprocess.Popen([*own, file.name])) for file in files]
    deadline, failed = time.monotonic() + options.limit, not files
    for file, process in running:
        try:
            failed |= process.wait(max(0.0, deadline - time.monotonic())) != 0
        except subprocess.TimeoutExpired:
            process.kill()
            print(f"{file.stem}: not done within {options.limit:.0f} s", flush=True)
            failed = True
    print("FAIL" if failed else "PASS")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
