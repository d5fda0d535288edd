"""What the vectoriser writes for each kind of access, as text."""

import subprocess
import sys

import pytest

pytest.importorskip("torch_mlir.ir")

from tests.flir.cpu.linalg_kernels import kernel_text, load, store, store_tile, vectorised_text

pytestmark = pytest.mark.one_triton

ARGUMENTS = "%x: !llvm.ptr, %y: !llvm.ptr, %n: i32, %flag: i1"
CONSTANTS = """
    %zero = arith.constant 0.0 : f32
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c1023 = arith.constant 1023 : index
    %c2048 = arith.constant 2048 : index
"""
LINEAR = "%o = arith.index_cast %i0 : index to i64"
MASK = """
    %narrow = arith.index_cast %i0 : index to i32
    %m = arith.cmpi slt, %narrow, %n : i32
"""


def check(folder, body, checks, shape=(1024,), vector_bytes=64, before=""):
    """Compares the vectorised kernel with CHECK lines as LLVM's FileCheck does."""
    text = vectorised_text(kernel_text(ARGUMENTS, CONSTANTS + before + store_tile(shape, body)), vector_bytes)
    lines = [line.strip() for line in checks.strip().splitlines()]
    (folder / "checks").write_text("\n".join(lines))
    command = [sys.executable, "-m", "filecheck", str(folder / "checks")]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}\n{text}"


def test_contiguous_accesses_are_plain_vector_accesses(tmp_path):
    check(
        tmp_path,
        LINEAR + load("v", "%x", "%o", "f32") + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
        // CHECK: %[[O:.*]] = arith.index_cast %[[I]] : index to i64
        // CHECK: %[[P:.*]] = llvm.getelementptr %arg0[%[[O]]]
        // CHECK: llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<64xf32>
        // CHECK: llvm.store {{.*}} {alignment = 4 : i64} : vector<64xf32>, !llvm.ptr
        // CHECK-NOT: linalg.generic
        """,
    )


def test_masked_accesses_stay_contiguous_and_take_other_as_they_load(tmp_path):
    check(
        tmp_path,
        MASK + LINEAR + load("v", "%x", "%o", "f32", "%m", "%zero") + store("%v", "%y", "%o", "f32", "%m"),
        """
        // CHECK: %[[ZERO:.*]] = vector.broadcast %cst : f32 to vector<64xf32>
        // CHECK: scf.for
        // CHECK: %[[M:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<64xi32>
        // CHECK: %[[V:.*]] = llvm.intr.masked.load %{{.*}}, %[[M]], %[[ZERO]] {alignment = 4 : i32}
        // CHECK-NOT: arith.select
        // CHECK: llvm.intr.masked.store %[[V]], %{{.*}}, %[[M]] {alignment = 4 : i32}
        """,
    )


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_a_host_without_masked_moves_of_bytes_tests_for_full_masks(tmp_path, vector_bytes):
    check(
        tmp_path,
        MASK + LINEAR + load("v", "%x", "%o", "i8", "%m", "%byte") + store("%v", "%y", "%o", "i8", "%m"),
        """
        // CHECK: vector.reduction <and>
        // CHECK: scf.if
        // CHECK: llvm.load {{.*}} -> vector<[[LANES:.*]]xi8>
        // CHECK: else
        // CHECK: llvm.intr.masked.load
        // CHECK: scf.if
        // CHECK: llvm.store
        // CHECK: else
        // CHECK: llvm.intr.masked.store
        """,
        before="%byte = arith.constant 0 : i8",
        vector_bytes=vector_bytes,
    )


def test_a_uniform_condition_stays_a_branch(tmp_path):
    check(
        tmp_path,
        LINEAR + load("v", "%x", "%o", "f32", "%flag", "%zero") + store("%v", "%y", "%o", "f32", "%flag"),
        """
        // CHECK: scf.for
        // CHECK: scf.if %arg3 -> (vector<64xf32>) {
        // CHECK: llvm.load
        // CHECK: scf.if %arg3 {
        // CHECK: llvm.store {{.*}} : vector<64xf32>, !llvm.ptr
        // CHECK-NOT: masked
        """,
    )


def test_what_does_not_depend_on_the_inner_index_is_loaded_outside_of_its_loop(tmp_path):
    row = "%o = arith.index_cast %i0 : index to i64" + load("v", "%x", "%o", "f32")
    column = "%p = arith.index_cast %i1 : index to i64" + store("%v", "%y", "%p", "f32")
    check(
        tmp_path,
        row + column,
        """
        // CHECK: scf.for
        // CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
        // CHECK: vector.broadcast %{{.*}} : f32 to vector<64xf32>
        // CHECK: scf.for
        // CHECK: llvm.store {{.*}} : vector<64xf32>, !llvm.ptr
        """,
        shape=(8, 1024),
    )


def test_what_depends_on_the_lanes_alone_is_loaded_once_for_all_rows(tmp_path):
    body = """
      %o = arith.index_cast %i1 : index to i64
      %r = arith.index_cast %i0 : index to i64
      %row = llvm.getelementptr %y[%r] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<64 x f32>
    """
    check(
        tmp_path,
        body + load("v", "%x", "%o", "f32") + store("%v", "%row", "%o", "f32"),
        """
        // CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<64xf32>
        // CHECK: scf.for
        // CHECK-NOT: llvm.load
        // CHECK: llvm.store
        """,
        shape=(8, 64),
    )


def test_index_arithmetic_of_a_reshape_is_contiguous(tmp_path):
    body = """
      %f0 = arith.muli %i0, %c16 : index
      %flat = arith.addi %f0, %i1 : index
      %row = arith.divui %flat, %c4 : index
      %column = arith.remui %flat, %c4 : index
      %r4 = arith.muli %row, %c4 : index
      %at = arith.addi %r4, %column : index
      %o = arith.index_cast %at : index to i64
    """
    check(
        tmp_path,
        body + load("v", "%x", "%o", "f32") + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>
        // CHECK: llvm.store {{.*}} : vector<64xf32>, !llvm.ptr
        """,
        shape=(64, 16),
    )


def test_short_rows_are_joined_into_one_vector(tmp_path):
    body = """
      %f0 = arith.muli %i0, %c4 : index
      %flat = arith.addi %f0, %i1 : index
      %o = arith.index_cast %flat : index to i64
    """
    check(
        tmp_path,
        body + load("v", "%x", "%o", "f32") + store("%v", "%y", "%o", "f32"),
        "// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>",
        shape=(256, 4),
    )


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_a_gather_is_one_operation(tmp_path, vector_bytes):
    body = LINEAR + load("i", "%x", "%o", "i64") + load("v", "%y", "%i", "f32") + store("%v", "%x", "%o", "f32")
    check(tmp_path, body, "// CHECK: llvm.intr.masked.gather", vector_bytes=vector_bytes)


def test_every_second_element_is_a_wide_load_and_a_shuffle(tmp_path):
    body = "%even = arith.muli %i0, %c2 : index\n%o2 = arith.index_cast %even : index to i64\n" + LINEAR
    check(
        tmp_path,
        body + load("v", "%x", "%o2", "f32") + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<127xf32>
        // CHECK: vector.shuffle
        // CHECK-NOT: gather
        """,
    )


def test_a_reversed_store_is_a_shuffle_and_a_contiguous_store(tmp_path):
    body = LINEAR + "%back = arith.subi %c1023, %i0 : index\n%b = arith.index_cast %back : index to i64"
    check(
        tmp_path,
        body + load("v", "%x", "%o", "f32") + store("%v", "%y", "%b", "f32"),
        """
        // CHECK: vector.shuffle {{.*}} [63, 62, 61
        // CHECK: llvm.store {{.*}} : vector<64xf32>, !llvm.ptr
        // CHECK-NOT: scatter
        """,
    )


def test_lanes_run_along_the_dimension_that_is_contiguous_in_memory(tmp_path):
    body = """
      %column = arith.muli %i1, %c2048 : index
      %at = arith.addi %column, %i0 : index
      %o = arith.index_cast %at : index to i64
    """
    check(
        tmp_path,
        body + load("v", "%x", "%o", "f32") + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>
        // CHECK-NOT: gather
        """,
        shape=(128, 128),
    )


def test_an_atomic_is_done_lane_by_lane_and_the_rest_in_vectors(tmp_path):
    body = (
        LINEAR
        + load("v", "%x", "%o", "f32")
        + """
      %square = arith.mulf %v, %v : f32
      %at = llvm.getelementptr %y[%o] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %old = llvm.atomicrmw fadd %at, %square monotonic : !llvm.ptr, f32
    """
    )
    check(
        tmp_path,
        body,
        """
        // CHECK: %[[S:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<64xf32>
        // CHECK: scf.for %[[L:.*]] =
        // CHECK: vector.extract %[[S]]{{.}}%[[L]]] : f32
        // CHECK: llvm.atomicrmw fadd
        """,
    )


def test_a_size_that_is_no_power_of_two_ends_in_shorter_vectors(tmp_path):
    check(
        tmp_path,
        LINEAR + load("v", "%x", "%o", "f32") + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: vector<64xf32>
        // CHECK: vector<32xf32>
        // CHECK: vector<4xf32>
        """,
        shape=(100,),
    )


def test_a_divisor_that_is_masked_off_does_not_trap(tmp_path):
    body = (
        LINEAR
        + MASK
        + """
      %v = scf.if %m -> i32 {
        %at = llvm.getelementptr %x[%o] : (!llvm.ptr, i64) -> !llvm.ptr, i32
        %d = llvm.load %at : !llvm.ptr -> i32
        %q = arith.divsi %narrow, %d : i32
        scf.yield %q : i32
      } else { scf.yield %n : i32 }
    """
    )
    check(
        tmp_path,
        body + store("%v", "%y", "%o", "i32"),
        """
        // CHECK: %[[D:.*]] = llvm.intr.masked.load
        // CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %[[D]], %{{.*}} : vector<64xi1>, vector<64xi32>
        // CHECK: arith.divsi %{{.*}}, %[[SAFE]]
        """,
    )


def test_a_tile_that_is_kept_transposed_is_transposed_in_blocks(tmp_path):
    tile = """
    %tile = memref.alloca() : memref<64x64xf32>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        outs(%tile : memref<64x64xf32>) {
    ^bb0(%old: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %column = arith.muli %j, %stride : index
      %at = arith.addi %column, %i : index
      %o = arith.index_cast %at : index to i64
    """
    text = tile + load("v", "%x", "%o", "f32") + "linalg.yield %v : f32\n}"
    check(
        tmp_path,
        LINEAR
        + "%z = arith.index_cast %n : i32 to index\n%v = memref.load %tile[%z, %i0] : memref<64x64xf32>"
        + store("%v", "%y", "%o", "f32"),
        """
        // CHECK: %[[KEPT:.*]] = memref.alloca() : memref<64x64xf32>
        // CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>
        // CHECK: vector.store {{.*}} %[[KEPT]]
        // CHECK: vector.load %[[KEPT]]{{.*}} vector<8xf32>
        // CHECK: vector.store {{.*}}, vector<8xf32>
        // CHECK-NOT: scatter
        """,
        shape=(64,),
        before="%stride = arith.index_cast %n : i32 to index\n" + text,
    )
