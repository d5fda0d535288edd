"""Functions of kernels as FlagTree's branches of January 2026 called them."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentCountError
from tle_raw.frontends.gpu.local_ptr import local_ptr as newest_local_ptr
from tle_raw.frontends.lite.arguments import plain
from tle_raw.frontends.lite.kernel_function import kernel_function


def _local_ptr(
    buffer: Any, indices: Any = None, offsets: Any = None, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """``tle.gpu.local_ptr``, and its older form: ``offsets``, a tensor of places in the buffer's rows laid end to end.

    Raises
    ------
    ArgumentCountError : both forms are used at once. And those of ``tle.gpu.local_ptr``.
    """
    if plain(offsets) is None:
        return newest_local_ptr(buffer, indices, _semantic=_semantic, _generator=_generator)
    if plain(indices) is not None:
        raise ArgumentCountError("tle.gpu.local_ptr takes indices, or the older offsets, and not both")
    shape = [plain(dim) for dim in buffer.shape]
    found: list[Any] = []
    left = offsets
    for dim in reversed(shape[1:]):
        size = _semantic.to_tensor(dim)
        found.append(_semantic.mod(left, size))
        left = _semantic.floordiv(left, size)
    return newest_local_ptr(buffer, core.tuple([left, *reversed(found)]), _semantic=_semantic, _generator=_generator)


local_ptr = kernel_function(_local_ptr, "gpu.local_ptr")
