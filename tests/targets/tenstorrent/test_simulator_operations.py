"""Each operation of compute kernels gives NumPy's numbers, in the precision that the simulator states."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.tenstorrent.running import rounded, run_tiles

pytestmark = pytest.mark.one_triton

# One tile from each of two inputs into one of the output.
EACH_TILE = """
    compute_kernel_hw_startup(a, b, out);
    for (uint32_t i = 0; i < count; ++i) {
        cb_wait_front(a, 1);
        cb_wait_front(b, 1);
        tile_regs_acquire();
        %s
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(out, 1);
        pack_tile(0, out);
        cb_push_back(out, 1);
        tile_regs_release();
        cb_pop_front(a, 1);
        cb_pop_front(b, 1);
    }
"""
# The same of one input.
ALONE = EACH_TILE.replace("        cb_wait_front(b, 1);\n", "").replace("        cb_pop_front(b, 1);\n", "").replace("(a, b, out)", "(a, out)")
COPIED = ALONE.replace("%s", "copy_init(a); copy_tile(a, 0, 0);\n        %s")


def random(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


def close(got: np.ndarray, expected: np.ndarray, bits: int) -> bool:
    """Within a few units of a format with so many bits behind the leading one, against the largest number."""
    return bool(np.abs(got - expected).max() <= 2.0 ** (1 - bits) * np.abs(expected).max())


BITS = {"float32": 10, "float16": 10, "bfloat16": 7}  # the matrix unit takes tf32 of fp32


@pytest.mark.parametrize("format_", BITS)
@pytest.mark.parametrize(("name", "function"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)])
def test_elementwise_operations_of_two_buffers(tmp_path, name, function, format_):
    x, y = random(64, 96), random(64, 96, seed=1)
    wide = "wide=1" if format_ == "float32" else "wide=0"
    got, _ = run_tiles(
        tmp_path, EACH_TILE % f"{name}_init(a, b); {name}_tiles(a, b, 0, 0, 0);", [(x, format_), (y, format_)], ((64, 96), format_), wide
    )
    assert close(got, function(rounded(x, format_), rounded(y, format_)), BITS[format_])


def test_every_function_of_the_vector_unit(tmp_path):
    x = random(32, 32, low=0.1, high=3.0)
    functions = {
        "exp": np.exp, "exp2": np.exp2, "log": np.log, "recip": np.reciprocal, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v), "abs": np.abs,
        "negative": np.negative, "square": np.square, "sign": np.sign, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "floor": np.floor, "ceil": np.ceil,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "silu": lambda v: v / (1 + np.exp(-v)), "relu": lambda v: np.maximum(v, 0), "gelu_tanh":
        lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))), "log1p": np.log1p, "expm1": np.expm1, "eqz": lambda v: (v == 0) * 1.0, "gtz": lambda v: (v > 0) * 1.0,
    }  # fmt: skip
    tiles = len(functions)
    inputs = np.concatenate([x - 1.5 if name in ("relu", "abs", "sign", "tanh", "gtz") else x for name in functions])
    chosen = "\n        ".join(
        f"if (i == {i}) {{ {'rounding_op' if name in ('floor', 'ceil') else name}_tile_init(); {name}_tile(0); }}" for i, name in enumerate(functions)
    )
    got, _ = run_tiles(tmp_path, COPIED % chosen, [(inputs, "float32")], ((32 * tiles, 32), "float32"), "wide=1", "direct=0")
    for i, (name, function) in enumerate(functions.items()):
        part = slice(32 * i, 32 * i + 32)
        expected = function(inputs[part].astype(np.float32).astype(np.float64))
        assert np.allclose(got[part], expected, rtol=2e-6, atol=1e-6), name


@pytest.mark.parametrize(("name", "function"), [("add", np.add), ("div", np.divide), ("sub", np.subtract), ("mul", np.multiply)])
def test_operations_of_two_registers(tmp_path, name, function):
    x, y = random(32, 64, low=1), random(32, 64, seed=1, low=1)
    body = EACH_TILE % f"copy_init(a); copy_tile(a, 0, 0); copy_tile(b, 0, 1); {name}_binary_tile_init(); {name}_binary_tile(0, 1, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 64), "bfloat16"))
    assert close(got, function(rounded(x, "bfloat16"), rounded(y, "bfloat16")), 7)


def test_maxima_scalars_fills_and_choices(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = EACH_TILE % """
        copy_init(a); copy_tile(a, 0, 0); copy_tile(b, 0, 1);
        binary_max_tile_init(); binary_max_tile(0, 1, 0);
        binop_with_scalar_tile_init(); mul_unary_tile(0, 0x40400000);
        fill_tile_init(); fill_tile(2, -1.0f);
        gtz_tile_init(); gtz_tile(1);
        where_tile_init(); where_tile<DataFormat::Float32>(1, 0, 2, 0);"""
    got, _ = run_tiles(tmp_path, body, [(x, "float32"), (y, "float32")], ((32, 32), "float32"), "wide=1", "direct=0", "direct=1")
    x, y = x.astype(np.float32), y.astype(np.float32)
    assert np.allclose(got, np.where(y > 0, np.maximum(x, y) * 3, -1), rtol=1e-6)


def test_integers_are_copied_added_and_cast(tmp_path):
    generator = np.random.default_rng(3)
    x, y = generator.integers(-1000, 1000, (2, 32, 64)).astype(np.int32)
    body = EACH_TILE % "copy_init(a); copy_tile(a, 0, 0); copy_tile(b, 0, 1); add_int_tile_init(); add_int_tile<DataFormat::Int32>(0, 1, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "int32"), (y, "int32")], ((32, 64), "int32"), "wide=1")
    assert np.array_equal(got, x + y)
    cast = "typecast_tile_init<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(); typecast_tile<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(0);"
    got, _ = run_tiles(tmp_path, COPIED % cast, [(x, "int32")], ((32, 64), "float32"), "wide=1")
    assert np.array_equal(got, x)


@pytest.mark.parametrize(("dimension", "part"), [("rows", np.s_[:1, :]), ("cols", np.s_[:, :1]), ("scalar", np.s_[:1, :1])])
def test_broadcasts_of_a_row_a_column_and_an_element(tmp_path, dimension, part):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = EACH_TILE % f"mul_bcast_{dimension}_init(a, b); mul_tiles_bcast_{dimension}(a, b, 0, 0, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "float16"), (y, "float16")], ((32, 32), "float16"))
    assert close(got, rounded(x, "float16") * rounded(y, "float16")[part], 10)


@pytest.mark.parametrize(
    ("dim", "axis", "part"), [("REDUCE_ROW", 1, np.s_[:, 0]), ("REDUCE_COL", 0, np.s_[0, :]), ("REDUCE_SCALAR", None, np.s_[0, 0])]
)
@pytest.mark.parametrize("pool", ["SUM", "AVG", "MAX"])
def test_reductions_scale_and_leave_zeros_elsewhere(tmp_path, pool, dim, axis, part):
    x = random(32, 32)
    factor = 1.0 if pool != "AVG" else 0.25
    scaler = np.full((32, 32), factor)
    body = EACH_TILE % f"reduce_init<PoolType::{pool}, ReduceDim::{dim}>(a, b, out); reduce_tile<PoolType::{pool}, ReduceDim::{dim}>(a, b, 0, 0, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (scaler, "bfloat16")], ((32, 32), "float32"), "wide=1")
    scale = factor * factor if dim == "REDUCE_SCALAR" else factor
    expected = (np.max if pool == "MAX" else np.sum)(rounded(x, "bfloat16"), axis=axis) * scale
    assert np.allclose(got[part], expected, rtol=1e-5, atol=1e-5)
    assert np.count_nonzero(got) <= np.size(expected)


def test_a_softmax_over_rows_of_three_tiles(tmp_path):
    x = random(32, 96, low=-4, high=4)
    scaler = np.ones((32, 32))
    body = """
    constexpr uint32_t kept = 2, largest = 3, powers = 4, sums = 5;
    compute_kernel_hw_startup(a, b, largest);
    cb_wait_front(b, 1);
    // The maximum of each row, over all tiles.
    cb_wait_front(a, count);
    tile_regs_acquire();
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(a, b, largest);
    for (uint32_t i = 0; i < count; ++i) reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(a, b, i, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(largest, 1);
    pack_tile(0, largest);
    cb_push_back(largest, 1);
    tile_regs_release();
    reduce_uninit();
    // exp(x - maximum)
    cb_wait_front(largest, 1);
    sub_bcast_cols_init(a, largest);
    exp_tile_init();
    for (uint32_t i = 0; i < count; ++i) {
        tile_regs_acquire();
        sub_tiles_bcast_cols(a, largest, i, 0, 0);
        exp_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(powers, 1);
        pack_tile(0, powers);
        cb_push_back(powers, 1);
        tile_regs_release();
    }
    cb_pop_front(a, count);
    cb_pop_front(largest, 1);
    // 1 / sum of each row
    cb_wait_front(powers, count);
    tile_regs_acquire();
    reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers, b, sums);
    for (uint32_t i = 0; i < count; ++i) reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers, b, i, 0, 0);
    recip_tile_init();
    recip_tile(0, VectorMode::C);
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(sums, 1);
    pack_tile(0, sums);
    cb_push_back(sums, 1);
    tile_regs_release();
    reduce_uninit();
    cb_wait_front(sums, 1);
    mul_bcast_cols_init(powers, sums);
    pack_reconfig_data_format(out);
    for (uint32_t i = 0; i < count; ++i) {
        tile_regs_acquire();
        mul_tiles_bcast_cols(powers, sums, i, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(out, 1);
        pack_tile(0, out);
        cb_push_back(out, 1);
        tile_regs_release();
    }
    cb_pop_front(powers, count);
    cb_pop_front(sums, 1);
    cb_pop_front(b, 1);
    """
    reader = """
#include "api/dataflow/dataflow_api.h"
template <uint32_t input, typename Accessor>
void fetch(uint32_t tile, const Accessor& from) {
    cb_reserve_back(input, 1);
    noc_async_read_tile(tile, from, get_write_ptr(input));
    noc_async_read_barrier();
    cb_push_back(input, 1);
}
void kernel_main() {
    constexpr auto x_args = TensorAccessorArgs<0>();
    constexpr auto scaler_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
    fetch<1>(0, TensorAccessor(scaler_args, get_arg_val<uint32_t>(1), get_tile_size(1)));
    for (uint32_t i = 0; i < get_arg_val<uint32_t>(2); ++i) fetch<0>(i, TensorAccessor(x_args, get_arg_val<uint32_t>(0), get_tile_size(0)));
}
"""
    got, _ = run_tiles(
        tmp_path, body, [(x, "float16"), (scaler, "float16")], ((32, 96), "float16"), "wide=1", "cb=3:1:1", "cb=4:1:3", "cb=5:1:1", in_pages=3, reader=reader
    )
    powers = np.exp(rounded(x, "float16"))
    assert close(got, powers / powers.sum(axis=1, keepdims=True), 8)


def test_a_transpose_of_tiles(tmp_path):
    x = random(64, 32)
    got, _ = run_tiles(tmp_path, ALONE % "transpose_init(a); transpose_tile(a, 0, 0);", [(x, "float16")], ((64, 32), "float16"))
    assert np.array_equal(got.reshape(2, 32, 32), rounded(x, "float16").reshape(2, 32, 32).transpose(0, 2, 1))


def test_a_product_with_the_transpose(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (EACH_TILE % "matmul_init(a, b, 1); matmul_tiles(a, b, 0, 0, 0);").replace("startup(", "startup<SrcOrder::Reverse>(")
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "float32"), "wide=1")
    assert np.allclose(got, rounded(x, "bfloat16") @ rounded(y, "bfloat16").T, atol=1e-5)


def test_registers_of_16_bits_round_each_sum_of_sixteen(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (EACH_TILE % "matmul_init(a, b); matmul_tiles(a, b, 0, 0, 0);").replace("startup(", "startup<SrcOrder::Reverse>(")
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "float32"))
    left, right = rounded(x, "bfloat16"), rounded(y, "bfloat16")
    half = rounded(left[:, :16] @ right[:16], "bfloat16")
    assert np.allclose(got, rounded(half + left[:, 16:] @ right[16:], "bfloat16"), rtol=2**-7)
    assert np.array_equal(got, rounded(got, "bfloat16"))


@pytest.mark.parametrize(("format_", "number", "bits"), [("bfp8_b", 6, 6), ("bfp4_b", 7, 2)])
def test_block_floats_keep_their_bits(tmp_path, format_, number, bits):
    x = random(32, 64)
    body = """
    compute_kernel_hw_startup(a, 2);
    for (uint32_t i = 0; i < count; ++i) {
        cb_wait_front(a, 1);
        copy_init(a);
        reconfig_data_format_srca(a);
        pack_reconfig_data_format(2);
        tile_regs_acquire();
        copy_tile(a, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(2, 1);
        pack_tile(0, 2);
        cb_push_back(2, 1);
        tile_regs_release();
        cb_pop_front(a, 1);
        cb_wait_front(2, 1);
        reconfig_data_format_srca(2);
        copy_init(2);
        pack_reconfig_data_format(out);
        tile_regs_acquire();
        copy_tile(2, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(out, 1);
        pack_tile(0, out);
        cb_push_back(out, 1);
        tile_regs_release();
        cb_pop_front(2, 1);
    }
    """
    got, _ = run_tiles(tmp_path, body, [(x, "float32")], ((32, 64), "float32"), f"cb=2:{number}:1", "wide=1")
    largest = np.abs(x).reshape(32, 4, 16).max(axis=2, keepdims=True)
    step = 2.0 ** (np.floor(np.log2(largest)) - bits)
    assert (np.abs(got - x).reshape(32, 4, 16) <= step + 2e-3).all()  # the largest magnitudes do not round up
    assert not np.array_equal(got, x.astype(np.float32))


def test_tilize_and_untilize(tmp_path):
    x = random(32, 64)
    both = """
    compute_kernel_hw_startup(a, %s);
    cb_wait_front(a, 2);
    cb_reserve_back(out, 2);
    %s
    cb_push_back(out, 2);
    cb_pop_front(a, 2);
    """
    flat = rounded(x, "float16").reshape(64, 32)
    rows = np.ascontiguousarray(flat.reshape(2, 2, 2, 16, 16).transpose(0, 1, 3, 2, 4))
    # Written as if tiles, row-major memory comes out in the order that tilize undoes.
    unordered = untile(flat)
    got, _ = run_tiles(tmp_path, both % ("out", "tilize_init(a, 2, out); tilize_block(a, 2, out); tilize_uninit(a, out);"), [(unordered, "float16")], ((32, 64), "float16"))
    assert np.array_equal(got, rounded(x, "float16"))
    assert rows.size == x.size
    got, _ = run_tiles(tmp_path, both % ("out", "untilize_init(a); untilize_block(a, 2, out); untilize_uninit(a);"), [(x, "float16")], ((32, 64), "float16"))
    assert np.array_equal(got, untile(flat).reshape(32, 64))


def untile(flat: np.ndarray) -> np.ndarray:
    """The matrix whose tiles have these numbers in memory."""
    return np.concatenate(list(flat.reshape(2, 2, 2, 16, 16).transpose(0, 1, 3, 2, 4).reshape(2, 32, 32)), axis=1)


def test_the_packer_clips_below_zero_and_adds_in_l1(tmp_path):
    x = random(32, 32)
    body = """
    compute_kernel_hw_startup(a, out);
    copy_init(a);
    cb_wait_front(a, 1);
    cb_reserve_back(out, 1);
    pack_relu_config(ReluConfig::zero());
    for (uint32_t i = 0; i < 3; ++i) {
        pack_reconfig_l1_acc(i > 0);
        tile_regs_acquire();
        copy_tile(a, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, out, 0);
        tile_regs_release();
    }
    cb_push_back(out, 1);
    cb_pop_front(a, 1);
    """
    got, _ = run_tiles(tmp_path, body, [(x, "float16")], ((32, 32), "float32"))
    assert np.array_equal(got, 3 * np.maximum(rounded(x, "float16"), 0))


def test_one_operand_in_a_register(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    reuse = "EltwiseBinaryReuseDestType::DEST_TO_SRCA"
    body = EACH_TILE % f"copy_init(a); copy_tile(a, 0, 0); sub_reuse_dest_init<{reuse}>(b); sub_reuse_dest_tiles<{reuse}>(b, 0, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "bfloat16"))
    assert close(got, rounded(x, "bfloat16") - rounded(y, "bfloat16"), 7)
