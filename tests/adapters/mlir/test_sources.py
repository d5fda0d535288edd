"""Where modules come from: files that change, bytecode, stubs; blocks of a shape; what the doctor says."""

import os

import numpy as np
import pytest

import tle_raw
from tests.adapters.mlir import producers
from tle_raw import InOut, Scalar, Tile
from tle_raw.adapters.mlir.describe import describe

SCALE = (
    "func.func @scale(%x: f32) -> f32 {{ %k = arith.constant {} : f32 %y = arith.mulf %x, %k : f32 return %y : f32 }}\n"
)


@pytest.mark.one_triton
def test_a_file_is_read_anew(tmp_path, run):
    path = tmp_path / "scale.mlir"
    path.write_text(SCALE.format("2.0"))
    fragment = tle_raw.fragment(str(path))
    key = fragment.cache_key
    assert fragment.files == (path,) and fragment.dialect == "mlir"
    assert run(fragment, x=1.5) == 3
    path.write_text(SCALE.format("4.0"))
    os.utime(path, ns=(1, 1))
    assert run(fragment, x=1.5) == 6
    assert fragment.cache_key != key


@pytest.mark.one_triton
@pytest.mark.parametrize("suffix", ["mlir", "mlirbc"])
def test_bytecode_in_a_file(tmp_path, run, suffix):
    path = tmp_path / f"scale.{suffix}"
    path.write_bytes(producers.as_bytecode(SCALE.format("2.0")))
    assert run(tle_raw.fragment(path), arg0=1.5) == 3  # bytecode has no names


@pytest.mark.one_triton
def test_a_stub_takes_a_module(run):
    @tle_raw.dialect("mlir", module=producers.torch_mlir(SCALE.format("2.0")), symbol="scale")
    def doubled(x: Scalar["f32"]) -> Scalar["f32"]: ...

    assert run(doubled, x=1.5) == 3 and doubled.name == "doubled"


def test_the_only_public_function_needs_no_name(run):
    def other(x: Scalar["f32"]) -> Scalar["f32"]: ...

    text = SCALE.format("2.0") + "func.func private @helper(%x: f32) { return }\n"
    assert run(tle_raw.fragment(text, signature=other), x=1.5) == 3


@pytest.mark.one_triton
def test_flagtrees_option(run):
    @tle_raw.dialect(name="mlir", source=SCALE.format("2.0"), extern_func_name="scale")
    def edsl(x: Scalar["f32"]) -> Scalar["f32"]: ...

    assert run(edsl, x=1.5) == 3


BLOCK = """
func.func @f(%t: !llvm.ptr<3>) {
  %x = nvvm.read.ptx.sreg.tid.x : i32
  %y = nvvm.read.ptx.sreg.tid.y : i32
  %wide = nvvm.read.ptx.sreg.ntid.x : i32
  %row = arith.muli %y, %wide : i32
  %place = arith.addi %row, %x : i32
  %hundred = arith.constant 100 : i32
  %big = arith.muli %y, %hundred : i32
  %value = arith.addi %big, %x : i32
  %p = llvm.getelementptr %t[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %value, %p : i32, !llvm.ptr<3>
  return
}
"""


@pytest.mark.one_triton
def test_a_block_of_two_dimensions(run):
    def f(t: InOut[Tile["i32", 128]]): ...

    fragment = tle_raw.fragment(BLOCK, signature=f, block=(16, 8))
    assert fragment.block == (16, 8)
    expected = (np.arange(8)[:, None] * 100 + np.arange(16)).reshape(-1)
    np.testing.assert_array_equal(run(fragment, num_warps=4, t=np.zeros(128, np.int32)), expected)
    made = fragment.compile("cuda:90").text
    assert "tid.y" not in made and "ntid" not in made


def test_shared_loops_know_the_blocks_shape(run):
    text = """
func.func @f(%t: memref<256xf32, 3>) {
  linalg.exp ins(%t : memref<256xf32, 3>) outs(%t : memref<256xf32, 3>)
  return
}
"""
    t = np.random.default_rng(0).uniform(-1, 1, 256).astype(np.float32)
    fragment = tle_raw.fragment(text, block=(16, 8))
    np.testing.assert_allclose(run(fragment, num_warps=4, t=t), np.exp(t.astype(np.float64)), 1e-6)


def test_the_doctor_tells_who_lowers_what():
    found = {finding.what: finding for finding in describe()}
    assert "scf" in found["libtriton"].where and "memref" in found["torch_mlir"].where
    assert "torch-mlir 20261001" in found["torch_mlir"].found


def test_the_route_is_told():
    from pathlib import Path

    from tle_raw.adapters.mlir import MlirAdapter
    from tle_raw.errors import SourceLocation
    from tle_raw.fragments.adapter import Declaration
    from tle_raw.fragments.binding import bind_names
    from tle_raw.target import parse_target

    adapter = MlirAdapter()
    routes = []
    for text in (SCALE.format("2.0"), SCALE.format("2.0").replace("%k =", "%m = memref.alloca() : memref<1xf32> %k =")):
        declared = Declaration("", None, {}, SourceLocation("x.py", 1), Path("."), wrapped=text)
        declaration = adapter.complete(declared)
        bound = bind_names(declaration.signature, {})
        output = adapter.compile(adapter.read(declaration), bound, parse_target("cuda:90"))
        routes.append(output.route)
    assert routes == ["libtriton", "torch_mlir"]
