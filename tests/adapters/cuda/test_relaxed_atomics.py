"""Atomic functions of CUDA are relaxed, as nvcc has them, and not what clang makes of its builtins."""

import re

import pytest

from tle_raw.adapters.cuda.relaxed_atomics import relaxed_atomics

FUNCTIONS = """
__device__ unsigned f(unsigned* p, float* q, unsigned long long* r) {
  atomicAdd(q, 1.0f);
  atomicCAS(r, 1ull, 2ull);
  atomicMax(p + 1, 3u);
  return atomicAdd(p, 1) + atomicInc(p + 2, 7) + atomicExch(p + 3, 5);
}
"""
SIGNATURE = ("p: pointer u32", "q: pointer f32", "r: pointer u64")


@pytest.mark.one_triton
def test_atomic_functions_are_relaxed_and_of_the_gpu(cuda):
    text = cuda.compile(FUNCTIONS, SIGNATURE, result="u32").text
    operations = re.findall(r" = (?:atomicrmw|cmpxchg) .*", text)
    assert len(operations) >= 6 and "seq_cst" not in text
    assert all('syncscope("device") monotonic' in operation for operation in operations)


@pytest.mark.one_triton
def test_an_order_that_the_source_asks_for_is_kept(cuda):
    source = "__device__ int f(int* p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }"
    assert " seq_cst" in cuda.compile(source, ("p: pointer i32",), result="i32").text


@pytest.mark.one_triton
def test_other_lines_that_tell_of_an_order_are_left_alone():
    text = """\
  %1 = atomicrmw volatile add ptr addrspace(1) %0, i32 1 seq_cst, align 4, !dbg !3
  %2 = cmpxchg ptr %0, i64 1, i64 2 seq_cst seq_cst, align 8
  fence seq_cst
  %3 = load atomic i32, ptr %0 seq_cst, align 4
"""
    assert (
        relaxed_atomics(text, "")
        == """\
  %1 = atomicrmw volatile add ptr addrspace(1) %0, i32 1 syncscope("device") monotonic, align 4, !dbg !3
  %2 = cmpxchg ptr %0, i64 1, i64 2 syncscope("device") monotonic monotonic, align 8
  fence seq_cst
  %3 = load atomic i32, ptr %0 seq_cst, align 4
"""
    )
