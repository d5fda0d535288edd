"""Every family of operations, for GPUs as machine code and on the CPU as numbers against NumPy."""

import math

import numpy as np
import pytest

import tle_raw

F32 = {
    "absf": np.abs, "asinh": np.arcsinh, "atan": np.arctan, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos,
    "cosh": np.cosh, "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "roundeven": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc, "round": lambda x: np.floor(x + 0.5),
}  # fmt: skip
INVERSE = {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}
COLUMNS = 64


def by_rows(operations: list[str], dtype: str = "f32", operand: str = "%x") -> str:
    """A function of a tile with one row for each operation, made of libtriton's dialects alone."""
    rows = "\n".join(
        f"""
    %row{i} = arith.constant {i * COLUMNS} : i32
    %at{i} = arith.addi %row{i}, %column : i32
    %p{i} = llvm.getelementptr %t[%at{i}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, {dtype}
    %x{i} = llvm.load %p{i} : !llvm.ptr<3> -> {dtype}
    {text.replace("%", f"%row{i}_").replace(f"%row{i}_x", f"%x{i}")}
    llvm.store %row{i}_r, %p{i} : {dtype}, !llvm.ptr<3>"""
        for i, text in enumerate(operations)
    )
    return f"""
module {{
  llvm.func @f(%t: !llvm.ptr<3>) {{
    %thread = gpu.thread_id x
    %threads = gpu.block_dim x
    %end = arith.constant {COLUMNS} : index
    scf.for %i = %thread to %end step %threads {{
    %column = arith.index_cast %i : index to i32
    {rows}
    }}
    llvm.return
  }}
}}"""


def stub(dtype: str, rows: int):
    from tle_raw.fragments.parameter_types import Parameter, Tile
    from tle_raw.fragments.signature import InOut, Signature

    tile = InOut[Tile[dtype, rows, COLUMNS]]
    return Signature("f", (Parameter("t", tile.type, tile.effect),))


def rows_of(count: int) -> int:
    return 1 << (count - 1).bit_length()


def check_rows(run, operations, references, dtype="f32", low=0.1, high=2.0, tolerance=3e-7, seed=0):
    rows = rows_of(len(operations))
    fragment = tle_raw.fragment(by_rows(operations, dtype), signature=stub(dtype, rows))
    assert fragment.compile("cuda:90").instructions > len(operations)
    x = np.random.default_rng(seed).uniform(low, high, (rows, COLUMNS))
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64}[dtype]
    x = x.astype(kind)
    got = run(fragment, t=x)
    for row, (text, reference) in enumerate(zip(operations, references)):
        expected = np.asarray(reference(x[row].astype(np.float64 if kind().dtype.kind == "f" else kind)))
        np.testing.assert_allclose(got[row].astype(np.float64), expected, tolerance, tolerance, err_msg=text)


def test_math_of_single_precision(run):
    check_rows(run, [f"%r = math.{name} %x : f32" for name in F32], F32.values())
    check_rows(run, [f"%r = math.{name} %x : f32" for name in INVERSE], INVERSE.values(), high=0.9)


@pytest.mark.one_triton
def test_math_of_double_precision(run):
    check_rows(run, [f"%r = math.{name} %x : f64" for name in F32], F32.values(), "f64", tolerance=1e-14)


@pytest.mark.one_triton
def test_math_of_half_precision(run):
    check_rows(run, [f"%r = math.{name} %x : f16" for name in F32], F32.values(), "f16", tolerance=2e-3)


@pytest.mark.one_triton
def test_math_of_several_operands(run):
    cases = {
        "%r = math.powf %x, %x : f32": lambda x: x**x,
        "%two = arith.constant 2.0 : f32 %r = math.atan2 %x, %two : f32": lambda x: np.arctan2(x, 2),
        "%r = math.fma %x, %x, %x : f32": lambda x: x * x + x,
        "%n = arith.constant -2.0 : f32 %r = math.copysign %x, %n : f32": lambda x: -x,
        "%k = arith.constant 3 : i32 %r = math.fpowi %x, %k : f32, i32": lambda x: x**3,
        "%b = math.isnan %x : f32 %r = arith.uitofp %b : i1 to f32": lambda x: 0 * x,
        "%b = math.isfinite %x : f32 %r = arith.uitofp %b : i1 to f32": lambda x: 0 * x + 1,
        "%z = arith.constant 0.0 : f32 %q = arith.divf %x, %z : f32 %b = math.isinf %q : f32"
        " %r = arith.uitofp %b : i1 to f32": lambda x: 0 * x + 1,
    }
    check_rows(run, list(cases), cases.values())


@pytest.mark.one_triton
def test_fast_math_takes_the_fast_function(run):
    text = by_rows(["%r = math.exp %x fastmath<afn> : f32", "%r = math.sin %x fastmath<fast> : f32"])
    fragment = tle_raw.fragment(text, signature=stub("f32", 2))
    assert "__nv_fast_expf" in fragment.compile("cuda:90").text
    x = np.random.default_rng(1).uniform(0.1, 2, (2, COLUMNS)).astype(np.float32)
    np.testing.assert_allclose(run(fragment, t=x), [np.exp(x[0]), np.sin(x[1])], 1e-5)


@pytest.mark.one_triton
def test_math_of_vectors(run):
    lanes = (
        "%p = llvm.mlir.poison : vector<2xf32> %z = llvm.mlir.constant(0 : i32) : i32"
        " %o = llvm.mlir.constant(1 : i32) : i32 %e = arith.mulf %x, %x : f32"
        " %v = llvm.insertelement %x, %p[%z : i32] : vector<2xf32>"
        " %w = llvm.insertelement %e, %v[%o : i32] : vector<2xf32>"
        " %u = math.exp %w : vector<2xf32>"
        " %a = llvm.extractelement %u[%z : i32] : vector<2xf32>"
        " %b = llvm.extractelement %u[%o : i32] : vector<2xf32>"
        " %r = arith.subf %a, %b : f32"
    )
    check_rows(run, [lanes], [lambda x: np.exp(x) - np.exp(x * x)], tolerance=1e-5)


def test_integers(run):
    cases = {
        "%r = math.absi %x : i32": np.abs,
        "%r = math.ctlz %x : i32": np.vectorize(lambda x: 32 - (int(x) & 0xFFFFFFFF).bit_length()),
        "%r = math.ctpop %x : i32": np.vectorize(lambda x: (int(x) & 0xFFFFFFFF).bit_count()),
        "%r = math.cttz %x : i32": np.vectorize(lambda x: (int(x) & -int(x)).bit_length() - 1 if x else 32),
        "%k = arith.constant 3 : i32 %r = arith.divsi %x, %k : i32": lambda x: np.trunc(x / 3),
        "%k = arith.constant 3 : i32 %r = arith.ceildivsi %x, %k : i32": lambda x: np.ceil(x / 3),
        "%k = arith.constant 3 : i32 %r = arith.floordivsi %x, %k : i32": lambda x: np.floor(x / 3),
        "%k = arith.constant 3 : i32 %r = arith.shrsi %x, %k : i32": lambda x: x >> 3,
        "%k = arith.constant 7 : i32 %r = arith.maxsi %x, %k : i32": lambda x: np.maximum(x, 7),
        "%k = arith.constant 7 : i32 %c = arith.cmpi ult, %x, %k : i32 %r = arith.select %c, %x, %k : i32":
            lambda x: np.where((x >= 0) & (x < 7), x, 7),
        "%l = arith.extsi %x : i32 to i64 %m = arith.muli %l, %l : i64 %h = arith.constant 4 : i64"
        " %s = arith.shrui %m, %h : i64 %r = arith.trunci %s : i64 to i32": lambda x: x.astype(np.int64) ** 2 >> 4,
    }  # fmt: skip
    check_rows(run, list(cases), cases.values(), "i32", low=-1000, high=1000)


@pytest.mark.one_triton
def test_arithmetic_of_floats(run):
    cases = {
        "%a = arith.mulf %x, %x : f32 %b = arith.negf %a : f32 %r = arith.divf %b, %x : f32": lambda x: -x,
        "%k = arith.constant 0.3 : f32 %r = arith.remf %x, %k : f32": lambda x: np.fmod(x, np.float32(0.3)),
        "%k = arith.constant 0.5 : f32 %a = arith.maximumf %x, %k : f32 %r = arith.minnumf %a, %x : f32": lambda x: x,
        "%i = arith.fptosi %x : f32 to i32 %r = arith.sitofp %i : i32 to f32": np.trunc,
        "%h = arith.truncf %x : f32 to f16 %r = arith.extf %h : f16 to f32":
            lambda x: x.astype(np.float16).astype(np.float64),
        "%i = arith.bitcast %x : f32 to i32 %r = arith.bitcast %i : i32 to f32": lambda x: x,
    }  # fmt: skip
    check_rows(run, list(cases), cases.values(), tolerance=1e-6)


def test_control_flow(run):
    cases = {
        "%one = arith.constant 1.0 : f32 %r = scf.while (%a = %x) : (f32) -> f32 {"
        " %c = arith.cmpf olt, %a, %one : f32 scf.condition(%c) %a : f32 } do {"
        " ^bb0(%b: f32): %d = arith.addf %b, %one : f32 scf.yield %d : f32 }": lambda x: np.where(x < 1, x + 1, x),
        "%one = arith.constant 1.0 : f32 %c = arith.cmpf olt, %x, %one : f32 %r = scf.if %c -> f32 {"
        " %d = arith.addf %x, %one : f32 scf.yield %d : f32 } else { scf.yield %x : f32 }":
            lambda x: np.where(x < 1, x + 1, x),
        "%z = arith.constant 0 : i32 %n = arith.constant 5 : i32 %s = arith.constant 1 : i32"
        " %r = scf.for %k = %z to %n step %s iter_args(%a = %x) -> (f32) : i32 {"
        " %b = arith.addf %a, %x : f32 scf.yield %b : f32 }": lambda x: 6 * x,
        "%i = arith.fptosi %x : f32 to i32 %j = arith.index_cast %i : i32 to index %r = scf.index_switch %j -> f32"
        " case 0 { scf.yield %x : f32 } default { %d = arith.addf %x, %x : f32 scf.yield %d : f32 }":
            lambda x: np.where(x < 1, x, 2 * x),
    }  # fmt: skip
    check_rows(run, list(cases), cases.values())


BRANCHES = """
func.func @f(%t: !llvm.ptr<3>) {
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %p = llvm.getelementptr %t[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %x = llvm.load %p : !llvm.ptr<3> -> f32
  %one = arith.constant 1.0 : f32
  %small = arith.cmpf olt, %x, %one : f32
  cf.cond_br %small, ^low, ^high(%x : f32)
^low:
  %y = call @negated(%x) : (f32) -> f32
  cf.br ^high(%y : f32)
^high(%z: f32):
  llvm.store %z, %p : f32, !llvm.ptr<3>
  return
}
func.func private @negated(%x: f32) -> f32 {
  %y = arith.negf %x : f32
  return %y : f32
}
"""


@pytest.mark.parametrize("route", ["libtriton", "torch_mlir"])
def test_branches_and_calls_of_upstream_functions(run, route):
    fragment = tle_raw.fragment(BRANCHES, signature=stub_vector(128), route=route)
    x = np.random.default_rng(2).uniform(0, 2, 128).astype(np.float32)
    np.testing.assert_array_equal(run(fragment, t=x), np.where(x < 1, -x, x))


def stub_vector(size: int, dtype: str = "f32"):
    from tle_raw.fragments.parameter_types import Parameter, Tile
    from tle_raw.fragments.signature import InOut, Signature

    tile = InOut[Tile[dtype, size]]
    return Signature("f", (Parameter("t", tile.type, tile.effect),))


WARP = """
llvm.func @f(%t: !llvm.ptr<3>) {
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %p = llvm.getelementptr %t[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %x = llvm.load %p : !llvm.ptr<3> -> f32
  gpu.barrier
  %one = arith.constant 1 : i32
  %all = arith.constant 32 : i32
  %a, %valid = gpu.shuffle xor %x, %one, %all : f32
  %b, %valid_up = gpu.shuffle up %x, %one, %all : f32
  %c, %valid_down = gpu.shuffle down %x, %one, %all : f32
  %d, %valid_first = gpu.shuffle idx %x, %one, %all : f32
  %zero = arith.constant 0.0 : f32
  %b0 = arith.select %valid_up, %b, %zero : f32
  %c0 = arith.select %valid_down, %c, %zero : f32
  %ab = arith.addf %a, %b0 : f32
  %abc = arith.addf %ab, %c0 : f32
  %abcd = arith.addf %abc, %d : f32
  llvm.store %abcd, %p : f32, !llvm.ptr<3>
  llvm.return
}
"""


@pytest.mark.one_triton
@pytest.mark.parametrize("container", ["llvm", "memref"])
def test_shuffles_of_a_warp(run, container):
    text = (
        WARP
        if container == "llvm"
        else WARP.replace("llvm.func", "func.func")
        .replace("  gpu.barrier", "  gpu.barrier\n  %m = memref.alloca() : memref<1xf32>")
        .replace("llvm.return", "return")
    )
    fragment = tle_raw.fragment(text, signature=stub_vector(64))
    x = np.random.default_rng(3).uniform(-1, 1, 64).astype(np.float32)
    lanes = x.reshape(2, 32).astype(np.float64)
    up = np.pad(lanes[:, :-1], ((0, 0), (1, 0)))
    down = np.pad(lanes[:, 1:], ((0, 0), (0, 1)))
    expected = lanes.reshape(2, 16, 2)[:, :, ::-1].reshape(2, 32) + up + down + lanes[:, 1:2]
    assert fragment.compile("cuda:90").uses_barrier
    np.testing.assert_allclose(run(fragment, num_warps=2, t=x).reshape(2, 32), expected, 1e-6, 1e-6)


PRINTS = (
    """
llvm.func @f(%n: i32, %x: f32) -> i32 {
  %thread = gpu.thread_id x
  %i = arith.index_cast %thread : index to i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = arith.cmpi eq, %i, %zero : i32
  scf.if %first {
    scf.for %k = %zero to %n step %one : i32 {
      gpu.printf "%d: %f of %s\\n", %k, %x, %text : i32, f32, !llvm.ptr
    }
    gpu.printf "done\\n"
  }
  %enough = arith.cmpi slt, %zero, %n : i32
  cf.assert %enough, "n must be \\22positive\\22"
  llvm.return %n : i32
}
""".replace(" of %s", "")
    .replace(", %text", "")
    .replace(", !llvm.ptr", "")
)


@pytest.mark.one_triton
def test_printf_and_assert(run, capfd):
    from tle_raw.errors import KernelFailed

    fragment = tle_raw.fragment(PRINTS)
    assert fragment.compile("cuda:90").kept_calls == ("__assertfail", "vprintf")
    assert run(fragment, n=2, x=0.5) == 2
    assert capfd.readouterr().out == "0: 0.500000\n1: 0.500000\ndone\n"
    with pytest.raises(KernelFailed, match=r'n must be "positive".* failed in f \(test_operations\.py:\d+\)') as caught:
        run(fragment, n=0, x=0.5)
    assert "cf.assert %enough" in caught.value.context.source.text


def test_printf_claims_its_memory_once():
    text = tle_raw.fragment(PRINTS).compile("cuda:90").text
    body = text[text.index("define") :]
    assert body.index("alloca") < body.index("br ")


def test_elements_are_mapped(run):
    from tle_raw import Element

    def cube_root(x: Element["f32"]) -> Element["f32"]: ...

    text = "func.func @cube_root(%x: f32) -> f32 { %y = math.cbrt %x : f32 return %y : f32 }\n"
    fragment = tle_raw.fragment(text, signature=cube_root)
    x = np.random.default_rng(4).uniform(0, 9, (3, 7)).astype(np.float32)
    np.testing.assert_allclose(run(fragment, x=x), np.cbrt(x.astype(np.float64)), 3e-7)


UPSTREAM = """
func.func @f(%t: memref<?xf32, 3>) {
  %zero = arith.constant 0 : index
  %two = index.constant 2
  %size = memref.dim %t, %zero : memref<?xf32, 3>
  %thread = gpu.thread_id x
  %threads = gpu.block_dim x
  scf.for %i = %thread to %size step %threads {
    %x = memref.load %t[%i] : memref<?xf32, 3>
    %v = vector.broadcast %x : f32 to vector<4xf32>
    %w = math.exp %v : vector<4xf32>
    %y = arith.mulf %w, %v : vector<4xf32>
    %sum = vector.reduction <add>, %y : vector<4xf32> into f32
    %low = arith.constant 0.5 : f32
    %high = arith.constant 6.5 : f32
    %clamped = math.clampf %sum to [%low, %high] : f32
    %twice = index.mul %i, %two
    %half = index.shru %twice, %two
    %k = arith.index_cast %half : index to i32
    %three = arith.constant 3 : i32
    %power = math.ipowi %k, %three : i32
    %f = arith.sitofp %power : i32 to f32
    %r = arith.addf %clamped, %f : f32
    memref.store %r, %t[%i] : memref<?xf32, 3>
  }
  return
}
"""


def test_memref_vector_and_index(run, ptx):
    fragment = tle_raw.fragment(UPSTREAM)
    assert "ex2.approx" in ptx(fragment)
    x = np.random.default_rng(5).uniform(0, 1, 64).astype(np.float32)
    i = (np.arange(64) * 2) >> 2
    wide = x.astype(np.float64)
    expected = np.clip(4 * wide * np.exp(wide), 0.5, 6.5) + i**3
    np.testing.assert_allclose(run(fragment, {"t_0": 64}, t=x), expected, 1e-6)


def test_llvm_alone_in_a_kernel(ptx):
    text = by_rows(["%r = math.exp %x : f32", "%r = math.tanh %x : f32"]).replace("llvm.func @f", "llvm.func @g")
    fragment = tle_raw.fragment(text, signature=stub_vector(2 * COLUMNS), symbol="g")
    assert "ex2.approx" in ptx(fragment, 2 * COLUMNS)
