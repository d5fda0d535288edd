"""What CUDA programs take for granted on the CPU: new and delete, cuda::barrier; and what no GPU has any more."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import Pointer
from tle_raw.errors import CompilationFailed, UnsupportedFeatureError
from tle_raw.linker.ptx.unmasked import find_unmasked

pytestmark = pytest.mark.one_triton


@tle_raw.dialect("cuda", source="""
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void library(float* out) {
  __shared__ alignas(Barrier) char memory[sizeof(Barrier)];
  Barrier& all = *reinterpret_cast<Barrier*>(memory);
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  float* own = new float[2];
  own[1] = out[threadIdx.x] = threadIdx.x;
  all.arrive_and_wait();
  own[0] = out[127 - threadIdx.x];
  all.arrive_and_wait();
  out[threadIdx.x] = own[0] + 1000 * own[1];
  delete[] own;
}
""")  # fmt: skip
def library(out: Pointer["f32"]): ...


def test_new_and_delete_need_no_header_and_libcus_barrier_works():
    out = np.zeros(128, "f4")
    run(library, out=out)
    np.testing.assert_array_equal(out, 127 - np.arange(128) + 1000 * np.arange(128))


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        (
            '0; asm("shfl.down.b32 %0, 1, 1, 31;" : "=r"(n))',
            "`__shfl_down` has no mask",
            "`__shfl_down_sync(0xffffffff, value, delta)`",
        ),
        ('0; asm("vote.ballot.b32 %0, 1;" : "=r"(n))', "`__ballot` has no mask", "`__ballot_sync("),
    ],
)
def test_operations_without_a_mask_are_refused_with_what_to_write(expression, message, hint):
    fragment = tle_raw.fragment(
        f"__device__ void f(int* p) {{ int n = *p; n = {expression}; *p = n; }}", dialect="cuda", symbol="f"
    )
    with pytest.raises(UnsupportedFeatureError, match=message) as caught:
        fragment.compile(target="cpu")
    assert hint in caught.value.hint and caught.value.context.source is not None


def test_every_operation_without_a_mask_is_known():
    assert all(find_unmasked(f"shfl.{mode}.i32") for mode in ("up", "down", "bfly", "idx"))
    assert all(find_unmasked(f"vote.{mode}") for mode in ("all", "any", "uni", "ballot"))
    assert not any(
        map(find_unmasked, ("shfl.sync.down.i32", "vote.sync.all.pred", "vote.all.sync", "match.any.sync.i32"))
    )


def test_a_shared_object_with_a_constructor_is_refused_with_a_way_out():
    source = "struct A { int n; __device__ A() : n(7) {} };\n__device__ void f(int* p) { __shared__ A a; *p = a.n; }"
    with pytest.raises(CompilationFailed, match="not supported for __shared__ variables") as caught:
        tle_raw.fragment(source, dialect="cuda", symbol="f").compile(target="cpu")
    assert "reinterpret_cast<T*>(memory)" in caught.value.hint
