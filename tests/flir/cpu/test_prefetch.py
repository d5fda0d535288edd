"""Which addresses are asked for ahead of time, and where."""

import ctypes
import mmap
import subprocess
import sys

import numpy
import pytest

pytest.importorskip("torch_mlir.ir")

from tests.flir.cpu.linalg_kernels import Kernel, kernel_text
from tle_raw.flir.cpu.lower_to_llvm import lower_to_llvm, parse
from tle_raw.flir.cpu.prefetch import prefetch_next
from tle_raw.flir.cpu.vectorise import vectorise

pytestmark = pytest.mark.one_triton
ARGUMENTS = "%x: !llvm.ptr, %y: !llvm.ptr, %n: i32"


def generic(body, size, out=""):
    """Over one dimension; ``%i`` is the index. ``out`` is the buffer that it fills."""
    operand = f"outs({out} : memref<{size}xf32>)" if out else f"ins(%domain : memref<{size}xi1>)"
    argument, result = ("f32", "%r : f32") if out else ("i1", "")
    return f"""
    linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}} {operand} {{
    ^bb0(%unread: {argument}):
      %i = linalg.index 0 : index
      %w = arith.index_cast %i : index to i64
      {body}
      linalg.yield {result}
    }}
    """


def rows(size=1024, base="%pid", loop="", division=""):
    """Loads a row, takes its exponentials, stores them: three passes."""
    row = f"""
    {division}
    %first = arith.muli {base}, %length : i32
    %wide = arith.extsi %first : i32 to i64
    %from = llvm.getelementptr %x[%wide] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %to = llvm.getelementptr %y[%wide] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    """
    load = (
        "%a = llvm.getelementptr %from[%w] : (!llvm.ptr, i64) -> !llvm.ptr, f32\n%r = llvm.load %a : !llvm.ptr -> f32"
    )
    power = f"%v = memref.load %buffer[%i] : memref<{size}xf32>\n%r = math.exp %v : f32"
    store = f"""
      %a = llvm.getelementptr %to[%w] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v = memref.load %powers[%i] : memref<{size}xf32>
      llvm.store %v, %a : f32, !llvm.ptr
    """
    passes = row + generic(load, size, "%buffer") + generic(power, size, "%powers") + generic(store, size)
    if loop:
        passes = f"scf.for %iv = {loop} : i32 {{ {passes} }}"
    buffers = f"""
    %length = arith.constant {size} : i32
    %domain = memref.alloca() : memref<{size}xi1>
    %buffer = memref.alloca() : memref<{size}xf32>
    %powers = memref.alloca() : memref<{size}xf32>
    """
    return kernel_text(ARGUMENTS, buffers + passes)


def prefetched(source):
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        module = parse(source)
        vectorise(module, vector_bytes=64)
        prefetch_next(module)
        module.operation.verify()
        return str(module)


def check(folder, source, checks):
    (folder / "checks").write_text("\n".join(line.strip() for line in checks.strip().splitlines()))
    command = [sys.executable, "-m", "filecheck", str(folder / "checks")]
    text = prefetched(source)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\n{text}"


def test_the_next_program_s_row_is_read_and_this_one_s_result_made_ready_where_most_is_computed(tmp_path):
    check(
        tmp_path,
        rows(),
        """
        // CHECK: func.func @kernel({{.*}}, %[[PID:arg3]]: i32
        // CHECK: %[[SUM:.*]] = arith.addi %[[PID]], %{{.*}} : i32
        // CHECK: %[[FULL:.*]] = arith.cmpi eq, %[[SUM]], %arg6 : i32
        // CHECK: %[[NEXT:.*]] = arith.select %[[FULL]], %{{.*}}, %[[SUM]] : i32
        // CHECK: scf.for
        // CHECK: llvm.load
        // CHECK: scf.for
        // CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}}rw = 1
        // CHECK: arith.muli %[[NEXT]], %{{.*}} : i32
        // CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}}hint = 2 : i32, rw = 0
        // CHECK: math.exp
        // CHECK: scf.for
        // CHECK-NOT: prefetch
        """,
    )


def test_a_loop_s_next_iteration_is_read_and_after_the_last_the_next_program_s_first(tmp_path):
    check(
        tmp_path,
        rows(base="%iv", loop="%pid to %n step %grid_x"),
        """
        // CHECK: scf.for %[[I:.*]] = %arg3 to %arg2 step %arg6
        // CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %arg6 : i32
        // CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %arg2 : i32
        // CHECK: arith.select %[[MORE]], %[[NEXT]], %{{.*}} : i32
        // CHECK: rw = 0
        """,
    )


@pytest.mark.parametrize(
    "source",
    [
        rows(base="%n"),
        rows(size=1 << 17),
        rows(base="%quotient", division="%quotient = arith.divsi %pid, %n : i32"),
    ],
    ids=["the same row for all programs", "more than a core's cache", "a division that may trap"],
)
def test_no_prefetch_of(source):
    assert "prefetch" not in prefetched(source)


def test_one_pass_alone_has_nothing_to_overlap_with():
    body = """
      %a = llvm.getelementptr %from[%w] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v = llvm.load %a : !llvm.ptr -> f32
      llvm.store %v, %a : f32, !llvm.ptr
    """
    row = """
    %domain = memref.alloca() : memref<1024xi1>
    %wide = arith.extsi %pid : i32 to i64
    %from = llvm.getelementptr %x[%wide] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    """
    assert "prefetch" not in prefetched(kernel_text(ARGUMENTS, row + generic(body, 1024)))


def test_kernels_with_products_are_left_alone():
    product = """
    %a = memref.alloca() : memref<16x16xf32>
    linalg.matmul ins(%a, %a : memref<16x16xf32>, memref<16x16xf32>) outs(%a : memref<16x16xf32>)
    """
    source = rows().replace("return", product + "return")
    assert "llvm.prefetch" not in lower_to_llvm(source, vector_bytes=64)
    assert "llvm.prefetch" in lower_to_llvm(rows(), vector_bytes=64)


@pytest.mark.parametrize("size", [129, 1000, 4096])
def test_the_last_program_s_prefetch_beyond_the_array_does_no_harm(size):
    """The array ends where no memory is."""
    pages = -(-4 * size * 3 // mmap.PAGESIZE) + 1
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    bytes_ = numpy.frombuffer(memory, numpy.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    last = bytes_.ctypes.data + (pages - 1) * mmap.PAGESIZE
    assert libc.mprotect(ctypes.c_void_p(last), mmap.PAGESIZE, 0) == 0
    x = bytes_[: (pages - 1) * mmap.PAGESIZE].view("f4")[-3 * size :].reshape(3, size)
    x[:] = numpy.random.default_rng(0).standard_normal((3, size))
    x[1, ::7] = numpy.resize([numpy.inf, -numpy.inf, numpy.nan, 1e-40], len(x[1, ::7]))
    y = numpy.zeros((3, size), "f4")
    kernel = Kernel(rows(size))
    for row in range(3):
        kernel(x, y, 0, pid=row)
    want = numpy.exp(x.astype("f8"))
    assert numpy.allclose(y, want, rtol=1e-6, equal_nan=True)
    assert libc.mprotect(ctypes.c_void_p(last), mmap.PAGESIZE, 3) == 0
