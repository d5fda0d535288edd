"""samples/intrinsics: numbers of its functions on the CPU, machine code without calls and local memory, its package."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tle_raw
from tests.support import compile_kernel
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.libraries.packing.manifest import Function, Manifest
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import read_manifest
from tle_raw.target import parse_target

pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parents[2] / "samples" / "intrinsics"
README = (FOLDER / "README.md").read_text()
EXAMPLE = re.compile(r"<!-- example: (.*?) -->\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def intrinsics() -> Iterator[SimpleNamespace]:
    """The modules of the folder, and its functions as fragments of their source."""
    before, names = list(sys.path), ("check", "primitive_kernels", "references", "from_source")
    sys.path.insert(0, str(FOLDER))
    try:
        import check
        import from_source
        import primitive_kernels as kernels

        yield SimpleNamespace(check=check, kernels=kernels, primitives=from_source.primitives)
    finally:
        sys.path[:] = before
        for name in names:
            sys.modules.pop(name, None)


# --- numbers ------------------------------------------------------------------------------------------------------

# A dtype and a number, which chooses the sizes, for something of each kind; ``check.py`` runs them all.
NUMBERS = [
    ("inclusive_sum", "bf16", 2),
    ("row_exclusive_max", "i8", 1),
    ("block_min", "f16", 4),
    ("radix_sort", "u16", 0),
    ("radix_sort", "f32", 3),
    ("bitonic_sort", "i32", 3),
    ("row_merge", "i64", 2),
    ("topk", "bf16", 2),
    ("histogram_even", "f64", 1),
    ("to_e5m2", "f16", 3),
    ("from_e4m3", "bf16", 2),
    ("fill_uniform", "f64", 3),
]


@pytest.mark.every_triton(2)
@pytest.mark.parametrize(("name", "dtype", "number"), NUMBERS)
def test_the_numbers_of_a_primitive_are_right(intrinsics: SimpleNamespace, name: str, dtype: str, number: int):
    cases = [case for case in intrinsics.check.cases() if (case.name, case.dtype) == (name, dtype)]
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        # The last one: where there are keys alone and keys with values, it is these.
        cases[-1].run(np.random.default_rng(number), getattr(intrinsics.primitives, name), number)


@pytest.mark.one_triton
def test_every_function_of_the_manifest_is_checked_and_described(intrinsics: SimpleNamespace):
    checked = {case.name for case in intrinsics.check.cases()}
    checked |= {f"{name.removeprefix('pack_')}_{half}" for name in checked for half in ("low", "high")}
    functions = intrinsics.primitives.functions
    assert [name for name in functions if name not in checked] == []
    stems = {re.sub("^row_(inclusive|exclusive)_.*|^(e4m3|e5m2|e2m1)_(low|high)$", "", name) for name in functions}
    assert [stem for stem in stems if stem and f"`{stem}`" not in README] == []


# --- machine code -------------------------------------------------------------------------------------------------

ROWS, FLAT = {"M": 16, "N": 256}, {"N": 4096}
WARPS = {"num_warps": 8}
# A kernel, its function, the dtypes of its pointers, its constants, and the registers that it may take.
CODE = [
    ("in_place", "inclusive_sum", {"x_ptr": "*fp32", "y_ptr": "*fp32"}, FLAT | {"n": None, "fill": None}, 48),
    ("sorted_keys", "radix_sort", {"x_ptr": "*u32", "y_ptr": "*u32"}, FLAT | {"DESCENDING": 1}, 96),
    (
        "sorted_row_pairs",
        "row_sort",
        {"x_ptr": "*fp32", "v_ptr": "*i32", "y_ptr": "*fp32", "w_ptr": "*i32"},
        ROWS | {"DESCENDING": 1},
        96,
    ),
    (
        "selected",
        "topk",
        {"x_ptr": "*fp32", "y_ptr": "*fp32", "w_ptr": "*i32"},
        FLAT | {"n": None, "fill": None, "KEPT": 512},
        112,
    ),
]


@pytest.mark.every_triton(2)
@pytest.mark.parametrize(("kind", "name", "types", "constants", "registers"), CODE)
def test_a_primitive_is_inlined_and_keeps_what_it_has_in_registers(
    intrinsics: SimpleNamespace, kind: str, name: str, types: dict, constants: dict, registers: int
):
    kernel = getattr(intrinsics.kernels, kind)(getattr(intrinsics.primitives, name))
    compiled = compile_kernel(kernel, types, constants | WARPS, **WARPS)
    report = tle_raw.report(compiled)
    assert report.entries == (compiled.metadata.name,) and report.problems == ()
    assert report.ptx_calls == () and report.sass_calls == () and report.spills == 0
    assert "local memory" not in str(report)
    assert report.registers <= registers


# --- the package --------------------------------------------------------------------------------------------------

PACKED = {"THREADS": 128, "M": 32, "N": 1024, "L": 512, "K": 8, "B": 256, "DESCENDING": 0, "WORD": 2}


def _narrow(manifest: Manifest, dtypes: dict[str, str]) -> Manifest:
    """Of these functions what the README uses, for the CPU; of one of them also for a GPU."""

    def narrowed(function: Function) -> Function:
        one = {"T": dtypes[function.name], "V": "i32", "Q": "u8"}
        cpu, gpu = parse_target("cpu"), parse_target("cuda:90")
        overloads = [
            dataclasses.replace(
                overload,
                values={
                    name: (DTYPES[one[name]] if name in one else PACKED[name] if "M" not in overload.values else 32,)
                    if name != "THREADS"
                    else (128,)
                    for name in overload.values
                },
                architectures=(cpu, gpu) if function.name == "exclusive_prefix" else (cpu,),
            )
            for overload in function.overloads
        ]
        return dataclasses.replace(function, overloads=tuple(overloads))

    return dataclasses.replace(
        manifest, functions=tuple(narrowed(each) for each in manifest.functions if each.name in dtypes)
    )


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, str]]:
    found = EXAMPLE.findall(README)
    assert len(found) == README.count("<!-- example:") == 6
    return found


@pytest.fixture(scope="module")
def package(examples: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    dtypes = dict(re.findall(r"(\w+)\[(\w*)\]", " ".join(used for used, _ in examples)))
    folder = tmp_path_factory.mktemp("packed") / "tle_primitives"
    assert pack(_narrow(read_manifest(FOLDER / "library.toml"), dtypes), folder).functions == len(dtypes)
    return folder


# Compiled for a GPU that is not there, of what is packed.
FOR_A_GPU = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "count_ptr": "*i32", "N": "constexpr"}
source = ASTSource(places_of_kept, types, {"N": 1024})
ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
assert ptx.count(".entry ") == 1 and "shfl.sync" in ptx and "call" not in ptx
print("all examples have run")
"""


@pytest.mark.one_triton
def test_the_examples_of_the_readme_run_with_the_package_and_without_a_compiler(
    examples: list[tuple[str, str]], package: Path, tmp_path: Path
):
    program = tmp_path / "examples.py"
    program.write_text("\n".join(text for _, text in examples) + FOR_A_GPU)
    path = os.pathsep.join((str(package), str(Path(tle_raw.__file__).parents[1])))
    environment = {"PYTHONPATH": path, "TLE_RAW_TARGET": "cpu", "TLE_RAW_CUDA_CLANG": "/nowhere/clang"}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=240, env=os.environ | environment
    )
    assert done.returncode == 0 and done.stdout == "all examples have run\n", done.stdout + done.stderr
