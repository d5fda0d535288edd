"""What tiles cost on GPUs: nothing where their elements lie in the registers of the same threads."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.support import compile_kernel
from tle_raw.linker.tools.cuda_tools import run_tool

pytestmark = pytest.mark.every_triton(6)

MOVES = r"ld\.shared|st\.shared|ldmatrix|stmatrix|shfl|bar\.sync|barrier"
SIGNATURE = {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32"}


@triton.jit
def extract(x, y, o, n, B: tl.constexpr, T: tl.constexpr, U: tl.constexpr, INDEX: tl.constexpr):
    block = tl.load(x + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    tile = tle.extract_tile(block, n if INDEX is None else INDEX, [T, U])
    tl.store(o + tl.arange(0, T)[:, None] * U + tl.arange(0, U)[None, :], tile)


@triton.jit
def insert(x, y, o, n, B: tl.constexpr, T: tl.constexpr, U: tl.constexpr, INDEX: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tile = tl.load(y + tl.arange(0, T)[:, None] * U + tl.arange(0, U)[None, :])
    tl.store(o + at, tle.insert_tile(tl.load(x + at), tile, n if INDEX is None else INDEX))


@triton.jit
def pointers(x, y, o, n, B: tl.constexpr, T: tl.constexpr):
    every = x + tl.arange(0, B)
    some = tle.insert_tile(every, tle.extract_tile(every, n, [T]), n + 1)
    tl.store(o + tl.arange(0, B), tl.load(some))


@pytest.mark.parametrize("kernel", [extract, insert])
@pytest.mark.parametrize(
    "rows, index, capability", [(32, 1, 90), (32, None, 90), (16, 1, 90), (16, None, 90), (16, None, 80), (32, 1, 100)]
)
def test_whole_rows_are_free(kernel, rows, index, capability):
    compiled = compile_kernel(kernel, SIGNATURE, {"B": 64, "T": rows, "U": 64, "INDEX": index}, capability)
    assert not re.findall(MOVES, compiled.asm["ptx"])
    assert compiled.metadata.shared == 0


@pytest.mark.parametrize("kernel", [extract, insert])
def test_whole_rows_are_free_in_machine_code(kernel, tmp_path):
    compiled = compile_kernel(kernel, SIGNATURE, {"B": 64, "T": 32, "U": 64, "INDEX": None})
    (tmp_path / "kernel.cubin").write_bytes(compiled.asm["cubin"])
    sass = run_tool("cuobjdump", "-sass", str(tmp_path / "kernel.cubin"))
    assert "EXIT" in sass.text, sass.reason
    assert not re.findall(r"\b(?:LDS|STS|LDSM|STSM|SHFL|BAR|LDL|STL)\b", sass.text)


@pytest.mark.parametrize("kernel, most", [(extract, 4096), (insert, 2048)])
@pytest.mark.parametrize("index", [1, None], ids=["constant", "run-time"])
def test_other_tiles_go_through_little_shared_memory(kernel, most, index):
    """Of a tensor of 16,384 bytes; no element is passed by a shuffle."""
    compiled = compile_kernel(kernel, SIGNATURE, {"B": 64, "T": 32, "U": 32, "INDEX": index})
    assert compiled.metadata.shared <= most
    assert "shfl" not in compiled.asm["ptx"]


@pytest.mark.parametrize("dtype", ["i1", "i8", "u16", "i64", "fp16", "bf16", "fp64", "fp8e5", "fp8e4nv"])
@pytest.mark.every_triton(3)
def test_every_dtype_compiles(dtype):
    signature = {**dict.fromkeys("xyo", f"*{dtype}"), "n": "i32"}
    for kernel in (extract, insert):
        compiled = compile_kernel(kernel, signature, {"B": 32, "T": 8, "U": 16, "INDEX": None})
        assert "cubin" in compiled.asm


def test_tiles_of_pointers_compile():
    assert "cubin" in compile_kernel(pointers, SIGNATURE, {"B": 256, "T": 64}).asm
