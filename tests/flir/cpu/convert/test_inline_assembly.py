"""``tl.inline_asm_elementwise`` on the CPU: registers as Triton packs them for GPUs, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of
from tle_raw.errors import KernelFailed, LoweringError

N = 64


@triton.jit
def two_results(a_ptr, b_ptr, c_ptr, d_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    c, d = tl.inline_asm_elementwise(
        """
        {
            // bytes "in" one register
            .reg .b8 byte<4>;
            mov.b32 {byte0, byte1, byte2, byte3}, $8;
            cvt.u32.u8 $0, byte0;
            cvt.u32.u8 $1, byte1;
            cvt.u32.u8 $2, byte2;
            cvt.u32.u8 $3, byte3;
        }
        cvt.rn.f32.s32 $4, $0;
        cvt.rn.f32.s32 $5, $1;
        cvt.rn.f32.s32 $6, $2;
        cvt.rn.f32.s32 $7, $3;
        max.f32 $4, $4, $9;
        max.f32 $5, $5, $10;
        max.f32 $6, $6, $11;
        max.f32 $7, $7, $12;
        """,
        "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r,r,r,r",
        [tl.load(a_ptr + i), tl.load(b_ptr + i)],
        dtype=(tl.int32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(c_ptr + i, c)
    tl.store(d_ptr + i, d)


def test_several_results_of_packed_bytes():
    a, b = torch.randint(256, (N,), dtype=torch.uint8), torch.randn(N) * 100
    c, d = torch.zeros(N, dtype=torch.int32), torch.zeros(N)
    two_results[(1,)](a, b, c, d, N)
    assert torch.equal(c, a.int())
    assert torch.equal(d, torch.maximum(a.float(), b))


@triton.jit
def mapped(x_ptr, y_ptr, o_ptr, N: tl.constexpr, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr):
    i = tl.arange(0, N)
    given = [tl.load(x_ptr + i), tl.load(y_ptr + i)]
    found = tl.inline_asm_elementwise(ASM, CONSTRAINTS, given, o_ptr.dtype.element_ty, is_pure=True, pack=PACK)
    tl.store(o_ptr + i, found)


def run(assembly, constraints, x, y, dtype, pack=1):
    o = torch.zeros(x.shape, dtype=dtype)
    mapped[(1,)](x, y, o, x.numel(), assembly, constraints, pack)
    return o


def numbers(dtype):
    if dtype.is_floating_point:
        return torch.randn(N).to(dtype)
    return torch.randint(-(2**31), 2**31, (N,), dtype=torch.int64).to(dtype)


@pytest.mark.parametrize(
    "dtype, kind, letter, pack",
    [
        (torch.int16, "s16", "h", 1), (torch.int32, "s32", "r", 1), (torch.int64, "s64", "l", 1),
        (torch.float32, "f32", "f", 1), (torch.float32, "f32", "r", 1), (torch.float64, "f64", "d", 1),
    ],
)  # fmt: skip
def test_registers_of_every_size(dtype, kind, letter, pack):
    x, y = numbers(dtype), numbers(dtype)
    found = run(f"max.{kind} $0, $1, $2;", f"={letter},{letter},{letter}", x, y, dtype, pack)
    assert torch.equal(found, torch.maximum(x, y))


@pytest.mark.parametrize("dtype, kind", [(torch.float16, "f16x2"), (torch.bfloat16, "bf16x2")])
def test_two_halves_in_a_register(dtype, kind):
    x, y = numbers(dtype), numbers(dtype)
    assert torch.equal(run(f"max.{kind} $0, $1, $2;", "=r,r,r", x, y, dtype, 2), torch.maximum(x, y))


def test_half_precision_alone():
    x, y = numbers(torch.float16), numbers(torch.float16)
    assert torch.equal(run("add.f16 $0, $1, $2;", "=h,h,h", x, y, torch.float16), x + y)


@pytest.mark.parametrize("pack", [1, 2, 4, 8])
def test_more_elements_than_a_register_has(pack):
    """Two results of bytes for each register of four; two registers of a pack of eight."""
    x, y = numbers(torch.int8), numbers(torch.int8)
    count = -(-pack // 4)
    lines = "".join(f"xor.b32 ${n}, ${count + n}, ${2 * count + n};" for n in range(count))
    letters = ",".join(["=r"] * count + ["r"] * 2 * count)
    assert torch.equal(run(lines, letters, x, y, torch.int8, pack), x ^ y)


def test_elements_of_other_sizes_are_packed_each_by_its_own():
    x, y = numbers(torch.int8), numbers(torch.int64)
    assembly = """{ .reg .b32 t; .reg .b64 w;
    bfe.s32 t, $4, 0, 8; cvt.s64.s32 w, t; add.s64 $0, w, $5;
    bfe.s32 t, $4, 8, 8; cvt.s64.s32 w, t; add.s64 $1, w, $6;
    bfe.s32 t, $4, 16, 8; cvt.s64.s32 w, t; add.s64 $2, w, $7;
    bfe.s32 t, $4, 24, 8; cvt.s64.s32 w, t; add.s64 $3, w, $8; }"""
    found = run(assembly, "=l,=l,=l,=l,r,l,l,l,l", x, y, torch.int64, 4)
    assert torch.equal(found, x.long() + y)


@pytest.mark.parametrize(
    "assembly, constraints, reference",
    [
        ("lop3.b32 $0, $1, $2, $1, 0x96;", "=r,r,r", lambda x, y: x ^ y ^ x),
        ("prmt.b32 $0, $1, $2, 0x5410;", "=r,r,r", lambda x, y: (x & 0xFFFF) | (y << 16)),
        ("{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }", "=r,r,r", np.minimum),
        ("add.s32 $0, $0, $2;", "=r,0,r", lambda x, y: x + y),
        ("mul.hi.s32 $0, $1, $2;", "=r,r,r,~{memory}", lambda x, y: ((x.astype(np.int64) * y) >> 32).astype(np.int32)),
        (
            "popc.b32 $0, $1; // π $$",
            "=r,r,r",
            lambda x, y: np.array([bin(v & 0xFFFFFFFF).count("1") for v in x.tolist()]),
        ),
    ],
    ids=["lop3", "prmt", "predicate", "tied", "clobber", "comment"],
)
def test_integers(assembly, constraints, reference):
    x, y = numbers(torch.int32), numbers(torch.int32)
    with np.errstate(over="ignore"):
        wanted = reference(x.numpy(), y.numpy())
    assert np.array_equal(run(assembly, constraints, x, y, torch.int32).numpy(), wanted)


def test_a_loop_within():
    x, y = torch.randint(1, 50, (N,), dtype=torch.int32), torch.randint(1, 50, (N,), dtype=torch.int32)
    # A label may be called as an instruction is.
    gcd = """{ .reg .u32 a, b, r; .reg .pred q; mov.u32 a, $1; mov.u32 b, $2;
    bar: rem.u32 r, a, b; mov.u32 a, b; mov.u32 b, r; setp.ne.u32 q, b, 0; @q bra bar; mov.u32 $0, a; }"""
    assert torch.equal(run(gcd, "=r,r,r", x, y, torch.int32), torch.gcd(x, y))


@triton.jit
def of_scalars_and_pointers(x_ptr, o_ptr, far_ptr, n, N: tl.constexpr):
    seven = tl.inline_asm_elementwise("mov.u32 $0, 7;", "=r", [], tl.int32, is_pure=True, pack=1)
    twice = tl.inline_asm_elementwise("add.s32 $0, $1, $1;", "=r,r", [n], tl.int32, is_pure=True, pack=1)
    i = tl.arange(0, N)
    moved = tl.inline_asm_elementwise(
        "add.s64 $0, $1, $2;", "=l,l,l", [x_ptr + i, (4 * i).to(tl.int64)], tl.int64, is_pure=True, pack=1
    )
    tl.store(o_ptr + i, moved - (x_ptr + i).to(tl.int64) + seven * twice)
    small = tl.reshape(i, (N // 2, 2))  # rows shorter than a pack
    both = tl.inline_asm_elementwise(
        "neg.s32 $0, $4; neg.s32 $1, $5; neg.s32 $2, $6; neg.s32 $3, $7;",
        "=r,=r,=r,=r,r,r,r,r",
        [small],
        tl.int32,
        True,
        4,
    )
    tl.store(far_ptr + small, both)


def test_scalars_pointers_and_short_rows():
    x = torch.zeros(N)
    o, far = torch.zeros(N, dtype=torch.int64), torch.zeros(N, dtype=torch.int32)
    of_scalars_and_pointers[(1,)](x, o, far, 21, N)
    assert o.tolist() == [4 * i + 7 * 42 for i in range(N)]
    assert far.tolist() == [-i for i in range(N)]


@triton.jit
def in_a_loop(x_ptr, o_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x_ptr + i)
    while tl.max(value, 0) > n:
        value = tl.inline_asm_elementwise("shr.s32 $0, $1, 1;", "=r,r", [value], tl.int32, True, 1)
    tl.store(o_ptr + i, value)


def test_in_a_loop_of_the_kernel():
    x, o = torch.randint(0, 2**30, (N,), dtype=torch.int32), torch.zeros(N, dtype=torch.int32)
    in_a_loop[(1,)](x, o, 100, N)
    wanted = x.clone()
    while wanted.max() > 100:
        wanted >>= 1
    assert torch.equal(o, wanted)


@triton.jit
def larger(a, b):
    return tl.inline_asm_elementwise("max.s32 $0, $1, $2;", "=r,r,r", [a, b], tl.int32, is_pure=True, pack=1)


@triton.jit
def combined(x_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j)
    tl.store(o_ptr + i, tl.reduce(x, 1, larger))
    tl.store(o_ptr + M + i[:, None] * N + j, tl.associative_scan(x, 1, larger))


@pytest.mark.parametrize("debug", [False, True])
def test_in_reductions_and_scans(debug, monkeypatch):
    monkeypatch.setattr(tle_raw.knobs, "debug", debug)
    x, o = torch.randint(-(2**31), 2**31, (4, 16), dtype=torch.int64).int(), torch.zeros(4 + 64, dtype=torch.int32)
    combined[(1,)](x, o, 4, 16)
    assert torch.equal(o[:4], x.amax(1))
    assert torch.equal(o[4:].view(4, 16), x.cummax(1).values)


@pytest.mark.parametrize(
    "assembly, constraints, words",
    [
        ("frob.u32 $0, $1, $2;", "=r,r,r", "`frob.u32` cannot be emulated"),
        ("add.u32 $0, $1, z;", "=r,r,r", r"`add.u32` \(`z` is neither a register nor a number\) cannot be emulated"),
        ("add.u32 $0, $1, 1.5;", "=r,r,r", r"`add.u32` \(`1.5` is no number for a register of 32 bits\)"),
        ("add.u32 z, $1, $2;", "=r,r,r", r"`add.u32` \(`z` is no register\)"),
        ("@!%p0 add.u32 $0, $1, $2;", "=r,r,r", r"`add.u32` \(`%p0` is no register that the CPU has\)"),
        ("mov.u32 $0, %tid.x;", "=r,r,r", "threadIdx"),
        ("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r,r", "an operation of a warp"),
        ("mov.u32 $0, $1;", "=r,r", "inputs .* 2 .* 1"),
        ("mov.u32 $0, $1;", "=r,=r,r,r", "outputs .* 1 .* 2"),
        ("mov.u32 $0, $1;", "=q,r,r", "asks for `q`"),
        ("mov.u32 $0, $1", "=r,r,7", "asks for `7`"),
        ("mov.u32 $0, 1;", "=r,r,h", "too small: number 1 of its inputs, `h`.*32 or more +16"),
    ],
)
def test_what_is_refused_names_the_kernel_s_line(assembly, constraints, words):
    x = numbers(torch.int32)
    with pytest.raises(Exception) as caught:
        run(assembly, constraints, x, x, torch.int32)
    error = cause_of(caught.value)
    assert isinstance(error, LoweringError)
    text = str(error)
    assert re.search(words, text, re.S), text
    assert "test_inline_assembly.py" in text and "found = tl.inline_asm_elementwise" in text


@triton.jit
def not_pure(o_ptr, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, 2)
    for n in range(2):
        now = tl.inline_asm_elementwise(ASM, CONSTRAINTS, [i.to(tl.int64)], tl.int64, is_pure=False, pack=1)
        tl.store(o_ptr + 2 * n + i, now)


def test_a_clock_is_read_where_it_stands():
    o = torch.zeros(4, dtype=torch.int64)
    not_pure[(1,)](o, "mov.u64 $0, %globaltimer;", "=l,l")
    first, _, second, _ = o.tolist()
    assert 0 < first < second


@pytest.mark.parametrize(
    "assembly, words",
    [
        ("{bar.sync 0; mov.u64 $0, 0;}", "a barrier"),
        ("{ .reg .pred p; vote.sync.any.pred p, 1, -1; selp.u64 $0, 1, 0, p; }", "an operation of a warp"),
    ],
)
def test_what_blocks_do_together_is_refused(assembly, words):
    with pytest.raises(Exception) as caught:
        not_pure[(1,)](torch.zeros(4, dtype=torch.int64), assembly, "=l,l")
    error = cause_of(caught.value)
    assert isinstance(error, LoweringError)
    assert re.search(words, str(error))
    assert "now = tl.inline_asm_elementwise" in str(error)


@pytest.mark.parametrize(
    "assembly, reference",
    [
        ("tanh.approx.f32 $0, $1;", torch.tanh),
        ("ex2.approx.ftz.f32 $0, $1;", torch.exp2),
        ("rcp.approx.ftz.f32 $0, $1;", torch.reciprocal),
        ("{ .reg .f32 t; abs.f32 t, $1; rsqrt.approx.f32 $0, t; }", lambda x: x.abs().rsqrt()),
        ("{ .reg .f32 t; abs.f32 t, $1; lg2.approx.f32 $0, t; }", lambda x: x.abs().log2()),
        ("div.rn.f32 $0, $1, $2;", lambda x: x / 3),
        ("fma.rn.f32 $0, $1, $2, $1;", lambda x: 3 * x + x),
        ("sin.approx.f32 $0, $1;", torch.sin),
    ],
)
def test_what_other_people_s_kernels_write(assembly, reference):
    x = torch.randn(N)
    found = run(assembly, "=f,f,f", x, torch.full((N,), 3.0), torch.float32)
    torch.testing.assert_close(found.double(), reference(x.double()), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind, dtype", [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)])
def test_two_numbers_to_fp8(kind, dtype):
    x = torch.randn(N) * 50
    assembly = f"{{ .reg .b16 t; cvt.rn.satfinite.{kind}x2.f32 t, $2, $1; cvt.u32.u16 $0, t; }}"
    assert torch.equal(run(assembly, "=r,f,f,f,f", x, x, torch.int8, 2), x.to(dtype).view(torch.int8))


@triton.jit
def with_constants(x_ptr, o_ptr, N: tl.constexpr):
    """As kernels write it that take apart weights of four bits."""
    i = tl.arange(0, N)
    TABLE: tl.constexpr = (0xF0 & 0xCC) | 0xAA
    low, high = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $2, $3, $4, $5; sub.f16x2 t, t, $6; mov.b32 {$0, $1}, t; }",
        "=h,=h,r,n,n,i,r",
        [tl.load(x_ptr + i), 0x000F000F, 0x64006400, TABLE, 0x64006400],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=1,
    )
    large = tl.inline_asm_elementwise("add.s64 $0, $1, $2;", "=l,l,n", [i.to(tl.int64), 1 << 40], tl.int64, True, 1)
    tl.store(o_ptr + i, low + 16 * high + (large >> 40).to(tl.float16) * 256)


def test_constants_of_the_text():
    x, o = numbers(torch.int32), torch.zeros(N, dtype=torch.float16)
    with_constants[(1,)](x, o, N)
    assert torch.equal(o, ((x & 15) + 16 * (x >> 16 & 15) + 256).half())


def test_constraints_with_blanks():
    x, y = numbers(torch.int32), numbers(torch.int32)
    assert torch.equal(run("sub.s32 $0, $1, $2;", "=r, r, r", x, y, torch.int32), x - y)


@triton.jit
def through_pointers(x_ptr, o_ptr, count_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    for n in range(2):
        tl.inline_asm_elementwise(
            "ld.global.b8 $0, [$1]; shl.b32 $0, $0, 1; st.global.b8 [$2], $0;", "=r,l,l",
            [(o_ptr if n else x_ptr) + i, o_ptr + i], dtype=tl.int8, is_pure=False, pack=1,
        )  # fmt: skip
    tl.inline_asm_elementwise(
        "st.global.u32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [count_ptr, N], tl.int32, is_pure=False, pack=1
    )
    tl.store(o_ptr + N, tl.load(o_ptr + N - 1))


def test_memory_by_pointers():
    x, o, count = (
        torch.randint(256, (N,), dtype=torch.uint8),
        torch.zeros(N + 1, dtype=torch.uint8),
        torch.zeros(1).int(),
    )
    through_pointers[(3,)](x, o, count, N)
    assert torch.equal(o[:N], x << 2)
    assert o[N] == o[N - 1]
    assert count.item() == N


@triton.jit
def four_at_a_time(x_ptr, o_ptr, N: tl.constexpr, ASM: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.inline_asm_elementwise(
        ASM, "=r,=r,=r,=r,l", [x_ptr + 4 * i], (tl.int32, tl.int32, tl.int32, tl.int32), is_pure=False, pack=1
    )
    tl.store(x_ptr + 4 * i, -1)  # behind it
    tl.store(o_ptr + i, a + 2 * b + 3 * c + 4 * d)


def test_a_vector_of_memory():
    x, o = numbers(torch.int32).clone(), torch.zeros(N // 4, dtype=torch.int32)
    wanted = (x.view(-1, 4) * torch.arange(1, 5, dtype=torch.int32)).sum(1, dtype=torch.int32)
    four_at_a_time[(1,)](x, o, N // 4, "ld.global.v4.b32 {$0, $1, $2, $3}, [$4];")
    assert torch.equal(o, wanted)
    assert (x[::4] == -1).all()


def test_a_branch_over_memory():
    """Forward, it repeats nothing."""
    x, o = numbers(torch.int32).clone(), torch.zeros(N // 4, dtype=torch.int32)
    wanted = torch.where(x[::4] < 0, 0, (x.view(-1, 4) * torch.arange(1, 5, dtype=torch.int32)).sum(1).int())
    assembly = """
    {
        .reg .pred negative;
        ld.global.b32 $0, [$4]; setp.lt.s32 negative, $0, 0;
        mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0;
        @negative bra end;
        ld.global.v4.b32 {$0, $1, $2, $3}, [$4];
        end:
    }"""
    four_at_a_time[(1,)](x, o, N // 4, assembly)
    assert torch.equal(o, wanted)


def test_vectors_of_registers():
    """As kernels write it that add eight bfloat16 at a time."""
    x, y = numbers(torch.bfloat16).view(torch.int64), numbers(torch.bfloat16).view(torch.int64)
    assembly = """
    {
        .reg .v4 .b32 %sum, %other;
        .reg.v2 .b32 zeros;
        mov.v4.b32 %sum, 0;
        mov.v2.b32 zeros, {0, 0};
        mov.b64 {%sum.x, %sum.y}, $1;
        mov.b64 {%other.x, %other.y}, $2;
        mov.v2.b32 {%other.z, %other.w}, zeros;
        add.bf16x2 %sum.x, %sum.x, %other.x;
        add.bf16x2 %sum.y, %sum.y, %other.y;
        add.bf16x2 %sum.z, %sum.z, %other.w;
        or.b32 %sum.y, %sum.y, %sum.z;
        mov.b64 $0, {%sum.x, %sum.y};
    }"""
    o = torch.zeros(16, dtype=torch.int64)
    mapped[(1,)](x, y, o, 16, assembly, "=l,l,l", 1)
    assert torch.equal(o.view(torch.bfloat16), x.view(torch.bfloat16) + y.view(torch.bfloat16))


@pytest.mark.parametrize("hint", ["cp.async.bulk.prefetch.L2.global [$1], 64", "prefetch.global.L2 [$1]"])
def test_a_hint_for_caches_does_nothing(hint):
    o = torch.zeros(4, dtype=torch.int64)
    not_pure[(1,)](o, f"{hint}; add.s64 $0, $1, 7;", "=l,l")
    assert o.tolist() == [7, 8, 7, 8]


def test_memory_is_written_once():
    x = numbers(torch.int32)
    with pytest.raises(Exception, match="writes memory has one result on a CPU, not several"):
        four_at_a_time[(1,)](x, x, N // 4, "ld.global.v4.b32 {$0, $1, $2, $3}, [$4]; st.global.b32 [$4], $3;")


@triton.jit
def the_same_twice(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x_ptr + i], tl.int32, False, 1)
    y = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [y_ptr + i], tl.int32, False, 1)
    tl.store(o_ptr + i, x + y)


def test_debug_tells_of_equal_assembly_by_line(monkeypatch):
    monkeypatch.setattr(tle_raw.knobs, "debug", True)
    x, y, o = numbers(torch.int32), numbers(torch.int32), torch.zeros(N, dtype=torch.int32)
    the_same_twice[(1,)](x, y, o, N)
    assert torch.equal(o, x + y)
    for operands, line in ((x[: N // 2].clone(), y), "x = tl."), ((x, y[: N // 2].clone()), "y = tl."):
        with pytest.raises(KernelFailed, match="`inline_asm` reads 4 bytes outside") as caught:
            the_same_twice[(1,)](*operands, o, N)
        assert caught.value.context.source is not None and line in caught.value.context.source.text


@triton.jit
def a_result_that_nobody_reads(x_ptr, N: tl.constexpr):
    places = (x_ptr + tl.arange(0, N)).to(tl.uint64)
    tl.inline_asm_elementwise("st.global.b32 [$1], 7; mov.u32 $0, 0;", "=r, l", [places], places.dtype, False, 1)


def test_a_result_that_nobody_reads_may_be_larger_than_its_register():
    x = torch.zeros(N + 1, dtype=torch.int32)
    a_result_that_nobody_reads[(1,)](x, N)
    assert x.tolist() == [7] * N + [0]
