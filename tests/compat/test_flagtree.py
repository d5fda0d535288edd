"""Programs as FlagTree's users spell them, on stock Triton, unedited."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from importlib.machinery import ModuleSpec

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.started import run_python
from tle_raw.compat import flagtree
from tle_raw.compat.flagtree import finder
from tle_raw.compat.flagtree.finder import FlagTreeFinder
from tle_raw.errors import ArgumentCountError, DialectError

pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

flagtree.install()

import triton.experimental.tle.language as tle_lite  # noqa: E402
import triton.experimental.tle.language.gpu as tle  # noqa: E402
import triton.experimental.tle.language.raw as raw  # noqa: E402
from mlir import ir  # noqa: E402
from mlir.dialects import arith, memref, nvvm, scf  # noqa: E402
from triton.experimental.tle.language.gpu.semantic import TLESemantic, TLESemanticError  # noqa: E402
from triton.experimental.tle.raw import InOut, Input, dialect  # noqa: E402
from triton.experimental.tle.raw.mlir import vassert, vprintf  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


@dialect(name="mlir")
def reversed_halves(y: InOut["memref<?xf32, 3>"], x: Input["memref<?xf32, 3>"]):
    tidx = arith.index_cast(ir.IndexType.get(), nvvm.read_ptx_sreg_tid_x(ir.IntegerType.get_signless(32)))
    bdimx = arith.index_cast(ir.IndexType.get(), nvvm.read_ptx_sreg_ntid_x(ir.IntegerType.get_signless(32)))
    length = memref.dim(y, arith.constant(ir.IndexType.get(), 0))
    one = arith.constant(ir.IndexType.get(), 1)
    for i in scf.for_(tidx, length, bdimx):
        memref.store(memref.load(x, [i]), y, [i])
        scf.yield_([])
    nvvm.barrier0()
    for i in scf.for_(tidx, length, bdimx):
        last = arith.subi(arith.subi(length, one), i)
        value = memref.load(y, [last])
        nvvm.barrier0()
        memref.store(arith.addf(value, value), y, [i])
        scf.yield_([])


@triton.jit
def reverse(x_ptr, o_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    y = raw.call(reversed_halves, [tl.zeros_like(x)], [x])
    tl.store(o_ptr + i, y)


def test_device_code_of_mlir_builders_by_the_older_call():
    x, o = np.random.default_rng(1).standard_normal(128, np.float32), np.zeros(128, np.float32)
    reverse[(1,)](x, o, B=128, num_warps=4)
    assert np.array_equal(o, 2 * x[::-1])


@triton.jit
def staged(a_ptr, b_ptr, c_ptr, rows, cols, XBLOCK: tl.constexpr, YBLOCK: tl.constexpr):
    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    a_smem = tle.alloc([XBLOCK, YBLOCK], dtype=tl.float32, layout=None, scope=tle.smem, nv_mma_shared_layout=False)
    b_smem = tle.alloc([XBLOCK, YBLOCK], dtype=tl.float32, layout=None, scope=tle.storage_kind.smem)
    for yoff in tle.pipeline(0, cols, YBLOCK, num_stages=2):
        y = yoff + tl.arange(0, YBLOCK)
        at = x[:, None] * cols + y[None, :]
        tle.copy(a_ptr + at, a_smem, [XBLOCK, YBLOCK])
        tle.copy(b_ptr + at, b_smem, [XBLOCK, YBLOCK])
        total = tle.local_load(a_smem) + tle.to_tensor(b_smem)
        tl.store(c_ptr + at, total, mask=(x < rows)[:, None] & (y < cols)[None, :])


def test_buffers_and_the_older_loop():
    a, b = np.random.default_rng(2).standard_normal((2, 32, 128), np.float32)
    c = np.zeros_like(a)
    staged[(2,)](a, b, c, 32, 128, XBLOCK=16, YBLOCK=32)
    assert np.array_equal(c, a + b)
    loop = tle.pipeline(2, 8, num_stages=3)
    assert (loop.start, loop.end, loop.step, loop.num_stages, list(loop)) == (2, 8, 1, 3, [2, 3, 4, 5, 6, 7])
    assert list(tle.range(3)) == [0, 1, 2]


@triton.jit
def by_offsets(x_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    buffer = tle.alloc([R, C], dtype=tl.int32, layout=None, scope=tle.smem, nv_mma_shared_layout=False)
    i = tl.arange(0, R * C)
    tl.store(tle.local_ptr(buffer, offsets=i), tl.load(x_ptr + i))
    backwards = tle.local_ptr(buffer, offsets=R * C - 1 - i)
    tl.store(o_ptr + i, tl.load(backwards))


@triton.jit
def by_both(x_ptr, R: tl.constexpr):
    buffer = tle.alloc([R], dtype=tl.int32)
    i = tl.arange(0, R)
    tl.store(x_ptr + i, tl.load(tle.local_ptr(buffer, (i,), offsets=i)))


def test_the_older_offsets_of_local_ptr():
    x, o = np.arange(128, dtype=np.int32) * 3, np.zeros(128, np.int32)
    by_offsets[(1,)](x, o, R=8, C=16)
    assert np.array_equal(o, x[::-1])
    with pytest.raises(triton.CompilationError) as caught:
        by_both[(1,)](x, R=64)
    assert isinstance(caught.value.__cause__, ArgumentCountError)


@dialect(name="mlir")
def said():
    tidx = nvvm.read_ptx_sreg_tid_x(ir.IntegerType.get_signless(32))
    limit = arith.constant(ir.IntegerType.get_signless(32), 64)
    vassert(arith.cmpi(arith.CmpIPredicate.slt, tidx, limit), "thread %d of 64\n", tidx)


@dialect(name="mlir")
def greeted():
    vprintf("thread %d\n", nvvm.read_ptx_sreg_tid_x(ir.IntegerType.get_signless(32)))


@triton.jit
def saying():
    raw.call(said, [], [])


@triton.jit
def greeting():
    raw.call(greeted, [], [])


def test_what_device_code_prints_and_asserts(capfd):
    greeting[(1,)](num_warps=1)
    assert sorted(capfd.readouterr().out.split("\n"))[-1] == "thread 9"
    saying[(1,)](num_warps=2)
    with pytest.raises(RuntimeError, match="failed in said"):  # FlagTree's own error is one
        saying[(1,)](num_warps=4)


SOURCE = """
extern "C" __device__ void twice(__attribute__((address_space(1))) float* y,
                                 __attribute__((address_space(1))) float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2 * x[i];
}
"""


def test_a_file_of_cuda_with_its_options(tmp_path):
    source = tmp_path / "twice.cu"
    source.write_text(SOURCE)
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
        import sys
        import numpy as np
        import triton
        import triton.language as tl
        from triton.experimental.tle.raw import dialect
        import triton.experimental.tle.language.raw as tle_raw
        from pathlib import Path


        @dialect(name="cuda", file=Path({str(source)!r}), extern_func_name="twice", deferred=True, compiler="clang")
        def edsl(*args, **kwargs): ...


        @triton.jit
        def kernel(x_ptr, y_ptr, n):
            tle_raw.call(edsl, [y_ptr, x_ptr, n], output_indices=[])


        x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
        kernel[(1,)](x, y, 5)
        print(y, sys.argv[1:])
        """)
    )
    environment = os.environ | {"TLE_RAW_TARGET": "cpu"}
    done = run_python("-m", "tle_raw.compat.flagtree", program, "--size", "5", environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "[0. 2. 4. 6. 8.] ['--size', '5']"


def test_what_is_refused_says_so():
    with pytest.raises(DialectError, match="library='nccl' is not linked"):
        dialect(name="cuda", library="nccl", source="")(lambda: ...)
    with pytest.raises(AttributeError, match=r"tle\.get_mem_pool: this release of tle_raw has no such name"):
        _ = tle_lite.get_mem_pool
    private = importlib.import_module("triton.experimental.tle.language")._mesh_to_cluster_dims
    with pytest.raises(NotImplementedError, match=r"tle\._mesh_to_cluster_dims is a function within FlagTree"):
        private(None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("triton.experimental.tle.language.nothing")
    checks = TLESemantic(None)
    assert checks.validate_alloc_shape((16, tl.constexpr(32))) == [16, 32]
    assert checks.validate_alloc_dtype(tl.int1) == tl.int1
    for shape in ([], [16, -1], [1.5]):
        with pytest.raises(TLESemanticError):
            checks.validate_alloc_shape(shape)
    with pytest.raises(TLESemanticError):
        checks.validate_alloc_dtype("float32")


def test_modules_are_made_once_and_those_of_others_are_kept(tmp_path, monkeypatch):
    flagtree.install()
    assert sum(isinstance(each, FlagTreeFinder) for each in sys.meta_path) == 1
    assert importlib.import_module("mlir.ir") is ir is sys.modules["torch_mlir.ir"]
    assert importlib.import_module("triton.experimental.tle.language.gpu") is tle
    (tmp_path / "mlir").mkdir()  # as in FlagTree's tutorials, beside their files
    monkeypatch.syspath_prepend(str(tmp_path))
    assert FlagTreeFinder().find_spec("mlir").loader.name == "torch_mlir"
    monkeypatch.setattr(finder, "BINDINGS", ())
    with pytest.raises(ModuleNotFoundError, match="no binding of MLIR is installed"):
        FlagTreeFinder().find_spec("mlir").loader.create_module(ModuleSpec("mlir", None))
    (tmp_path / "mlir" / "__init__.py").write_text("")
    assert FlagTreeFinder().find_spec("mlir") is None


def test_another_name_of_a_binding_is_no_other_binding():
    from tle_raw.adapters.mlir import bindings

    bindings.installed.cache_clear()
    assert bindings.installed()[0].root == "torch_mlir"


def test_processes_that_a_program_starts_know_the_names(tmp_path):
    """As FlagTree's `mlir/04-hello-world.py`, which starts itself again; a `sitecustomize` of the user's runs too."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['OWN'] = 'ran'\n")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os, subprocess, sys
        import triton.experimental.tle.language as tle
        if os.environ.get("CHILD"):
            print(tle.gpu.alloc.__name__, os.environ["OWN"])
        else:
            subprocess.run([sys.executable, __file__], check=True, env={**os.environ, "CHILD": "1"})
        """)
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    said = run_python("-m", "tle_raw.compat.flagtree", str(program), environment={**os.environ, "PYTHONPATH": path})
    assert said.stdout.split() == ["alloc", "ran"]
