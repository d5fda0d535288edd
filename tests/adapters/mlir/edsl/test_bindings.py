"""Builders of an installed MLIR binding, called between the operators of Python."""

import numpy as np
import pytest

import tle_raw
from tle_raw import InOut, Pointer, Scalar, Tile, mlir
from tle_raw.errors import CompilationFailed, DialectError

ir = pytest.importorskip("torch_mlir.ir")
from torch_mlir.dialects import arith, gpu, linalg, llvm, math, memref, nvvm, scf, vector  # noqa: E402

RANDOM = np.random.default_rng(5)


@pytest.mark.one_triton
def test_arith_and_memref_on_tiles(run, module):
    def f(t: InOut[Tile["f32", "N"]], s: Scalar["f32"]):
        i = nvvm.read_ptx_sreg_tid_x(mlir.i32)
        if i < N:
            v = memref.load(t, [i])
            memref.store(arith.addf(v * 2, s), t, [i])

    t = RANDOM.standard_normal(64).astype("f4")
    np.testing.assert_allclose(run(f, {"N": 64}, t=t, s=np.float32(3)), t * 2.0 + 3, rtol=1e-6)
    built = module(f, N=64)
    assert built.route == "torch_mlir"
    assert '"memref.load"' in built.text and "memref<64xf32, 3>" in built.text


@pytest.mark.one_triton
def test_types_and_constants_of_the_binding(run):
    def f(o: InOut[Pointer["f32"]]):
        two = arith.constant(ir.F32Type.get(), 2.0)
        three = arith.constant(mlir.f32, 3.0)
        index = arith.constant(mlir.index, 1)
        if mlir.thread_id() == 0:
            o[index] = arith.mulf(two, three) + 1
            o[0] = math.exp(two)

    o = np.zeros(2, "f4")
    run(f, o=o)
    np.testing.assert_allclose(o, [np.exp(2), 7], rtol=1e-6)


def test_a_matmul_of_linalg(run):
    def f(a: Tile["f32", "M", "K"], b: Tile["f32", "K", "N"], c: InOut[Tile["f32", "M", "N"]]):
        linalg.matmul(a, b, outs=[c])

    a, b, c = (RANDOM.standard_normal(shape).astype("f4") for shape in ((8, 16), (16, 4), (8, 4)))
    got = run(f, {"M": 8, "K": 16, "N": 4}, a=a, b=b, c=c)
    np.testing.assert_allclose(got, c + a.astype("f8") @ b, rtol=1e-4, atol=1e-4)


def test_vectors_of_the_binding(run):
    def f(t: InOut[Tile["f32", "N"]], o: InOut[Pointer["f32"]]):
        if mlir.thread_id() == 0:
            kind = ir.VectorType.get([4], ir.F32Type.get())
            v = vector.load(kind, t, [4])
            o[0] = v[0] + v[3]
            vector.store(v + v, t, [8])

    t = RANDOM.standard_normal(16).astype("f4")
    o = np.zeros(1, "f4")
    got = run(f, {"N": 16}, t=t, o=o)
    want = t.copy()
    want[8:12] = 2 * t[4:8]
    np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(o, [t[4] + t[7]], rtol=1e-6)


def test_pointers_go_to_llvm(run):
    def f(p: Pointer["f32"], o: InOut[Pointer["f32"]]):
        if mlir.thread_id() == 0:
            value = llvm.load(mlir.f32, p + 3)
            llvm.store(value * 2, o + 1)

    p, o = np.arange(4, dtype="f4"), np.zeros(2, "f4")
    run(f, p=p, o=o)
    np.testing.assert_array_equal(o, [0, 6])


@pytest.mark.one_triton
def test_loops_and_branches_of_the_binding(run):
    @mlir.function
    def bounds():
        return arith.constant(mlir.index, 0), arith.constant(mlir.index, 4), arith.constant(mlir.index, 1)

    def g(t: InOut[Tile["i32", "N"]], n: Scalar["i32"]):
        if mlir.thread_id() == 0:
            start, stop, step = bounds()
            for i in scf.for_(start, stop, step):
                t[i] = t[i] + n
                scf.yield_([])

    got = run(g, {"N": 8}, t=np.arange(8, dtype=np.int32), n=np.int32(10))
    np.testing.assert_array_equal(got, [10, 11, 12, 13, 4, 5, 6, 7])


@pytest.mark.one_triton
def test_an_insertion_point_of_the_binding(run):
    def f(t: InOut[Tile["i32", "N"]], n: Scalar["i32"]):
        if mlir.thread_id() == 0:
            branch = scf.IfOp(n > 3)
            with ir.InsertionPoint(branch.then_block):
                t[0] = n * 2
                scf.yield_([])

    fragment = tle_raw.dialect("mlir")(f)
    t = np.zeros(8, np.int32)
    assert run(fragment, {"N": 8}, t=t.copy(), n=np.int32(5))[0] == 10
    assert run(fragment, {"N": 8}, t=t.copy(), n=np.int32(2))[0] == 0


def test_gpu_and_nvvm(run):
    def f(o: InOut[Pointer["i32"]]):
        i = arith.index_cast(mlir.i32, gpu.thread_id(gpu.Dimension.x))
        gpu.barrier()
        nvvm.barrier()
        o[i] = i + 1

    o = np.zeros(64, np.int32)
    run(f, o=o)
    np.testing.assert_array_equal(o, np.arange(64) + 1)


@pytest.mark.one_triton
def test_flagtrees_spelling_of_types(run):
    @tle_raw.dialect(name="mlir")
    def add(
        output: InOut["memref<?xf32, 3>"],
        x: tle_raw.Input["memref<?xf32, 3>"],
        p: tle_raw.Input["!llvm.ptr<1>"],
    ):
        tid = nvvm.read_ptx_sreg_tid_x(mlir.i32)
        bdim = nvvm.read_ptx_sreg_ntid_x(mlir.i32)
        n = memref.dim(x, arith.constant(mlir.index, 0))
        for i in range(tid, n, bdim):
            memref.store(arith.addf(memref.load(x, [i]), p[i]), output, [i])

    x, p, o = RANDOM.standard_normal((3, 128)).astype("f4")
    got = run(add, {"output_0": 128, "x_0": 128, "p_T": "f32"}, output=o, x=x, p=p)
    np.testing.assert_allclose(got, x.astype("f8") + p, rtol=1e-6)


@pytest.mark.one_triton
def test_the_type_of_a_value_is_an_object_of_the_binding(run):
    def f(p: Pointer["f32"], o: InOut[Pointer["f32"]]):
        if mlir.thread_id() == 0:
            value = p[0]
            o[0] = arith.mulf(value, arith.constant(value.type, 4.0))

    o = np.zeros(1, "f4")
    run(f, p=np.full(1, 2.5, "f4"), o=o)
    assert o[0] == 10


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.one_triton
def test_types_that_do_not_fit_are_said_at_the_line(refusal):
    def f(n: Scalar["i32"], x: Scalar["f32"]) -> Scalar["i32"]:
        return arith.addf(n, x)

    error = refusal(f)
    assert isinstance(error, CompilationFailed)
    assert error.context.source.text.strip() == "return arith.addf(n, x)"
    assert error.context.source.column == 16


@pytest.mark.one_triton
def test_an_unknown_builder_is_named(refusal):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        return arith.addx(n, n)

    error = refusal(f)
    assert "has no `addx`" in error.message and "addi" in error.hint
    assert error.context.source.column == 16


@pytest.mark.one_triton
def test_wrong_arguments_of_a_builder_are_said_at_the_line(refusal):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        return arith.addi(n)

    assert refusal(f).context.source.text.strip() == "return arith.addi(n)"


@pytest.mark.one_triton
def test_a_function_that_uses_a_binding_cannot_be_built_as_text(refusal):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        return arith.addi(n, n)

    with pytest.raises(DialectError, match="calls builders of torch_mlir"):
        tle_raw.dialect("mlir", route="libtriton")(f).compile("cuda:90")


@pytest.mark.one_triton
def test_the_items_of_a_list_of_the_binding_are_unpacked(run):
    def f(o: InOut[Pointer["i32"]]):
        loop = scf.WhileOp([mlir.i32], [arith.constant(mlir.i32, 5)])
        before = loop.before.blocks.append(mlir.i32)
        after = loop.after.blocks.append(mlir.i32)
        with ir.InsertionPoint(before):
            [n] = before.arguments
            scf.condition(arith.cmpi(arith.CmpIPredicate.slt, n, arith.constant(mlir.i32, 40)), [n])
        with ir.InsertionPoint(after):
            (n,) = after.arguments
            scf.yield_([arith.addi(n, n)])
        if mlir.thread_id() == 0:
            o[0] = loop.results[0]

    o = np.zeros(1, "i4")
    run(f, o=o)
    assert o[0] == 40


def inside_a_point(t: InOut[Tile["f32", "N"]]):
    branch = scf.IfOp(mlir.thread_id() == 0)
    with ir.InsertionPoint(branch.then_block):
        nvvm.no_such_op()
        scf.yield_([])


def inside_a_loop(t: InOut[Tile["f32", "N"]]):
    for _ in scf.for_(0, 4, 1):
        nvvm.no_such_op()
        scf.yield_([])


@pytest.mark.one_triton
@pytest.mark.parametrize("function", [inside_a_point, inside_a_loop])
def test_an_error_inside_of_the_bindings_own_blocks_is_the_same_each_time(run, function):
    for _ in range(2):
        with pytest.raises(CompilationFailed, match="has no `no_such_op`"):
            run(function, {"N": 16}, t=np.zeros(16, "f4"))
