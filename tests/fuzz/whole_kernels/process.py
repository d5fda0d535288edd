"""Compile and run random whole kernels: ``python -m tests.fuzz.whole_kernels.process FIRST COUNT [TARGET]``.

A process of its own, as what a wrong kernel does to this machine's memory nobody knows. Each line that it writes is a
JSON object: the seed, what was wrong ("" for nothing), the passes that changed the kernel.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import tle_raw
import tle_raw.flir.run_stage as stages
from tests.fuzz.whole_kernels.device_code import device_code
from tests.fuzz.whole_kernels.host_code import NAME, host_code
from tests.fuzz.whole_kernels.machine import run
from tests.fuzz.whole_kernels.programs import program


def watch(changed: set[str]) -> None:
    """Note the passes over LLVM IR that change a kernel."""
    method_of = stages.method_of

    def watched(state: Any, each: Any) -> Callable[[], int | None]:
        method = method_of(state, each)
        if each.stage != "llir":
            return method

        def compared() -> int | None:
            before = state.text()
            found = method()
            if state.text() != before:
                changed.add(each.name)
            return found

        return compared

    stages.method_of = watched


def check(seed: int, folder: Path, target: str) -> str:
    """What is wrong with a kernel, or nothing."""
    made = program(seed)
    file = folder / f"k{seed}.cu"
    file.write_text(made.text)
    wanted = run(host_code(made.text), NAME, made, seed)
    kernel = tle_raw.fragment(file, dialect="cuda", symbol="k", flags=["-ffp-contract=off"])
    compiled = kernel.as_kernel(block=(32,)).compile(target)
    found = run(*device_code(compiled.asm["llir"]), made, seed)
    if found.same(wanted):
        return ""
    words, floats = found.words != wanted.words, found.floats.view("i4") != wanted.floats.view("i4")
    return f"{words.sum()} words and {floats.sum()} floats differ"


def main(first: int, count: int, target: str = "cuda:90", seeds: Collection[int] = ()) -> None:
    changed: set[str] = set()
    watch(changed)
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds or range(first, first + count):
            changed.clear()
            print(json.dumps({"begun": seed}), flush=True)
            try:
                wrong = check(seed, Path(folder), target)
            except Exception as e:
                wrong = f"{type(e).__name__}: {e}"
            print(json.dumps({"seed": seed, "wrong": wrong, "passes": sorted(changed)}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
