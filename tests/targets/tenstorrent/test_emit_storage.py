"""``main.cpp`` brings arrays into tiles and back: block floats, shards, dims that are cut or count matrices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.targets.tenstorrent.hand_made import (
    ONE,
    ZERO,
    arguments,
    call,
    my_tiles,
    packed,
    queue,
    read,
    shares,
    tensor,
    write,
)
from tle_raw.targets.tenstorrent.emit import emit
from tle_raw.targets.tenstorrent.ir import Buffer, CompileTimeArg, ComputeConfig, Kernel, Module, Tensor, Var
from tle_raw.targets.tenstorrent.simulator.build import build_program
from tle_raw.targets.tenstorrent.simulator.run import run_program

pytestmark = pytest.mark.one_triton
Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


def copied(given: Tensor, result: Tensor, cores: tuple[int, int] = (2, 1)) -> Module:
    """C = A, page by page, through DST."""
    source, target = Buffer("in_A"), Buffer("out_C")
    table = ("start_id", "count")
    body = (
        call("compute_kernel_hw_startup", source, source, target),
        call("copy_init", source),
        my_tiles(
            call("cb_wait_front", source, ONE),
            call("tile_regs_acquire"),
            call("copy_tile", source, ZERO, ZERO),
            call("cb_pop_front", source, ONE),
            *packed("C"),
        ),
    )
    moved = {"reader": ("A", read("A", Var("tile"))), "writer": ("C", write("C", Var("tile")))}
    kernels = {
        role: Kernel(role, (CompileTimeArg(name),), arguments(name, columns=table), (my_tiles(*steps),))  # type: ignore[arg-type]
        for role, (name, steps) in moved.items()
    }
    return Module(
        "copied",
        ("A", "C"),
        {"A": given, "C": result},
        grid=(given.pages, 1, 1),
        core_grid=cores,
        circular_buffers={
            "in_A": queue("in_A", 0, given.data_format, ("reader", "compute")),
            "out_C": queue("out_C", 16, result.data_format, ("compute", "writer")),
        },
        kernels={**kernels, "compute": Kernel("compute", (), arguments(columns=table), body)},
        cores=shares(1, given.pages, cores),
        compute=ComputeConfig(fp32_dest_acc_en=True, dst_tiles=4),
    )


def run(module: Module, given: Array, folder: Path, dtype: type) -> Array:
    for name, text in emit(module).items():
        (folder / name).write_text(text)
    given.tofile(folder / "A.bin")
    run_program(build_program(folder), [folder / "A.bin", folder / "C.bin"], seconds=30)
    return np.fromfile(folder / "C.bin", dtype).reshape(module.tensors["C"].shape)


def block_floats(matrix: Array, bits: int) -> Array:
    """What is left of a matrix: 16 elements of a row share an exponent, each has a sign and bits - 1 of size."""
    rows, columns = matrix.shape
    wide = np.zeros((rows, -(-columns // 16) * 16))
    wide[:, :columns] = matrix
    groups = wide.reshape(rows, -1, 16)
    largest = np.abs(groups).max(axis=2, keepdims=True)
    step = 2.0 ** (np.floor(np.log2(largest, where=largest > 0, out=np.zeros_like(largest))) - (bits - 2))
    sizes = np.minimum(np.round(np.abs(groups) / step), 2 ** (bits - 1) - 1)
    return (np.sign(groups) * sizes * step).reshape(rows, -1)[:, :columns]


def test_block_floats_are_rounded_to_the_nearest(tmp_path: Path) -> None:
    array = np.random.default_rng(5).standard_normal((45, 70)).astype(np.float32)
    array[3, 5:9] = (0.0, -0.0, 1e-30, 1e30)
    given, result = tensor("A", 45, 70, "float32", "Bfp8_b"), tensor("C", 45, 70, "float32", "Float32", "out")
    stored = run(copied(given, result), array, tmp_path, np.float32)
    np.testing.assert_array_equal(stored, block_floats(array.astype(np.float64), 8))


def test_float16_is_stored_as_block_floats_and_comes_back(tmp_path: Path) -> None:
    array = np.random.default_rng(5).standard_normal((45, 70)).astype(np.float16)
    array[3, 5:9] = (0.0, -0.0, 6e-8, 65504)
    given, result = tensor("A", 45, 70, "float16", "Bfp4_b"), tensor("C", 45, 70, "float16", "Bfp8_b", "out")
    stored = run(copied(given, result), array, tmp_path, np.float16)
    np.testing.assert_array_equal(stored.astype(np.float64), block_floats(array.astype(np.float64), 4))


def test_block_floats_of_bfloat16_come_back_from_shards(tmp_path: Path) -> None:
    array = np.random.default_rng(6).standard_normal((64, 128)).astype(ml_dtypes.bfloat16)
    given = replace(tensor("A", 64, 128, "bfloat16", "Float16_b"), memory="L1", layout="sharded", shard=(1, 2))
    result = tensor("C", 64, 128, "bfloat16", "Bfp8_b", "out")
    stored = run(copied(given, result), array, tmp_path, ml_dtypes.bfloat16)
    np.testing.assert_array_equal(stored.astype(np.float64), block_floats(array.astype(np.float64), 8))


def test_dims_that_are_not_cut_count_matrices(tmp_path: Path) -> None:
    array = np.random.default_rng(7).integers(0, 2**16, (2, 40, 3, 50), dtype=np.uint16)
    given = Tensor("A", (2, 40, 3, 50), "float16", "Float16", 3, 1, 2, 2)
    result = Tensor("C", (6, 50, 40), "float16", "Float16", 1, 2, 2, 2, "out")
    finite = np.where((array & 0x7C00) == 0x7C00, array & 0x83FF, array).astype(np.uint16)
    stored = run(copied(given, result), finite, tmp_path, np.uint16)
    np.testing.assert_array_equal(stored, finite.transpose(0, 2, 3, 1).reshape(6, 50, 40))
