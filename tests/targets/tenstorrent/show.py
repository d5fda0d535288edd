"""Runs all cases of the twenty kernels in the simulator and prints the table of docs/tenstorrent.md.

``python -m tests.targets.tenstorrent.show [words that choose cases] [--sanitizer thread]``; takes some minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.targets.tenstorrent import kernels
from tests.targets.tenstorrent.test_kernels import BOUNDS, error_of


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sanitizer", default="", choices=["", "thread"])
    given = parser.parse_args()
    chosen = [case for case in kernels.cases() if not given.words or any(word in str(case) for word in given.words)]
    errors: dict[str, dict[str, float]] = {}
    sizes: dict[str, list[str]] = {}
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            error = error_of(case, Path(folder), sanitizer=given.sanitizer)
        assert error <= BOUNDS[case.dtype], f"{case}: {error:.1e}"
        own = errors.setdefault(case.name, {})
        own[case.dtype] = max(error, own.get(case.dtype, 0.0))
        if case.size not in sizes.setdefault(case.name, []):
            sizes[case.name].append(case.size)
        print(f"{case}: {error:.1e}", flush=True)
    print("\n".join(table(errors, sizes)))


def table(errors: dict[str, dict[str, float]], sizes: dict[str, list[str]]) -> Iterator[str]:
    """The lines of the table."""
    yield "| kernel | sizes | largest error by dtype |"
    yield "|---|---|---|"
    for name, own in errors.items():
        found = ", ".join(f"{dtype} {'exact' if error == 0 else f'{error:.1e}'}" for dtype, error in own.items())
        yield f"| {name} | {', '.join(sizes[name])} | {found} |"


if __name__ == "__main__":
    main()
