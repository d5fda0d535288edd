"""Primitives of samples/intrinsics in a Triton kernel, against CUB in a CUDA kernel and Triton's own functions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import compile_only
import measure
import standalone
import torch
from primitives_cases import BUFFERS, Case, Data, cases

import tle_raw

GOAL = 1.03


def rows_of(case: Case, quick: bool) -> list[measure.Row]:
    found = tle_raw.report(case.sides["ours"](0))
    for side in case.sides:
        for b in range(2):
            case.sides[side](b)
            torch.cuda.synchronize()
            case.right(side, b)
    times, noise = measure.compare(case.sides, BUFFERS, quick)
    best = min((time for side, time in times.items() if side.startswith("CUB")), default=times.get("Triton"))
    sides = {f"{side} ms": time for side, time in times.items()}
    note = f"{found.registers} registers{', ' + case.note if case.note else ''}"
    value, goal = (times["ours"] / best, GOAL) if best else (times["ours"], None)
    rows = [measure.Row(case.name, value, "x" if best else "ms", goal, False, sides, noise, note)]
    if case.against == "CUB" and "Triton" in times:
        rows.append(measure.Row(f"{case.name}: ours over Triton's", times["ours"] / times["Triton"], "x", None))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--compile-only", action="store_true", help="no GPU: compile everything, time nothing")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, to see that it works")
    parser.add_argument("--check-only", action="store_true", help="numbers alone")
    parser.add_argument("--only", default="", help="cases of these names alone: histogram,random_in_memory")
    parser.add_argument("--part", default="0/1", help="0/4: the first of four parts of the cases")
    options = parser.parse_args()
    torch.manual_seed(0)
    part, parts = map(int, options.part.split("/"))
    if options.compile_only:
        compile_only.install()
        compiler = standalone.compile_with_nvcc if standalone.nvcc() else str
        for make_case in chosen(cases(lambda size: Data("cpu", 2), compiler), options.only)[part::parts]:
            case = make_case()
            print(f"{case.name}\n{tle_raw.report(case.sides['ours'](0))}", flush=True)
            if "Triton" in case.sides:
                case.sides["Triton"](0)
        return
    made: dict[str, standalone.Kernel] = {}

    def make(source: str) -> standalone.Kernel:
        if source not in made:
            made[source] = standalone.Kernel(source, "kernel")
        return made[source]

    total = 1 << (22 if options.check_only else 26)
    makers = chosen(cases(lambda size: Data("cuda", total // size), make), options.only)[part::parts]
    rows, failed = measure.rows_of_all(makers, numbers_of if options.check_only else rows_of, options.quick)
    if failed:
        print("\n".join(failed))
    if not options.check_only:
        measure.report("primitives against CUB and Triton", rows, options)
    sys.exit(bool(failed))


def chosen(named: Iterable[tuple[str, Callable[[], Case]]], only: str) -> list[Callable[[], Case]]:
    return [make_case for name, make_case in named if not only or name in only.split(",")]


def numbers_of(case: Case, quick: bool) -> list[measure.Row]:
    """That all sides are right."""
    for side in case.sides:
        case.sides[side](0)
        torch.cuda.synchronize()
        case.right(side, 0)
    return [measure.Row(f"{case.name}: {len(case.sides)} sides right", 1, "", None)]


if __name__ == "__main__":
    main()
