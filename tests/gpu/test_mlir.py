"""MLIR modules: by libtriton alone and by upstream's bindings, text and objects, linalg shared among the threads."""

import importlib.util
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import (
    COMPILE_ONLY,
    DTYPES,
    ON_CPU,
    ROUNDING,
    bits,
    check_bits,
    check_close,
    check_integers,
    integers,
    numbers,
    poisoned,
    random,
)
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile

pytestmark = pytest.mark.gpu

BINDINGS = importlib.util.find_spec("torch_mlir") is not None
# A cache that pack.sh filled holds what the bindings would make.
FILLED = Path(os.environ.get("GPU_TESTS_CACHE") or ".", "complete").exists()
needs_bindings = pytest.mark.skipif(not BINDINGS and not FILLED, reason="needs torch-mlir, or a filled cache")
needs_objects = pytest.mark.skipif(not BINDINGS, reason="needs torch-mlir")
TARGET = "cpu" if ON_CPU else "cuda:90"
FLOATS = ("f16", "bf16", "f32", "f64")
WARPS = [1, 2, 4, 8]


def mlir_type(name: str) -> str:
    """A dtype's type in MLIR, whose integers have no sign."""
    return f"i{name[1:]}" if name[0] == "u" else {"f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2"}.get(name, name)


def declared(text: str, stub: object = None, **options: object) -> tle_raw.Fragment:
    return tle_raw.fragment(text, signature=stub, dialect="mlir", **options)


@triton.jit
def update_kernel(x_ptr, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(x_ptr + at, FRAGMENT(tl.load(x_ptr + at)))


@triton.jit
def line_kernel(x_ptr, FRAGMENT: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x_ptr + at, FRAGMENT(tl.load(x_ptr + at)))


# --- by libtriton alone -----------------------------------------------------------------------------------------------


def over_llvm(t: str, body: str, count: int = 512) -> str:
    """A loop of the block over the elements of %t: ``body`` turns %v into %w."""
    return f"""    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ntid = nvvm.read.ptx.sreg.ntid.x : i32
    %first = arith.index_cast %tid : i32 to index
    %step = arith.index_cast %ntid : i32 to index
    %end = arith.constant {count} : index
    scf.for %i = %first to %end step %step {{
      %k = arith.index_cast %i : index to i64
      %p = llvm.getelementptr %t[%k] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, {t}
      %v = llvm.load %p : !llvm.ptr<3> -> {t}
{body}
      llvm.store %w, %p : {t}, !llvm.ptr<3>
    }}
"""


@pytest.mark.parametrize("name", [*FLOATS, "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_an_llvm_function_by_libtriton_alone(name):
    t = mlir_type(name)
    kind = "f" if name in FLOATS else "i"
    body = f"      %a = arith.mul{kind} %v, %s : {t}\n      %w = arith.add{kind} %a, %v : {t}"
    text = f"""module {{
  llvm.func @scaled(%t: !llvm.ptr<3>, %s: {t}) -> {t} {{
{over_llvm(t, body)}    %two = arith.add{kind} %s, %s : {t}
    llvm.return %two : {t}
  }}
}}"""

    def scaled(t: InOut[Tile[name, 512]], s: Scalar[name]) -> Scalar[name]: ...

    fragment = declared(text, scaled)
    assert fragment.compile(target=TARGET).route == "libtriton"

    @triton.jit
    def kernel(x_ptr, s_ptr, r_ptr, FRAGMENT: tl.constexpr):
        pid = tl.program_id(0)
        at = pid * 512 + tl.arange(0, 512)
        x, r = FRAGMENT(tl.load(x_ptr + at), tl.load(s_ptr + pid))
        tl.store(x_ptr + at, x)
        tl.store(r_ptr + pid, r)

    x, s = random(name, (3, 512)), random(name, (3,), seed=4)
    r = poisoned(s)
    if name in FLOATS:
        a, b = numbers(x), numbers(s)[:, None]
        kernel[(3,)](x, s, r, fragment)
        check_close(x, a * b + a, 2 * ROUNDING[name], 2 * ROUNDING[name] * np.abs(a * b).max())
        check_close(r, 2 * numbers(s), ROUNDING[name])
    else:
        a, b = integers(x), integers(s)[:, None]
        kernel[(3,)](x, s, r, fragment)
        with np.errstate(over="ignore"):
            check_integers(x, a * b + a)
            check_integers(r, (b + b)[:, 0])


COLLATZ = """module {
  llvm.func @collatz(%t: !llvm.ptr<3>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
LOOP
    llvm.return
  }
}"""
COLLATZ_BODY = """      %r:2 = scf.while (%x = %v, %n = %c0) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi sgt, %x, %c1 : i32
        scf.condition(%more) %x, %n : i32, i32
      } do {
      ^bb0(%x: i32, %n: i32):
        %low = arith.remui %x, %c2 : i32
        %even = arith.cmpi eq, %low, %c0 : i32
        %y = scf.if %even -> (i32) {
          %half = arith.divui %x, %c2 : i32
          scf.yield %half : i32
        } else {
          %m = arith.muli %x, %c3 : i32
          %s = arith.addi %m, %c1 : i32
          scf.yield %s : i32
        }
        %next = arith.addi %n, %c1 : i32
        scf.yield %y, %next : i32, i32
      }
      %w = arith.addi %r#1, %c0 : i32"""


@pytest.mark.parametrize("num_warps", WARPS)
def test_loops_and_branches_by_libtriton_alone(num_warps):
    def collatz(t: InOut[Tile["i32", "N"]]): ...

    fragment = declared(COLLATZ.replace("LOOP", over_llvm("i32", COLLATZ_BODY)), collatz)
    x = random("i32", (4, 512)).remainder(10000).to(torch.int32)
    values = integers(x).reshape(-1)
    line_kernel[(4,)](x, fragment, 512, num_warps=num_warps)
    counts = np.zeros_like(values)
    rest = values.astype(np.int64)
    while (rest > 1).any():
        counts += rest > 1
        rest = np.where(rest > 1, np.where(rest % 2 == 0, rest // 2, 3 * rest + 1), rest)
    check_integers(x.reshape(-1), counts)


WARP_SUM = """module {
  llvm.mlir.global internal @partial() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
  llvm.func @block_sum(%x: !llvm.ptr<1>, %n: i64, %sum: !llvm.ptr<1>) {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %c31 = arith.constant 31 : i32
    %all = arith.constant -1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ntid = nvvm.read.ptx.sreg.ntid.x : i32
    %first = arith.index_cast %tid : i32 to index
    %step = arith.index_cast %ntid : i32 to index
    %end = arith.index_cast %n : i64 to index
    %mine = scf.for %i = %first to %end step %step iter_args(%a = %zero) -> (f32) {
      %k = arith.index_cast %i : index to i64
      %p = llvm.getelementptr %x[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %v = llvm.load %p : !llvm.ptr<1> -> f32
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32
    }
SHUFFLES
    %lane = arith.andi %tid, %c31 : i32
    %warp = arith.shrui %tid, %c5 : i32
    %leads = arith.cmpi eq, %lane, %c0 : i32
    %slots = llvm.mlir.addressof @partial : !llvm.ptr<3>
    scf.if %leads {
      %q = llvm.getelementptr %slots[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      llvm.store %s5, %q : f32, !llvm.ptr<3>
    }
    nvvm.barrier
    %is_first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %is_first {
      %warps = arith.shrui %ntid, %c5 : i32
      %c1 = arith.constant 1 : i32
      %total = scf.for %w = %c0 to %warps step %c1 iter_args(%a = %zero) -> (f32) : i32 {
        %q = llvm.getelementptr %slots[%w] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %v = llvm.load %q : !llvm.ptr<3> -> f32
        %b = arith.addf %a, %v : f32
        scf.yield %b : f32
      }
      llvm.store %total, %sum : f32, !llvm.ptr<1>
    }
    llvm.return
  }
}"""


def shuffles() -> str:
    lines = []
    for step in range(5):
        source = "%mine" if step == 0 else f"%s{step}"
        lines += [
            f"    %d{step} = arith.constant {1 << step} : i32",
            f"    %o{step} = nvvm.shfl.sync bfly %all, {source}, %d{step}, %c31 : f32 -> f32",
            f"    %s{step + 1} = arith.addf {source}, %o{step} : f32",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize("num_warps", WARPS)
def test_shuffles_barriers_and_static_shared_memory_by_libtriton_alone(num_warps):
    def block_sum(x: Pointer["f32"], n: Scalar["i64"], sum: InOut[Pointer["f32"]]): ...

    fragment = declared(WARP_SUM.replace("SHUFFLES", shuffles()), block_sum)
    compiled = fragment.compile(target=TARGET)
    assert compiled.route == "libtriton" and compiled.uses_barrier

    @triton.jit
    def kernel(x_ptr, y_ptr, n, FRAGMENT: tl.constexpr):
        FRAGMENT(x_ptr + tl.program_id(0) * n, n.to(tl.int64), y_ptr + tl.program_id(0))

    x = random("f32", (7, 1001))
    y = poisoned(x, (7,))
    kernel[(7,)](x, y, 1001, fragment, num_warps=num_warps)
    check_close(y, numbers(x).sum(axis=1), 1e-5, 1e-4)


MATHEMATICS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "atan": np.arctan,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "erf": np.vectorize(math.erf),
    "absf": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundeven": np.round,
}  # fmt: skip


@triton.jit
def math_kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr):
    i = tl.arange(0, 16384)
    y = FRAGMENT(tl.load(x_ptr + tl.arange(0, 512)))
    tl.store(y_ptr + i, y, mask=i < 21 * 512)


def check_mathematics(name: str, fragment: tle_raw.Fragment) -> None:
    x = (random("f64", (512,)).abs() + 0.03).to(DTYPES[name])
    y = poisoned(x, (32, 512))
    math_kernel[(1,)](x, y, fragment)
    expected = np.stack([function(numbers(x)) for function in MATHEMATICS.values()])
    # Functions of half floats are computed in f32 and rounded once.
    check_close(y[: len(MATHEMATICS)], expected, 8 * ROUNDING[name], 8 * ROUNDING[name])


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_math_by_libtriton_alone_against_float64(name):
    store = f"""      %kINDEX = arith.constant {{}} : i64
      %atINDEX = arith.addi %k, %kINDEX : i64
      %qINDEX = llvm.getelementptr %y[%atINDEX] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, {name}
      llvm.store %rINDEX, %qINDEX : {name}, !llvm.ptr<3>"""
    lines = []
    for index, function in enumerate(MATHEMATICS):
        lines += [f"      %r{index} = math.{function} %v : {name}"]
        lines += [store.replace("INDEX", str(index)).format(512 * index)]
    text = f"""module {{
  llvm.func @functions(%t: !llvm.ptr<3>, %y: !llvm.ptr<3>) {{
{over_llvm(name, chr(10).join(lines))}    llvm.return
  }}
}}"""
    text = text.replace(f"      llvm.store %w, %p : {name}, !llvm.ptr<3>\n", "")  # the input stays as it is

    def functions(t: Tile[name, 512], y: Out[Tile[name, 16384]]): ...

    check_mathematics(name, declared(text, functions))


# --- upstream's dialects ----------------------------------------------------------------------------------------------


@needs_bindings
@pytest.mark.parametrize("name", ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_a_memref_of_dynamic_dims_of_every_dtype(name):
    """Transposed by loads and stores of the block's threads, in generic form of ``func.func``."""
    text = f"""func.func @turned(%x: memref<?x?x{name}, 3>, %y: memref<?x?x{name}, 3>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?x{name}, 3>
  %n = memref.dim %x, %c1 : memref<?x?x{name}, 3>
  %size = arith.muli %m, %n : index
  %first = gpu.thread_id x
  %step = gpu.block_dim x
  scf.for %i = %first to %size step %step {{
    %row = arith.divui %i, %n : index
    %column = arith.remui %i, %n : index
    %v = memref.load %x[%row, %column] : memref<?x?x{name}, 3>
    memref.store %v, %y[%column, %row] : memref<?x?x{name}, 3>
  }}
  return
}}"""

    def turned(x: Tile[name, "M", "N"], y: Out[Tile[name, "N", "M"]]): ...

    fragment = declared(text, turned)

    @triton.jit
    def kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        m, n = tl.arange(0, M), tl.arange(0, N)
        first = tl.program_id(0) * M * N
        y = FRAGMENT(tl.load(x_ptr + first + m[:, None] * N + n[None, :]))
        tl.store(y_ptr + first + n[:, None] * M + m[None, :], y)

    for shape in ((16, 32), (2, 128)):
        x = random(name, (3, *shape))
        y = poisoned(x)
        kernel[(3,)](x, y, fragment, *shape)
        check_bits(y.reshape(3, *shape[::-1]), bits(x).transpose(0, 2, 1))


@needs_bindings
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_a_signature_inferred_from_the_functions_type(rank):
    shape = {1: (512,), 2: (16, 32), 3: (4, 16, 8), 4: (8, 2, 4, 8)}[rank]
    memref = f"memref<{'?x' * rank}i32, 3>"
    places = ", ".join(f"%i{axis}" for axis in range(rank))
    dims = [f"  %c{a} = arith.constant {a} : index\n  %d{a} = memref.dim %t, %c{a} : {memref}" for a in range(rank)]
    weights = ["    %w0 = arith.constant 0 : index"]
    for axis in range(rank):
        weights += [
            f"    %m{axis} = arith.muli %w{axis}, %d{axis} : index",
            f"    %w{axis + 1} = arith.addi %m{axis}, %i{axis} : index",
        ]
    lower = ", ".join("%c0" for _ in range(rank))
    upper = ", ".join(f"%d{axis}" for axis in range(rank))
    step = ", ".join("%one" for _ in range(rank))
    text = f"""func.func @weighted(%t: {memref}, %s: i32) -> i32 {{
  %one = arith.constant 1 : index
{chr(10).join(dims)}
  scf.parallel ({places}) = ({lower}) to ({upper}) step ({step}) {{
{chr(10).join(weights)}
    %k = arith.index_cast %w{rank} : index to i32
    %v = memref.load %t[{places}] : {memref}
    %a = arith.muli %v, %s : i32
    %b = arith.addi %a, %k : i32
    memref.store %b, %t[{places}] : {memref}
  }}
  %r = arith.index_cast %d0 : index to i32
  return %r : i32
}}"""
    fragment = tle_raw.fragment(text)  # it says itself what it is
    assert fragment.dialect == "mlir" and fragment.name == "weighted"

    @triton.jit
    def kernel(x_ptr, r_ptr, FRAGMENT: tl.constexpr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
        at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        x, r = FRAGMENT(tl.reshape(tl.load(x_ptr + at), SHAPE), tl.program_id(0) + 3)
        tl.store(x_ptr + at, tl.reshape(x, (SIZE,)))
        tl.store(r_ptr + tl.program_id(0), r)

    x = random("i32", (3, 512))
    r = poisoned(x, (3,))
    values = integers(x)
    kernel[(3,)](x, r, fragment, shape, 512)
    with np.errstate(over="ignore"):
        check_integers(x, values * np.arange(3, 6, dtype=np.int32)[:, None] + np.arange(512, dtype=np.int32))
    check_integers(r, np.full(3, shape[0], np.int32))


LINALG = {
    "generic": (
        """  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
    } outs(%t : memref<32x16xf32, 3>) {
    ^bb0(%v: f32):
      %i = linalg.index 0 : index
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      %w = arith.mulf %v, %f : f32
      linalg.yield %w : f32
  }""",
        lambda x: x * np.arange(32)[:, None],
    ),
    "fill, then add": (
        """  %k = arith.constant 2.5 : f32
  %s = memref.alloc() : memref<32x16xf32, 3>
  linalg.fill ins(%k : f32) outs(%s : memref<32x16xf32, 3>)
  linalg.add ins(%t, %s : memref<32x16xf32, 3>, memref<32x16xf32, 3>) outs(%t : memref<32x16xf32, 3>)""",
        lambda x: x + 2.5,
    ),
    "transposed twice": (
        """  %s = memref.alloc() : memref<16x32xf32, 3>
  linalg.transpose ins(%t : memref<32x16xf32, 3>) outs(%s : memref<16x32xf32, 3>) permutation = [1, 0]
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (15 - j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%s : memref<16x32xf32, 3>) outs(%t : memref<32x16xf32, 3>) {
    ^bb0(%v: f32, %old: f32):
      linalg.yield %v : f32
  }""",
        lambda x: x[..., ::-1],
    ),
    "a product": (
        """  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<32x16xf32, 3>
  %g = memref.alloc() : memref<16x16xf32, 3>
  memref.copy %t, %a : memref<32x16xf32, 3> to memref<32x16xf32, 3>
  linalg.fill ins(%zero : f32) outs(%g : memref<16x16xf32, 3>)
  linalg.generic {
      indexing_maps = [
        affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%a, %a : memref<32x16xf32, 3>, memref<32x16xf32, 3>) outs(%g : memref<16x16xf32, 3>) {
    ^bb0(%u: f32, %v: f32, %sum: f32):
      %p = arith.mulf %u, %v : f32
      %s = arith.addf %p, %sum : f32
      linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%t : memref<32x16xf32, 3>)
  linalg.matmul ins(%a, %g : memref<32x16xf32, 3>, memref<16x16xf32, 3>) outs(%t : memref<32x16xf32, 3>)""",
        lambda x: x @ (x.transpose(0, 2, 1) @ x),
    ),
    "sums of rows": (
        """  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<32xf32, 3>
  linalg.fill ins(%zero : f32) outs(%sums : memref<32xf32, 3>)
  linalg.reduce { arith.addf } ins(%t : memref<32x16xf32, 3>) outs(%sums : memref<32xf32, 3>) dimensions = [1]
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%sums : memref<32xf32, 3>) outs(%t : memref<32x16xf32, 3>) {
    ^bb0(%s: f32, %v: f32):
      %w = arith.subf %v, %s : f32
      linalg.yield %w : f32
  }""",
        lambda x: x - x.sum(axis=-1, keepdims=True),
    ),
}


@needs_bindings
@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("program", LINALG)
def test_linalg_in_place_is_shared_among_the_threads(program, num_warps):
    body, reference = LINALG[program]
    fragment = tle_raw.fragment(f"func.func @work(%t: memref<32x16xf32, 3>) {{\n{body}\n  return\n}}\n")
    x = random("f32", (3, 32, 16))
    values = numbers(x)
    update_kernel[(3,)](x, fragment, 32, 16, num_warps=num_warps)
    expected = reference(values)
    check_close(x, expected, 1e-5, 1e-6 * np.abs(expected).max())


@needs_bindings
@pytest.mark.parametrize("num_warps", WARPS)
def test_an_allocation_in_shared_memory_and_one_of_each_thread(num_warps):
    """A tile reversed through shared memory; what each thread adds comes from memory of its own."""
    text = """func.func @reversed(%t: memref<?xi32, 3>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %t, %c0 : memref<?xi32, 3>
  %shared = memref.alloc() : memref<512xi32, 3>
  %own = memref.alloca() : memref<4xi32>
  %first = gpu.thread_id x
  %step = gpu.block_dim x
  scf.for %i = %c0 to %c4 step %c1 {
    %sum = arith.addi %i, %first : index
    %k = arith.index_cast %sum : index to i32
    memref.store %k, %own[%i] : memref<4xi32>
  }
  scf.for %i = %first to %n step %step {
    %v = memref.load %t[%i] : memref<?xi32, 3>
    memref.store %v, %shared[%i] : memref<512xi32, 3>
  }
  gpu.barrier
  %last = arith.subi %n, %c1 : index
  scf.for %i = %first to %n step %step {
    %from = arith.subi %last, %i : index
    %v = memref.load %shared[%from] : memref<512xi32, 3>
    %at = arith.remui %i, %c4 : index
    %k = memref.load %own[%at] : memref<4xi32>
    %w = arith.addi %v, %k : i32
    memref.store %w, %t[%i] : memref<?xi32, 3>
  }
  memref.dealloc %shared : memref<512xi32, 3>
  return
}"""
    fragment = tle_raw.fragment(text)
    x = random("i32", (5, 512))
    values = integers(x)
    line_kernel[(5,)](x, fragment, 512, num_warps=num_warps)
    at = np.arange(512)
    added = (at % 4 + at % (32 * num_warps)).astype(np.int32)
    with np.errstate(over="ignore"):
        check_integers(x, values[:, ::-1] + added)


@needs_bindings
@pytest.mark.parametrize("name", ["f16", "f32", "i32"])
def test_vectors(name):
    """Loads and stores of four elements, a sum of their lanes, a broadcast, a transfer."""
    kind = "i" if name[0] == "i" else "f"
    reduction = f"vector.reduction <add>, %v : vector<4x{name}> into {name}"
    text = f"""func.func @lanes(%t: memref<?x{name}, 3>) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %t, %c0 : memref<?x{name}, 3>
  %pad = arith.constant 0{".0" if kind == "f" else ""} : {name}
  %tid = gpu.thread_id x
  %ntid = gpu.block_dim x
  %first = arith.muli %tid, %c4 : index
  %step = arith.muli %ntid, %c4 : index
  scf.for %i = %first to %n step %step {{
    %v = vector.load %t[%i] : memref<?x{name}, 3>, vector<4x{name}>
    %u = vector.transfer_read %t[%i], %pad {{in_bounds = [true]}} : memref<?x{name}, 3>, vector<4x{name}>
    %s = {reduction}
    %b = vector.broadcast %s : {name} to vector<4x{name}>
    %r = vector.shuffle %u, %u [3, 2, 1, 0] : vector<4x{name}>, vector<4x{name}>
    %w = arith.sub{kind} %b, %r : vector<4x{name}>
    vector.store %w, %t[%i] : memref<?x{name}, 3>, vector<4x{name}>
  }}
  return
}}"""
    x = random(name, (3, 1024))
    if kind == "i":
        v = integers(x).reshape(3, 256, 4)
        line_kernel[(3,)](x, tle_raw.fragment(text), 1024)
        with np.errstate(over="ignore"):
            check_integers(x, (v.sum(axis=2, keepdims=True, dtype=v.dtype) - v[..., ::-1]).reshape(3, 1024))
    else:
        v = numbers(x).reshape(3, 256, 4)
        line_kernel[(3,)](x, tle_raw.fragment(text), 1024)
        expected = (v.sum(axis=2, keepdims=True) - v[..., ::-1]).reshape(3, 1024)
        check_close(x, expected, 4 * ROUNDING[name], 8 * ROUNDING[name] * np.abs(v).max())


@needs_bindings
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_math_of_memrefs_against_float64(name):
    lines = []
    for index, function in enumerate(MATHEMATICS):
        lines.append(f"""    %r{index} = math.{function} %v : {name}
    %k{index} = arith.constant {index} : index
    memref.store %r{index}, %y[%k{index}, %i] : memref<32x512x{name}, 3>""")
    text = f"""func.func @functions(%x: memref<512x{name}, 3>, %y: memref<32x512x{name}, 3>) {{
  %end = arith.constant 512 : index
  %first = gpu.thread_id x
  %step = gpu.block_dim x
  scf.for %i = %first to %end step %step {{
    %v = memref.load %x[%i] : memref<512x{name}, 3>
{chr(10).join(lines)}
  }}
  return
}}"""

    def functions(x: Tile[name, 512], y: Out[Tile[name, 32, 512]]): ...

    fragment = declared(text, functions)

    @triton.jit
    def kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr):
        y = FRAGMENT(tl.load(x_ptr + tl.arange(0, 512)))
        rows = tl.arange(0, 32)[:, None]
        tl.store(y_ptr + rows * 512 + tl.arange(0, 512)[None, :], y, mask=rows < 21)

    x = (random("f64", (512,)).abs() + 0.03).to(DTYPES[name])
    y = poisoned(x, (32, 512))
    kernel[(1,)](x, y, fragment)
    expected = np.stack([function(numbers(x)) for function in MATHEMATICS.values()])
    check_close(y[: len(MATHEMATICS)], expected, 8 * ROUNDING[name], 8 * ROUNDING[name])


@needs_bindings
@pytest.mark.parametrize("num_warps", WARPS)
def test_shuffles_and_atomics_of_gpu_memref_and_nvvm(num_warps):
    """Sums of warps meet in a histogram of shared memory."""
    text = """func.func @sums(%t: memref<512xi32, 3>, %out: !llvm.ptr<1>) {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0 : i32
  %w32 = arith.constant 32 : i32
  %tid = gpu.thread_id x
  %ntid = gpu.block_dim x
  %sum = memref.alloc() : memref<1xi32, 3>
  %is_first = arith.cmpi eq, %tid, %c0 : index
  scf.if %is_first {
    memref.store %zero, %sum[%c0] : memref<1xi32, 3>
  }
  gpu.barrier
  %mine = scf.for %i = %tid to %c512 step %ntid iter_args(%a = %zero) -> (i32) {
    %v = memref.load %t[%i] : memref<512xi32, 3>
    %b = arith.addi %a, %v : i32
    scf.yield %b : i32
  }
STEPS
  %lane = gpu.lane_id
  %leads = arith.cmpi eq, %lane, %c0 : index
  scf.if %leads {
    %old = memref.atomic_rmw addi %s5, %sum[%c0] : (i32, memref<1xi32, 3>) -> i32
  }
  gpu.barrier
  %total = memref.load %sum[%c0] : memref<1xi32, 3>
  scf.if %is_first {
    %old = llvm.atomicrmw add %out, %total monotonic : !llvm.ptr<1>, i32
  }
  return
}"""
    steps = []
    for step in range(5):
        source = "%mine" if step == 0 else f"%s{step}"
        steps += [
            f"  %d{step} = arith.constant {1 << step} : i32",
            f"  %o{step}, %ok{step} = gpu.shuffle xor {source}, %d{step}, %w32 : i32",
            f"  %s{step + 1} = arith.addi {source}, %o{step} : i32",
        ]
    fragment = tle_raw.fragment(text.replace("STEPS", "\n".join(steps)))

    @triton.jit
    def kernel(x_ptr, out_ptr, FRAGMENT: tl.constexpr):
        FRAGMENT(tl.load(x_ptr + tl.program_id(0) * 512 + tl.arange(0, 512)), out_ptr)

    x = random("i32", (9, 512))
    out = torch.zeros(1, dtype=torch.int32, device=x.device)
    kernel[(9,)](x, out, fragment, num_warps=num_warps)
    with np.errstate(over="ignore"):
        check_integers(out, integers(x).sum(dtype=np.int32, keepdims=True).reshape(1))


HALVES = """func.func private @half(%x: f32) -> f32 {
  %h = arith.constant 0.5 : f32
  %r = arith.mulf %x, %h : f32
  return %r : f32
}
func.func @halves(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
    %b = func.call @half(%a) : (f32) -> f32
    scf.yield %b : f32
  }
  return %r : f32
}
"""


@needs_bindings
def test_elements_through_a_function_that_calls_another():
    def halves(x: Element["f32"], n: Const["K"]) -> Element["f32"]: ...

    fragment = declared(HALVES, halves, symbol="halves")

    @triton.jit
    def kernel(x_ptr, n, FRAGMENT: tl.constexpr, K: tl.constexpr):
        i = tl.program_id(0) * 128 + tl.arange(0, 128)
        tl.store(x_ptr + i, FRAGMENT(tl.load(x_ptr + i, mask=i < n), K), mask=i < n)

    x = random("f32", (333,))
    values = numbers(x)
    kernel[(3,)](x, 333, fragment, 5)
    check_close(x, values / 32, 0)


BOTH = """module {
  llvm.func @both(%t: !llvm.ptr<3>, %s: f32) {
LOOP
    llvm.return
  }
}"""
BOTH_BODY = "      %e = math.exp %v : f32\n      %w = arith.mulf %e, %s : f32"


def test_two_routes_give_the_same_numbers():
    """The same loop, by libtriton alone, and held by a function that only upstream's bindings lower."""

    def both(t: InOut[Tile["f32", "N"]], s: Scalar["f32"]): ...

    first = declared(BOTH.replace("LOOP", over_llvm("f32", BOTH_BODY)), both)
    x = random("f32", (2, 512))
    values = numbers(x)

    @triton.jit
    def kernel(x_ptr, s, FRAGMENT: tl.constexpr):
        at = tl.program_id(0) * 512 + tl.arange(0, 512)
        tl.store(x_ptr + at, FRAGMENT(tl.load(x_ptr + at), s))

    kernel[(2,)](x, 0.75, first)
    check_close(x, np.exp(values) * 0.75, 2 * ROUNDING["f32"])
    if not BINDINGS and not FILLED:
        return
    other_text = """func.func @both(%t: memref<512xf32, 3>, %s: f32) {
  %end = arith.constant 512 : index
  %first = gpu.thread_id x
  %step = gpu.block_dim x
  scf.for %i = %first to %end step %step {
    %v = memref.load %t[%i] : memref<512xf32, 3>
    %e = math.exp %v : f32
    %w = arith.mulf %e, %s : f32
    memref.store %w, %t[%i] : memref<512xf32, 3>
  }
  return
}"""
    other = declared(other_text, both)
    assert other.compile(target=TARGET, N=512).route != first.compile(target=TARGET, N=512).route == "libtriton"
    y = random("f32", (2, 512))
    kernel[(2,)](y, 0.75, other)
    check_bits(y, bits(x))


@pytest.mark.parametrize("form", ["text", pytest.param("object", marks=needs_objects)])
@pytest.mark.parametrize("program", ["generic", "sums of rows"])
@needs_bindings
def test_modules_as_text_and_as_objects(program, form):
    body, reference = LINALG[program]
    source = f"func.func @work(%t: memref<32x16xf32, 3>) {{\n{body}\n  return\n}}\n"
    if form == "object":
        from torch_mlir import ir

        with ir.Context():
            source = ir.Module.parse(source)
    x = random("f32", (3, 32, 16), seed=3)
    values = numbers(x)
    update_kernel[(3,)](x, tle_raw.fragment(source), 32, 16)
    check_close(x, reference(values), 1e-5, 1e-5)


@pytest.mark.parametrize("form", ["indices", "outputs and inputs"])
def test_called_through_flagtrees_call_and_seen_in_the_kernels_ir(form):
    def scaled(t: InOut["!llvm.ptr<1>"], s: tle_raw.Input["f32"]): ...

    text = """module {
  llvm.func @scaled(%t: !llvm.ptr<1>, %s: f32) {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %t[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    %w = llvm.fmul %v, %s : f32
    llvm.store %w, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}"""
    fragment = declared(text, scaled)

    @triton.jit
    def kernel(x_ptr, s, FRAGMENT: tl.constexpr, INDICES: tl.constexpr):
        if INDICES:
            tle_raw.call(FRAGMENT, [x_ptr + tl.program_id(0) * 128, s], [])
        else:
            tle_raw.call(FRAGMENT, [], [x_ptr + tl.program_id(0) * 128, s])

    x = random("f32", (3, 128))
    values = numbers(x)
    compiled = kernel[(3,)](x, -1.5, fragment, form == "indices")
    check_close(x, values * -1.5, ROUNDING["f32"])
    assert "tle.dsl_region" in compiled.asm["tle"] and "scaled" in compiled.asm["tle"]
    if not ON_CPU and not COMPILE_ONLY:
        assert "sm_90" in compiled.asm["ptx"]
