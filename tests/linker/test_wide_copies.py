"""Copies of 16 bytes: one load and one store where both places allow it."""

import pytest

import tle_raw
from tle_raw.linker.llvm.wide_copies import wide_copies

COPY = "  tail call void @llvm.memmove.p0.p1.i64(ptr noundef nonnull align 16 dereferenceable(32) %2, "
COPY += 'ptr addrspace(1) noundef align 32 %"a b", i64 32, i1 false), !dbg !7'


def test_all_is_loaded_before_anything_is_stored():
    opcodes = [line.split(" = ")[-1].split()[0] for line in wide_copies(f"\n{COPY}\n").split("\n")[1:-1]]
    assert opcodes == ["load", "getelementptr", "getelementptr", "load", "store", "store"]
    lines = wide_copies(COPY).split("\n")
    assert lines[0].endswith('= load <4 x i32>, ptr addrspace(1) %"a b", align 16, !dbg !7')
    assert "ptr %2, align 16, !dbg !7" in lines[4] and "getelementptr i8, ptr addrspace(1)" in lines[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("align 16", "align 8"),
        ("i64 32", "i64 20"),
        ("i64 32", "i64 %n"),
        ("i1 false", "i1 true"),
        ("i64 32", "i64 128"),
    ],
)
def test_other_copies_are_left_alone(old, new):
    assert wide_copies(COPY.replace(old, new)) == COPY.replace(old, new)


def test_copies_of_local_arrays_are_left_alone():
    of_local = f"  %l = alloca [64 x i8]\n  %2 = getelementptr i8, ptr %l, i64 %n\n{COPY}"
    assert wide_copies(of_local) == of_local
    assert " = load <4 x i32>" in wide_copies(of_local.replace("ptr %l", "ptr %other"))
    in_a_loop = of_local.replace("getelementptr i8, ptr %l, i64 %n", "phi ptr [ %0, %1 ], [ %4, %3 ]")
    assert wide_copies(f"{in_a_loop}\n  %4 = getelementptr i8, ptr %l, i64 16") != in_a_loop
    assert " = load <4 x i32>" not in wide_copies(f"{in_a_loop}\n  %4 = getelementptr i8, ptr %l, i64 16")


MOVE = """
__global__ void move(uint4* to, const uint4* from, int n) {
  __shared__ short rows[8 * 256];
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
  reinterpret_cast<uint4*>(rows)[threadIdx.x] = from[threadIdx.x + n];
  __syncthreads();
  to[threadIdx.x + n] = reinterpret_cast<uint4*>(rows)[threadIdx.x ^ 1];
}
"""


def test_vectors_are_copied_whole_also_in_shared_arrays_of_short_elements():
    kernel = tle_raw.fragment(MOVE, dialect="cuda", symbol="move").as_kernel(block=256).compile("cuda:90")
    text = kernel.asm["ptx"]
    assert "st.shared.v4.b32" in text and "ld.shared.v4.b32" in text
    for narrow in ("b16", "b64", "v2"):
        assert f"global.{narrow}" not in text and f"shared.{narrow}" not in text
