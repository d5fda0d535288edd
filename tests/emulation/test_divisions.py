"""Integer divisions by zero and of the lowest number by -1 give a GPU's numbers; debug reports them with their line."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import Element, Pointer, Scalar
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton

KINDS = ("i4", "u4", "i8", "u8", "i2", "u1")


@tle_raw.dialect("cuda", source=r"""
template <class T> __device__ void both(long long* out, T a, T b) {
  *out = threadIdx.x % 2 ? (T)(a / b) : (T)(a % b);
}
__device__ void all(const long long* a, const long long* b, long long* out, int n) {
  const int k = threadIdx.x / 2;
  if (k >= n) return;
  out += threadIdx.x;
  both(out, (int)a[k], (int)b[k]), both(out + 128, (unsigned)a[k], (unsigned)b[k]);
  both(out + 256, a[k], b[k]), both(out + 384, (unsigned long long)a[k], (unsigned long long)b[k]);
  both(out + 512, (short)a[k], (short)b[k]), both(out + 640, (unsigned char)a[k], (unsigned char)b[k]);
}
""")  # fmt: skip
def all(a: Pointer["i64"], b: Pointer["i64"], out: Pointer["i64"], n: Scalar["i32"]): ...


def test_numbers_of_a_gpu():
    for row, dtype in enumerate(map(np.dtype, KINDS)):
        signed, lowest = dtype.kind == "i", np.iinfo(dtype).min
        a = np.array([5, lowest, 0, lowest, 7, lowest], dtype)
        b = np.array([0, 0, 0, -1 if signed else 3, 2, 1], dtype)
        out = np.zeros((6, 64, 2), "i8")
        run(all, a=a.astype("i8"), b=b.astype("i8"), out=out, n=6)
        remainders, quotients = out[row, :6].astype(dtype).T
        ones = -1 if signed else np.iinfo(dtype).max
        np.testing.assert_array_equal(quotients, np.array([ones] * 3 + [lowest, 3, lowest], dtype))
        np.testing.assert_array_equal(remainders, np.array([ones] * 3 + [0, 1, 0], dtype))


@tle_raw.dialect("cuda", source=r"""
__device__ void instructions(int* out, int zero) {
  asm("div.s32 %0, %1, %2;" : "=r"(out[0]) : "r"(5), "r"(zero));
  asm("rem.u32 %0, %1, %2;" : "=r"(out[1]) : "r"(5), "r"(zero));
  asm("div.s32 %0, %1, %2;" : "=r"(out[2]) : "r"((int)0x80000000), "r"(zero - 1));
  asm("rem.s32 %0, %1, %2;" : "=r"(out[3]) : "r"((int)0x80000000), "r"(zero - 1));
}
""")  # fmt: skip
def instructions(out: Pointer["i32"], zero: Scalar["i32"]): ...


def test_numbers_of_ptx_instructions():
    out = np.zeros(4, "i4")
    run(instructions, out=out, zero=0)
    assert out.tolist() == [-1, -1, -(2**31), 0]


@tle_raw.dialect("llvm", source="define i32 @divide(i32 %a, i32 %b) {\n  %q = sdiv i32 %a, %b\n  ret i32 %q\n}\n")
def divide(a: Element["i32"], b: Element["i32"]) -> Element["i32"]: ...


def test_numbers_of_llvm_text_for_elements():
    a, b = np.array([5, 7, -(2**31), 9], "i4"), np.array([0, 2, -1, 0], "i4")
    np.testing.assert_array_equal(run(divide, a=a, b=b), [-1, 3, -(2**31), -1])


STATEMENTS = {
    "*out = 5 / d;": (0, "divides an integer by zero"),
    "*out = 5 % d;": (0, "divides an integer by zero"),
    "*out = 5u / (unsigned)d;": (0, "divides an integer by zero"),
    "*out = (1 << 31) / d;": (-1, "divides the lowest integer by -1"),
    'asm("div.s32 %0, 5, %1;" : "=r"(*out) : "r"(d));': (0, "divides an integer by zero"),
}


@pytest.fixture(scope="module")
def every_statement(tmp_path_factory):
    """One fragment for all: ``which`` is the statement that thread 9 runs, on line ``which`` + 2."""

    def f(out: Pointer["i32"], d: Scalar["i32"], which: Scalar["i32"]): ...

    cases = "\n".join(f"case {k}: {statement} return;" for k, statement in enumerate(STATEMENTS))
    path = tmp_path_factory.mktemp("divisions") / "fragment.cu"
    head = "__device__ void f(int* out, int d, int which) { if (threadIdx.x == 9) switch (which) {"
    path.write_text(f"{head}\n{cases}\n}} }}")
    return tle_raw.fragment(path, signature=f)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_debug_reports_the_line(every_statement, statement):
    which, (divisor, message) = list(STATEMENTS).index(statement), STATEMENTS[statement]
    with knobs.scope():
        knobs.debug = True
        run(every_statement, out=np.zeros(1, "i4"), d=3, which=which)
        with pytest.raises(KernelFailed, match=f"thread 9 {message}") as caught:
            run(every_statement, out=np.zeros(1, "i4"), d=divisor, which=which)
    assert caught.value.kind == "division"
    assert caught.value.context.source is not None and caught.value.context.source.line == which + 2
