"""What the host program would say about its kernels, so that they can be compiled without one."""

from __future__ import annotations

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent.emit.kernel_file import kernel_file
from tle_raw.targets.tenstorrent.formats import TILE_BYTES
from tle_raw.targets.tenstorrent.ir import Module, Tensor
from tle_raw.targets.tenstorrent.kernel_api import Release
from tle_raw.targets.tenstorrent.real_headers.check import Trio

_IN_DRAM = 2


def trio_of(module: Module, release: Release) -> Trio:
    """The kernels of a program in its final form, with the words of their accessors and the formats of their buffers.

    Raises
    ------
    UnsupportedFeatureError : a sharded tensor; the words of its accessor are made by the vendor's host library.
    """
    words = {
        role: [word for each in kernel.compile_time_args for word in _words(module.tensors[each.name])]
        for role, kernel in module.kernels.items()
    }
    return Trio(
        {role: kernel_file(kernel, module, release) for role, kernel in module.kernels.items()},
        words,
        {buffer.number: buffer.data_format for buffer in module.circular_buffers.values()},
        fp32_registers=module.compute is not None and module.compute.fp32_dest_acc_en,
    )


def _words(tensor: Tensor) -> tuple[int, int]:
    if tensor.layout != "interleaved":
        raise UnsupportedFeatureError(f"{tensor.name} is sharded; without the host library its accessor is not known")
    return (_IN_DRAM if tensor.memory == "DRAM" else 0), TILE_BYTES[tensor.data_format]
