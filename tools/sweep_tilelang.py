"""Tries TileLang's own examples as regions: how many PrimFuncs compile, by which route, and what stops the others.

    python tools/sweep_tilelang.py FOLDER-OR-ARCHIVE [--route linked] [--capability 90] [--match gemm] [--json OUT]
    python tools/sweep_tilelang.py FOLDER-OR-ARCHIVE --route tenstorrent [--match gemm] [--json OUT]
    python tools/sweep_tilelang.py FOLDER-OR-ARCHIVE --run [--jobs 12] [--limit 60] [--json OUT]
    python tools/sweep_tilelang.py PACKAGE-FOLDER --tests 1 [--run] [--python-path MORE] [--json OUT]

Every script runs in a process of its own. Without ``--run`` no GPU is needed: tensors hold nothing, and what the script
hands to TileLang's compiler is taken and compiled ahead of time, each PrimFunc as a kernel of its own.

``--route tenstorrent`` makes Metalium programs of them instead.

With ``--run`` the script gets our kernel where it would get TileLang's, and its own check says whether the numbers are
right. On a GPU a kernel that its script does not check is compared with TileLang alone, which needs nvcc. Where there
is no GPU traced kernels run on the CPU, at smaller sizes where the script has options for them.

With ``--tests K`` the scripts are a package's own tests: pytest runs the K smallest cases of each test function, and
what they check counts. ``tilelang_sweep/kernels.tsv`` lists the kernels that were tried so, by name.

Scripts run as they are, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from sweep_process import records_of
from tilelang_sweep.results import MARK, OTHER_HARDWARE, Tried, print_table, table, write_json

SKIPPED = ("test_", "regression_", "conftest", "setup")  # they run the scripts beside them
AFTER_LIMIT = 20  # seconds in which a script's process says what it has


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--run", action="store_true", help="launch the kernels and let the scripts check the numbers")
    parser.add_argument("--route", choices=("linked", "traced", "tenstorrent"), default=None)
    parser.add_argument("--capability", type=int, default=90)
    parser.add_argument("--match", default="", help="a regular expression: only scripts whose path holds it")
    parser.add_argument("--most", type=int, default=8, help="PrimFuncs of one script: a search makes hundreds")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one script, and as many to compile")
    parser.add_argument("--total", type=float, default=0.0, help="seconds for all: what is left then is not tried")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tests", type=int, default=0, metavar="K", help="the K smallest cases of each test instead")
    parser.add_argument("--python-path", type=Path, action="append", default=[], help="where the tests' packages lie")
    parser.add_argument("--list", action="store_true", help="only tell of the kernels: nothing is compiled")
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in the script's own process
    options = parser.parse_args()
    if options.one:
        from tilelang_sweep.example import try_script

        try_script(options.source.resolve(), options)
        return
    options.python_path = [path.resolve() for path in options.python_path]
    with unpacked(options.source) as folder:
        wanted = is_test if options.tests else is_wanted
        scripts = [s for s in sorted(folder.rglob("*.py")) if wanted(s.relative_to(folder), options.match)]
        found = sweep(scripts, folder, options)
    print_table(table(found, len(scripts)), options.run)


def sweep(scripts: list[Path], folder: Path, options: argparse.Namespace) -> list[Tried]:
    """All scripts, several at a time; the JSON file has at any moment what is known."""
    found: list[Tried] = []
    writing, start = threading.Lock(), time.monotonic()

    def one(script: Path) -> list[Tried]:
        left = options.total - (time.monotonic() - start) if options.total else options.limit * 2 + AFTER_LIMIT
        if left <= 1:
            return [Tried(str(script.relative_to(folder)), "", "script", message="no time was left")]
        return run_script(script, folder, options, left)

    with ThreadPoolExecutor(options.jobs) as pool:
        for number, done in enumerate(as_completed([pool.submit(one, s) for s in scripts]), 1):
            with writing:
                for tried in done.result():
                    found.append(tried)
                    state = tried.numbers if options.run and tried.name else ""
                    words = f"{tried.outcome:20} {tried.route:8} {state:12} {tried.message[:80]}"
                    at = f"[{number}/{len(scripts)} {time.monotonic() - start:4.0f} s]"
                    print(f"{at} {tried.script:60} {tried.name:24} {words}", flush=True)
                if options.json:
                    write_json(options.json, found, len(scripts))
    return sorted(found, key=lambda t: (t.script, t.number))


@contextlib.contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder of the examples; an archive, such as a source distribution, is unpacked for the time of the sweep."""
    if source.is_dir():
        yield source.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="sweep-") as work, tarfile.open(source) as archive:
        members = [m for m in archive.getmembers() if "examples/" in m.name]
        archive.extractall(work, members, filter="data")
        yield next(Path(work).rglob("examples")).resolve()


def is_wanted(script: Path, match: str) -> bool:
    own = not script.name.startswith(SKIPPED) and script.name != "__init__.py"
    return own and script.parts[0] not in OTHER_HARDWARE and re.search(match, str(script)) is not None


def is_test(script: Path, match: str) -> bool:
    own = script.name.startswith("test_") or script.name.endswith("_test.py") or script.name == "test.py"
    return own and re.search(match, str(script)) is not None


def run_script(script: Path, folder: Path, options: argparse.Namespace, left: float) -> list[Tried]:
    """Run one script in its own process and gather what it says."""
    command = [sys.executable, __file__, str(script), "--one", "--capability", str(options.capability)]
    command += ["--most", str(options.most), "--limit", str(options.limit), *(["--run"] if options.run else [])]
    command += ["--route", options.route] if options.route else []
    command += ["--root", str(folder), "--tests", str(options.tests), *(["--list"] if options.list else [])]
    for path in [folder, folder / "src", *options.python_path] if options.tests else options.python_path:
        command += ["--python-path", str(path)]
    limit = min(left, 2 * options.limit + AFTER_LIMIT)
    said, trouble = records_of(command, script.parent, limit, MARK)
    name = str(script.relative_to(folder))
    found = [Tried(**{**record, "script": name}) for record in said]
    if trouble and not found:
        found.append(Tried(name, "", "script", message=trouble))
    return found


if __name__ == "__main__":
    main()
