"""Writes RESULTS.md from the JSON files of the benchmarks: results.py FILE.json...

Files of one benchmark with the same hardware and Triton replace each other, the last one stays. Figures of other
hardware or versions that an earlier run wrote are kept in results.json beside this script.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
KEPT = FOLDER / "results.json"
HEAD = """# Benchmarks: results

Written by `results.py` from what the benchmarks measured; do not edit. Goals are those of the design. Medians, both
sides in one run, numbers checked first, random data. "±" is half the spread between rounds.

On a GPU a sample is a burst of some 4 ms after a pause of 20 ms, so that the card has its full clocks. Products behind
one another reach its power limit: rows with a spread of several per cent are older and were measured that way.

| script | measures |
|---|---|
| `region_against_cuda.py` | a region against the same algorithm as one kernel compiled by `nvcc -arch=sm_90 -O3` |
| `tools/launch_cuda.py` | kernels of nine published packages, compiled unchanged, against nvcc 13.0 -O3 |
| `fused_chain.py` | one fused kernel against Triton kernel + CUDA kernel + Triton kernel |
| `launch_overhead.py` | processor time of a launch, plain Triton against tle_raw imported, and a kernel with a region |
| `import_time.py` | `import tle_raw` beyond Triton's import |
| `first_launch.py` | from the declaration of CUDA code to machine code with empty caches, processor time |
| `compile_time.py` | a kernel with a cached fragment against the kernel without it; a cold fragment |
| `mlir_edsl.py` | from a Python function of the mlir dialect to its module |
| `tilelang_regions.py` | a TileLang kernel as a region against TileLang alone; two in one launch against two launches |
| `cutile_regions.py` | cuTile kernels and regions through Triton against the same kernels written in Triton |
| `struct_compile_time.py` | what own passes take of the compilation of TLE-Struct's samples |
| `struct_speed.py` | kernels of TLE-Struct against the best of plain Triton and cuBLAS; loads; counts; selections |
| `struct_experts.py` | products of experts of models against our plain Triton kernel and vLLM's own |
| `struct_scaled.py` | the same of fp8 with scales for 128 numbers |
| `collectives.py` | all-reduce, all-gather and reduce-scatter of two GPUs against NCCL; the fastest of the ways named |
| `struct_clusters.py` | kernels whose blocks form clusters against the best that blocks alone can do |
| `overlap.py` | products that meet other GPUs' data in one kernel, against cuBLAS and NCCL one after the other |
| `primitives_speed.py` | primitives of `samples/intrinsics` against CUB's in kernels of their own, and Triton's |
| `hints.py` | kernels with hints in comments against the same without |
| `cpu_operators.py` | kernels on the CPU against NumPy's and torch's operators, and what their compilation takes |
"""


def main() -> None:
    found = json.loads(KEPT.read_text()) if KEPT.is_file() else []
    for path in sys.argv[1:]:
        new = json.loads(Path(path).read_text())
        for result in new if isinstance(new, list) else [new]:
            found = [old for old in found if _key(old) != _key(result)] + [result]
    found.sort(key=_place)
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
    FOLDER.joinpath("RESULTS.md").write_text("\n".join([HEAD, *_sections(found)]))


def _key(result: dict[str, Any]) -> tuple[bool, str, str, str]:
    return result["gpu"] == "no GPU", result["gpu"], result["triton"], result["benchmark"]


def _place(result: dict[str, Any]) -> tuple[bool, str, str, str, str]:
    """Figures of one section of the table stand together."""
    no_gpu, gpu, triton, benchmark = _key(result)
    return no_gpu, gpu, triton, result["machine"], benchmark


def _sections(found: Iterable[dict[str, Any]]) -> Iterable[str]:
    heading = ""
    for result in found:
        gpu = result["gpu"] if result["gpu"] != "no GPU" else "a machine without a GPU"
        text = (
            f"## {gpu[0].upper()}{gpu[1:]} ({result['machine']}), Triton {result['triton']}, torch {result['torch']}, "
            f"Python {result['python']}\n"
        )
        if text != heading:
            yield heading and ""
            heading = text
            yield text
            yield "| what | figure | goal | reached | sides | date | notes |"
            yield "|---|---|---|---|---|---|---|"
        for row in result["rows"]:
            yield _line(row, result["date"])


def _line(row: dict[str, Any], date: str) -> str:
    sides = ", ".join(f"{name} {value:.4g}" for name, value in row["sides"].items())
    noise = f" ±{row['noise']:.1%}" if row["noise"] else ""
    unit = "×" if row["unit"] == "x" else f" {row['unit'].replace('us', 'µs')}"
    goal = "–" if row["goal"] is None else f"{'≥' if row['at_least'] else '≤'} {row['goal']:g}{unit}"
    reached = {True: "yes", False: "**no**", None: "–"}[row["reached"]]
    return (
        f"| {row['name']} | {row['value']:.3g}{unit} | {goal} | {reached} | {sides}{noise} | {date} | {row['note']} |"
    )


if __name__ == "__main__":
    main()
