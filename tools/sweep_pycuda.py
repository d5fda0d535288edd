"""Tries PyCUDA's own examples: how many of their kernels become regions and machine code, and whose numbers are right.

    python tools/sweep_pycuda.py FOLDER-OR-ARCHIVE [--match fft] [--limit 60] [--json OUT]

The argument is PyCUDA's source distribution, packed or not; PyCUDA need not be installed: its Python files run on a
driver that stands in for CUDA's, where device memory is the host's and every launch goes through ``as_kernel`` on the
CPU target. The kernels that PyCUDA writes itself, for GPUArray, reductions and scans, are launched in the same way.
A script's own assertions say which numbers are right. PyCUDA's needs (pytools, platformdirs) must be there.

Every script runs in a process of its own, as it is, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pycuda_sweep.results import MARK, Tried, print_table, table, write_json
from sweep_process import records_of

AFTER_LIMIT = 120  # seconds in which a script's kernels are compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--match", default="", help="a regular expression: only scripts whose path holds it")
    parser.add_argument("--scripts", type=Path, help="a folder of other scripts, in the place of the examples")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one script")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # in the script's own process
    options = parser.parse_args()
    if options.one:
        from pycuda_sweep.example import try_script

        try_script(options.one.resolve(), options.source.resolve() / "pycuda", options.limit)
        return
    with unpacked(options.source) as folder:
        examples = (options.scripts or folder / "examples").resolve()
        scripts = [s for s in sorted(examples.rglob("*.py")) if re.search(options.match, str(s.relative_to(examples)))]
        found: list[Tried] = []
        for number, script in enumerate(scripts, 1):
            for tried in run_script(script, examples, folder, options.limit):
                found.append(tried)
                words = f"{tried.outcome:24} {'cubin' if tried.cubin else '':6} {tried.numbers:8} {tried.message[:90]}"
                print(
                    f"[{number}/{len(scripts)}] {tried.script:44} {tried.kind:18} {tried.name:28} {words}", flush=True
                )
            if options.json:
                write_json(options.json, found, len(scripts))
    print_table(table(found, len(scripts)))


@contextlib.contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder with ``pycuda`` and ``examples``; an archive is unpacked for the time of the sweep."""
    if source.is_dir():
        yield source.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="sweep-") as work, tarfile.open(source) as archive:
        archive.extractall(work, filter="data")
        yield next(Path(work).iterdir()).resolve()


def run_script(script: Path, examples: Path, folder: Path, limit: float) -> list[Tried]:
    """Run one script in its own process, among files that are its own, and gather what it says."""
    command = [sys.executable, __file__, str(folder), "--one", str(script), "--limit", str(limit)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory(prefix="sweep-") as work:
        said, trouble = records_of(command, work, limit + AFTER_LIMIT, MARK, environment)
    name = str(script.relative_to(examples))
    found = [Tried(**{**record, "script": name}) for record in said]
    return found or [Tried(name, "", "", "script", message=trouble or "it says nothing")]


if __name__ == "__main__":
    main()
