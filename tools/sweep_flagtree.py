"""Tries FlagTree's own tutorials and tests, unedited: which give right numbers, which compile, and why others do not.

    python tools/sweep_flagtree.py FOLDER [--match raw] [--jobs 2] [--limit 90] [--tests 2] [--json OUT]
        [--arguments 03-topk=--only_unit_test]

FOLDER is a folder of FlagTree's files that you bring, such as ``python/tutorials/tle`` or ``python/test/tle``: none of
them is here. Each runs in a process of its own with ``tle_raw.compat.flagtree``, and its own checks say whether numbers
are right. Of a file ``test_….py``, and of a tutorial that has tests for pytest, the first ``--tests`` cases of each
function run. Tests that compare what FlagTree's own compiler makes fail here; ``--numbers-alone`` leaves these
assertions out, of a copy of the file.

Of benchmarks each function runs once, and none of their tables. Where there is a GPU everything runs there. Where there
is none, kernels run on the CPU: torch's tensors are made there, autotuning takes the smallest configuration. A kernel
that does not run there, for its tensor-core assembly for example, is compiled for ``--capability``, and its program
counts as compiled. A program with wrong numbers, or that crashes, runs once more under ``knobs.debug``, which may know
why.

Files run as they are, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from flagtree_sweep.results import FAILED, MARK, SKIPPED, WRONG, Tried, elsewhere, print_table, table, write_json
from sweep_process import records_of

CRASHED = "exit status -"
AFTER_LIMIT = 20  # seconds in which a program's process says what it has
_NO_PROGRAMS = ("__init__.py", "conftest.py", "run_tests.py", "setup.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--match", default="", help="a regular expression: only files whose path holds it")
    parser.add_argument("--capability", type=int, default=90)
    parser.add_argument("--limit", type=float, default=90.0, help="seconds for one file")
    parser.add_argument("--tests", type=int, default=2, metavar="K", help="the first K cases of each test function")
    parser.add_argument(
        "--arguments", action="append", default=[], metavar="FILES=WORDS",
        help="the command line of programs whose path holds the regular expression FILES",
    )  # fmt: skip
    parser.add_argument(
        "--compile-too", action="store_true",
        help="without a GPU: compile what runs for --capability, too",
    )  # fmt: skip
    parser.add_argument(
        "--numbers-alone", action="store_true",
        help="leave out what tests assert of a kernel's asm and metadata: those are FlagTree's own",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--python-path", type=Path, action="append", default=[], help="where modules of theirs lie")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in the program's own process
    options = parser.parse_args()
    if options.one:
        from flagtree_sweep.program import try_program

        try_program(options.source.resolve(), options)
        return
    folder = options.source.resolve()
    files = [f for f in sorted(folder.rglob("*.py")) if _is_program(f.relative_to(folder), options.match)]
    found = sweep(files, folder, options)
    print_table(table(found, len(files)))


def sweep(files: list[Path], folder: Path, options: argparse.Namespace) -> list[Tried]:
    """All files, several at a time; the JSON file has at any moment what is known."""
    found: list[Tried] = []
    writing, start = threading.Lock(), time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, done in enumerate(as_completed([pool.submit(run_file, f, folder, options) for f in files]), 1):
            with writing:
                for tried in done.result():
                    found.append(tried)
                    at = f"[{number}/{len(files)} {time.monotonic() - start:4.0f} s]"
                    print(f"{at} {tried.script:56} {tried.case:44} {tried.outcome:9} {tried.message[:90]}", flush=True)
                if options.json:
                    write_json(options.json, found, len(files))
    return sorted(found, key=lambda t: (t.script, t.number))


def run_file(file: Path, folder: Path, options: argparse.Namespace) -> list[Tried]:
    """Run one file in its own process and gather what it says."""
    name = str(file.relative_to(folder))
    if hardware := elsewhere(name):
        return [Tried(name, "", SKIPPED, f"it is for {hardware}")]
    command = [sys.executable, str(Path(__file__).resolve()), str(file), "--one", "--limit", str(options.limit)]
    command += ["--capability", str(options.capability), "--tests", str(options.tests)]
    command += ["--numbers-alone"] * options.numbers_alone + ["--compile-too"] * options.compile_too
    for path in options.python_path:
        command += ["--python-path", str(path.resolve())]
    for given in options.arguments:
        command += [f"--arguments={given}"] if re.search(given.partition("=")[0], name) else []
    found = _tried(command, file, name, options.limit)
    if any(tried.outcome == WRONG or tried.message.startswith(CRASHED) for tried in found):
        checked = _tried(command, file, name, options.limit, {**os.environ, "TLE_RAW_DEBUG": "1"})
        why = {tried.case: tried.message for tried in checked if tried.message.startswith("KernelFailed")}
        for tried in found:
            tried.message = f"knobs.debug: {why[tried.case]}" if tried.case in why else tried.message
    return found


def _tried(
    command: list[str], file: Path, name: str, limit: float, environment: dict[str, str] | None = None
) -> list[Tried]:
    said, trouble = records_of(command, file.parent, limit + AFTER_LIMIT, MARK, environment)
    found = [Tried(**{**record, "script": name}) for record in said]
    return found or [Tried(name, "", FAILED, trouble or "it says nothing")]


def _is_program(file: Path, match: str) -> bool:
    return file.name not in _NO_PROGRAMS and re.search(match, str(file)) is not None


if __name__ == "__main__":
    main()
