"""``tle.local_load`` and ``tle.local_store``: a buffer's content by the seeds' names."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import content
from tle_raw.frontends.gpu.gpu_function import gpu_function


@gpu_function
def local_load(buffer: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The content of a buffer as a block tensor: ``buffer.load()``.

    Raises
    ------
    SharedBufferError : the buffer has slots, or a dim that is no power of two.
    """
    return content.load(buffer, _semantic=_semantic, _generator=_generator)


@gpu_function
def local_store(buffer: Any, value: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Write a whole buffer: ``buffer.store(value)``.

    Parameters
    ----------
    value : a block tensor of the buffer's shape and dtype, or one number for every element.

    Raises
    ------
    ShapeError, ArgumentTypeError : the value has another shape or dtype.
    """
    content.store(buffer, value, _semantic=_semantic, _generator=_generator)
