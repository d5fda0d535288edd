"""TileLang regions multiply shared buffers of the Triton kernel where they are: ``buffers=[…]``."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, DialectError, SignatureError, UnsupportedFeatureError

T = pytest.importorskip("tilelang.language")
pytestmark = pytest.mark.every_triton(3)

M, N, S = 64, 128, 2


def product(K=64, scope="shared", buffers=("a", "b"), how="gemm", dtype="float16", arrivals=1):
    """The sum of the products of S slots, of which each is full when its barrier says so."""

    @tle_raw.dialect("tilelang", barriers=["full"], buffers=buffers)
    @T.prim_func
    def product(C: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128) as _:
            full = T.alloc_barrier([arrivals] * S)
            a, b = T.alloc_shared((S, M, K), dtype, scope=scope), T.alloc_shared((S, N, K), dtype, scope=scope)
            c = T.alloc_fragment((M, N), "float32")
            T.clear(c)
            for k in T.serial(S):
                T.mbarrier_wait_parity(full[k], 0)
                if how == "gemm":
                    T.gemm(a[k, :, :], b[k, :, :], c, transpose_B=True)
                else:
                    for i, j in T.Parallel(M, N):
                        c[i, j] += T.cast(a[k, i, 0] * b[k, j, 0], "float32")
            T.copy(c, C)

    return product


@triton.jit
def fill(a_desc, b_desc, a, b, full, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    for k in range(S):
        tle.gpu.copy(a_desc, a[k], [M, K], offsets=[0, k * K], barrier=full[k])
        tle.gpu.copy(b_desc, b[k], [N, K], offsets=[0, k * K], barrier=full[k])


@triton.jit
def take(c_ptr, a, b, full, FRAGMENT: tl.constexpr):
    FRAGMENT(c_ptr, full[0], a[0], b[0])


@triton.jit
def through_ring(
    a_desc, b_desc, c_ptr,
    FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr, SWIZZLED: tl.constexpr,
):  # fmt: skip
    a = tle.gpu.alloc([S, M, K], a_desc.dtype)
    b = tle.gpu.alloc([S, N, K], b_desc.dtype, nv_mma_shared_layout=SWIZZLED)
    full = tle.gpu.alloc_barriers(S, expect_bytes=(M + N) * K * 2)
    if SWIZZLED:
        tle.gpu.warp_specialize(
            [(take, (c_ptr, a, b, full, FRAGMENT)), (fill, (a_desc, b_desc, a, b, full, M, N, K, S))], [1]
        )
    else:
        take(c_ptr, a, b, full, FRAGMENT)


def compiled(fragment, K=64, capability=90, swizzled=True):
    types = {"a_desc": f"tensordesc<fp16[{M},{K}]>", "b_desc": f"tensordesc<fp16[{N},{K}]>", "c_ptr": "*fp32"}
    constants = {"FRAGMENT": fragment, "M": M, "N": N, "K": K, "S": S, "SWIZZLED": swizzled}
    return compile_kernel(through_ring, types, constants, capability)


@pytest.mark.parametrize("K", [64, 32])
def test_wgmma_reads_the_slots_of_the_kernel(K):
    kernel = compiled(product(K), K)
    report = tle_raw.report(kernel)
    assert report.one_kernel and report.regions[0].route == "linked" and not report.sass_calls
    ptx = kernel.asm["ptx"]
    assert 0 <= kernel.metadata.shared - S * (M + N) * K * 2 < 256  # the kernel's buffers and barriers, no others
    assert len(re.findall(r"wgmma\.mma_async", ptx)) >= K // 16
    assert len(re.findall(r"mbarrier\.init", ptx)) == S and "ldmatrix" not in ptx


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"scope": "shared.dyn"}, SignatureError, "a part of the memory that TileLang divides"),
        ({"buffers": ("a", "x")}, SignatureError, "`x`, which is no shared buffer of `product`"),
        ({"K": 128}, SignatureError, "no operand that both sides have in one layout"),
        ({"buffers": "a"}, DialectError, "a list of buffers' names"),
    ],
)
def test_what_is_no_operand_of_the_kernel_is_refused(change, error, words):
    with pytest.raises(error) as caught:
        assert product(**change).signature
    assert words in str(caught.value)


def test_what_is_not_multiplied_is_refused():
    with pytest.raises((tle_raw.TLEError, triton.CompilationError)) as caught:
        compiled(product(how="elements"))
    assert "touched otherwise than by wgmma" in str(our_error(caught.value))
    assert isinstance(our_error(caught.value), UnsupportedFeatureError)


def test_another_layout_is_refused():
    with pytest.raises((tle_raw.TLEError, triton.CompilationError)) as caught:
        compiled(product(), swizzled=False)
    assert "lies otherwise than the kernel's products read it" in str(our_error(caught.value))


def test_another_count_of_arrivals_is_refused():
    with pytest.raises((tle_raw.TLEError, triton.CompilationError)) as caught:
        compiled(product(arrivals=2))
    assert isinstance(our_error(caught.value), ArgumentTypeError)


def test_it_is_no_kernel_of_its_own():
    with pytest.raises(DialectError, match="takes barriers of a Triton kernel"):
        product().as_kernel()
