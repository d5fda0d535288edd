"""Vectorised kernels compute what the scalar loops do."""

import numpy
import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("llvmlite")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.flir.cpu.linalg_kernels import DTYPES, Kernel, kernel_text, load, random_array, store, store_tile
from tests.flir.cpu.random_generics import random_kernel

pytestmark = pytest.mark.one_triton

HOSTS = [16, 32, 64]
SIZES = [0, 1, 5, 63, 64, 1000, 1024, 1500, 2048]


def assert_same_bits(a, b):
    assert numpy.array_equal(a.view("u1"), b.view("u1"))


def masked_tile(kind, compute, size=1024):
    """``z = compute(x, y)`` in tiles, masked by ``n``."""
    body = f"""
      %c = arith.index_cast %i0 : index to i32
      %at = arith.addi %base, %c : i32
      %m = arith.cmpi slt, %at, %n : i32
      %o = arith.extsi %at : i32 to i64
      {load("a", "%x", "%o", kind, "%m", "%zero")}
      {load("b", "%y", "%o", kind, "%m", "%zero")}
      {compute}
      {store("%s", "%z", "%o", kind, "%m")}
    """
    before = f"""
      %zero = arith.constant {"0.0" if "f" in kind else "0"} : {kind}
      %size = arith.constant {size} : i32
      %base = arith.muli %pid, %size : i32
    """
    return kernel_text("%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr, %n: i32", before + store_tile((size,), body))


@pytest.mark.parametrize("vector_bytes", HOSTS)
@pytest.mark.parametrize("kind", DTYPES)
def test_every_element_type(kind, vector_bytes):
    text = masked_tile(kind, f"%s = arith.{'addf' if 'f' in kind else 'addi'} %a, %b : {kind}")
    fast, slow = Kernel(text, vector_bytes=vector_bytes), Kernel(text, scalar_loops=True)
    for n in SIZES:
        a, b = random_array(kind, n, 1), random_array(kind, n, 2)
        result, expected = (numpy.zeros(n + 64, a.dtype) for _ in range(2))
        for pid in range(2):
            fast(a, b, result, n, pid=pid)
            slow(a, b, expected, n, pid=pid)
        assert_same_bits(result, expected)
        if kind != "bf16":
            assert numpy.array_equal(result[:n], a + b)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 48, 96, 100, 127, 1000])
def test_sizes_that_are_no_powers_of_two(size):
    kernel = Kernel(masked_tile("f32", "%s = arith.subf %a, %b : f32", size))
    a, b = random_array("f32", size, 1), random_array("f32", size, 2)
    result = numpy.zeros(size, "f4")
    kernel(a, b, result, size - size // 5)
    assert numpy.array_equal(result[: size - size // 5], (a - b)[: size - size // 5])
    assert not result[size - size // 5 :].any()


@pytest.mark.parametrize("kind", DTYPES)
def test_fill_and_copy(kind):
    buffer = f"memref<24x100x{kind}>"
    out = """
      %hundred = arith.constant 100 : index
      %row = arith.muli %i0, %hundred : index
      %at = arith.addi %row, %i1 : index
      %o = arith.index_cast %at : index to i64
    """
    body = f"""
      %value = arith.constant {"2.5" if "f" in kind else "3"} : {kind}
      %a = memref.alloca() : {buffer}
      %b = memref.alloca() : {buffer}
      linalg.fill ins(%value : {kind}) outs(%a : {buffer})
      linalg.copy ins(%a : {buffer}) outs(%b : {buffer})
    """
    tile = store_tile((24, 100), out + f"%v = memref.load %b[%i0, %i1] : {buffer}\n" + store("%v", "%x", "%o", kind))
    result = numpy.zeros(2400 + 8, DTYPES[kind])
    Kernel(kernel_text("%x: !llvm.ptr", body + tile))(result)
    expected = {"bf16": 0x4020}.get(kind, 2.5 if "f" in kind else 3)
    assert (result[:2400] == expected).all()
    assert not result[2400:].any()


@pytest.mark.parametrize("kind", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("shape", [(64, 64), (32, 128), (100, 8), (8, 24)])
def test_a_tile_that_is_kept_transposed(kind, shape):
    """Read along its first dimension at a stride known at run time, kept along the second."""
    rows, columns = shape
    buffer = f"memref<{rows}x{columns}x{kind}>"
    body = f"""
      %tile = memref.alloca() : {buffer}
      %stride = arith.index_cast %n : i32 to index
      %width = arith.constant {columns} : index
      linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
          outs(%tile : {buffer}) {{
      ^bb0(%old: {kind}):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %column = arith.muli %j, %stride : index
        %at = arith.addi %column, %i : index
        %o = arith.index_cast %at : index to i64
        {load("v", "%x", "%o", kind)}
        linalg.yield %v : {kind}
      }}
    """
    out = f"""
      %row = arith.muli %i0, %width : index
      %at = arith.addi %row, %i1 : index
      %o = arith.index_cast %at : index to i64
      %v = memref.load %tile[%i0, %i1] : {buffer}
    """
    kernel = Kernel(
        kernel_text(
            "%x: !llvm.ptr, %y: !llvm.ptr, %n: i32", body + store_tile(shape, out + store("%v", "%y", "%o", kind))
        )
    )
    source = random_array(kind, columns * (rows + 5)).reshape(columns, rows + 5)
    result = numpy.zeros(shape, source.dtype)
    kernel(source, result, rows + 5)
    assert numpy.array_equal(result, source[:, :rows].T)


def test_a_division_by_zero_that_is_masked_off_does_not_trap():
    body = """
      %o = arith.index_cast %i0 : index to i64
      %zero = arith.constant 0 : i32
      %at = llvm.getelementptr %x[%o] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %d = llvm.load %at : !llvm.ptr -> i32
      %m = arith.cmpi ne, %d, %zero : i32
      %v = scf.if %m -> i32 {
        %q = arith.divsi %n, %d : i32
        scf.yield %q : i32
      } else { scf.yield %zero : i32 }
    """
    kernel = Kernel(
        kernel_text("%x: !llvm.ptr, %y: !llvm.ptr, %n: i32", store_tile((64,), body + store("%v", "%y", "%o", "i32")))
    )
    divisors = numpy.arange(64, dtype="i4") % 5
    result = numpy.empty(64, "i4")
    kernel(divisors, result, 1000)
    assert numpy.array_equal(result, [1000 // d if d else 0 for d in divisors])


def test_lanes_add_to_one_place_one_after_the_other():
    body = """
      %o = arith.index_cast %i0 : index to i64
      %three = arith.constant 3 : i64
      %bin = arith.remui %o, %three : i64
      %at = llvm.getelementptr %y[%bin] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %narrow = arith.index_cast %i0 : index to i32
      %m = arith.cmpi slt, %narrow, %n : i32
      scf.if %m { %old = llvm.atomicrmw add %at, %narrow monotonic : !llvm.ptr, i32 }
    """
    kernel = Kernel(kernel_text("%y: !llvm.ptr, %n: i32", store_tile((256,), body)))
    result = numpy.zeros(3, "i4")
    kernel(result, 200)
    assert list(result) == [sum(range(b, 200, 3)) for b in range(3)]


@pytest.mark.parametrize("pid", [0, 1, 7, -1, 2**31 // 64 - 1])
@pytest.mark.parametrize("divisor", [1, 64, 100, 1000, 2**31 - 1, -3])
def test_offsets_modulo_a_number_known_at_run_time(pid, divisor):
    """At the edge, for negative offsets and where they overflow, the remainder is no contiguous index."""
    body = """
      %size = arith.constant 64 : i32
      %base = arith.muli %pid, %size : i32
      %c = arith.index_cast %i0 : index to i32
      %at = arith.addi %base, %c : i32
      %r = arith.remsi %at, %n : i32
      %o = arith.index_cast %i0 : index to i64
    """
    kernel = Kernel(kernel_text("%y: !llvm.ptr, %n: i32", store_tile((256,), body + store("%r", "%y", "%o", "i32"))))
    result = numpy.empty(256, "i4")
    kernel(result, divisor, pid=pid)
    with numpy.errstate(over="ignore"):
        offsets = numpy.int32(pid) * numpy.int32(64) + numpy.arange(256, dtype="i4")
    assert numpy.array_equal(result, numpy.fmod(offsets, numpy.int32(divisor)))


@given(st.randoms(use_true_random=False), st.sampled_from(HOSTS))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_kernels_agree_with_their_scalar_loops(random, vector_bytes):
    text, made = random_kernel(random)
    fast, slow = Kernel(text, vector_bytes=vector_bytes), Kernel(text, scalar_loops=True)
    x, y = random_array(made.kind, made.total, 1), random_array(made.kind, made.total, 2)
    for n, flag, pid in ((1, 0, 0), (made.total, 1, 0), (made.total // 2 + 1, 1, 3), (7, 0, 5)):
        results = [[numpy.zeros(made.total, x.dtype) for _ in range(2)] for _ in range(2)]
        fast(x, y, *results[0], n, flag, pid=pid)
        slow(x, y, *results[1], n, flag, pid=pid)
        for a, b in zip(*results):
            assert_same_bits(a, b)
