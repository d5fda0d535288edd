"""How the elements of a buffer lie in shared memory.

libtriton ends the process on some layouts that cannot be. Each is checked here, in Python, when it is made and once
more against the buffer's shape and dtype, before libtriton sees it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import Any, TypeVar

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.gluon_builder import VERSION
from tle_raw.frontends.lite.arguments import is_integer, items, plain

F = TypeVar("F", bound=Callable[..., Any])
_NVMMA_BITS = (8, 16, 32)
_SWIZZLES = (128, 64, 32)  # bytes
_SWIZZLE_ROWS = 8
_LARGEST = 1 << 16


def called_in_kernels(function: F) -> F:
    """A function of Python that kernels may call while they are traced."""
    setattr(function, core.TRITON_BUILTIN, True)
    return function


class _MadeInKernels(ABCMeta):
    """Of classes whose objects kernels make: Triton tells what goes wrong there by the error itself."""


setattr(_MadeInKernels, core.TRITON_BUILTIN, True)


class shared_layout(metaclass=_MadeInKernels):
    """A layout of shared memory. One of rank r holds a buffer of rank r, or slots of rank r in one of rank r + 1."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """How many axes it lays out."""

    @abstractmethod
    def make_permute(self, dims: Sequence[int]) -> shared_layout:
        """The layout of the same memory with its axes in another order."""

    @abstractmethod
    def to_ir(self, builder: Any) -> Any:
        """The attribute, made by a ``GluonOpBuilder``."""

    @abstractmethod
    def check(self, shape: Sequence[int], bits: int) -> None:
        """Raise a LayoutError where a slot of this shape, of elements of so many bits, cannot have it."""

    @property
    @abstractmethod
    def text(self) -> str:
        """In the name of a function that is specialised for it, and in errors."""

    @property
    def is_plain(self) -> bool:
        """Rows behind each other without gaps: a view of another shape is one of the same memory."""
        return False

    def bytes(self, shape: Sequence[int], bits: int) -> int:
        """What a slot takes."""
        return prod(shape) * bits // 8

    @property
    def alignment(self) -> int:
        """At what multiple of bytes a slot must begin."""
        return 16


@dataclass(frozen=True)
class swizzled_shared_layout(shared_layout):
    """Rows in which vectors of elements change places from row to row, so that columns lie in different banks.

    Parameters
    ----------
    vectorSize : elements that stay together.
    perPhase : rows that are permuted alike.
    maxPhase : how many permutations there are; 1 leaves the rows as they are.
    order : the axes, the one along which elements lie side by side first.
    numCTAs, numCTAsPerCGA, numCTASplit, numCTAOrder : of clusters that split a buffer, which are refused.
    """

    vectorSize: int
    perPhase: int
    maxPhase: int
    order: tuple[int, ...]

    def __init__(
        self,
        vectorSize: Any,
        perPhase: Any,
        maxPhase: Any,
        order: Any,
        numCTAs: Any = None,
        numCTAsPerCGA: Any = None,
        numCTASplit: Any = None,
        numCTAOrder: Any = None,
    ) -> None:
        _one_block("swizzled_shared_layout", numCTAs, numCTAsPerCGA, numCTASplit)
        for name, value in (("vectorSize", vectorSize), ("perPhase", perPhase), ("maxPhase", maxPhase)):
            object.__setattr__(self, name, _power("swizzled_shared_layout", name, value))
        object.__setattr__(self, "order", _permutation("swizzled_shared_layout", "order", order))

    @classmethod
    @called_in_kernels
    def make_default(cls, rank: int = 2) -> swizzled_shared_layout:
        """Rows behind each other."""
        return cls(1, 1, 1, list(reversed(range(int(plain(rank))))))

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def is_plain(self) -> bool:
        return self.maxPhase == 1 and self.order == tuple(reversed(range(self.rank)))

    def make_permute(self, dims: Sequence[int]) -> swizzled_shared_layout:
        moved = _permutation("swizzled_shared_layout.make_permute", "dims", dims, self.rank)
        return swizzled_shared_layout(
            self.vectorSize, self.perPhase, self.maxPhase, [moved.index(axis) for axis in self.order]
        )

    def to_ir(self, builder: Any) -> Any:
        return builder.get_swizzled_shared_layout(self.vectorSize, self.perPhase, self.maxPhase, list(self.order), [])

    def check(self, shape: Sequence[int], bits: int) -> None:
        _check_rank(self, shape)
        if self.maxPhase > 1 and self.rank < 2:
            raise LayoutError("a swizzled layout changes places from row to row: a buffer of rank 1 has no rows")
        row = shape[self.order[0]]
        if self.vectorSize * self.maxPhase > row:
            raise LayoutError(
                "the vectors that change places do not fit into a row",
                table=[Row("vectorSize * maxPhase", f"at most {row}", str(self.vectorSize * self.maxPhase))],
            )

    @property
    def text(self) -> str:
        return f"swizzled_{self.vectorSize}_{self.perPhase}_{self.maxPhase}_{''.join(map(str, self.order))}"


@dataclass(frozen=True)
class nv_mma_shared_layout(shared_layout):
    """The layout that TMA writes and tensor cores read, swizzled by 128, 64 or 32 bytes, or not at all.

    Parameters
    ----------
    shape, elemType : the slot's shape and dtype, which decide the swizzle.
    order : [1, 0] where elements of a row lie side by side, [0, 1] where those of a column do.
    numCTAsPerCGA, numCTASplit, numCTAOrder : of clusters that split a buffer, which are refused.
    fp4Padded : refused; swizzled : False for none.
    """

    swizzle: int
    element_bits: int
    transposed: bool
    axes: int

    def __init__(
        self,
        shape: Any,
        order: Any = None,
        elemType: Any = None,
        numCTAsPerCGA: Any = None,
        numCTASplit: Any = None,
        numCTAOrder: Any = None,
        fp4Padded: Any = False,
        swizzled: Any = True,
    ) -> None:
        name = "nv_mma_shared_layout"
        _one_block(name, numCTAsPerCGA, numCTASplit)
        dims, dtype = items(shape), plain(elemType)
        if dims is None or not all(is_integer(d) and d > 0 for d in dims) or not isinstance(dtype, core.dtype):
            raise LayoutError(
                f"{name} is made for a shape and a dtype",
                table=[Row("shape, elemType", "e.g. [64, 64], tl.float16", f"{shape}, {elemType}")],
            )
        if plain(fp4Padded):
            raise LayoutError(f"{name}: fp4Padded is not there: Triton's language has no dtype of four bits")
        axes = len(dims)
        forward = tuple(reversed(range(axes)))
        given = forward if plain(order) is None else _permutation(name, "order", order, axes)
        if given not in (forward, forward[::-1]):
            raise LayoutError(f"{name}: rows or columns lie side by side", table=[Row("order", "[1, 0]", str(order))])
        transposed = axes > 1 and given != forward
        swizzle = _widest_swizzle(dims[::-1] if transposed else dims, memory_bits(dtype)) if plain(swizzled) else 0
        if transposed:
            _check_transposed(swizzle)
        self._set(swizzle, memory_bits(dtype), transposed, axes)

    def _set(self, swizzle: int, bits: int, transposed: bool, axes: int) -> None:
        object.__setattr__(self, "swizzle", swizzle)
        object.__setattr__(self, "element_bits", bits)
        object.__setattr__(self, "transposed", transposed)
        object.__setattr__(self, "axes", axes)

    @classmethod
    @called_in_kernels
    def make_default(cls, shape: Any, dtype: Any) -> nv_mma_shared_layout:
        """The widest swizzle that a row of the shape holds."""
        return cls(shape, None, dtype)

    @property
    def rank(self) -> int:
        return self.axes

    def make_permute(self, dims: Sequence[int]) -> nv_mma_shared_layout:
        moved = _permutation("nv_mma_shared_layout.make_permute", "dims", dims, self.axes)
        if moved == tuple(range(self.axes)):
            return self
        if self.axes != 2:
            raise LayoutError("nv_mma_shared_layout: only the axes of rank 2 change places")
        _check_transposed(self.swizzle)
        made = object.__new__(nv_mma_shared_layout)
        made._set(self.swizzle, self.element_bits, not self.transposed, self.axes)
        return made

    def to_ir(self, builder: Any) -> Any:
        return builder.get_nvmma_shared_layout(self.swizzle, self.element_bits, self.transposed, False, [], self.axes)

    def check(self, shape: Sequence[int], bits: int) -> None:
        _check_rank(self, shape)
        if self.axes < 2 or bits not in _NVMMA_BITS or bits != self.element_bits:
            raise LayoutError(
                "nv_mma_shared_layout holds tiles of elements of 8, 16 or 32 bits, of the dtype it was made for",
                table=[
                    Row("rank of a slot", "2 or more", str(self.axes)),
                    Row("bits of an element", f"{self.element_bits}", str(bits)),
                ],
            )
        rows = shape[::-1] if self.transposed else shape
        if self.swizzle and (rows[-1] * bits // 8 < self.swizzle or prod(rows[:-1]) < _SWIZZLE_ROWS):
            raise LayoutError(
                "the layout was made for a larger shape: its swizzle does not fit into this one",
                table=[
                    Row("bytes of a row", f"at least {self.swizzle}", str(rows[-1] * bits // 8)),
                    Row("rows", f"at least {_SWIZZLE_ROWS}", str(prod(rows[:-1]))),
                ],
            )

    @property
    def text(self) -> str:
        return f"nvmma_{self.swizzle}_{self.element_bits}_{'t' if self.transposed else 'n'}{self.axes}"

    @property
    def alignment(self) -> int:
        return max(128, self.swizzle * _SWIZZLE_ROWS)


def _check_transposed(swizzle: int) -> None:
    """Triton 3.6 and 3.7 take columns of a layout without swizzle for rows: a wrong view, without an error."""
    if not swizzle and VERSION < (3, 8):
        raise LayoutError(
            "this Triton cannot transpose nv_mma_shared_layout without a swizzle",
            table=[Row("swizzle", "32, 64 or 128 bytes", "none")],
            hint="give alloc nv_mma_shared_layout=False, or a tile of wider rows",
        )


@dataclass(frozen=True)
class padded_shared_layout(shared_layout):
    """Rows behind each other, with gaps: after each ``interval`` elements ``padding`` ones are left out.

    Parameters
    ----------
    intervals : pairs ``[interval, padding]`` of powers of two.
    shape : the slot's shape, of powers of two.
    order : the axes, the one along which elements lie side by side first; rows by default.
    """

    intervals: tuple[tuple[int, int], ...]
    dims: tuple[int, ...]
    order: tuple[int, ...]

    def __init__(self, intervals: Any, shape: Any, order: Any = None) -> None:
        name = "padded_shared_layout"
        pairs = [items(pair) for pair in items(intervals) or []]
        if not pairs or any(pair is None or len(pair) != 2 for pair in pairs):
            raise LayoutError(
                f"{name} takes pairs of an interval and its padding",
                table=[Row("intervals", "[[32, 4]]", str(intervals))],
            )
        checked = tuple((_power(name, "interval", a), _power(name, "padding", b)) for a, b in pairs)  # type: ignore[misc]
        if len({interval for interval, _ in checked}) != len(checked):
            raise LayoutError(f"{name}: each interval stands once", table=[Row("intervals", "", str(checked))])
        dims = tuple(_power(name, "shape", d) for d in items(shape) or [])
        if not dims:
            raise LayoutError(f"{name} is made for a shape", table=[Row("shape", "e.g. [64, 64]", str(shape))])
        given = (
            tuple(reversed(range(len(dims)))) if plain(order) is None else _permutation(name, "order", order, len(dims))
        )
        object.__setattr__(self, "intervals", checked)
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "order", given)

    @classmethod
    @called_in_kernels
    def make_default(cls, shape: Any) -> padded_shared_layout:
        """Four elements of padding after each row."""
        return cls([[(items(shape) or [1])[-1], 4]], shape)

    @property
    def rank(self) -> int:
        return len(self.dims)

    def make_permute(self, dims: Sequence[int]) -> padded_shared_layout:
        moved = _permutation("padded_shared_layout.make_permute", "dims", dims, self.rank)
        return padded_shared_layout(
            [list(pair) for pair in self.intervals],
            [self.dims[axis] for axis in moved],
            [moved.index(axis) for axis in self.order],
        )

    def to_ir(self, builder: Any) -> Any:
        bases = []
        for axis in self.order:
            for power in range(int(log2(self.dims[axis]))):
                bases.append([1 << power if other == axis else 0 for other in range(self.rank)])
        intervals, paddings = zip(*self.intervals)
        return builder.get_padded_shared_layout(list(intervals), list(paddings), bases, [], list(self.dims))

    def check(self, shape: Sequence[int], bits: int) -> None:
        _check_rank(self, shape)
        if tuple(shape) != self.dims:
            raise LayoutError(
                "the layout was made for another shape", table=[Row("shape", str(list(self.dims)), str(list(shape)))]
            )

    def bytes(self, shape: Sequence[int], bits: int) -> int:
        elements = prod(shape)
        gaps = sum((elements - 1) // interval * padding for interval, padding in self.intervals)
        return (elements + gaps) * bits // 8

    @property
    def text(self) -> str:
        pairs = "_".join(f"{a}p{b}" for a, b in self.intervals)
        return f"padded_{pairs}_{'x'.join(map(str, self.dims))}_{''.join(map(str, self.order))}"


def default_layout(shape: Sequence[int], dtype: Any, nv_mma: bool) -> shared_layout:
    """Of a slot: what TMA and tensor cores take, where they take its shape and dtype; else rows without gaps."""
    bits = memory_bits(dtype)
    if nv_mma and len(shape) == 2 and bits in _NVMMA_BITS and _widest_swizzle(shape, bits):
        return nv_mma_shared_layout.make_default(list(shape), dtype)
    return swizzled_shared_layout.make_default(len(shape))


def memory_bits(dtype: Any) -> int:
    """The width of an element in memory: a bool takes a byte."""
    return max(8, int(dtype.primitive_bitwidth))


def _widest_swizzle(shape: Sequence[int], bits: int) -> int:
    row = shape[-1] * bits // 8
    if len(shape) < 2 or prod(shape[:-1]) < _SWIZZLE_ROWS:
        return 0
    return next((swizzle for swizzle in _SWIZZLES if row % swizzle == 0), 0)


def _check_rank(layout: shared_layout, shape: Sequence[int]) -> None:
    if layout.rank != len(shape):
        raise LayoutError(
            "the layout is of another rank than the buffer",
            table=[Row("rank", str(len(shape)), str(layout.rank))],
        )


def _one_block(name: str, *clusters: Any) -> None:
    for given in clusters:
        values = items(given) if plain(given) is not None else []
        values = [plain(given)] if values is None else values
        if any(value != 1 for value in values):
            raise LayoutError(f"{name}: a buffer lies in the shared memory of one block", hint="leave the CTAs out")


def _power(name: str, what: str, value: Any) -> int:
    value = plain(value)
    if not is_integer(value) or not 0 < value <= _LARGEST or value & (value - 1):
        raise LayoutError(f"{name} is made of powers of two", table=[Row(what, "a power of two", repr(value))])
    return int(value)


def _permutation(name: str, what: str, value: Any, rank: int | None = None) -> tuple[int, ...]:
    given = items(value)
    wanted = range(len(given or ()) if rank is None else rank)
    if not given or not all(map(is_integer, given)) or sorted(given) != list(wanted):
        expected = f"each of 0 to {len(wanted) - 1} once" if len(wanted) else "each axis once"
        raise LayoutError(f"{name}: the axes in some order", table=[Row(what, expected, str(value))])
    return tuple(given)
