"""What is wrong with a use of buffers is said before anything is lowered, at the kernel's line."""

import copy
from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel

pytestmark = pytest.mark.every_triton(9)

SIGNATURE = {"x": "*fp32", "n": "i32"}


@triton.jit
def kernel(x, n, WHAT: tl.constexpr):  # one call a line: the error names it
    at = x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    block = tl.load(at)
    tile = tle.gpu.alloc([16, 16], tl.float32)
    slots = tle.gpu.alloc([3, 16, 16], tl.float32)
    row = tle.gpu.alloc([64], tl.float32)
    if WHAT == "a run-time shape":
        tle.gpu.alloc([n, 16], tl.float32)
    if WHAT == "an empty shape":
        tle.gpu.alloc([16, 0], tl.float32)
    if WHAT == "a buffer of pointers":
        tle.gpu.alloc([16], x.dtype)
    if WHAT == "no dtype":
        tle.gpu.alloc([16], 4)
    if WHAT == "no scope":
        tle.gpu.alloc([16], tl.float32, scope="smem")
    if WHAT == "no layout":
        tle.gpu.alloc([16], tl.float32, layout=3)
    if WHAT == "a layout of another rank":
        tle.gpu.alloc([16, 16], tl.float32, tle.gpu.swizzled_shared_layout.make_default(3))
    if WHAT == "a layout of another shape":
        tle.gpu.alloc([16, 16], tl.float32, tle.gpu.nv_mma_shared_layout([64, 64], None, tl.float32))
    if WHAT == "a layout of another dtype":
        tle.gpu.alloc([64, 64], tl.float16, tle.gpu.nv_mma_shared_layout([64, 64], None, tl.float32))
    if WHAT == "a layout of a wider row":
        tle.gpu.alloc([16, 16], tl.float32, tle.gpu.swizzled_shared_layout(8, 1, 8, [1, 0]))
    if WHAT == "a vector of 3":
        tle.gpu.swizzled_shared_layout(3, 1, 1, [1, 0])
    if WHAT == "an axis twice":
        tle.gpu.swizzled_shared_layout(1, 1, 1, [1, 1])
    if WHAT == "a padding of 3":
        tle.gpu.padded_shared_layout([[16, 3]], [16, 16])
    if WHAT == "a padding of 8 bytes":
        tle.gpu.alloc([16, 16], tl.float16, tle.gpu.padded_shared_layout([[16, 4]], [16, 16]))
    if WHAT == "slots with gaps":
        tle.gpu.alloc([3, 16, 16], tl.float32, tle.gpu.padded_shared_layout([[16, 4]], [16, 16]))
    if WHAT == "clusters":
        tle.gpu.swizzled_shared_layout(1, 1, 1, [1, 0], [2, 1])
    if WHAT == "an alias beyond":
        tle.gpu.alloc([64], tl.float32, alias=row, alias_offset_bytes=256)
    if WHAT == "an alias between":
        tle.gpu.alloc([32], tl.float32, alias=row, alias_offset_bytes=64)
    if WHAT == "an offset alone":
        tle.gpu.alloc([64], tl.float32, alias_offset_bytes=64)
    if WHAT == "no such slot":
        slots.slot(3)
    if WHAT == "a float slot":
        slots.slot(0.5)
    if WHAT == "a slot of rank 1":
        row.slot(0)
    if WHAT == "a row of a swizzled tile":
        tle.gpu.alloc([16, 32], tl.float32).slot(0)
    if WHAT == "a part beyond":
        row.subslice(32, 64)
    if WHAT == "a part of 3":
        row.subslice(0, 3)
    if WHAT == "a part between":
        row.subslice(8, 16)
    if WHAT == "no such axis":
        row.subslice(0, 16, 1)
    if WHAT == "a run-time part":
        row.subslice(n, 16)
    if WHAT == "a part in the swizzle":
        tile.subslice(0, 4, 0)
    if WHAT == "a part of slots":
        slots.subslice(0, 1, 0)
    if WHAT == "another number":
        row.reshape([8, 16])
    if WHAT == "a swizzled reshape":
        tile.reshape([256])
    if WHAT == "a part with another shape":
        row.subslice(0, 16).reshape([4, 4])
    if WHAT == "an axis left out":
        tile.permute(0)
    if WHAT == "permuted slots":
        slots.permute(2, 1, 0)
    if WHAT == "all slots at once":
        slots.load()
    if WHAT == "an uneven tile":
        tle.gpu.alloc([48], tl.float32).load()
    if WHAT == "another dtype":
        tile.store(block.to(tl.float16))
    if WHAT == "another shape":
        row.store(block)
    if WHAT == "pointers":
        tile.store(at)
    if WHAT == "freed":
        row.free()
        row.load()
    if WHAT == "free of a view":
        slots.slot(0).free()
    if WHAT == "two buffers":
        tle.gpu.copy(tile, tile, [16, 16])
    if WHAT == "no buffer":
        tle.gpu.copy(at, at, [16, 16])
    if WHAT == "a copy of another shape":
        tle.gpu.copy(at, tile, [16, 8])
    if WHAT == "pointers of another dtype":
        tle.gpu.copy(at.to(tl.pointer_type(tl.int32)), tile, [16, 16])
    if WHAT == "a mask of numbers":
        tle.gpu.copy(at, tile, [16, 16], mask=block)
    if WHAT == "offsets":
        tle.gpu.copy(at, tile, [16, 16], offsets=[0, 0])
    if WHAT == "out in the background":
        tle.gpu.copy(tile, at, [16, 16], is_async=True)
    if WHAT == "negative groups":
        tle.gpu.async_wait_group(-1)
    if WHAT == "run-time groups":
        tle.gpu.async_wait_group(n)
    if WHAT == "another memory":
        tle.gpu.memory_space(block, "texture")
    if WHAT == "a pointer into no buffer":
        tle.gpu.local_ptr(block, (1, 2))
    if WHAT == "too few indices":
        tle.gpu.local_ptr(tile, (1,))
    if WHAT == "one index too many":
        tle.gpu.local_ptr(row, (1, n))
    if WHAT == "a float index":
        tle.gpu.local_ptr(row, (block,))
    if WHAT == "a bool index":
        tle.gpu.local_ptr(row, (n > 0,))
    if WHAT == "an index beyond":
        tle.gpu.local_ptr(tile, (3, 16))
    if WHAT == "a negative index":
        tle.gpu.local_ptr(tile, (-1, n))
    if WHAT == "indices without a common shape":
        tle.gpu.local_ptr(tile, (tl.arange(0, 8), tl.arange(0, 16)))
    if WHAT == "all of three slots":
        tle.gpu.local_ptr(slots)
    if WHAT == "pointers of a freed buffer":
        row.free()
        tle.gpu.local_ptr(row, (0,))


CASES = [
    ("a pointer into no buffer", "ArgumentTypeError", "takes a buffer"),
    ("too few indices", "ArgumentCountError", "one index for each axis"),
    ("one index too many", "ArgumentCountError", "one index for each axis"),
    ("a float index", "ArgumentTypeError", "an index is an integer"),
    ("a bool index", "ArgumentTypeError", "an index is an integer"),
    ("an index beyond", "TileIndexError", "0 to 15"),
    ("a negative index", "TileIndexError", "0 to 15"),
    ("indices without a common shape", "ShapeError", "[8], [16]"),
    ("all of three slots", "SharedBufferError", "powers of two"),
    ("pointers of a freed buffer", "SharedBufferError", "freed at"),
    ("a run-time shape", "ShapeError", "positive compile-time integers"),
    ("an empty shape", "ShapeError", "positive compile-time integers"),
    ("a buffer of pointers", "ArgumentTypeError", "holds numbers"),
    ("no dtype", "ArgumentTypeError", "holds numbers"),
    ("no scope", "ArgumentTypeError", "tle.gpu.smem or tle.gpu.tmem"),
    ("no layout", "LayoutError", "one of tle.gpu's"),
    ("a layout of another rank", "LayoutError", "another rank"),
    ("a layout of another shape", "LayoutError", "larger shape"),
    ("a layout of another dtype", "LayoutError", "the dtype it was made for"),
    ("a layout of a wider row", "LayoutError", "do not fit into a row"),
    ("a vector of 3", "LayoutError", "powers of two"),
    ("an axis twice", "LayoutError", "the axes in some order"),
    ("a padding of 3", "LayoutError", "powers of two"),
    ("a padding of 8 bytes", "LayoutError", "vectors of 16 bytes"),
    ("slots with gaps", "LayoutError", "lie in each other"),
    ("clusters", "LayoutError", "one block"),
    ("an alias beyond", "SharedBufferError", "at most 256"),
    ("an alias between", "SharedBufferError", "a multiple of 128"),
    ("an offset alone", "ArgumentTypeError", "alias= says which"),
    ("no such slot", "TileIndexError", "0 to 2"),
    ("a float slot", "ArgumentTypeError", "an integer"),
    ("a slot of rank 1", "SharedBufferError", "without its first axis"),
    ("a row of a swizzled tile", "SharedBufferError", "nv_mma_shared_layout=False"),
    ("a part beyond", "ShapeError", "within 0 to 64"),
    ("a part of 3", "ShapeError", "a power of two"),
    ("a part between", "ShapeError", "a multiple of it"),
    ("no such axis", "ShapeError", "no such axis"),
    ("a run-time part", "ArgumentTypeError", "known at compile time"),
    ("a part in the swizzle", "ShapeError", "at least 8"),
    ("a part of slots", "SharedBufferError", ".slot(i)"),
    ("another number", "ShapeError", "64 elements"),
    ("a swizzled reshape", "SharedBufferError", "do not lie behind each other"),
    ("a part with another shape", "SharedBufferError", "a part of a buffer keeps its shape"),
    ("an axis left out", "ShapeError", "each axis once"),
    ("permuted slots", "SharedBufferError", ".slot(i)"),
    ("all slots at once", "SharedBufferError", "counts slots"),
    ("an uneven tile", "SharedBufferError", ".subslice"),
    ("another dtype", "ArgumentTypeError", "value.to(fp32)"),
    ("another shape", "ShapeError", "the whole buffer"),
    ("pointers", "ArgumentTypeError", "its own dtype"),
    ("freed", "SharedBufferError", "`row` was freed"),
    ("free of a view", "SharedBufferError", "not a view"),
    ("two buffers", "ArgumentTypeError", "one of the two is a buffer"),
    ("no buffer", "ArgumentTypeError", "one of the two is a buffer"),
    ("a copy of another shape", "ShapeError", "a whole buffer"),
    ("pointers of another dtype", "ArgumentTypeError", "pointers to fp32"),
    ("a mask of numbers", "ArgumentTypeError", "truth values"),
    ("offsets", "ArgumentTypeError", "tensor descriptors"),
    ("out in the background", "ArgumentTypeError", "not asynchronous"),
    ("negative groups", "ArgumentTypeError", "0 or more"),
    ("run-time groups", "ArgumentTypeError", "known at compile time"),
    ("another memory", "ArgumentTypeError", "shared_memory"),
]


@pytest.mark.parametrize("what, error, words", CASES, ids=[case[0] for case in CASES])
@pytest.mark.every_triton(4)
def test_a_wrong_use_is_a_named_error_at_its_line(what, error, words):
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        compile_kernel(kernel, SIGNATURE, {"WHAT": what})
    cause = cause_of(caught.value)
    assert type(cause).__name__ == error and isinstance(cause, tle_raw.TLEError), repr(cause)
    assert words in str(cause)
    if cause.context.call_site is None:  # a layout's own: Triton's error has the line
        assert type(cause).__name__ == "LayoutError" and words in str(caught.value)
        return
    lines = Path(__file__).read_text().splitlines()
    above = [lines[cause.context.call_site.line - back].strip() for back in (2, 3)]
    assert f'if WHAT == "{what}":' in above and cause.context.call_site.file == __file__


@triton.jit
def too_large(x, n):
    first = tle.gpu.alloc([256, 128], tl.float32)
    second = tle.gpu.alloc([256, 128], tl.float32)
    at = x + tl.arange(0, 256)[:, None] * 128 + tl.arange(0, 128)[None, :]
    first.store(tl.load(at))
    second.store(tl.load(at + n))
    tl.store(at, first.load() + second.load())


def test_memory_beyond_the_limit_is_told_by_the_buffers_names():
    with pytest.raises(tle_raw.errors.SharedMemoryError) as caught:
        compile_kernel(too_large, SIGNATURE)
    assert isinstance(caught.value, OutOfResources)  # of which Triton's autotuner passes over a configuration
    text = str(copy.deepcopy(caught.value))
    assert "232448" in text and "262144" in text
    for name in ("first", "second"):
        line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if f"    {name} = " in text)
        assert f"`{name}`" in text and f"test_errors.py:{line}" in text


def test_buffers_are_device_code():
    with pytest.raises(tle_raw.errors.RegionError, match=r"tle\.gpu\.alloc is device code"):
        tle.gpu.alloc([16], tl.float32)
