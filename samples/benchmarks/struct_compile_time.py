"""What tle_raw's own passes take of the compilation of each kernel of ``samples/tle_struct``.

Needs no GPU: the samples compile their kernels for cuda:90, with the fragments in the cache and Triton's own cache off.
Figures are shares of processor time, of this process and of ptxas, in the median of some rounds. What Triton's passes
do for us, conversions and its own stages, is Triton's.
Python's collector of cycles is paused while a stage's passes run: what it does afterwards counts as Triton's.
Modules of LLVM IR that tle_raw has read are forgotten before each round, since a process compiles a kernel once.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import measure
import struct_samples

GOAL = 0.05
SAMPLES = sorted((Path(__file__).parents[1] / "tle_struct").glob("[0-9]*.py"))
# Passes that run passes of Triton's, and little else.
TRITONS = {"convert-to-ttgpuir", "explicit-ttgir", "settle-layouts", "pipeline-groups", "link-fragments"}


class Watch:
    """Processor time of passes, by their names, from the moment it is made."""

    def __init__(self) -> None:
        from tle_raw.flir import run_stage
        from tle_raw.flir.pass_value import OUTSIDE

        self.seconds: dict[str, float] = {}
        method_of = run_stage.method_of

        def watched(state: object, each: Any) -> Any:
            method = method_of(state, each)
            return method if each.kind == OUTSIDE or each.name in TRITONS else self._timed(each.name, method)

        run_stage.method_of = watched

    def _timed(self, name: str, method: Any) -> Any:
        def run() -> Any:
            start = time.process_time()
            try:
                return method()
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start

        return run


def processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def compiled(sample: ModuleType) -> list[Any]:
    """All kernels of a sample, which some samples compile as they are asked for."""
    return list(sample.compile_for("cuda:90"))


def row(file: Path, watch: Watch, rounds: int) -> measure.Row:
    from tle_raw.linker.llvm.text import read_module

    sample = struct_samples.sample(file.stem)
    compiled(sample)
    found = []
    for _ in range(rounds):
        read_module.cache_clear()
        watch.seconds.clear()
        start = processor_seconds()
        compiled(sample)
        found.append((processor_seconds() - start, dict(watch.seconds)))
    found.sort(key=lambda pair: sum(pair[1].values()) / pair[0])
    total, passes = found[len(found) // 2]
    own = sum(passes.values())
    longest = sorted(passes, key=lambda name: -passes[name])[:3]
    note = ", ".join(f"{name} {1e3 * passes[name]:.1f} ms" for name in longest)
    sides = {"own ms": 1e3 * own, "all ms": 1e3 * total}
    return measure.Row(f"{file.stem}: own passes of its compilation", own / total, "x", GOAL, False, sides, note=note)


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    watch = Watch()
    rows = []
    for file in SAMPLES:
        rows.append(row(file, watch, 3 if options.quick else 9))
        print(rows[-1].line(), flush=True)
    measure.write("compile time of TLE-Struct", rows, options)


if __name__ == "__main__":
    main()
