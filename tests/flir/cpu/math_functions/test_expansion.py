"""What the expansion does to a module."""

from __future__ import annotations

import pytest

from tests.flir.cpu.elementwise_jit import compile_elementwise, operation
from tle_raw.flir.cpu.math_functions import expand_math

pytestmark = pytest.mark.one_triton


def expanded(text: str, *, fma: bool = True) -> str:
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        expand_math(module, fma=fma)
        module.operation.verify()
        return str(module)


def test_a_function_is_made_once_for_each_type() -> None:
    text = expanded("""
        func.func @f(%x: vector<4xf32>, %y: f32) -> (vector<4xf32>, f32) {
          %0 = math.exp %x : vector<4xf32>
          %1 = math.exp %0 fastmath<fast> : vector<4xf32>
          %2 = math.exp %y : f32
          return %1, %2 : vector<4xf32>, f32
        }""")
    assert text.count("func.func private") == 2
    assert text.count("call @tle.exp.4xf32") == 2
    assert text.count("call @tle.exp.f32") == 1
    assert "math.exp" not in text


def test_operations_in_regions_are_found() -> None:
    text = expanded("""
        func.func @f(%x: f32, %c: i1) -> f32 {
          %0 = scf.if %c -> f32 {
            %1 = math.sin %x : f32
            scf.yield %1 : f32
          } else {
            scf.yield %x : f32
          }
          return %0 : f32
        }""")
    assert "call @tle.sin.f32" in text


@pytest.mark.parametrize(("shape", "lanes"), [("2x3x4xf32", "24xf32"), ("1x1xf32", "1xf32"), ("f32", "1xf32")])
def test_vectors_of_any_rank_are_one_row(shape: str, lanes: str) -> None:
    text = expanded(f"""
        func.func @f(%x: vector<{shape}>) -> vector<{shape}> {{
          %0 = math.tanh %x : vector<{shape}>
          return %0 : vector<{shape}>
        }}""")
    assert f"call @tle.tanh.{lanes}" in text
    assert text.count("vector.shape_cast") == 2


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_half_precision_is_computed_in_single(half: str) -> None:
    text = expanded(f"""
        func.func @f(%x: vector<8x{half}>) -> vector<8x{half}> {{
          %0 = math.exp %x : vector<8x{half}>
          return %0 : vector<8x{half}>
        }}""")
    assert f"call @tle.exp.8x{half}" in text
    assert f"arith.extf %arg0 : vector<8x{half}> to vector<8xf32>" in text
    assert text.count("arith.truncf") == 1


NATIVE = ("absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt")


@pytest.mark.parametrize("name", NATIVE)
def test_what_the_host_has_instructions_for_stays(name: str) -> None:
    text = expanded(f"""
        func.func @f(%x: vector<8xf32>) -> vector<8xf32> {{
          %0 = math.{name} %x : vector<8xf32>
          return %0 : vector<8xf32>
        }}""")
    assert f"math.{name}" in text
    assert "call" not in text


def test_without_fused_multiply_add_none_is_written() -> None:
    text = """
        func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
          %0 = math.sin %x : vector<8xf32>
          return %0 : vector<8xf32>
        }"""
    assert "math.fma" in expanded(text)
    assert "math.fma" not in expanded(text, fma=False)


@pytest.mark.parametrize("name", ["exp", "sin", "erfc", "cbrt"])
def test_no_call_is_left_in_the_machine_code(name: str) -> None:
    compiled = compile_elementwise(operation(f"math.{name}"), ["f4"], "f4", 16)
    assert "call" not in compiled.assembly
    assert "tle." not in compiled.assembly
