"""A kernel of the list, run on the CPU with the small arguments of its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cuda_sweep.kernels import Listed
from cuda_sweep.launches import Addresses, Buffer, Launch
from cuda_sweep.worker import buffers_of

_TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
          "f8e5m2": "float8_e5m2", "i1": "bool", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
          "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8"}  # fmt: skip


def run_on_cpu(kernel: Listed, launch: Launch, root: Path) -> dict[int, np.ndarray]:
    """What it wrote: the arrays that have changed, by their place among all (``arrays_of``).

    Raises
    ------
    TLEError : it does not compile for the CPU, or fails there.
    """
    import torch

    import tle_raw
    from tle_raw.fragments.signature import StructParameter
    from tle_raw.fragments.structs import Address, leaves

    tle_raw.knobs.target = "cpu"
    fragment = tle_raw.fragment(
        root / kernel.file, dialect="cuda", symbol=kernel.symbol, include_dirs=kernel.folders(root),
        defines=kernel.defines(), flags=kernel.included(root),
    )  # fmt: skip
    whole = fragment.as_kernel(block=launch.block(kernel.block), shared=launch.shared_bytes)
    values = launch.make(True)
    held: dict[int, tuple[Buffer, Any]] = {}
    for buffer in buffers_of(values):
        if id(buffer) not in held and not isinstance(buffer, Addresses):
            held[id(buffer)] = buffer, torch.from_numpy(_padded(buffer.values))
    for buffer in buffers_of(values):
        if isinstance(buffer, Addresses):
            targets = [held[id(target)][1].data_ptr() if target else 0 for target in buffer.targets]
            addresses = np.array(targets, np.int64)
            held[id(buffer)] = buffer, torch.from_numpy(addresses.view(np.uint8))

    def passed(value: Any, dtype: Any, is_pointer: bool = True) -> Any:
        if not isinstance(value, Buffer):
            return value
        array = held[id(value)][1]
        return array.view(getattr(torch, _TORCH[dtype.name])) if is_pointer else array.data_ptr()

    arguments = []
    for parameter, value in zip(whole.signature.own, values, strict=True):
        if isinstance(parameter, StructParameter):
            parts = list(leaves(parameter.type))
            from cuda_sweep.driver import flat

            items = flat(value, [[".".join(leaf.path), leaf.offset] for leaf in parts]) if parts else []
            arguments.append(
                tuple(
                    passed(None if is_pointer and item == 0 else item, leaf.type.dtype, is_pointer)
                    for leaf, item in zip(parts, items)
                    for is_pointer in [isinstance(leaf.type, Address)]
                )
            )
        else:
            arguments.append(passed(value, parameter.type.dtype))
    whole[launch.grid_of(True)](*arguments)
    outputs = {}
    for place, given in enumerate(arrays_of(values)):
        got = held[id(given)][1].numpy()[: given.values.nbytes].view(given.values.dtype)
        if not isinstance(given, Addresses) and not np.array_equal(
            got.view(np.uint8), np.ascontiguousarray(given.values).view(np.uint8)
        ):
            outputs[place] = got
    return outputs


def _padded(values: np.ndarray) -> np.ndarray:
    """Bytes, and zeros up to a multiple of 16: a kernel may take them as wider elements."""
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    return np.pad(data, (0, -len(data) % 16))


def arrays_of(values: list[Any]) -> list[Buffer]:
    """The arrays among the arguments, each once, in their order: an output's place is its number here."""
    return list({id(buffer): buffer for buffer in buffers_of(values)}.values())
