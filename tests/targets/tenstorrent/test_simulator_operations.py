"""Each operation of compute kernels gives NumPy's numbers, in the precision that the simulator states."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.tenstorrent.running import ALONE, EACH_TILE, PROGRAMS, close, random, rounded, run_tiles
from tle_raw.targets.tenstorrent.simulator import SimulationError

pytestmark = pytest.mark.one_triton

BITS = {"float32": 10, "float16": 10, "bfloat16": 7}  # the matrix unit takes tf32 of fp32


@pytest.mark.parametrize(
    ("name", "function", "format_"),
    [("add", np.add, "bfloat16"), ("sub", np.subtract, "float16"), ("mul", np.multiply, "float32")],
)
def test_elementwise_operations_of_two_buffers(tmp_path, name, function, format_):
    x, y = random(64, 96), random(64, 96, seed=1)
    wide = "wide=1" if format_ == "float32" else "wide=0"
    got, _ = run_tiles(
        tmp_path,
        EACH_TILE % f"{name}_init(a, b); {name}_tiles(a, b, 0, 0, 0);",
        [(x, format_), (y, format_)],
        ((64, 96), format_),
        wide,
    )
    assert close(got, function(rounded(x, format_), rounded(y, format_)), BITS[format_])


@pytest.mark.parametrize(
    ("dimension", "part"), [("rows", np.s_[:1, :]), ("cols", np.s_[:, :1]), ("scalar", np.s_[:1, :1])]
)
def test_broadcasts_of_a_row_a_column_and_an_element(tmp_path, dimension, part):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = EACH_TILE % f"mul_bcast_{dimension}_init(a, b); mul_tiles_bcast_{dimension}(a, b, 0, 0, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "float16"), (y, "float16")], ((32, 32), "float16"))
    assert close(got, rounded(x, "float16") * rounded(y, "float16")[part], 10)


@pytest.mark.parametrize(
    ("pool", "dim", "axis", "part"),
    [
        ("SUM", "REDUCE_ROW", 1, np.s_[:, 0]),
        ("AVG", "REDUCE_COL", 0, np.s_[0, :]),
        ("AVG", "REDUCE_SCALAR", None, np.s_[0, 0]),
        ("MAX", "REDUCE_ROW", 1, np.s_[:, 0]),
        ("MAX", "REDUCE_COL", 0, np.s_[0, :]),
    ],
)
def test_reductions_scale_and_leave_zeros_elsewhere(tmp_path, pool, dim, axis, part):
    x = random(32, 32)
    kind = f"PoolType::{pool}, ReduceDim::{dim}"
    factor = 1.0 if pool != "AVG" else 0.25
    scaler = np.full((32, 32), factor)
    body = EACH_TILE % f"reduce_init<{kind}>(a, b, out); reduce_tile<{kind}>(a, b, 0, 0, 0);"
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (scaler, "bfloat16")], ((32, 32), "float32"), "wide=1")
    scale = factor * factor if dim == "REDUCE_SCALAR" else factor
    expected = (np.max if pool == "MAX" else np.sum)(rounded(x, "bfloat16"), axis=axis) * scale
    assert np.allclose(got[part], expected, rtol=1e-5, atol=1e-5)
    assert np.count_nonzero(got) <= np.size(expected)


def test_a_softmax_over_rows_of_three_tiles(tmp_path):
    x = random(32, 96, low=-4, high=4)
    got, _ = run_tiles(
        tmp_path,
        "",
        [(x, "float16"), (np.ones((32, 32)), "float16")],
        ((32, 96), "float16"),
        *("wide=1", "cb=3:1:1", "cb=4:1:3", "cb=5:1:1"),
        in_pages=3,
        reader=(PROGRAMS / "softmax" / "reader.cpp").read_text(),
        compute=(PROGRAMS / "softmax" / "compute.cpp").read_text(),
    )
    powers = np.exp(rounded(x, "float16"))
    assert close(got, powers / powers.sum(axis=1, keepdims=True), 8)


def test_a_transpose_of_tiles(tmp_path):
    x = random(64, 32)
    got, _ = run_tiles(
        tmp_path, ALONE % "transpose_init(a); transpose_tile(a, 0, 0);", [(x, "float16")], ((64, 32), "float16")
    )
    assert np.array_equal(got.reshape(2, 32, 32), rounded(x, "float16").reshape(2, 32, 32).transpose(0, 2, 1))


def test_a_product_with_the_transpose(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (EACH_TILE % "matmul_init(a, b, 1); matmul_tiles(a, b, 0, 0, 0);").replace(
        "startup(", "startup<SrcOrder::Reverse>("
    )
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "float32"), "wide=1")
    assert np.allclose(got, rounded(x, "bfloat16") @ rounded(y, "bfloat16").T, atol=1e-5)


def test_registers_of_16_bits_round_each_sum_of_sixteen(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (EACH_TILE % "matmul_init(a, b); matmul_tiles(a, b, 0, 0, 0);").replace(
        "startup(", "startup<SrcOrder::Reverse>("
    )
    got, _ = run_tiles(tmp_path, body, [(x, "bfloat16"), (y, "bfloat16")], ((32, 32), "float32"))
    left, right = rounded(x, "bfloat16"), rounded(y, "bfloat16")
    half = rounded(left[:, :16] @ right[:16], "bfloat16")
    assert np.allclose(got, rounded(half + left[:, 16:] @ right[16:], "bfloat16"), rtol=2**-7)
    assert np.array_equal(got, rounded(got, "bfloat16"))


def test_one_phase_of_a_product_sees_fewer_bits(tmp_path):
    x, y = random(32, 32), random(32, 32, seed=1)
    body = (EACH_TILE % "matmul_init(a, b); matmul_tiles(a, b, 0, 0, 0);").replace(
        "startup(", "startup<SrcOrder::Reverse>("
    )
    inputs = [(x, "float16"), (y, "float16")]
    expected = rounded(x, "float16") @ rounded(y, "float16")
    errors = []
    for fidelity in (0, 2, 4):
        got, _ = run_tiles(tmp_path, body, inputs, ((32, 32), "float32"), "wide=1", f"fidelity={fidelity}")
        errors.append(np.abs(got - expected).max())
    # In LoFi source A keeps 5 bits and B 7, in HiFi2 only B is cut.
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[0] < np.abs(expected).max() / 16


@pytest.mark.parametrize(
    ("options", "tiles"), [((), 8), (("full=1",), 16), (("wide=1",), 4), (("wide=1", "full=1"), 8)]
)
def test_as_many_registers_as_widths_and_halves_leave(tmp_path, options, tiles):
    x = random(32, 32)
    body = ALONE % "copy_init(a); for (uint32_t j = 0; j < LAST; ++j) copy_tile(a, 0, j); copy_tile(a, 0, 0);"
    arguments = ([(x, "float16")], ((32, 32), "float16"), *options)
    got, _ = run_tiles(tmp_path, body.replace("LAST", str(tiles)), *arguments)
    assert np.array_equal(got, rounded(x, "float16"))
    with pytest.raises(SimulationError, match=f"destination register {tiles}; there are {tiles}"):
        run_tiles(tmp_path, body.replace("LAST", str(tiles + 1)), *arguments)


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
    got, _ = run_tiles(
        tmp_path,
        both % ("out", "tilize_init(a, 2, out); tilize_block(a, 2, out); tilize_uninit(a, out);"),
        [(unordered, "float16")],
        ((32, 64), "float16"),
    )
    assert np.array_equal(got, rounded(x, "float16"))
    assert rows.size == x.size
    got, _ = run_tiles(
        tmp_path,
        both % ("out", "untilize_init(a); untilize_block(a, 2, out); untilize_uninit(a);"),
        [(x, "float16")],
        ((32, 64), "float16"),
    )
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
