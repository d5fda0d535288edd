"""Runs compute kernels over tiles in the simulator, NumPy in and out: programs/tiles/main.cpp is the host program."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tle_raw.targets.tenstorrent.simulator import Ran, build_program, run_program

PROGRAMS = Path(__file__).parent / "programs"
FORMATS = {"float32": 0, "float16": 1, "bfloat16": 5, "bfp8_b": 6, "bfp4_b": 7, "int32": 8}
STORAGE = {"float32": np.float32, "float16": np.float16, "bfloat16": np.uint16, "int32": np.int32}
INCLUDES = (
    "matmul", "eltwise_binary", "bcast", "reduce", "transpose", "tile_move_copy", "tilize", "untilize", "pack",
    "reconfig_data_format", "eltwise_unary/sfpu_split_includes",
)  # fmt: skip


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
ALONE = (
    EACH_TILE.replace("        cb_wait_front(b, 1);\n", "")
    .replace("        cb_pop_front(b, 1);\n", "")
    .replace("(a, b, out)", "(a, out)")
)
COPIED = ALONE.replace("%s", "copy_init(a); copy_tile(a, 0, 0);\n        %s")


@functools.cache
def host_program(sanitizer: str = "") -> Path:
    """The host program of all kernels here, compiled once."""
    return build_program(PROGRAMS / "tiles", Path(tempfile.mkdtemp()) / "main", sanitizer=sanitizer)


def compute_source(body: str) -> str:
    """A compute kernel: buffers ``a``, ``b``, ``out``, the number ``count``, and this body."""
    headers = "".join(f'#include "api/compute/{name}.h"\n' for name in INCLUDES)
    return (
        f"{headers}\nvoid kernel_main() {{\n"
        "    [[maybe_unused]] constexpr uint32_t a = 0, b = 1, out = 16;\n"
        f"    [[maybe_unused]] const uint32_t count = get_arg_val<uint32_t>(0);\n{body}\n}}\n"
    )


def run_tiles(
    folder: Path,
    body: str,
    inputs: Sequence[tuple[np.ndarray, str]],
    output: tuple[tuple[int, int], str],
    *options: str,
    count: int | None = None,
    reader: str | None = None,
    writer: str | None = None,
    compute: str | None = None,
    in_pages: int = 2,
    out_pages: int = 2,
    **running: Any,
) -> tuple[np.ndarray, Ran]:
    """Run a compute kernel: inputs are matrices of whole tiles with their formats, ``output`` a shape and a format.

    ``count`` is the kernel's argument, by default the tiles of the first input. ``reader``, ``writer`` and ``compute``
    are whole sources in place of the usual ones.
    """
    written = compute if compute is not None else compute_source(body)
    kernels = {"compute": written, "reader": reader, "writer": writer}
    arguments = []
    for name, source in kernels.items():
        path = PROGRAMS / "tiles" / f"{name}.cpp"
        if source is not None:
            path = folder / f"{name}.cpp"
            path.write_text(source)
        arguments.append(f"{name}={path}")
    for i, (matrix, format_) in enumerate(inputs):
        file = folder / f"in{i}.bin"
        tilized(encoded(matrix, format_)).tofile(file)
        arguments.append(f"in={file}:{FORMATS[format_]}:{in_pages}")
    shape, format_ = output
    tiles = shape[0] * shape[1] // 1024
    file = folder / "out.bin"
    arguments.append(f"out={file}:{FORMATS[format_]}:{out_pages}:{tiles}")
    arguments.append(f"count={inputs[0][0].size // 1024 if count is None else count}")
    program = host_program(running.pop("sanitizer", ""))
    ran = run_program(program, [*arguments, *options], folder=folder, **running)
    return decoded(untilized(np.fromfile(file, STORAGE[format_]), shape), format_), ran


def encoded(matrix: np.ndarray, format_: str) -> np.ndarray:
    """Numbers as a format stores them."""
    if format_ != "bfloat16":
        return matrix.astype(STORAGE[format_])
    bits = matrix.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def decoded(stored: np.ndarray, format_: str) -> np.ndarray:
    """What is stored, as numbers of float64 or int32."""
    if format_ == "int32":
        return stored
    return (
        (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if format_ == "bfloat16"
        else stored.astype(np.float64)
    )


def rounded(matrix: np.ndarray, format_: str) -> np.ndarray:
    """The numbers that a format keeps of these."""
    return decoded(encoded(matrix, format_), format_)


def tilized(matrix: np.ndarray) -> np.ndarray:
    """Tiles in row-major order, each of four faces."""
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows // 32, 2, 16, columns // 32, 2, 16).transpose(0, 3, 1, 4, 2, 5))


def untilized(flat: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The inverse of ``tilized``."""
    rows, columns = shape
    return flat.reshape(rows // 32, columns // 32, 2, 2, 16, 16).transpose(0, 2, 4, 1, 3, 5).reshape(shape)


def random(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    """Evenly distributed numbers, the same for the same seed."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def close(got: np.ndarray, expected: np.ndarray, bits: int) -> bool:
    """Within a few units of a format with so many bits behind the leading one, against the largest number."""
    return bool(np.abs(got - expected).max() <= 2.0 ** (1 - bits) * np.abs(expected).max())
