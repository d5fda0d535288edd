"""Compile time: a kernel that calls twenty functions of an installed library against the kernel without the calls.

Needs no GPU: triton.compile for cuda:90, Triton's own cache off. The library is packed here. New functions are those
that no kernel of this machine has called: each round compiles a kernel with twenty others. Then the same kernel is
compiled again, with its functions in the cache. Medians of processor time over alternating compiles of one process; and
of processes of their own, whose first compilation it is, with an empty cache.

A kernel that does more takes Triton longer, whoever wrote what it does: beside these stand the same twenty lines of
arithmetic in the kernel itself, and twenty ``@triton.jit`` functions that hold a line each.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure
import triton
from compile_time import compile_seconds
from triton.compiler import ASTSource

GOAL, EACH = 1.2, 20
BODY = "return x * {0}.5f + {0}.25f;"  # one instruction: what is measured is no code of the functions
KERNEL = """
@triton.jit
def {name}(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i)
{calls}    tl.store(y_ptr + i, x)
"""


def write_library(folder: Path, rounds: int) -> None:
    """The packed library ``twenty``, and the module ``kernels`` with a kernel for each round and one without calls."""
    from tle_raw.libraries.packing.pack import pack
    from tle_raw.libraries.packing.read_manifest import read_manifest

    names = [f"f{number}" for number in range(EACH * rounds)]
    source = "".join(f"__device__ float {name}(float x) {{ {BODY.format(n)} }}\n" for n, name in enumerate(names))
    (folder / "twenty.cu").write_text(source)
    manifest = '[library]\nname = "twenty"\nversion = "1.0.0"\nsource = "twenty.cu"\narchitectures = ["cuda:90"]\n'
    functions = (f'[[function]]\nname = "{name}"\nsignature = "(x: Element[f32]) -> Element[f32]"\n' for name in names)
    (folder / "twenty.toml").write_text("format = 1\n" + manifest + "".join(functions))
    pack(read_manifest(folder / "twenty.toml"), folder / "packed")
    kernels = [KERNEL.format(name="plain", calls="")]
    body = BODY.removeprefix("return ").removesuffix(";").replace("f", "")
    kernels += [f"\n@triton.jit\ndef g{n}(x):\n    return {body.format(n)}\n" for n in range(EACH * rounds)]
    for round_ in range(rounds):
        calls = "".join(f"    x = {name}(x)\n" for name in names[EACH * round_ : EACH * (round_ + 1)])
        kernels.append(KERNEL.format(name=f"kernel_{round_}", calls=calls))
        numbers = range(EACH * round_, EACH * (round_ + 1))
        lines = "".join(f"    x = {body.format(n)}\n" for n in numbers)
        kernels.append(KERNEL.format(name=f"lines_{round_}", calls=lines))
        called = "".join(f"    x = g{n}(x)\n" for n in numbers)
        kernels.append(KERNEL.format(name=f"functions_{round_}", calls=called))
    head = f"import triton\nimport triton.language as tl\nfrom twenty import {', '.join(names)}\n"
    (folder / "kernels.py").write_text(head + "".join(kernels))


def source_of(name: str) -> ASTSource:
    kernel: Any = getattr(importlib.import_module("kernels"), name)
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(2)}
    return ASTSource(kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "constexpr"}, {"N": 1024}, aligned)


def in_one_process(rounds: int) -> dict[str, list[float]]:
    """Seconds of each kind, round by round; the first round, with what a process does once, is left out."""
    seconds: dict[str, list[float]] = {"none": [], "new": [], "cached": [], "lines": [], "functions": []}
    for round_ in range(rounds):
        asked = [("new", f"kernel_{round_}"), ("cached", f"kernel_{round_}"), ("none", "plain")]
        asked += [("lines", f"lines_{round_}"), ("functions", f"functions_{round_}")]
        for kind, name in asked if round_ % 2 else [*asked[2:], *asked[:2]]:
            seconds[kind].append(compile_seconds(source_of(name)))
    return {kind: values[1:] for kind, values in seconds.items()}


def child(*arguments: str, folder: Path, cache: Path) -> Any:
    places = [str(folder), str(folder / "packed"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "TLE_RAW_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def row(name: str, seconds: dict[str, list[float]], kind: str) -> measure.Row:
    ms = {k: 1e3 * statistics.median(values) for k, values in seconds.items()}
    noise = max((sorted(v)[-len(v) // 4] - sorted(v)[len(v) // 4]) / statistics.median(v) / 2 for v in seconds.values())
    own = ms[kind]
    sides = {f"{k} ms": value for k, value in ms.items() if k == kind or k not in ("new", "cached")}
    note = ""
    if "lines" in ms:
        note = f"against the same in Triton {own / ms['lines']:.2f}x, in its functions {own / ms['functions']:.2f}x"
    return measure.Row(name, own / ms["none"], "x", GOAL, False, sides, noise, note)


def main() -> None:
    triton.knobs.compilation.always_compile = True
    if "--rounds" in sys.argv:
        print(json.dumps(in_one_process(int(sys.argv[-1]))))
        return
    if "--first" in sys.argv:
        print(json.dumps(compile_seconds(source_of(sys.argv[-1]))))
        return
    options = measure.arguments(__doc__.splitlines()[0])
    quick = options.quick or options.compile_only
    rounds = 5 if quick else 25
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_library(folder, rounds)
        inside = child("--rounds", str(rounds), folder=folder, cache=folder / "cache")
        first: dict[str, list[float]] = {"none": [], "new": []}
        for round_ in range(3 if quick else 9):
            for kind, name in (("none", "plain"), ("new", "kernel_0"))[:: -1 if round_ % 2 else 1]:
                first[kind].append(child("--first", name, folder=folder, cache=folder / f"{kind}{round_}"))
    rows = [
        row("twenty functions of a library, in the cache, over none", inside, "cached"),
        row("twenty functions of a library, new, over none", inside, "new"),
        row("twenty new functions, first compilation of a process", first, "new"),
    ]
    measure.report("compile time with a library", rows, options)


if __name__ == "__main__":
    main()
