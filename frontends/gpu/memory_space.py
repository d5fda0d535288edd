"""``tle.gpu.memory_space``: a tensor by way of a memory."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu import content
from tle_raw.frontends.gpu.alloc import alloc
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.lite.arguments import check_block, describe_value, plain
from tle_raw.regions.shapes import shape_of

SHARED, REGISTER = "shared_memory", "register"


@gpu_function
def memory_space(input: Any, space: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The same tensor, read from a buffer in shared memory.

    On NVIDIA GPUs the tensor is written into a buffer and read from it, so that what follows, ``tl.dot`` for one, finds
    it there. Elsewhere it is the tensor.

    Parameters
    ----------
    input : a block tensor of numbers.
    space : ``"shared_memory"``, or ``"register"``, which changes nothing.

    Raises
    ------
    ArgumentTypeError : another memory, or no block of numbers.
    """
    value, space = check_block("gpu.memory_space", "input", input), plain(space)
    if space not in (SHARED, REGISTER) or value.dtype.is_ptr():
        raise ArgumentTypeError(
            "tle.gpu.memory_space: a block of numbers goes to shared memory, or stays in registers",
            table=[
                Row("space", f'"{SHARED}" or "{REGISTER}"', describe_value(space)),
                Row("input", "a block of numbers", describe_value(value)),
            ],
        )
    if space == REGISTER or _generator is None:
        return value
    dims = list(shape_of(value))
    traced = {"_semantic": _semantic, "_generator": _generator}
    buffer = alloc(dims, value.dtype, _one_tile(dims, value.dtype), **traced)
    content.store(buffer, value, **traced)
    return content.load(buffer, **traced)


def _one_tile(dims: list[int], dtype: Any) -> Any:
    """A layout of the tensor's own rank: no axis counts slots."""
    from tle_raw.frontends.gpu.layouts.default import default_layout

    return default_layout(dims, dtype, True)
