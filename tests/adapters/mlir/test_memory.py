"""Memory that a fragment allocates: a thread's stack, or static shared memory; nothing else."""

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import UnsupportedFeatureError

pytestmark = pytest.mark.every_triton(2)


def with_body(body: str, tile: str = "memref<64xf32, 3>") -> str:
    return f"func.func @f(%a: {tile}, %n: index) {{\n{body}\n  return\n}}\n"


def test_memory_space_3_is_a_static_shared_variable(run):
    text = with_body("""
  %s = memref.alloc() {alignment = 64 : i64} : memref<64xf32, 3>
  %u = memref.alloca() : memref<8xi8, #gpu.address_space<workgroup>>
  memref.copy %a, %s : memref<64xf32, 3> to memref<64xf32, 3>
  linalg.add ins(%s, %a : memref<64xf32, 3>, memref<64xf32, 3>) outs(%a : memref<64xf32, 3>)
  %zero = arith.constant 0 : index
  %b = arith.constant 1 : i8
  memref.store %b, %u[%n] : memref<8xi8, #gpu.address_space<workgroup>>
  %c = memref.load %u[%zero] : memref<8xi8, #gpu.address_space<workgroup>>
  %d = arith.sitofp %c : i8 to f32
  memref.store %d, %a[%zero] : memref<64xf32, 3>
  memref.dealloc %s : memref<64xf32, 3>""")
    fragment = tle_raw.fragment(text)
    compiled = fragment.compile("cuda:90")
    assert sorted((size, align) for _, size, align in compiled.static_shared) == [(8, 16), (256, 64)]
    a = np.random.default_rng(0).uniform(-1, 1, 64).astype(np.float32)
    np.testing.assert_array_equal(run(fragment, a=a, n=0), np.concatenate([[1], 2 * a[1:]]))


@pytest.mark.one_triton
def test_stack_is_claimed_once(run):
    text = with_body("""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %thread = gpu.thread_id x
  scf.for %i = %zero to %n step %one {
    %own = memref.alloc() : memref<2xf32>
    %x = memref.load %a[%thread] : memref<64xf32, 3>
    memref.store %x, %own[%one] : memref<2xf32>
    %y = memref.load %own[%one] : memref<2xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %a[%thread] : memref<64xf32, 3>
    memref.dealloc %own : memref<2xf32>
  }""")
    fragment = tle_raw.fragment(text)
    made = fragment.compile("cuda:90").text
    body = made[made.index("@f$") :]
    assert made.count("alloca float") == 1 and body.index("alloca") < body.index("br ")
    a = np.random.default_rng(1).uniform(-1, 1, 64).astype(np.float32)
    np.testing.assert_array_equal(run(fragment, num_warps=2, a=a, n=3), 8 * a)


@pytest.mark.one_triton
def test_constant_tables(run):
    text = """
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @f(%i: index) -> f32 {
  %t = memref.get_global @table : memref<4xf32>
  %x = memref.load %t[%i] : memref<4xf32>
  return %x : f32
}"""
    fragment = tle_raw.fragment(text)
    assert [run(fragment, i=i) for i in range(4)] == [1, 2, 3, 4]


# Memory that nothing is written to is gone before anyone looks where it lies.
WRITE = (
    " %zero = arith.constant 0 : index %b = arith.constant 1.0 : f32 memref.store %b, %m[%zero] : MEMREF"
    " call @use(%m) : (MEMREF) -> ()"
)
REFUSED = {
    "%m = memref.alloc(%n) : memref<?xf32>": "its size is known at run time only",
    "%m = memref.alloca(%n) : memref<?xf32, 3>": "its size is known at run time only",
    "%m = memref.alloc() : memref<4xf32, 1>": "memory space 1 : i64 is not a thread's",
    "%m = memref.alloc() : memref<8192xf32>": "32768 bytes for each thread",
    "%k = memref.alloc() : memref<4xf32> %m = memref.realloc %k : memref<4xf32> to memref<8xf32>": "no heap",
    "%z = arith.constant 0 : index %o = arith.constant 1 : index %k = memref.alloc() : memref<4xf32>"
    " %m = scf.for %i = %z to %n step %o iter_args(%j = %k) -> (memref<4xf32>) {"
    " %l = memref.alloc() : memref<4xf32> scf.yield %l : memref<4xf32> }//memref<4xf32>": "handed out of it",
}


def using(body: str) -> str:
    """A module in which the memory ``%m`` is written, and read by a function that is not inlined."""
    body, _, kind = body.partition("//")
    kind = kind or body[body.rindex("memref<") :]
    return (
        with_body(f"  {body}{WRITE.replace('MEMREF', kind)}")
        + f"func.func private @use(%m: {kind}) {{ %z = arith.constant 0 : index"
        + f' %x = memref.load %m[%z] : {kind} cf.br ^a ^a: gpu.printf "%f", %x : f32 return }}\n'
    )


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_other_memory_is_refused_by_name(refusal, body, message):
    error = refusal(using(body))
    assert isinstance(error, UnsupportedFeatureError), error
    assert message in error.message


def test_memory_of_others_is_not_given_back(refusal):
    error = refusal(with_body("  memref.dealloc %a : memref<64xf32, 3>"))
    assert "the memory is not the fragment's own" in error.message


def test_dynamic_shared_memory_is_refused(refusal):
    shared = "memref<?xi8, #gpu.address_space<workgroup>>"
    error = refusal(with_body(f"  %m = gpu.dynamic_shared_memory : {shared}"))
    assert isinstance(error, UnsupportedFeatureError) and "gpu.dynamic_shared_memory" in error.message


def test_the_refusal_names_the_line(refusal):
    error = refusal(using("%m = memref.alloc(%n) : memref<?xf32>"))
    assert "%m = memref.alloc(%n) : memref<?xf32>" in error.context.source.text


def test_shared_memory_has_no_initial_value(refusal):
    text = """
memref.global "private" constant @table : memref<4xf32, 3> = dense<1.0>
func.func @f(%i: index) -> f32 {
  %t = memref.get_global @table : memref<4xf32, 3>
  %x = memref.load %t[%i] : memref<4xf32, 3>
  return %x : f32
}"""
    assert "no initial value" in refusal(text).message
