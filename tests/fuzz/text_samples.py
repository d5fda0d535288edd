"""What is mutated: texts and bytes of each kind that compile, with what a fragment needs beside them."""

from __future__ import annotations

import ast
import functools
import io
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.adapters.llvm.test_bitcode import CXX, half_of
from tests.adapters.llvm.test_bitcode import TEXT as HALF
from tests.adapters.mlir.test_producers import LLVM, UPSTREAM, rich_llvm, rich_upstream
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.linker.tools.clang import find_clang

TESTS = Path(__file__).parent.parent


@dataclass(frozen=True)
class Sample:
    """``content`` is text, or bytes that go through a file; ``names`` bind the signature's dims."""

    content: str | bytes
    options: dict[str, Any]
    names: dict[str, int] = field(default_factory=dict)


def apply(
    t: InOut[Tile["f32", "N"]], x: Pointer["f32"], s: Scalar["f32"], n: Scalar["i32"], flag: Scalar["i1"]
) -> Scalar["f32"]: ...
def scale(x: Element["f32"]) -> Element["f32"]: ...
def add_one(t: InOut[Tile["f32", "N"]]): ...


def of_llvm() -> Iterator[Sample]:
    """By hand, by clang with and without debug info, and whatever the tests of the adapter hold."""
    yield Sample(HALF, {"signature": half_of, "dialect": "llvm"})
    for flags in (("-O0", "-g"), ("-O0",), ("-O2", "-gline-tables-only")):
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "apply.cpp"), Path(folder, "apply.ll")
            source.write_text(CXX)
            command = [*find_clang().command, "--target=nvptx64-nvidia-cuda", "-nostdinc", "-S", "-emit-llvm", *flags]
            subprocess.run([*command, "-o", str(out), str(source)], check=True)
            yield Sample(out.read_text(), {"signature": apply, "dialect": "llvm"}, {"N": 64})
    for text in _texts(TESTS / "adapters/llvm", "define "):
        yield Sample(text, {"signature": half_of, "dialect": "llvm"})


def of_bitcode() -> Iterator[Sample]:
    import llvmlite.binding as llvm

    for sample in of_llvm():
        try:
            with llvm.create_context() as context:
                data = llvm.parse_assembly(str(sample.content), context=context).as_bitcode()
        except RuntimeError:  # a test's text that is wrong on purpose
            continue
        yield Sample(data, sample.options, sample.names)


def of_mlir() -> Iterator[Sample]:
    yield Sample(LLVM, {"signature": rich_llvm, "symbol": "rich", "dialect": "mlir"})
    yield Sample(UPSTREAM, {"signature": rich_upstream, "symbol": "rich", "dialect": "mlir"})
    for text in _texts(TESTS / "adapters/mlir", "func.func @"):
        yield Sample(text, {"dialect": "mlir"})


def of_mlir_bytecode() -> Iterator[Sample]:
    from torch_mlir import ir

    for sample in of_mlir():
        stream = io.BytesIO()
        try:
            with ir.Context():
                ir.Module.parse(str(sample.content)).operation.write_bytecode(stream)
        except Exception:  # a test's text that is wrong on purpose
            continue
        yield Sample(stream.getvalue(), sample.options)


def of_cuda() -> Iterator[Sample]:
    yield Sample("__device__ float scale(float x) { return x * 2.0f; }\n", {"signature": scale, "dialect": "cuda"})
    tiled = "__device__ void add_one(tle::tile<float, 64> t) {\n  TLE_FOR(i, t) t[i] += 1.0f;\n}\n"
    loop = (
        "__device__ void add_one(float* t) {\n  for (int i = threadIdx.x; i < 64; i += blockDim.x) t[i] += 1.0f;\n}\n"
    )
    for text in (tiled, loop):
        yield Sample(text, {"signature": add_one, "dialect": "cuda"}, {"N": 64})
    for text in _texts(TESTS / "adapters/cuda", "__device__"):
        yield Sample(text, {"signature": scale, "dialect": "cuda"})


def _texts(folder: Path, mark: str) -> Iterator[str]:
    """The strings of test files that hold code."""
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if mark in text and "\n" in text and "{}" not in text:
                yield text


KINDS: dict[str, Callable[[], Iterator[Sample]]] = {
    "llvm": of_llvm,
    "bitcode": of_bitcode,
    "mlir": of_mlir,
    "mlir_bytecode": of_mlir_bytecode,
    "cuda": of_cuda,
}
SUFFIXES = {"bitcode": ".bc", "mlir_bytecode": ".mlirbc"}


@functools.cache
def samples(kind: str) -> tuple[Sample, ...]:
    return tuple(KINDS[kind]())
