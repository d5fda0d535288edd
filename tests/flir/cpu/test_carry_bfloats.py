"""bf16 that only moves is carried as integers, by its bits."""

from __future__ import annotations

import struct

import pytest

from tle_raw.flir.cpu.carry_bfloats import carry_bfloats

pytestmark = pytest.mark.one_triton


def bits(number: float) -> int:
    return struct.unpack("<I", struct.pack("<f", number))[0] >> 16


@pytest.mark.parametrize("line,wanted", [
    ("  %5 = phi <64 x bfloat> [ zeroinitializer, %3 ], [ %4, %2 ]",
     "  %5 = phi <64 x i16> [ zeroinitializer, %3 ], [ %4, %2 ]"),
    ("  store <4 x bfloat> %1, ptr %2, align 2", "  store <4 x i16> %1, ptr %2, align 2"),
    ("  %2 = bitcast i16 %1 to bfloat", "  %2 = bitcast i16 %1 to i16"),
    ("  %2 = select i1 %c, bfloat 0xR3FC0, bfloat %1", "  %2 = select i1 %c, i16 16320, i16 %1"),
    ("  %2 = select i1 %c, bfloat +qnan, bfloat -inf", "  %2 = select i1 %c, i16 32704, i16 65408"),
    ("  %2 = select i1 %c, bfloat -1.500000e+00, bfloat 1.0",
     f"  %2 = select i1 %c, i16 {bits(-1.5)}, i16 {bits(1.0)}"),
    ("  %2 = tail call <8 x bfloat> @llvm.masked.load.v8bf16.p0(ptr %1, i32 2, <8 x i1> %m, <8 x bfloat> %p)",
     "  %2 = tail call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %1, i32 2, <8 x i1> %m, <8 x i16> %p)"),
    ('  %2 = getelementptr bfloat, ptr %"a bfloat", i64 512', '  %2 = getelementptr i16, ptr %"a bfloat", i64 512'),
])  # fmt: skip
def test_what_moves_becomes_an_integer(line, wanted):
    other = "  %9 = fadd float 1.500000e+00, %8"
    assert carry_bfloats(f"{other}\n{line}\n{other}") == f"{other}\n{wanted}\n{other}"


@pytest.mark.parametrize("line", [
    "  %2 = fadd bfloat %0, %1",
    "  %2 = fpext bfloat %1 to float",
    "  %2 = call bfloat @outside(bfloat %1)",
    "declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)",
    "define bfloat @inner(bfloat %0) {",
    "  %2 = select nnan i1 %c, bfloat %0, bfloat %1",
    "  %2 = select i1 %c, bfloat +nan(0x1), bfloat %1",
    "  %2 = select i1 %c, bfloat 1.001000e+00, bfloat %1",
])  # fmt: skip
def test_a_module_that_computes_with_it_stays_as_it_is(line):
    text = f"  store bfloat %0, ptr %p\n{line}"
    assert carry_bfloats(text) == text


DECLARED = "declare void @llvm.masked.scatter.v8{0}.v8p0(<8 x {1}>, <8 x ptr>, <8 x i1>)"


@pytest.mark.parametrize("names", [("bf16", "bfloat"), ("i16", "i16")])
def test_integers_that_move_in_the_same_way_are_declared_once(names):
    lines = [DECLARED.format("i16", "i16"), DECLARED.format("bf16", "bfloat")]
    ordered = lines if names[0] == "bf16" else lines[::-1]
    carried = carry_bfloats("\n".join(ordered))
    assert carried.count("declare") == 1 and lines[0] in carried and "bf" not in carried


def test_values_that_live_across_blocks_of_code():
    """Without AVX512-BF16 LLVM called ``__truncsfbf2`` here."""
    pytest.importorskip("torch_mlir.ir")
    import torch
    import triton
    import triton.language as tl

    import tle_raw

    @triton.jit
    def copied(x, at, o, n, B: tl.constexpr, C: tl.constexpr):
        rows, columns = tl.arange(0, B), tl.arange(0, C)
        ids = tl.load(at + rows)
        mask = (ids >= 0)[:, None] & (columns < n)[None, :]
        tile = tl.load(x + ids[:, None] * C + columns[None, :], mask=mask, other=0.0)
        tl.store(o + rows[:, None] * C + columns[None, :], tile)

    x = torch.randn(8, 256).bfloat16()
    at = torch.tensor([3, -1, 0, 7], dtype=torch.int32)
    o = torch.full((4, 256), float("nan")).bfloat16()
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        copied[(1,)](x, at, o, 200, B=4, C=256)
    wanted = torch.where(at[:, None] >= 0, x[at.clamp(min=0).long()], 0.0)
    wanted[:, 200:] = 0
    assert torch.equal(o, wanted.bfloat16())
