"""``reuse_default_warps`` of ``tle.gpu.warp_specialize``: all functions are workers, and share the launch's warps.

In FlagTree the kernel's own warps are divided among the functions, and a block tensor goes to the warps that hold it.
Stock Triton starts workers beside the warps that a kernel has. So here the functions run there, while the kernel's own
warps wait; a block tensor goes to them through shared memory. The values are the same, the block has twice the warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import triton
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu import alloc, content
from tle_raw.frontends.gpu.composite import Parts, Whole
from tle_raw.frontends.lite.arguments import plain
from tle_raw.regions.shapes import shape_of


def _rest() -> None:
    """What the kernel's own warps do meanwhile."""


rest: Any = triton.jit(_rest)


@dataclass(frozen=True)
class handed_block_type(Parts, core.base_type):  # type: ignore[misc]
    """``buffer`` is the type of what a block tensor lies in."""

    buffer: Any

    def parts(self) -> Sequence[Any]:
        return (self.buffer,)

    def of(self, parts: Sequence[Any]) -> handed_block:
        return handed_block(parts[0])

    def mangle(self) -> str:
        return f"H{self.buffer.mangle()}H"


class handed_block(Whole):
    """A block tensor on its way to a worker."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.type = handed_block_type(buffer.type)

    def parts(self) -> Sequence[Any]:
        return (self.buffer,)

    def load(self, semantic: Any, generator: Any) -> core.tensor:
        """The block tensor, on the warps that ask for it."""
        return content.load(self.buffer, _semantic=semantic, _generator=generator)


def handed(value: Any, semantic: Any, generator: Any) -> Any:
    """An argument of a worker, with buffers in place of block tensors."""
    if isinstance(value, (core.tuple, tuple, list)):
        return core.tuple([handed(each, semantic, generator) for each in _items(value)])
    if not isinstance(value, core.tensor) or not value.type.is_block():
        return value
    traced = {"_semantic": semantic, "_generator": generator}
    buffer = alloc.alloc(list(shape_of(value)), value.dtype, nv_mma_shared_layout=False, **traced)
    content.store(buffer, value, **traced)
    return handed_block(buffer)


def taken(value: Any, semantic: Any, generator: Any) -> Any:
    """The inverse of ``handed``, in the worker."""
    if isinstance(value, core.tuple):
        return core.tuple([taken(each, semantic, generator) for each in value.values])
    return value.load(semantic, generator) if isinstance(value, handed_block) else value


def check_reused(warps: Sequence[int], own: int) -> None:
    """Check that the functions share the launch's warps.

    Raises
    ------
    ArgumentTypeError : they have more, or fewer.
    """
    if sum(warps) != own:
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: with reuse_default_warps the functions share the launch's warps",
            table=[Row("worker_num_warps", f"{own} together, as num_warps", f"{sum(warps)}: {list(warps)}")],
            hint="each function is a worker then, the first one too",
        )


def _items(value: Any) -> list[Any]:
    return list(value.values if isinstance(value, core.tuple) else plain(value))
