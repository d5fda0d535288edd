"""Runs a TileLang kernel through the target and the simulator, on arrays of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tle_raw.registry import find_adapter
from tle_raw.targets.tenstorrent.compile import lower_program
from tle_raw.targets.tenstorrent.emit import emit
from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.options import read_options
from tle_raw.targets.tenstorrent.simulator import build_program, run_program

SCALARS = {"float32": np.float32, "int32": np.int32}


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """The array in a dtype; bfloat16 is kept in float32, as numbers that it has."""
    if dtype != "bfloat16":
        return array.astype(dtype)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def to_bytes(array: np.ndarray, dtype: str) -> bytes:
    """As the host program reads it."""
    if dtype == "bfloat16":
        return (np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return np.ascontiguousarray(array.astype(dtype)).tobytes()


def from_bytes(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """What the host program wrote."""
    if dtype == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, dtype).reshape(shape)


def lower(prim_func: Any, **options: Any) -> Module:
    """The module of which the files are written."""
    return lower_program(find_adapter("tilelang").tile_program(prim_func, {}), read_options(options))


def run_kernel(
    prim_func: Any, inputs: dict[str, Any], folder: Path, *, sanitizer: str = "", **options: Any
) -> dict[str, np.ndarray]:
    """The arrays that the kernel writes, by name; whatever a compiler says of its files is an error."""
    module = lower(prim_func, **options)
    for name, text in emit(module, options.get("api", "")).items():
        (folder / name).write_text(text)
    program = build_program(folder, release=options.get("api", "0.81.1"), sanitizer=sanitizer)
    files = []
    for name in module.parameters:
        file = folder / f"{name}.bin"
        files.append(file)
        if name in module.scalars:
            file.write_bytes(SCALARS[module.scalars[name]](inputs[name]).tobytes())
        elif module.tensors[name].direction != "out":
            file.write_bytes(to_bytes(inputs[name], module.tensors[name].dtype))
    ran = run_program(program, files)
    assert ran.messages == "", ran.messages
    written = [tensor for tensor in module.tensors.values() if tensor.direction != "in"]
    return {
        tensor.name: from_bytes((folder / f"{tensor.name}.bin").read_bytes(), tensor.dtype, tensor.shape)
        for tensor in written
    }
