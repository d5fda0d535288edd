"""What is wrong with a call of TLE-Lite is said before anything is lowered, in its names and at the kernel's line."""

from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel

SIGNATURE = {"x": "*fp32", "n": "i32"}


@triton.jit
def block(x):
    return tl.load(x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])


@triton.jit
def kernel(x, n, WHAT: tl.constexpr):  # one call a line: the error names it
    b = block(x)
    small = tl.full((4, 4), 1, tl.float32)
    if WHAT == "rank of the tile":
        b.extract_tile(index=0, shape=[4])
    if WHAT == "a dim of 3":
        b.extract_tile(index=0, shape=[3, 4])
    if WHAT == "a larger tile":
        b.extract_tile(index=0, shape=[32, 4])
    if WHAT == "a run-time shape":
        b.extract_tile(index=0, shape=[n, 4])
    if WHAT == "no shape":
        b.extract_tile(index=0)
    if WHAT == "beyond":
        b.extract_tile(index=[0, 4], shape=[4, 4])
    if WHAT == "negative":
        b.extract_tile(index=-1, shape=[4, 4])
    if WHAT == "linear beyond":
        tle.extract_tile(b, 16, [4, 4])
    if WHAT == "rank of the index":
        tle.extract_tile(b, [0, 0, 0], [4, 4])
    if WHAT == "a float index":
        tle.extract_tile(b, 0.5, [4, 4])
    if WHAT == "a block index":
        tle.extract_tile(b, [tl.arange(0, 4), 0], [4, 4])
    if WHAT == "a scalar":
        tle.extract_tile(n, 0, [1])
    if WHAT == "dtype of the tile":
        b.insert_tile(small.to(tl.int32), index=0)
    if WHAT == "rank of what is put in":
        b.insert_tile(tl.arange(0, 4).to(tl.float32), index=0)
    if WHAT == "put in beyond":
        b.insert_tile(small, index=[4, 0])
    if WHAT == "no index":
        b.insert_tile(small)
    if WHAT == "a run-time is_async":
        tle.load(x, is_async=n)
    if WHAT == "no pointer":
        tle.load(b)
    if WHAT == "no such axis":
        tle.cumsum(b, axis=2)
    if WHAT == "sum of pointers":
        tle.cumsum(x + tl.arange(0, 16))
    if WHAT == "sum of fp8":
        tle.cumsum(b.to(tl.float8e5))
    if WHAT == "sum in bool":
        tle.cumsum(b, dtype=tl.int1)
    if WHAT == "unknown":
        tle.cumsum(b, exclusive=True)


CASES = [
    ("rank of the tile", "ShapeError", "the tile has rank 1, the tensor rank 2"),
    ("a dim of 3", "ShapeError", "powers of two"),
    ("a larger tile", "ShapeError", "larger than the tensor"),
    ("a run-time shape", "ShapeError", "compile-time integers"),
    ("no shape", "ArgumentCountError", "the tile's shape once"),
    ("beyond", "TileIndexError", "[4, 4] tiles of [4, 4] in [16, 16]"),
    ("negative", "TileIndexError", "0 to 15"),
    ("linear beyond", "TileIndexError", "0 to 15"),
    ("rank of the index", "TileIndexError", "the index has 3 entries, the tensor rank 2"),
    ("a float index", "ArgumentTypeError", "an index is an integer"),
    ("a block index", "ArgumentTypeError", "an index is an integer"),
    ("a scalar", "ArgumentTypeError", "takes a block tensor"),
    ("dtype of the tile", "ArgumentTypeError", "tile.to(fp32)"),
    ("rank of what is put in", "ShapeError", "the tile has rank 1"),
    ("put in beyond", "TileIndexError", "index[0]"),
    ("no index", "ArgumentCountError", "missing a required argument: 'index'"),
    ("a run-time is_async", "ArgumentTypeError", "known at compile time"),
    ("no pointer", "ArgumentTypeError", "takes a pointer"),
    ("no such axis", "ShapeError", "no such axis"),
    ("sum of pointers", "ArgumentTypeError", "does not sum pointers"),
    ("sum of fp8", "ArgumentTypeError", "dtype=tl.float32"),
    ("sum in bool", "ArgumentTypeError", "a dtype that sums can have"),
    ("unknown", "ArgumentCountError", "exclusive"),
]


@pytest.mark.parametrize("what, error, words", CASES, ids=[case[0] for case in CASES])
@pytest.mark.every_triton(8)
def test_a_wrong_call_is_a_named_error_at_its_line(what, error, words):
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        compile_kernel(kernel, SIGNATURE, {"WHAT": what})
    cause = cause_of(caught.value)
    assert type(cause).__name__ == error and isinstance(cause, tle_raw.TLEError)
    assert words in str(cause) and words in str(caught.value)
    lines = Path(__file__).read_text().splitlines()
    assert lines[cause.context.call_site.line - 2].strip() == f'if WHAT == "{what}":'
    assert cause.context.call_site.file == __file__


def test_a_call_on_the_host_says_what_it_is():
    with pytest.raises(tle_raw.errors.RegionError, match=r"tle\.load is device code: .* inside a @triton\.jit kernel"):
        tle.load(1)


@gluon.jit
def gluon_kernel(x, B: gl.constexpr):
    i = gl.arange(0, B, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(x + i, tle.load(x + i))


def test_a_gluon_kernel_is_refused():
    source = GluonASTSource(gluon_kernel, {"x": "*fp32", "B": "constexpr"}, {(1,): 128})
    with pytest.raises(triton.compiler.errors.CompilationError, match=r"tle\.load is called in a Gluon kernel"):
        triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32))
