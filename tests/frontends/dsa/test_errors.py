"""What is wrong with a use of local memories is said at the kernel's line, with the buffer, the space and the bytes."""

from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("torch_mlir")
pytest.importorskip("llvmlite")

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel


@triton.jit
def kernel(x, n, WHAT: tl.constexpr):  # one call a line: the error names it
    at = x + tl.arange(0, 64)
    u = tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    half = tle.dsa.alloc([64], dtype=tl.float16, mem_addr_space=tle.dsa.ascend.UB)
    short = tle.dsa.alloc([32], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    left = tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.L1)
    tile = tl.zeros([4, 16], tl.float32)
    if WHAT == "too large":
        large = tle.dsa.alloc([65536], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
        tle.dsa.add(large, large, large)
    if WHAT == "unknown space":
        tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space="UB")
    if WHAT == "a dim of 48":
        tle.dsa.alloc([48], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    if WHAT == "no dtype":
        tle.dsa.alloc([64], dtype=x.dtype, mem_addr_space=tle.dsa.ascend.UB)
    if WHAT == "into L0A":
        right = tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.L0A)
        tle.dsa.copy(at, right, [64])
    if WHAT == "out of L1":
        tle.dsa.copy(left, at, [64])
    if WHAT == "from UB into L1":
        tle.dsa.copy(u, left, [64])
    if WHAT == "no buffer":
        tle.dsa.copy(at, at, [64])
    if WHAT == "another dtype":
        tle.dsa.copy(at, half, [64])
    if WHAT == "another shape":
        tle.dsa.copy(at, short, [32])
    if WHAT == "a size too many":
        tle.dsa.copy(at, u, [64, 64])
    if WHAT == "a size of 1.5":
        tle.dsa.copy(at, u, [1.5])
    if WHAT == "arithmetic of shapes":
        tle.dsa.add(u, short, u)
    if WHAT == "arithmetic of dtypes":
        tle.dsa.mul(u, u, half)
    if WHAT == "arithmetic of f8":
        tiny = tle.dsa.alloc([64], dtype=tl.float8e5, mem_addr_space=tle.dsa.ascend.UB)
        tle.dsa.mul(tiny, tiny, tiny)
    if WHAT == "arithmetic in L1":
        tle.dsa.max(left, u, u)
    if WHAT == "arithmetic of numbers":
        tle.dsa.min(u, 1.0, u)
    if WHAT == "a tensor of no buffer":
        tle.dsa.to_tensor(tile)
    if WHAT == "a tensor of 32":
        tle.dsa.to_tensor(u, target_shape=[32])
    if WHAT == "a buffer of pointers":
        tle.dsa.to_buffer(at)
    if WHAT == "a bound buffer of 32":
        tle.dsa.to_buffer(tile, bind_buffer=short)
    if WHAT == "a bound buffer elsewhere":
        tle.dsa.to_buffer(tile, tle.dsa.ascend.L1, bind_buffer=u)
    if WHAT == "a view beyond":
        tle.dsa.subview(u, [33], [32], [1])
    if WHAT == "a view of steps beyond":
        tle.dsa.subview(u, [n], [32], [3])
    if WHAT == "a view of another rank":
        tle.dsa.subview(u, [0, 0], [32, 1], [1, 1])
    if WHAT == "a step of 0":
        tle.dsa.extract_slice(tile, [0, 0], [2, 2], [0, 1])
    if WHAT == "a part of another shape":
        tle.dsa.insert_slice(tile, tile, [0, 0], [2, 2], [1, 1])
    if WHAT == "an element beyond":
        tle.dsa.extract_element(tile, [0, 16])
    if WHAT == "an event of 16":
        tle.dsa.ascend.sync_block_set("cube", "vector", 16)
    if WHAT == "cube to cube":
        tle.dsa.ascend.sync_block_wait("cube", "cube", 1)
    if WHAT == "no pipe":
        tle.dsa.ascend.sync_block_set("cube", "vector", 1, "PIPE_FIX")
    if WHAT == "all cores":
        tle.dsa.ascend.sync_block_all("all", 1)
    if WHAT == "no such name":
        tle.dsa.ascend.compile_hint(3, "disable_bubble_up")
    if WHAT == "a run-time promise":
        with tle.dsa.hint(inter_no_alias=n > 3):
            tle.dsa.copy(at, u, [64])


MEANT = {
    "too large": ("`large` does not fit into UB", "196608 left of 196608", "262144 asked"),
    "unknown space": ("unknown memory space", "UB, L1, L0A, L0B, L0C", "'UB'"),
    "a dim of 48": ("compile-time powers of two", "[48]"),
    "no dtype": ("holds numbers",),
    "into L0A": ("no path leads from GM to L0A", "GM -> L1 or GM -> UB", "copy into L1 first"),
    "out of L1": ("no path leads from L1 to GM", "left -> pointers"),
    "from UB into L1": ("no path leads from UB to L1", "u -> left"),
    "no buffer": ("one of the two at least is a buffer",),
    "another dtype": ("buffer `half` [64] of fp16 in UB", "fp32"),
    "another shape": ("buffer `short` [32] of fp32 in UB", "[64]"),
    "a size too many": ("1 integers", "2"),
    "a size of 1.5": ("shape[0]", "an integer", "1.5"),
    "arithmetic of shapes": ("nothing is broadcast", "rhs", "[64]", "[32]"),
    "arithmetic of dtypes": ("nothing is converted", "out", "fp32", "fp16"),
    "arithmetic of f8": ("numbers of one dtype", "lhs", "integers, f16, bf16, f32 or f64", "fp8e5"),
    "arithmetic in L1": ("what lies in UB", "buffer `left` [64] of fp32 in L1"),
    "arithmetic of numbers": ("takes a buffer in a local memory", "rhs", "1.0"),
    "a tensor of no buffer": ("takes a buffer in a local memory",),
    "a tensor of 32": ("64 elements", "32, as [32]"),
    "a buffer of pointers": ("block tensor of numbers",),
    "a bound buffer of 32": ("[4, 16]", "[32]"),
    "a bound buffer elsewhere": ("lies in another space", "one in L1"),
    "a view beyond": ("the part lies beyond the whole", "within 0 to 63", "33, 64"),
    "a view of steps beyond": ("within 0 to 63", "0, 93"),
    "a view of another rank": ("1 of them",),
    "a step of 0": ("positive compile-time integers",),
    "a part of another shape": ("[2, 2] of fp32", "[4, 16] of fp32"),
    "an element beyond": ("axis 1", "within 0 to 15", "16, 16"),
    "an event of 16": ("0 to 15", "16"),
    "cube to cube": ("receiver", "the other"),
    "no pipe": ("PIPE.PIPE_FIX", "'PIPE_FIX'"),
    "all cores": ("cannot wait for all others", "'all'", "second one"),
    "no such name": ("a value, the hint's name, and a constant",),
    "a run-time promise": ("given at compile time",),
}


def _line_of(what: str, offset: int = 1) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f'WHAT == "{what}"' in line) + offset


def _on_the_cpu(run, *arguments, **constants):
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        run[(1,)](*arguments, **constants)


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("what", list(MEANT))
def test_it_is_said(what):
    x = np.zeros(64, np.float32)
    with pytest.raises(Exception) as raised:
        _on_the_cpu(kernel, x, 3, WHAT=what)
    error = cause_of(raised.value)
    assert isinstance(error, tle_raw.errors.TLEError), error
    assert all(word in str(error) for word in MEANT[what]), error
    places = {_line_of(what, offset) for offset in (1, 2)}
    assert error.context.call_site.file == __file__ and error.context.call_site.line in places


@triton.jit
def together(x, N: tl.constexpr, IN_TURN: tl.constexpr):
    at = x + tl.arange(0, N)
    first = tle.dsa.alloc([N], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(at, first, [N])
    if IN_TURN:
        tle.dsa.copy(first, at, [N])
    second = tle.dsa.alloc([N], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(at, second, [N])
    if not IN_TURN:
        tle.dsa.add(first, second, second)
    tle.dsa.copy(second, at, [N])


@pytest.mark.every_triton(1)
def test_buffers_that_live_together_share_the_space():
    x = np.ones(32768, np.float32)
    _on_the_cpu(together, x, N=32768, IN_TURN=True)  # 128 KiB, twice, one after the other
    assert (x == 1).all()
    with pytest.raises(tle_raw.errors.LocalMemoryError) as raised:
        _on_the_cpu(together, x, N=32768, IN_TURN=False)
    said = str(raised.value)
    assert "`second` does not fit into UB" in said and "65536 left of 196608" in said and "131072 asked" in said
    assert "`first` 131072" in said and "second = tle.dsa.alloc" in said


@pytest.mark.one_triton
def test_another_chip_has_another_memory():
    x = np.ones(32768, np.float32)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target, tle_raw.knobs.cpu.chip = "cpu", "950PR_9599"
        with pytest.raises(tle_raw.errors.LocalMemoryError, match="122880 left of 253952"):
            together[(1,)](x, N=32768, IN_TURN=False)
        with pytest.raises(tle_raw.errors.KnobError, match="910B3"):
            tle_raw.knobs.cpu.chip = "A100"


@triton.jit
def unwritten(x, WHAT: tl.constexpr):
    at = x + tl.arange(0, 64)
    u = tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    if WHAT == "all, as an operand":
        tle.dsa.add(u, u, u)
    if WHAT == "all, as a tensor":
        tl.store(at, tle.dsa.to_tensor(u))
    if WHAT == "all, copied":
        tle.dsa.copy(u, at, [64])
    if WHAT == "the tail, copied":
        tle.dsa.copy(at, u, [40])
        tle.dsa.copy(u, at, [41])
    if WHAT == "the tail, computed":
        tle.dsa.copy(at, u, [40])
        tle.dsa.add(u, u, u)
        tle.dsa.copy(u, at, [64])


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("what", ["all, as an operand", "all, as a tensor", "all, copied", "the tail, copied"])
def test_use_before_the_first_write(what):
    x = np.ones(64, np.float32)
    with tle_raw.knobs.scope():
        tle_raw.knobs.debug = True
        with pytest.raises(tle_raw.errors.KernelFailed) as raised:
            _on_the_cpu(unwritten, x, WHAT=what)
    said = str(raised.value)
    assert "the buffer `u` is read before" in said
    assert f"test_errors.py:{_line_of(what, 2 if 'tail' in what else 1)}" in said
    assert ("element = 40" in said) == ("tail" in what)


@pytest.mark.one_triton
def test_what_was_not_written_is_poison():
    x = np.ones(64, np.float32)
    with tle_raw.knobs.scope():
        tle_raw.knobs.debug = True
        _on_the_cpu(unwritten, x, WHAT="the tail, computed")
    assert (x[:40] == 2).all() and np.isnan(x[40:]).all()


@pytest.mark.every_triton(1)
def test_spaces_that_a_gpu_lacks_are_named():
    with pytest.raises(Exception) as raised:
        compile_kernel(kernel, {"x": "*fp32", "n": "i32"}, {"WHAT": "into L0A"})
    error = cause_of(raised.value)
    assert isinstance(error, tle_raw.errors.LocalMemoryError)
    assert "a GPU has no L0A" in str(error) and "UB or L1" in str(error) and "tl.dot" in str(error)
