"""Functions of elements that need a thread: under knobs.debug their accesses are checked, and some fail or count."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.emulation.tables import apart, run
from tle_raw import Element, InOut, Pointer, Scalar
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.every_triton(2)

N = 64


@pytest.fixture(autouse=True)
def checked():
    with knobs.scope():
        knobs.target, knobs.debug = "cpu", True
        yield


@tle_raw.dialect("cuda", source=r"""
__device__ __noinline__ float at(const float* p, long long i) {
  return p[i];
}
__device__ float looked_up(int i, const float* p, float* last, int step) {
  const float found = at(p, (long long)i * step);
  if (i == 63) *last = found;
  return found + 1;
}
""")  # fmt: skip
def looked_up(i: Element["i32"], p: Pointer["f32"], last: Pointer["f32"], step: Scalar["i32"]) -> Element["f32"]: ...


@triton.jit
def look_up(p, o, last, step, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tle_raw.call(looked_up, [i, p, last, step]))


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = np.random.default_rng(0).random(2 * N, np.float32)
    return apart(p), apart(np.zeros(N, np.float32)), apart(np.zeros(1, np.float32))


@pytest.mark.parametrize("step", [1, 2])
def test_numbers_are_those_without_debug(step):
    p, o, last = arrays()
    look_up[(2,)](p, o, last, step, N)
    np.testing.assert_array_equal(o, p[: N * step : step] + 1)
    assert last[0] == p[63 * step]


def test_an_element_reads_outside_of_an_array():
    message = "`looked_up` reads 4 bytes outside of .*: 4 bytes beyond the 512 bytes of argument `p`, in program"
    with pytest.raises(KernelFailed, match=message) as caught:
        look_up[(1,)](*arrays(), 3, N)
    assert caught.value.kind == "memory"
    source = caught.value.context.source
    assert source is not None and source.file == __file__ and "return p[i];" in source.text


def test_an_element_far_away_does_not_end_the_process():
    with pytest.raises(KernelFailed, match="`looked_up` reads 4 bytes outside of the memory of every argument"):
        look_up[(1,)](*arrays(), 1 << 28, N)


@tle_raw.dialect("cuda", source="__device__ int ratio(int a, int b) { return a / b; }")
def ratio(a: Element["i32"], b: Element["i32"]) -> Element["i32"]: ...


def test_an_element_that_a_mask_leaves_out_may_divide_by_zero():
    a, b = np.arange(-20, 20, dtype=np.int32), np.arange(1, 41, dtype=np.int32)
    b[30] = 0
    want = (a / np.where(b, b, 1)).astype(np.int32)
    want[30] = -1  # as a GPU has it
    np.testing.assert_array_equal(run(ratio, a=a, b=b), want)


KINDS = {
    "i1": ("bool", "u1"),
    "i8": ("signed char", "i1"),
    "i16": ("short", "i2"),
    "i32": ("int", "i4"),
    "i64": ("long long", "i8"),
    "f32": ("float", "f4"),
    "f64": ("double", "f8"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype_goes_through_memory(kind):
    c, dtype = KINDS[kind]

    def chosen(x, table, i, other): ...

    chosen.__annotations__ = {
        "x": Element[kind],
        "table": Pointer[kind],
        "i": Element["i32"],
        "other": Scalar[kind],
        "return": Element[kind],
    }
    body = "return i % 3 == 0 ? table[i] : i % 3 == 1 ? x : other;"
    source = f"__device__ {c} chosen({c} x, const {c}* table, int i, {c} other) {{ {body} }}"
    fragment = tle_raw.dialect("cuda", source=source)(chosen)
    numbers = np.random.default_rng(1).integers(0, 2 if kind == "i1" else 100, (2, 40)).astype(dtype)
    i, other = np.arange(40, dtype=np.int32), np.dtype(dtype).type(1)
    found = run(fragment, x=numbers[0], table=numbers[1], i=i, other=other)
    np.testing.assert_array_equal(found, np.where(i % 3 == 0, numbers[1], np.where(i % 3 == 1, numbers[0], other)))


@tle_raw.dialect("cuda", source="__device__ void scaled(float& x, const float* by) { x *= *by; }")
def scaled(x: InOut[Element["f32"]], by: Pointer["f32"]): ...


@triton.jit
def scale(x, by, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tle_raw.call(scaled, [tl.load(x + i), by]))


def test_an_element_that_is_updated():
    x, by = arrays()[0], np.full(1, 3, np.float32)
    want = np.concatenate([x[:N] * 3, x[N:]])
    scale[(1,)](x, by, N)
    np.testing.assert_array_equal(x, want)


@triton.jit
def assembled(x, o, step, N: tl.constexpr, STORES: tl.constexpr):
    i = tl.arange(0, N)
    if STORES:
        to = [o + i + step, i]
        tl.inline_asm_elementwise("st.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", to, tl.int32, False, 1)
    else:
        found = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x + i + step], tl.int32, False, 1)
        tl.store(o + i, found)


@pytest.mark.parametrize("stores, access, argument", [(False, "reads", "x"), (True, "writes", "o")])
def test_inline_assembly_outside_of_an_array(stores, access, argument):
    x, o = np.random.default_rng(2).integers(-(2**31), 2**31, N, np.int64).astype(np.int32), np.zeros(N, np.int32)
    x, o = apart(x), apart(o)
    assembled[(1,)](x, o, 0, N, stores)
    np.testing.assert_array_equal(o, np.arange(N) if stores else x)
    message = f"`inline_asm` {access} 4 bytes outside of .*: 0 bytes beyond the 256 bytes of argument `{argument}`"
    with pytest.raises(KernelFailed, match=message) as caught:
        assembled[(1,)](x, o, 1, N, stores)
    source = caught.value.context.source
    assert source is not None and "tl.inline_asm_elementwise(" in source.text


@tle_raw.dialect("cuda", source="__device__ void doubled(float* p) { if (threadIdx.x < 64) p[threadIdx.x] *= 2; }")
def doubled(p: Pointer["f32"]): ...


@tle_raw.dialect("cuda", source="__device__ void filled(float* p) { if (threadIdx.x < 64) p[threadIdx.x] = 5; }")
def filled(p: Pointer["f32"]): ...


@tle_raw.dialect("cuda", source="__device__ void summed(const float* p, float* o) { *o = p[3] + p[4]; }")
def summed(p: Pointer["f32"], o: Pointer["f32"]): ...


@triton.jit
def in_a_buffer(x, o, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.float32)
    first = tle.gpu.local_ptr(a, (0,))
    if HOW == "fills":
        tle_raw.call(filled, [first])
    elif HOW == "stores":
        words = tl.load(x + i).to(tl.int32, bitcast=True)
        tl.inline_asm_elementwise(
            "st.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [tle.gpu.local_ptr(a, (i,)), words], tl.int32, False, 1
        )
    elif HOW != "nothing":
        tl.store(tle.gpu.local_ptr(a, (i,)), tl.load(x + i))
        if HOW == "doubles":
            tle_raw.call(doubled, [first])
        elif HOW == "sums":
            tle_raw.call(summed, [first, o + N])
        else:
            last = o + N
            tl.store(o + i, tle_raw.call(looked_up, [i, first, last, 1]))
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a, (i,))))


@pytest.mark.parametrize("how", ["fills", "stores", "doubles", "sums", "looks up"])
def test_pointers_into_a_buffer_of_the_kernel(how):
    x, o = arrays()[0], np.zeros(N + 1, np.float32)
    in_a_buffer[(2,)](x, o, N, how)
    want = {"fills": np.full(N, 5), "doubles": 2 * x[:N]}.get(how, x[:N])
    np.testing.assert_array_equal(o[:N], want)
    assert o[N] == {"sums": x[3] + x[4], "looks up": x[63]}.get(how, 0)


def test_a_buffer_that_nobody_wrote_is_still_told_of():
    with pytest.raises(KernelFailed, match="read before it was written"):
        in_a_buffer[(1,)](arrays()[0], np.zeros(N + 1, np.float32), N, "nothing")


@tle_raw.dialect("cuda", source=r"""
#include <cstdio>
#include <cassert>
__device__ int counted(int x, int* count) {
  assert(x < 50);
  if (x == 7) printf("seven\n");
  if (x == 40) __trap();
  return x + 100 * atomicAdd(count, 1);
}
""")  # fmt: skip
def counted(x: Element["i32"], count: Pointer["i32"]) -> Element["i32"]: ...


@triton.jit
def count_up(x, count, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tle_raw.call(counted, [tl.load(x + i), count]))


@pytest.mark.parametrize("is_checked", [False, True])
def test_elements_count_print_and_fail(is_checked, capfd):
    knobs.debug = is_checked
    x, count, o = np.arange(32, dtype=np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32)
    count_up[(1,)](x, count, o, 32)
    assert count[0] == 32 and capfd.readouterr().out == "seven\n"
    np.testing.assert_array_equal(o % 100, x)
    np.testing.assert_array_equal(np.sort(o // 100), x)
    for number, kind, line in ((60, "assertion", "assert(x < 50);"), (40, "trap", "if (x == 40) __trap();")):
        x[9] = number
        with pytest.raises(KernelFailed) as caught:
            count_up[(1,)](x, count, o, 32)
        source = caught.value.context.source
        assert caught.value.kind == kind and source is not None and source.text.strip() == line
