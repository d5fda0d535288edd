"""Layouts of block tensors in registers: which elements a thread holds. ``set_layout`` takes them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.layouts.shared_layout import MadeInKernels, check_permutation, check_power
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain

_WARP = 32
_WIDEST_WGMMA = 256


class distributed_encoding(metaclass=MadeInKernels):
    """A layout of block tensors in registers."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Of the tensors that can have it."""

    @property
    @abstractmethod
    def warps(self) -> int:
        """Of the block that it is made for."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The attribute, as TritonGPU's texts spell it."""

    def check(self, dtype: Any) -> None:
        """Raise a LayoutError where tensors of this dtype cannot have it."""


@dataclass(frozen=True)
class BlockEncoding(distributed_encoding):
    """A thread holds ``size_per_thread`` elements, warps of threads lie beside each other, and so do the warps.

    Parameters
    ----------
    size_per_thread, threads_per_warp, warps_per_cta : for each axis; powers of two. A warp has 32 threads.
    order : the axes, the one along which they count first.
    cga_layout : None: a tensor belongs to one block.
    """

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]

    def __init__(
        self, size_per_thread: Any, threads_per_warp: Any, warps_per_cta: Any, order: Any, cga_layout: Any = None
    ) -> None:
        name = "BlockEncoding"
        _check_one_block(name, cga_layout)
        axes = check_permutation(name, "order", order)
        given = (("size_per_thread", size_per_thread), ("threads_per_warp", threads_per_warp))
        for what, value in (*given, ("warps_per_cta", warps_per_cta)):
            object.__setattr__(self, what, _powers(name, what, value, len(axes)))
        object.__setattr__(self, "order", axes)
        if prod(self.threads_per_warp) != _WARP:
            raise LayoutError(
                f"{name}: a warp has {_WARP} threads",
                table=[Row("threads_per_warp", f"{_WARP} together", str(list(self.threads_per_warp)))],
            )

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def warps(self) -> int:
        return prod(self.warps_per_cta)

    @property
    def text(self) -> str:
        return (
            f"#ttg.blocked<{{sizePerThread = {list(self.size_per_thread)}, "
            f"threadsPerWarp = {list(self.threads_per_warp)}, warpsPerCTA = {list(self.warps_per_cta)}, "
            f"order = {list(self.order)}}}>"
        )


@dataclass(frozen=True)
class MmaEncoding(distributed_encoding):
    """The layout of an accumulator of tensor cores.

    Parameters
    ----------
    version : 2 for ``mma.sync``, 3 for ``wgmma``; ``[2, 0]`` is the same.
    warps_per_cta : for each axis.
    instr_shape : rows and columns of an instruction, and for ``wgmma`` its depth: [16, 8], [16, 128, 16].
    cga_layout : None: a tensor belongs to one block.
    """

    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]

    def __init__(self, version: Any, warps_per_cta: Any, instr_shape: Any, cga_layout: Any = None) -> None:
        name = "MmaEncoding"
        _check_one_block(name, cga_layout)
        parts = items(version) if items(version) is not None else [plain(version)]
        major = parts[0] if parts and all(part == 0 for part in parts[1:]) else None
        shape = tuple(items(instr_shape) or ())
        warps = _powers(name, "warps_per_cta", warps_per_cta, 2)
        if major not in (2, 3) or not all(map(is_integer, shape)) or not _is_instruction(major, shape):
            raise LayoutError(
                f"{name}: an instruction of tensor cores",
                table=[
                    Row("version", "2 or 3", str(version)),
                    Row("instr_shape", "[16, 8], or [16, N, K] of version 3", str(list(shape))),
                ],
            )
        if major == 3 and warps[0] % 4:
            raise LayoutError(
                f"{name}: four warps share the rows of wgmma",
                table=[Row("warps_per_cta", "[a multiple of 4, ...]", str(list(warps)))],
            )
        object.__setattr__(self, "version", major)
        object.__setattr__(self, "warps_per_cta", warps)
        object.__setattr__(self, "instr_shape", shape)

    @property
    def rank(self) -> int:
        return 2

    @property
    def warps(self) -> int:
        return prod(self.warps_per_cta)

    @property
    def text(self) -> str:
        return (
            f"#ttg.nvidia_mma<{{versionMajor = {self.version}, versionMinor = 0, "
            f"warpsPerCTA = {list(self.warps_per_cta)}, instrShape = {list(self.instr_shape)}}}>"
        )


@dataclass(frozen=True)
class DotOperandEncoding(distributed_encoding):
    """The layout of an operand of tensor cores in registers.

    Parameters
    ----------
    operand_index : 0 for the left, 1 for the right one.
    parent : the accumulator's, a ``MmaEncoding``; ``wgmma`` takes the left operand only.
    k_width : elements that a thread holds in a row along K: 32 bits of them.
    """

    operand_index: int
    parent: MmaEncoding
    k_width: int

    def __init__(self, operand_index: Any, parent: Any, k_width: Any) -> None:
        name, index, above = "DotOperandEncoding", plain(operand_index), plain(parent)
        if not isinstance(above, MmaEncoding) or index not in ((0, 1) if above.version == 2 else (0,)):
            raise LayoutError(
                f"{name}: an operand of an instruction that takes it in registers",
                table=[
                    Row("operand_index", "0, or 1 of version 2", str(index)),
                    Row("parent", "a MmaEncoding", describe_value(parent)),
                ],
            )
        width = check_power(name, "k_width", k_width)
        if width not in (1, 2, 4):
            raise LayoutError(f"{name}: 32 bits along K", table=[Row("k_width", "1, 2 or 4", str(width))])
        object.__setattr__(self, "operand_index", int(index))
        object.__setattr__(self, "parent", above)
        object.__setattr__(self, "k_width", width)

    @property
    def rank(self) -> int:
        return 2

    @property
    def warps(self) -> int:
        return self.parent.warps

    @property
    def text(self) -> str:
        return f"#ttg.dot_op<{{opIdx = {self.operand_index}, parent = {self.parent.text}, kWidth = {self.k_width}}}>"

    def check(self, dtype: Any) -> None:
        bits = int(dtype.primitive_bitwidth)
        if bits * self.k_width != 32:
            raise LayoutError(
                "DotOperandEncoding: a thread holds 32 bits along K",
                table=[Row("k_width", f"{32 // bits if bits <= 32 else 'none'} of {dtype}", str(self.k_width))],
            )


@dataclass(frozen=True)
class SlicedEncoding(distributed_encoding):
    """A layout without one of its axes: that of what ``tl.sum`` along the axis gives, or of what it is broadcast from.

    Parameters
    ----------
    dim : which axis of the parent.
    parent : a layout of one more axis.
    """

    dim: int
    parent: distributed_encoding

    def __init__(self, dim: Any, parent: Any) -> None:
        axis, above = plain(dim), plain(parent)
        if not isinstance(above, distributed_encoding) or above.rank < 2 or not is_integer(axis):
            raise LayoutError(
                "SlicedEncoding is made of a layout of two axes or more",
                table=[
                    Row("dim", "an axis", str(axis)),
                    Row("parent", "e.g. a BlockEncoding of rank 2", describe_value(parent)),
                ],
            )
        if not 0 <= axis < above.rank:
            raise LayoutError(
                "SlicedEncoding: the parent has no such axis",
                table=[Row("dim", f"0 to {above.rank - 1}", str(axis))],
            )
        object.__setattr__(self, "dim", int(axis))
        object.__setattr__(self, "parent", above)

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    @property
    def warps(self) -> int:
        return self.parent.warps

    @property
    def text(self) -> str:
        return f"#ttg.slice<{{dim = {self.dim}, parent = {self.parent.text}}}>"

    def check(self, dtype: Any) -> None:
        self.parent.check(dtype)


def _is_instruction(major: int, shape: Sequence[int]) -> bool:
    if major == 2:
        return tuple(shape) == (16, 8)
    return (
        len(shape) == 3
        and shape[0] == 16
        and 8 <= shape[1] <= _WIDEST_WGMMA
        and not shape[1] & (shape[1] - 1)
        and shape[2] in (8, 16, 32)
    )


def _powers(name: str, what: str, value: Any, rank: int) -> tuple[int, ...]:
    given = items(value) or []
    if len(given) != rank:
        raise LayoutError(f"{name}: one number for each axis", table=[Row(what, f"{rank} numbers", str(given))])
    return tuple(check_power(name, what, number) for number in given)


def _check_one_block(name: str, cga_layout: Any) -> None:
    if plain(cga_layout) is not None:
        raise LayoutError(f"{name}: a tensor belongs to one block", hint="leave cga_layout out")
