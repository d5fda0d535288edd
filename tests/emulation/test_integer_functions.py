"""CUDA's integer intrinsics on the CPU, against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulation.tables import evaluate

pytestmark = pytest.mark.one_triton

RNG = np.random.default_rng(11)
N = 300
X = RNG.integers(0, 2**32, N, dtype=np.uint32)
Y = RNG.integers(0, 2**32, N, dtype=np.uint32)
X[:4], Y[:4] = (0, 1, 0xFFFFFFFF, 0x80000000), (0, 0xFFFFFFFF, 0xFFFFFFFF, 1)
L = (X.astype("u8") << np.uint64(32)) | Y
M = 0xFFFFFFFF


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def popcount(x):
    return bin(x).count("1")


def reverse(x, bits=32):
    return int(f"{x:0{bits}b}"[::-1], 2)


def prmt(x, y, s):
    data = (y << 32 | x).to_bytes(8, "little")
    result = 0
    for i in range(4):
        nibble = s >> 4 * i & 15
        byte = data[nibble & 7]
        result |= ((0xFF if byte & 0x80 else 0) if nibble & 8 else byte) << 8 * i
    return result


def dot(x, y, c, is_signed):
    def parts(v):
        return [signed(b, 8) if is_signed else b for b in v.to_bytes(4, "little")]

    return sum(a * b for a, b in zip(parts(x), parts(y))) + c & M


TABLE = {
    "__popc(x)": lambda x, y: popcount(x),
    "__clz(x)": lambda x, y: 32 - x.bit_length(),
    "__ffs(x)": lambda x, y: (x & -x).bit_length(),
    "__brev(x)": lambda x, y: reverse(x),
    "__byte_perm(x, y, 0x5140)": lambda x, y: prmt(x, y, 0x5140),
    "__byte_perm(x, y, y & 0x7777)": lambda x, y: prmt(x, y, y & 0x7777),
    "__umulhi(x, y)": lambda x, y: x * y >> 32,
    "__mulhi((int)x, (int)y)": lambda x, y: signed(x) * signed(y) >> 32 & M,
    "__umul24(x, y)": lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF) & M,
    "__usad(x, y, 5u)": lambda x, y: abs(x - y) + 5 & M,
    "__sad((int)x, (int)y, 5u)": lambda x, y: abs(signed(x) - signed(y)) + 5 & M,
    "__uhadd(x, y)": lambda x, y: x + y >> 1,
    "__funnelshift_l(x, y, x)": lambda x, y: ((y << 32 | x) << (x & 31)) >> 32 & M,
    "__funnelshift_r(x, y, y)": lambda x, y: ((y << 32 | x) >> (y & 31)) & M,
    "__funnelshift_lc(x, y, x & 63)": lambda x, y: ((y << 32 | x) << min(x & 63, 32)) >> 32 & M,
    "__funnelshift_rc(x, y, y & 63)": lambda x, y: ((y << 32 | x) >> min(y & 63, 32)) & M,
    "__dp4a(x, y, 9u)": lambda x, y: dot(x, y, 9, False),
    "__dp4a((int)x, (int)y, 9)": lambda x, y: dot(x, y, 9, True),
    "min(x, y)": min,
    "max((int)x, (int)y)": lambda x, y: max(signed(x), signed(y)) & M,
    "abs((int)x)": lambda x, y: abs(signed(x)) & M,
    "x / (y | 1)": lambda x, y: x // (y | 1),
    "x % (y | 1)": lambda x, y: x % (y | 1),
    "x << (y & 31)": lambda x, y: x << (y & 31) & M,
    "(int)x >> (y & 31)": lambda x, y: signed(x) >> (y & 31) & M,
    "__vadd2(x, y)": lambda x, y: ((x & 0xFFFF0000) + (y & 0xFFFF0000) & 0xFFFF0000) | (x + y & 0xFFFF),
    "__vabsdiffu4(x, y)": lambda x, y: int.from_bytes(
        bytes(abs(a - b) for a, b in zip(x.to_bytes(4, "little"), y.to_bytes(4, "little"))), "little"
    ),
    "__fns(x, 0, 1)": lambda x, y: (x & -x).bit_length() - 1 & M,
}


def test_functions_of_32_bits():
    got = evaluate(list(TABLE), {"x": ("unsigned", X), "y": ("unsigned", Y)}, "unsigned")
    for (text, reference), row in zip(TABLE.items(), got):
        expected = [reference(int(x), int(y)) & M for x, y in zip(X, Y)]
        np.testing.assert_array_equal(row, np.array(expected, "u8").astype("u4"), err_msg=text)


def test_functions_of_64_bits():
    full = (1 << 64) - 1
    table = {
        "__popcll(l)": lambda v: popcount(v),
        "__clzll(l)": lambda v: 64 - v.bit_length(),
        "__ffsll(l)": lambda v: (v & -v).bit_length(),
        "__brevll(l)": lambda v: reverse(v, 64),
        "__umul64hi(l, l + 3)": lambda v: v * ((v + 3) & full) >> 64,
        "__mul64hi((long long)l, 3)": lambda v: signed(v, 64) * 3 >> 64,
        "l / 7": lambda v: v // 7,
        "llabs((long long)l)": lambda v: abs(signed(v, 64)),
    }
    got = evaluate(list(table), {"l": ("unsigned long long", L)}, "unsigned long long")
    for (text, reference), row in zip(table.items(), got):
        expected = np.array([reference(int(v)) & full for v in L], "u8")
        np.testing.assert_array_equal(row, expected, err_msg=text)


PTX = """
__device__ unsigned lop3(unsigned a, unsigned b, unsigned c) {
  unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d;
}
template <int Table> __device__ unsigned logic(unsigned a, unsigned b, unsigned c) {
  unsigned d; asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(Table)); return d;
}
__device__ unsigned bfe(unsigned a, unsigned p, unsigned l) {
  unsigned d; asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(p), "r"(l)); return d;
}
__device__ int sbfe(int a, unsigned p, unsigned l) {
  int d; asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(p), "r"(l)); return d;
}
__device__ unsigned bfi(unsigned a, unsigned b, unsigned p, unsigned l) {
  unsigned d; asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(p), "r"(l)); return d;
}
__device__ unsigned bfind(unsigned a) { unsigned d; asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(a)); return d; }
__device__ unsigned selected(unsigned a, unsigned b) {
  unsigned d;
  asm("{\\n\\t.reg .pred p, q;\\n\\tsetp.lt.u32 p|q, %1, %2;\\n\\t@p mov.u32 %0, 1;\\n\\t@q mov.u32 %0, 2;\\n\\t"
      "@!p add.u32 %0, %0, 10;\\n}" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ unsigned loop(unsigned n) {
  unsigned d;
  asm("{ .reg .pred p; .reg .u32 k; mov.u32 k, %1; mov.u32 %0, 0; again: add.u32 %0, %0, k; sub.u32 k, k, 1;"
      " setp.ne.u32 p, k, 0; @p bra again; }" : "=r"(d) : "r"(n));
  return d;
}
__device__ unsigned wide(unsigned a, unsigned b) {
  unsigned low, high;
  asm("add.cc.u32 %0, %2, %3;\\n\\taddc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(a), "r"(b));
  return low ^ high << 31;
}
__device__ unsigned packed(unsigned a) {
  unsigned d;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }" : "=r"(d) : "r"(a));
  return d;
}
__device__ unsigned shifted(unsigned a, unsigned n) {
  unsigned d; asm("shl.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(n)); return d;
}
__device__ unsigned long long product(unsigned a, unsigned b) {
  unsigned long long d; asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(d) : "r"(a), "r"(b), "l"(5ull)); return d;
}
__device__ unsigned saturated(int a) {
  unsigned d; asm("cvt.sat.u8.s32 %0, %1;" : "=r"(d) : "r"(a)); return d;
}
"""


def field(x, p, n):
    return (x >> p & (1 << n) - 1) & M


def signed_field(x, p, n):
    value = signed(x) >> min(p, 31)
    return (((value & (1 << n) - 1) ^ (1 << n - 1)) - (1 << n - 1)) & M if n else 0


def test_inline_ptx_of_integers():
    table = {
        "logic<0x96>(x, y, 7)": lambda x, y: x ^ y ^ 7,
        "lop3(x, y, ~x)": lambda x, y: (x & y) | (x & ~x & M) | (y & ~x & M),
        "bfe(x, y & 31, x & 15)": lambda x, y: field(x, y & 31, x & 15),
        "bfe(x, 0, 32)": lambda x, y: x,
        "sbfe(x, y & 15, 1 + (x & 7))": lambda x, y: signed_field(x, y & 15, 1 + (x & 7)),
        "bfi(x, y, 5, 9)": lambda x, y: (y & ~(0x1FF << 5) | (x & 0x1FF) << 5) & M,
        "bfind(x)": lambda x, y: x.bit_length() - 1 & M,
        "selected(x, y)": lambda x, y: 1 if x < y else 12,
        "loop(1 + (x & 31))": lambda x, y: sum(range(2 + (x & 31))),
        "wide(x, y)": lambda x, y: (x + y & M) ^ (x + y >> 32) << 31,
        "packed(x)": lambda x, y: x >> 16 | (x & 0xFFFF) << 16,
        "shifted(x, y & 63)": lambda x, y: x << (y & 63) & M if (y & 63) < 32 else 0,
        "product(x, y) >> 20": lambda x, y: x * y + 5 >> 20 & M,
        "saturated((int)x >> 20)": lambda x, y: min(max(signed(x) >> 20, 0), 255),
    }
    got = evaluate(list(table), {"x": ("unsigned", X), "y": ("unsigned", Y)}, "unsigned", code=PTX)
    for (text, reference), row in zip(table.items(), got):
        expected = np.array([reference(int(x), int(y)) & M for x, y in zip(X, Y)], "u8").astype("u4")
        np.testing.assert_array_equal(row, expected, err_msg=text)


def test_integers_packed_into_fewer_bits():
    kinds = ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2")
    forms = [(kind, third) for kind in kinds for third in (("",) if "16" in kind else (", %3", ", 0"))]
    code = "".join(
        f"""
__device__ unsigned pack{number}(int a, int b, unsigned c) {{
  unsigned d; asm("cvt.pack.sat.{kind}.s32{".b32" if third else ""} %0, %1, %2{third};"
      : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d;
}}"""
        for number, (kind, third) in enumerate(forms)
    )
    scale = RNG.choice(np.array([1, 2**16, 2**24, 2**29]), N)
    a, b = ((x.astype("i4") // scale).astype("i4") for x in (X, Y))
    inputs = {"a": ("int", a), "b": ("int", b), "c": ("unsigned", Y)}
    got = evaluate([f"pack{number}(a, b, c)" for number in range(len(forms))], inputs, "unsigned", code=code)
    for (kind, third), row in zip(forms, got):
        size = int(kind[1:])
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "s" else (0, (1 << size) - 1)
        upper, lower = (np.clip(x.astype("i8"), low, high) & (1 << size) - 1 for x in (a, b))
        above = Y.astype("i8") << 2 * size & M if "%3" in third else 0
        np.testing.assert_array_equal(row, (above | upper << size | lower).astype("u4"), err_msg=f"{kind} {third}")
