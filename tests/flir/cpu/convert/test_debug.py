"""device_print and device_assert: what reaches the user, from which program."""

import re

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

import tle_raw
from tests.flir.cpu.convert.support import assert_lines
from tle_raw.errors import KernelFailed


@triton.jit
def prints(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.device_print("start")
    tl.device_print("tile", v)
    tl.device_print("scalars", n, n * 0.5)
    tl.device_print("hex", v.to(tl.int16), hex=True)
    tl.device_print("square", (at % 4).reshape(2, B // 2) > 1)
    tl.device_print("unsigned", v.to(tl.uint8))


def test_prints_name_program_and_index(capfd):
    prints[(2,)](torch.tensor([1.5, -2.0, 3.0, 200.0]), 7, B=4)
    text = capfd.readouterr().out
    lines = text.splitlines()
    assert [line for line in lines if "start" in line] == ["pid (0, 0, 0) start", "pid (1, 0, 0) start"]
    assert "pid (1, 0, 0) idx (1) tile: -2.000000" in lines
    assert "pid (0, 0, 0) idx () scalars: (operand 0) 7" in lines
    assert "pid (0, 0, 0) idx () scalars: (operand 1) 3.500000" in lines
    assert "pid (0, 0, 0) idx (3) hex: 0x00c8" in lines
    assert "pid (0, 0, 0) idx (1, 1) square: 1" in lines
    assert "pid (0, 0, 0) idx (3) unsigned: 200" in lines
    assert len(lines) == 2 * (1 + 4 + 2 + 4 + 4 + 4)


@triton.jit(debug=True)
def asserts(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + at)
    tl.device_assert(v < 100, "too large", mask=at > 0)  # here
    tl.device_assert(tl.sum(v) < 1000)
    tl.store(out + tl.program_id(0) * B + at, v)


def test_a_failed_assertion_names_message_line_and_program():
    x, out = torch.zeros(4, 16), torch.zeros(4, 16)
    x[:, 0] = 200  # masked
    asserts[(4,)](x, out, B=16)
    assert torch.equal(out, x)
    x[2, 5] = 100
    with pytest.raises(KernelFailed) as caught:
        asserts[(4,)](x, out, B=16)
    text = str(caught.value)
    assert "too large" in text
    assert "# here" in text
    assert re.search(r"\b2\b", text)
    asserts[(2,)](x, out, B=16)  # the next launch starts anew


@triton.jit
def quiet(x, B: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, B)) < 0, "never checked")


def test_assertions_cost_nothing_without_debug():
    assert "tle.fail" not in quiet[(1,)](torch.zeros(16), B=16).asm["linalg"]


@triton.jit
def overflows(x, out, y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) + y)


def test_overflows_are_found_when_debugging():
    x, out = torch.full((16,), 2**31 - 1, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    overflows[(1,)](x, out, 1, B=16)
    assert out[0] == -(2**31)
    with pytest.raises(KernelFailed, match="overflow"):
        overflows[(1,)](x, out, 1, B=16, debug=True)


@triton.jit
def outside(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at))  # here


def test_memory_outside_of_the_arguments_is_found_when_debugging():
    x, out = torch.zeros(16), torch.zeros(8)
    with tle_raw.knobs.scope():
        tle_raw.knobs.debug = True
        with pytest.raises(KernelFailed, match="store outside") as caught:
            outside[(1,)](x, out, B=16)
    assert "# here" in str(caught.value)


@triton.jit
def assumes(out, n):
    tl.assume(n % 8 == 0)
    tl.assume(tl.program_id(0) > 0)  # here
    tl.store(out + tl.program_id(0), n // 8)


def test_assumptions_that_do_not_hold_are_found_when_debugging():
    out = torch.zeros(2, dtype=torch.int32)
    assumes[(2,)](out, 24)
    assert out.tolist() == [3, 3]
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = True
        with pytest.raises(KernelFailed, match=r"what `tl.assume` says does not hold, in program \(0,") as caught:
            assumes[(2,)](out, 24)
        assert "# here" in str(caught.value)
        with pytest.raises(KernelFailed, match=r"`tl.assume` says"):
            assumes[(1,)](out, 25)


def test_a_print_calls_the_hosts_printf(tmp_path, capfd):
    text = prints[(1,)](torch.zeros(4), 7, B=4).asm["linalg"]
    lines = """
        // CHECK-DAG: llvm.mlir.global private constant @[[START:.*]]("pid (%u, %u, %u) start\\0A\\00")
        // CHECK: llvm.mlir.addressof @[[START]] : !llvm.ptr
        // CHECK: llvm.call @printf
        // CHECK: llvm.call @fflush
        // CHECK: scf.for
        // CHECK: llvm.call @printf
    """
    assert_lines(text, lines, tmp_path)
    capfd.readouterr()
