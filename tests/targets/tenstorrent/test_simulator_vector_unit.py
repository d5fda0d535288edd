"""The vector unit gives NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.tenstorrent.running import COPIED, EACH_TILE, close, random, rounded, run_tiles

pytestmark = pytest.mark.one_triton
# Both inputs in registers.
BOTH = "copy_init(a); copy_tile(a, 0, 0); copy_tile(b, 0, 1);"
FUNCTIONS = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "recip": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": lambda v: 1 / np.sqrt(v),
    "abs": np.abs,
    "negative": np.negative,
    "square": np.square,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "silu": lambda v: v / (1 + np.exp(-v)),
    "relu": lambda v: np.maximum(v, 0),
    "gelu_tanh": lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))),
    "eqz": lambda v: (v == 0) * 1.0,
    "gtz": lambda v: (v > 0) * 1.0,
}


def test_every_function_of_the_vector_unit(tmp_path):
    x = random(32, 32, low=0.1, high=3.0)
    tiles = len(FUNCTIONS)
    inputs = np.concatenate([x - 1.5 if name in ("relu", "abs", "sign", "tanh", "gtz") else x for name in FUNCTIONS])
    chosen = "\n        ".join(
        f"if (i == {i}) {{ {'rounding_op' if name in ('floor', 'ceil') else name}_tile_init(); {name}_tile(0); }}"
        for i, name in enumerate(FUNCTIONS)
    )
    got, _ = run_tiles(
        tmp_path, COPIED % chosen, [(inputs, "float32")], ((32 * tiles, 32), "float32"), "wide=1", "direct=0"
    )
    for i, (name, function) in enumerate(FUNCTIONS.items()):
        part = slice(32 * i, 32 * i + 32)
        expected = function(inputs[part].astype(np.float32).astype(np.float64))
        assert np.allclose(got[part], expected, rtol=2e-6, atol=1e-6), name


@pytest.mark.parametrize(("name", "function"), [("div", np.divide), ("sub", np.subtract)])
def test_operations_of_two_registers(tmp_path, name, function):
    x, y = random(32, 64, low=1), random(32, 64, seed=1, low=1)
    body = EACH_TILE % f"{BOTH} {name}_binary_tile_init(); {name}_binary_tile(0, 1, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 64), "bfloat16"))
    assert close(got, function(rounded(x, "bfloat16"), rounded(y, "bfloat16")), 7)


def test_maxima_scalars_fills_and_choices(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (
        EACH_TILE
        % """
        copy_init(a); copy_tile(a, 0, 0); copy_tile(b, 0, 1);
        binary_max_tile_init(); binary_max_tile(0, 1, 0);
        binop_with_scalar_tile_init(); mul_unary_tile(0, 0x40400000);
        fill_tile_init(); fill_tile(2, -1.0f);
        gtz_tile_init(); gtz_tile(1);
        where_tile_init(); where_tile<DataFormat::Float32>(1, 0, 2, 0);"""
    )
    got, _ = run_tiles(
        tmp_path, body, [(x, "float32"), (y, "float32")], ((32, 32), "float32"), "wide=1", "direct=0", "direct=1"
    )
    x, y = x.astype(np.float32), y.astype(np.float32)
    assert np.allclose(got, np.where(y > 0, np.maximum(x, y) * 3, -1), rtol=1e-6)


def test_integers_are_copied_added_and_cast(tmp_path):
    generator = np.random.default_rng(3)
    x, y = generator.integers(-1000, 1000, (2, 32, 64)).astype(np.int32)
    body = EACH_TILE % f"{BOTH} add_int_tile_init(); add_int_tile<DataFormat::Int32>(0, 1, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "int32"), (y, "int32")], ((32, 64), "int32"), "wide=1")
    assert np.array_equal(got, x + y)
    got, _ = run_tiles(
        tmp_path,
        body.replace("add_int_tile_init", "lt_int_tile_init<DataFormat::Int32>").replace("add_int", "lt_int"),
        [(x, "int32"), (y, "int32")],
        ((32, 64), "int32"),
        "wide=1",
    )
    assert np.array_equal(got, x < y)
    kinds = "<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>"
    cast = f"typecast_tile_init{kinds}(); typecast_tile{kinds}(0);"
    got, _ = run_tiles(tmp_path, COPIED % cast, [(x, "int32")], ((32, 64), "float32"), "wide=1")
    assert np.array_equal(got, x)


def test_one_operand_in_a_register(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    reuse = "EltwiseBinaryReuseDestType::DEST_TO_SRCA"
    body = (
        EACH_TILE
        % f"copy_init(a); copy_tile(a, 0, 0); sub_reuse_dest_init<{reuse}>(b); sub_reuse_dest_tiles<{reuse}>(b, 0, 0);"
    )
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "bfloat16"))
    assert close(got, rounded(x, "bfloat16") - rounded(y, "bfloat16"), 7)
