"""What a value of Triton IR is while it is converted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """One number: its name in the text, and its type; of a constant the number too."""

    name: str
    type: str
    number: int | None = None


@dataclass(frozen=True)
class Tile:
    """A tensor."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)


@dataclass(frozen=True)
class Affine:
    """Integers ``offset + sum(i[a] * strides[a])``, of which no tensor was made yet."""

    shape: tuple[int, ...]
    offset: Scalar
    strides: tuple[Scalar, ...]

    @property
    def is_splat(self) -> bool:
        return all(stride.number == 0 for stride in self.strides)


@dataclass(frozen=True)
class Splat:
    """One float everywhere."""

    shape: tuple[int, ...]
    value: Scalar


@dataclass(frozen=True)
class Pointers:
    """Places in an argument's memory; of one pointer the shape is ()."""

    base: str
    element: str
    at: Affine


@dataclass(frozen=True)
class Mask:
    """True for the first ``sizes[a]`` along each axis that is named, and all along the others. Sizes are indices."""

    shape: tuple[int, ...]
    sizes: tuple[tuple[int, Scalar], ...]


@dataclass(frozen=True)
class Buffer:
    """A buffer of UB or L1, or a view of one: a memref."""

    name: str
    shape: tuple[int, ...]
    element: str
    layout: str = ""
    strides: tuple[int, ...] = ()

    @property
    def type(self) -> str:
        return memref_type(self.shape, self.element, self.layout)


@dataclass
class Register:
    """A buffer in L0A, L0B or L0C: what was put there last. The compiler moves operands and results through these."""

    space: str
    shape: tuple[int, ...]
    element: str
    holds: Tile | None = None


Value = Scalar | Tile | Affine | Splat | Pointers | Mask | Buffer | Register


def tensor_type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def memref_type(shape: tuple[int | str, ...], element: str, layout: str = "") -> str:
    return f"memref<{'x'.join([*map(str, shape), element])}{f', {layout}' if layout else ''}>"


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of rows behind each other."""
    strides, count = [], 1
    for dim in reversed(shape):
        strides.append(count)
        count *= dim
    return tuple(reversed(strides))
