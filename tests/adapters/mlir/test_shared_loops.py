"""Parallel loops and linalg are done once by the block, by its threads together, whatever their number."""

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import UnsupportedFeatureError

pytestmark = pytest.mark.every_triton(1)

WARPS = (1, 2, 4, 8)


def check(run, text, expected, names=None, threads=WARPS, tolerance=2e-6, **values):
    """Right with 32 to 256 threads, and more than once: a race would show."""
    fragment = tle_raw.fragment(text)
    compiled = fragment.compile("cpu", **(names or {}))
    for num_warps in threads:
        got = run(fragment, names, num_warps, **values)
        got = got if isinstance(got, list) else [got]
        for value, wanted in zip(got, expected, strict=True):
            np.testing.assert_allclose(value, wanted, tolerance, tolerance)
    return compiled


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.one_triton
def test_matmul_in_place(run):
    a, b, c = random(16, 8), random(8, 32, seed=1), random(16, 32, seed=2)
    text = """
func.func @f(%a: memref<?x8xf32, 3>, %b: memref<8x32xf32, 3>, %c: memref<?x32xf32, 3>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32, 3>, memref<8x32xf32, 3>) outs(%c : memref<?x32xf32, 3>)
  return
}"""
    expected = c + a.astype(np.float64) @ b
    compiled = check(run, text, [a, b, expected], {"a_0": 16, "c_0": 16}, a=a, b=b, c=c)
    assert compiled.uses_barrier


def test_elementwise_and_transposed(run):
    a, c = random(16, 32), random(32, 16, seed=1)
    text = """
#same = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func @f(%a: memref<16x32xf32, 3>, %c: memref<32x16xf32, 3>, %s: f32) {
  linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<16x32xf32, 3>) outs(%c : memref<32x16xf32, 3>) {
  ^bb0(%x: f32, %y: f32):
    %e = math.exp %x : f32
    %m = arith.mulf %e, %s : f32
    %r = arith.addf %m, %y : f32
    linalg.yield %r : f32
  }
  linalg.transpose ins(%c : memref<32x16xf32, 3>) outs(%a : memref<16x32xf32, 3>) permutation = [1, 0]
  return
}"""
    updated = np.exp(a.astype(np.float64)).T * 0.5 + c
    check(run, text, [updated.T, updated], a=a, c=c, s=0.5)


@pytest.mark.one_triton
def test_a_reduction_to_one_value_is_one_threads(run):
    a, b = random(64), random(64, seed=1)
    text = """
func.func @f(%a: memref<64xf32, 3>, %b: memref<64xf32, 3>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<f32, 3>
  linalg.fill ins(%zero : f32) outs(%sum : memref<f32, 3>)
  linalg.dot ins(%a, %b : memref<64xf32, 3>, memref<64xf32, 3>) outs(%sum : memref<f32, 3>)
  %r = memref.load %sum[] : memref<f32, 3>
  memref.dealloc %sum : memref<f32, 3>
  return %r : f32
}"""
    check(run, text, [a, b, a.astype(np.float64) @ b], tolerance=1e-5, a=a, b=b)


@pytest.mark.one_triton
def test_a_reduction_over_one_axis(run):
    a, c = random(8, 64), random(8, seed=1)
    text = """
func.func @f(%a: memref<8x64xf32, 3>, %c: memref<8xf32, 3>) {
  linalg.reduce ins(%a : memref<8x64xf32, 3>) outs(%c : memref<8xf32, 3>) dimensions = [1]
    (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
  return
}"""
    check(run, text, [a, c + a.astype(np.float64).sum(1)], tolerance=1e-5, a=a, c=c)


@pytest.mark.one_triton
def test_a_reduction_that_comes_first_in_its_loops(run):
    a, c = random(8, 64), random(64, seed=1)
    text = """
func.func @f(%a: memref<8x64xf32, 3>, %c: memref<64xf32, 3>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
    ins(%a : memref<8x64xf32, 3>) outs(%c : memref<64xf32, 3>) {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  }
  return
}"""
    check(run, text, [a, c + a.astype(np.float64).sum(0)], tolerance=1e-5, a=a, c=c)


@pytest.mark.parametrize(
    ("start", "end", "step", "touched"), [(3, 61, 5, slice(3, 61, 5)), (0, 64, 1, slice(0, 64)), (9, 4, 2, slice(0, 0))]
)
def test_parallel_loops_with_bounds_and_steps(run, start, end, step, touched):
    a = random(64)
    text = f"""
func.func @f(%a: memref<64xf32, 3>) {{
  %start = arith.constant {start} : index
  %end = arith.constant {end} : index
  %step = arith.constant {step} : index
  scf.parallel (%i) = (%start) to (%end) step (%step) {{
    %x = memref.load %a[%i] : memref<64xf32, 3>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i] : memref<64xf32, 3>
  }}
  return
}}"""
    expected = a.copy()
    expected[touched] *= 2
    check(run, text, [expected], a=a)


@pytest.mark.one_triton
def test_nested_parallel_loops_and_bounds_of_the_call(run):
    a = random(16, 16)
    text = """
func.func @f(%a: memref<16x16xf32, 3>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%i, %j) = (%zero, %one) to (%n, %n) step (%one, %one) {
    %x = memref.load %a[%i, %j] : memref<16x16xf32, 3>
    scf.parallel (%k) = (%zero) to (%one) step (%one) {
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %j] : memref<16x16xf32, 3>
    }
  }
  return
}"""
    expected = a.copy()
    expected[:11, 1:11] *= 2
    check(run, text, [expected], a=a, n=11)


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "loop",
    [
        "scf.forall (%i) in (64) {BODY}",
        "affine.parallel (%i) = (0) to (64) {BODY}",
        "affine.for %k = 0 to 2 { affine.parallel (%j) = (0) to (32) {"
        " %i = affine.apply affine_map<(a, b) -> (a * 32 + b)>(%k, %j) BODY } }",
    ],
)
def test_other_kinds_of_loops(run, loop):
    body = (
        " %x = memref.load %a[%i] : memref<64xf32, 3> %y = arith.mulf %x, %x : f32"
        " memref.store %y, %a[%i] : memref<64xf32, 3> "
    )
    a = random(64)
    whole = loop.replace("{BODY}", f"{{{body}}}").replace("BODY", body)
    text = f"func.func @f(%a: memref<64xf32, 3>) {{\n {whole}\n return\n}}\n"
    check(run, text, [a.astype(np.float64) ** 2], a=a)


@pytest.mark.one_triton
def test_steps_see_what_the_steps_before_wrote(run):
    """Each sum reads its left neighbour's value of the step before: without barriers it would be a race."""
    a = random(256)
    text = """
func.func @f(%a: memref<256xf32, 3>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant 8 : index
  %size = arith.constant 256 : index
  %old = memref.alloc() : memref<256xf32, 3>
  scf.for %s = %zero to %steps step %one {
    memref.copy %a, %old : memref<256xf32, 3> to memref<256xf32, 3>
    scf.parallel (%i) = (%one) to (%size) step (%one) {
      %j = arith.subi %i, %one : index
      %x = memref.load %old[%i] : memref<256xf32, 3>
      %y = memref.load %old[%j] : memref<256xf32, 3>
      %z = arith.addf %x, %y : f32
      memref.store %z, %a[%i] : memref<256xf32, 3>
    }
  }
  return
}"""
    expected = a.astype(np.float64)
    for _ in range(8):
        expected[1:] = expected[1:] + expected[:-1]
    check(run, text, [expected], tolerance=1e-4, a=a)


@pytest.mark.one_triton
def test_a_barrier_stands_between_a_threads_own_writes_and_a_shared_loop(run):
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>, %b: memref<64xf32, 3>) {
  %thread = gpu.thread_id x
  %threads = gpu.block_dim x
  %size = arith.constant 64 : index
  scf.for %i = %thread to %size step %threads {
    %x = memref.load %a[%i] : memref<64xf32, 3>
    %y = arith.negf %x : f32
    memref.store %y, %a[%i] : memref<64xf32, 3>
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (63 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%a : memref<64xf32, 3>) outs(%b : memref<64xf32, 3>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}"""
    check(run, text, [-a, -a[::-1]], a=a, b=np.zeros_like(a))


@pytest.mark.one_triton
def test_what_a_thread_allocates_is_its_own(run):
    """A loop over private memory stays each thread's: shared out, every thread would see a part only."""
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %size = arith.constant 64 : index
  %thread = gpu.thread_id x
  %threads = gpu.block_dim x
  scf.for %i = %thread to %size step %threads {
    %x = memref.load %a[%i] : memref<64xf32, 3>
    %own = memref.alloca() : memref<4xf32>
    linalg.fill ins(%x : f32) outs(%own : memref<4xf32>)
    %sum = scf.for %k = %zero to %four step %one iter_args(%s = %x) -> (f32) {
      %y = memref.load %own[%k] : memref<4xf32>
      %t = arith.addf %s, %y : f32
      scf.yield %t : f32
    }
    memref.store %sum, %a[%i] : memref<64xf32, 3>
  }
  return
}"""
    check(run, text, [5 * a.astype(np.float64)], a=a)


ROWS = """
func.func @f(%a: memref<64x8xf32, 3>, %b: memref<64x8xf32, 3>) {
  %one = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %thread = gpu.thread_id x
  %threads = gpu.block_dim x
  scf.for %i = %thread to %rows step %threads {
    %from = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<64x8xf32, 3> to memref<8xf32, strided<[1], offset: ?>, 3>
    %to = memref.subview %b[%i, 0] [1, 8] [1, 1] : memref<64x8xf32, 3> to memref<8xf32, strided<[1], offset: ?>, 3>
    memref.copy %from, %to : memref<8xf32, strided<[1], offset: ?>, 3> to memref<8xf32, strided<[1], offset: ?>, 3>
    linalg.exp ins(%to : memref<8xf32, strided<[1], offset: ?>, 3>)
      outs(%to : memref<8xf32, strided<[1], offset: ?>, 3>)
  }
  return
}"""


@pytest.mark.one_triton
def test_a_loop_over_a_threads_own_rows_is_each_threads(run):
    """Threads take different turns, so there must be no barrier in it."""
    a = random(64, 8)
    compiled = check(run, ROWS, [a, np.exp(a.astype(np.float64))], a=a, b=np.zeros_like(a))
    assert not compiled.uses_barrier


@pytest.mark.one_triton
def test_a_view_at_the_threads_index_is_each_threads(run):
    a = random(256, 2)
    text = """
func.func @f(%a: memref<256x2xf32, 3>) {
  %i = gpu.thread_id x
  %row = memref.subview %a[%i, 0] [1, 2] [1, 1] : memref<256x2xf32, 3> to memref<2xf32, strided<[1], offset: ?>, 3>
  linalg.exp ins(%row : memref<2xf32, strided<[1], offset: ?>, 3>)
    outs(%row : memref<2xf32, strided<[1], offset: ?>, 3>)
  return
}"""
    check(run, text, [np.exp(a.astype(np.float64))], threads=(8,), a=a)


@pytest.mark.one_triton
def test_a_loop_in_a_branch_that_all_threads_take_is_shared(run):
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>, %n: i32) {
  %zero = arith.constant 0 : i32
  %taken = arith.cmpi sgt, %n, %zero : i32
  scf.if %taken {
    linalg.exp ins(%a : memref<64xf32, 3>) outs(%a : memref<64xf32, 3>)
  }
  return
}"""
    assert check(run, text, [np.exp(a.astype(np.float64))], a=a, n=1).uses_barrier
    check(run, text, [a], a=a, n=0)


@pytest.mark.one_triton
def test_a_loop_that_only_gives_a_value_is_each_threads(run):
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %r = scf.parallel (%i) = (%zero) to (%size) step (%one) init (%none) -> f32 {
    %x = memref.load %a[%i] : memref<64xf32, 3>
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %q: f32):
      %s = arith.addf %l, %q : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}"""
    check(run, text, [a, a.astype(np.float64).sum()], tolerance=1e-5, a=a)


def test_tensors_of_a_fragment(run):
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>) {
  %t = bufferization.to_tensor %a restrict writable : memref<64xf32, 3> to tensor<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.exp ins(%t : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  bufferization.materialize_in_destination %r in restrict writable %a : (tensor<64xf32>, memref<64xf32, 3>) -> ()
  return
}"""
    check(run, text, [np.exp(a.astype(np.float64))], a=a)


@pytest.mark.one_triton
def test_helpers_work_on_the_memory_of_their_caller(run):
    a = random(64)
    text = """
func.func @f(%a: memref<64xf32, 3>, %x: f32) -> f32 {
  %zero = arith.constant 0 : index
  %own = memref.alloca() : memref<64xf32>
  %cast = memref.cast %own : memref<64xf32> to memref<?xf32>
  call @fill(%cast, %x) : (memref<?xf32>, f32) -> ()
  call @double(%a) : (memref<64xf32, 3>) -> ()
  %last = arith.constant 63 : index
  %r = memref.load %own[%last] : memref<64xf32>
  return %r : f32
}
func.func private @fill(%m: memref<?xf32>, %x: f32) {
  linalg.fill ins(%x : f32) outs(%m : memref<?xf32>)
  return
}
func.func private @double(%m: memref<64xf32, 3>) {
  linalg.add ins(%m, %m : memref<64xf32, 3>, memref<64xf32, 3>) outs(%m : memref<64xf32, 3>)
  return
}"""
    check(run, text, [2 * a, 0.25], a=a, x=0.25)


def test_on_the_gpu_the_loop_starts_at_the_thread(ptx):
    text = """
func.func @f(%t: memref<256xf32, 3>) {
  linalg.exp ins(%t : memref<256xf32, 3>) outs(%t : memref<256xf32, 3>)
  return
}"""
    made = ptx(tle_raw.fragment(text))
    assert "%tid.x" in made and "%ntid.x" in made and made.count("bar.sync") >= 3


BOTH = """
func.func @f(%a: memref<4xf32, 3>, %x: f32) {
  %own = memref.alloca() : memref<4xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    outs(%own, %a : memref<4xf32>, memref<4xf32, 3>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %x, %x : f32, f32
  }
  return
}
"""
VALUE_AND_WRITE = """
func.func @f(%a: memref<4xf32, 3>, %x: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %r = scf.parallel (%i) = (%zero) to (%four) step (%one) init (%x) -> f32 {
    memref.store %x, %a[%i] : memref<4xf32, 3>
    scf.reduce(%x : f32) { ^bb0(%l: f32, %q: f32): scf.reduce.return %l : f32 }
  }
  return %r : f32
}
"""


@pytest.mark.one_triton
@pytest.mark.parametrize(
    ("text", "message", "line"),
    [(BOTH, "writes shared memory and memory of the thread", 3), (VALUE_AND_WRITE, "gives a value and writes", 4)],
)
def test_what_cannot_be_shared_is_refused(refusal, text, message, line):
    error = refusal(text)
    assert isinstance(error, UnsupportedFeatureError) and message in error.message
    assert error.context.source.text.strip().startswith(("linalg.generic", "%r = scf.parallel"))
