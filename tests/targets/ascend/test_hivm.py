"""What bishengir-compile makes of the programs, where it is installed: memories, pipes, synchronisation, its errors."""

import pytest
import triton
import triton.language as tl

pytest.importorskip("torch_mlir")

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of
from tests.targets.ascend import compiling
from tle_raw.errors import LocalMemoryError, LoweringError
from tle_raw.targets.chips import CHIPS

pytestmark = [pytest.mark.every_triton(2), compiling.needs_compiler]


def test_arithmetic_in_ub():
    compiled = compiling.compile_case("chain")
    report = tle_raw.report(compiled)
    used = {memory.name: memory.bytes for memory in report.memories}
    assert used == {"UB": 3 * 16 * 64 * 4, "L1": 0, "L0A": 0, "L0B": 0, "L0C": 0}
    pipes = dict(report.pipes)
    assert pipes == {"PIPE_MTE2": 2, "PIPE_V": 4, "PIPE_MTE3": 1}
    assert dict(report.synchronisation)["set_flag"] == dict(report.synchronisation)["wait_flag"] == 2
    said = str(report)
    assert "UB: 12288 of 196608 bytes" in said and "hivmc" in said and "a card" in said


def test_a_product_goes_through_l1_and_l0c():
    report = tle_raw.report(compiling.compile_case("product", ON_GPU=False))
    used = {memory.name: memory.bytes for memory in report.memories}
    assert used["L1"] == 2 * 64 * 32 * 2 and used["L0C"] == 64 * 64 * 4 and used["UB"] == 0
    assert {"PIPE_M", "PIPE_FIX", "PIPE_MTE2"} <= set(dict(report.pipes))


@pytest.mark.parametrize("case", ["flow", "rows", "slices", "carried", "chain of halves"])
def test_programs_go_as_far_as_hivmc(case):
    report = tle_raw.report(compiling.compile_case(case))
    assert "others" not in dict(report.pipes)
    assert {"PIPE_MTE2", "PIPE_MTE3", "PIPE_V"} <= set(dict(report.pipes))
    assert 0 < report.memories[0].bytes <= report.memories[0].capacity


def test_reductions():
    compiled = compiling.compile_for(
        compiling.softmax, {"x": "*fp32", "o": "*fp32", "n": "i32", "total": "*fp32"}, {"B": 16, "C": 64}
    )
    assert compiled.asm["linalg"].count("linalg.reduce") == 3
    assert "reduce" in compiled.asm["hivm"].decode()


def test_what_the_vector_units_lack_is_said_at_the_kernels_line():
    with pytest.raises(LoweringError, match=r"hivm\.hir\.vmax") as raised:
        compiling.compile_case("clamp")  # of int8
    assert "kernels.py" in raised.value.context.call_site.file and raised.value.context.call_site.line > 1


@triton.jit
def in_place(x, o, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    u = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(x + offs, u, [n])
    tle.dsa.add(u, u, u)
    half = tle.dsa.subview(u, [0], [B // 2], [2])
    tle.dsa.mul(half, half, half)
    tle.dsa.copy(half, o + tl.arange(0, B // 2), [n // 2])
    tle.dsa.copy(u, o + offs, [n])


def test_a_buffer_that_gets_and_gives_a_part():
    """As memrefs that is a crash of bishengir-compile 1.2.0."""
    report = tle_raw.report(compiling.compile_for(in_place, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"B": 128}))
    assert report.memories[0].bytes > 0 and dict(report.pipes)["PIPE_MTE3"] == 2


@triton.jit
def crowded(x, o, B: tl.constexpr):
    offs = tl.arange(0, B)
    a = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    b = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(x + offs, a, [B])
    tle.dsa.copy(o + offs, b, [B])
    tle.dsa.add(a, b, b)
    tle.dsa.copy(b, o + offs, [B])


def test_an_overflow_is_said_at_the_kernels_line():
    with pytest.raises(Exception) as raised:
        compiling.compile_for(crowded, {"x": "*fp32", "o": "*fp32"}, {"B": 32768})
    error = cause_of(raised.value)
    assert isinstance(error, LocalMemoryError) and "ub overflow" in str(error)
    assert "at most 196608" in str(error) and "262144" in str(error)
    assert error.context.call_site.file == __file__


@pytest.mark.one_triton
@pytest.mark.parametrize("chip", ["910B1", "910B3", "910_9382", "950PR_9599"])
def test_the_table_of_chips_is_the_compilers(chip):
    text = compiling.compile_case("chain", chip=chip).asm["hivm"].decode()
    for name, size in CHIPS[chip].items():
        assert f'"{name}_SIZE", {size * 8} : i32' in text
