"""Products of small matrices by a warp, and their copies, in inline PTX: numbers against NumPy's."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import tle_raw
from tests.emulation.tables import run
from tle_raw import Pointer, Scalar
from tle_raw.errors import KernelFailed, UnsupportedFeatureError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
# Rows, depth, types of A, B and the sums, and what else the instruction says.
FORMS = (
    (16, 16, "f16", "f16", "f32", ""),
    (16, 8, "f16", "f16", "f16", ""),
    (16, 16, "f16", "f16", "f16", ""),
    (16, 16, "bf16", "bf16", "f32", ""),
    (16, 8, "bf16", "bf16", "f32", ""),
    (16, 4, "tf32", "tf32", "f32", ""),
    (16, 8, "tf32", "tf32", "f32", ""),
    (16, 32, "e4m3", "e5m2", "f32", ""),
    (16, 16, "e5m2", "e5m2", "f16", ""),
    (8, 4, "f64", "f64", "f64", ""),
    (16, 16, "f64", "f64", "f64", ""),
    (8, 16, "s8", "s8", "s32", ""),
    (16, 32, "s8", "u8", "s32", ""),
    (16, 16, "u8", "s8", "s32", ".satfinite"),
    (16, 64, "s4", "u4", "s32", ""),
    (8, 32, "u4", "s4", "s32", ".satfinite"),
    (16, 256, "b1", "b1", "s32", ".xor.popc"),
    (8, 128, "b1", "b1", "s32", ".and.popc"),
)
RANDOM = np.random.default_rng(20)


def matrix(kind: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Random elements: their values in float64, and their bits."""
    numbers = RANDOM.standard_normal(shape)
    if kind == "f64":
        return numbers, numbers.view("u8")
    if kind in ("tf32", "f32"):
        bits = numbers.astype("f4").view("u4")
        read = bits & 0xFFFFE000 if kind == "tf32" else bits
        return read.view("f4").astype("f8"), bits
    if kind in FLOATS:
        small = torch.from_numpy(numbers).to(FLOATS[kind])
        integers = small.view(torch.int16 if BITS[kind] == 16 else torch.uint8).numpy()
        return small.double().numpy(), integers.view(f"u{BITS[kind] // 8}")
    bits = BITS.get(kind, 32)
    low = -(1 << bits - 1) if kind[0] == "s" else 0
    values = RANDOM.integers(low, low + (1 << bits), shape)
    return values.astype("f8"), values & (1 << bits) - 1


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """Neighbours along the last axis, as many as a register holds, as words of 32 bits."""
    if bits == 64:
        return elements.view("u4").reshape(*elements.shape[:-1], -1)
    grouped = elements.astype("u8").reshape(*elements.shape[:-1], -1, 32 // bits)
    return (grouped << np.arange(0, 32, bits, dtype="u8")).sum(-1).astype("u4")


def fragments(elements: np.ndarray, bits: int) -> np.ndarray:
    """Each lane's registers: lane / 4 is its row of eight, lane % 4 its place in blocks of four registers."""
    count = 32 // min(bits, 32)
    rows, depth = elements.shape
    blocks = elements.reshape(rows // 8, 8, depth // (4 * count), 4, count).transpose(1, 3, 2, 0, 4)
    return packed(np.ascontiguousarray(blocks.reshape(32, -1)), bits)


def pairs(sums: np.ndarray) -> np.ndarray:
    """Each lane's sums: two neighbours of a row, of each eight rows."""
    rows = sums.shape[0]
    return np.ascontiguousarray(sums.reshape(rows // 8, 8, 4, 2).transpose(1, 2, 0, 3).reshape(32, -1))


def opcode(rows: int, depth: int, a: str, b: str, c: str, more: str) -> str:
    saturates, how = (more, "") if more == ".satfinite" else ("", more)
    return f"mma.sync.aligned.m{rows}n8k{depth}.row.col{saturates}.{c}.{a}.{b}.{c}{how}"


def statement(form: tuple[int, int, str, str, str, str]) -> str:
    rows, depth, a, b, c, _ = form
    wide = c == "f64"
    letter, type_ = ("d", "double") if wide else ("r", "unsigned")
    words = 64 if wide else 32
    sums = rows // 4 // (2 if c == "f16" else 1)
    counts = [sums, rows * depth * BITS[a] // 32 // words, 8 * depth * BITS[b] // 32 // words, sums]
    places, lists = iter(range(sum(counts))), []
    for count in counts:
        lists.append("{" + ", ".join(f"%{next(places)}" for _ in range(count)) + "}")
    outputs = ", ".join(f'"={letter}"(d_[{i}])' for i in range(sums))
    inputs = ", ".join(f'"{letter}"({name}_[{i}])' for name, n in zip("abc", counts[1:]) for i in range(n))
    pointers = "".join(f"{type_}* {n}_ = ({type_}*)({n} + lane * 16); " for n in "dabc")
    return f'{pointers}asm volatile("{opcode(*form)} {", ".join(lists)};" : {outputs} : {inputs});'


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """One fragment for all: ``which`` is the product that it makes."""

    def f(d: Pointer["u32"], a: Pointer["u32"], b: Pointer["u32"], c: Pointer["u32"], which: Scalar["i32"]): ...

    cases = "\n".join(f"case {k}: {{ {statement(form)} return; }}" for k, form in enumerate(FORMS))
    path = tmp_path_factory.mktemp("products") / "fragment.cu"
    head = "__device__ void f(unsigned* d, unsigned* a, unsigned* b, unsigned* c, int which)"
    path.write_text(f"{head} {{ const int lane = threadIdx.x; switch (which) {{\n{cases}\n}} }}")
    return tle_raw.fragment(path, signature=f)


def in_lanes(words: np.ndarray) -> np.ndarray:
    """Sixteen words for each lane."""
    return np.pad(words, [(0, 0), (0, 16 - words.shape[1])]).reshape(-1).copy()


@pytest.mark.parametrize("which", range(len(FORMS)), ids=lambda which: opcode(*FORMS[which])[17:])
def test_products(products, which):
    rows, depth, kind_a, kind_b, kind_c, more = FORMS[which]
    (a, a_bits), (b, b_bits), (c, c_bits) = (
        matrix(kind_a, (rows, depth)), matrix(kind_b, (8, depth)), matrix(kind_c, (rows, 8)),
    )  # fmt: skip
    c_words = pairs(c_bits) if kind_c != "f64" else pairs(c)
    c_words = packed(c_words, 16) if kind_c == "f16" else c_words.astype("f8" if kind_c == "f64" else "u4").view("u4")
    out = np.zeros(32 * 16, "u4")
    inputs = (fragments(a_bits, BITS[kind_a]), fragments(b_bits, BITS[kind_b]), c_words)
    passed = dict(zip("abc", map(in_lanes, inputs)))
    run(products, num_warps=1, d=out, **passed, which=which)
    found = out.reshape(32, 16)[:, : c_words.shape[1]].copy()
    product = (a[:, None] != b[None]).sum(-1) if ".xor" in more else a @ b.T
    wanted = product + (c if kind_c != "s32" else c_bits.astype("u4").view("i4").astype("f8"))
    if kind_c == "s32":
        wanted = wanted.clip(-(2**31), 2**31 - 1) if more == ".satfinite" else (wanted + 2**31) % 2**32 - 2**31
        assert np.array_equal(found.view("i4"), pairs(wanted))
        return
    numbers = found.view({"f16": "f2", "f32": "f4", "f64": "f8"}[kind_c]).astype("f8")
    tolerance = {"f16": 1e-3, "f32": 1e-6, "f64": 1e-14}[kind_c]
    np.testing.assert_allclose(numbers, pairs(wanted), rtol=tolerance, atol=tolerance * 4)


COPIES = """
__device__ void f(unsigned short* out, const unsigned short* in, int how) {
  __shared__ __align__(16) unsigned short from[4 * 64], to[4 * 64 + 8];
  const int lane = threadIdx.x;
  if (how < 6) for (int i = lane; i < 256; i += 32) from[i] = in[i], to[i] = 0;
  __syncwarp();
  const unsigned row = (unsigned)__cvta_generic_to_shared(from + lane % 32 * 8), mine = row - (unsigned)
      __cvta_generic_to_shared(from) + (unsigned)__cvta_generic_to_shared(to);
  const unsigned nowhere = lane < 8 ? row : 0xdead0000u;
  unsigned a = 0, b = 0, c = 0, d = 0;
  switch (how) {
    case 0: asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(row)); break;
    case 1: asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(row)); break;
    case 2: asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16{%0, %1}, [%2+16];" : "=r"(a), "=r"(b) : "r"(row - 16)); break;
    case 3: asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(nowhere)); break;
    case 4: a = ((unsigned*)in)[lane]; asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(mine), "r"(a)); break;
    case 5: a = ((unsigned*)in)[lane]; asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(b) : "r"(a)); a = b; b = 0; break;
    default: asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(row)); break;
  }
  __syncwarp();
  unsigned* words = (unsigned*)out;
  if (how == 4) a = ((unsigned*)to)[lane];
  words[lane] = a, words[32 + lane] = b, words[64 + lane] = c, words[96 + lane] = d;
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    def f(out: Pointer["u16"], x: Pointer["u16"], how: Scalar["i32"]): ...

    path = tmp_path_factory.mktemp("copies") / "fragment.cu"
    path.write_text(COPIES)
    return tle_raw.fragment(path, signature=f)


@pytest.mark.parametrize(
    ("how", "count", "transposed"),
    [(0, 4, False), (1, 4, True), (2, 2, False), (3, 1, True), (4, 1, True), (5, 1, True)],
)
def test_copies(copies, how, count, transposed):
    x, out = RANDOM.integers(0, 1 << 16, 256).astype("u2"), np.zeros(256, "u2")
    with knobs.scope():
        knobs.debug = how % 2 == 0
        run(copies, num_warps=1, out=out, x=x, how=how)
    matrices = x.reshape(4, 8, 8)
    wanted = np.where(np.arange(4)[:, None, None] < count, matrices.transpose(0, 2, 1) if transposed else matrices, 0)
    assert np.array_equal(out.reshape(4, 8, 8), wanted)


def test_debug_reports_matrices_that_nobody_has_written(copies):
    with knobs.scope(), pytest.raises(KernelFailed, match="reads shared memory that nothing has been written to"):
        knobs.debug = True
        run(copies, num_warps=1, out=np.zeros(256, "u2"), x=np.zeros(256, "u2"), how=6)


REFUSED = (
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%0,%0,%0}, {%0,%0,%0,%0}, {%0,%0,%0,%0}, "
    "{%0,%0,%0,%0}, %0, 0",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%0,%0,%0,%0,%0,%0,%0}, {%0,%0}, {%0,%0}, "
    "{%0,%0,%0,%0,%0,%0,%0,%0}",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%0,%0,%0,%0}, {%0,%0,%0,%0}, {%0,%0}, {%0,%0,%0,%0}",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%0,%0,%0}, {%0,%0}, {%0,%0}, {%0,%0,%0,%0}",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0, %0}, [%0]",
)


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text.split()[0])
def test_other_forms_are_named(text):
    @tle_raw.dialect("cuda", source=f'__device__ void f(unsigned n) {{ asm volatile("{text};" : "+r"(n)); }}')
    def f(n: Scalar["u32"]): ...

    with pytest.raises(UnsupportedFeatureError, match=re.escape(f"the PTX instruction `{text.split()[0]}")):
        f.compile(target="cpu")
