"""``local_buffer``, a buffer in a local memory as a value of a kernel, and its type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from triton.language import core

from tle_raw.frontends.dsa.spaces import Space
from tle_raw.frontends.gpu.composite import Parts, Whole


@dataclass(frozen=True)
class View:
    """Which elements of a buffer a sub-view has: ``offset + i * stride`` along each axis.

    Attributes
    ----------
    offsets : a constant each, or the type of a scalar of the kernel.
    """

    offsets: tuple[Any, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class LocalBufferType(Parts, core.base_type):  # type: ignore[misc]
    """A buffer's memory, its place, and what part of it a view has.

    Attributes
    ----------
    whole : the type of the buffer of ``tle.gpu`` that it is made of.
    name : what the kernel calls the buffer; "" where that is not known.
    """

    whole: Any
    space: Space
    view: View | None = None
    name: str = field(default="", compare=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.view.sizes if self.view else tuple(self.whole.shape)

    @property
    def dtype(self) -> Any:
        return self.whole.dtype

    def parts(self) -> list[Any]:
        offsets = self.view.offsets if self.view else ()
        return [self.whole, *(offset for offset in offsets if not isinstance(offset, int))]

    def of(self, parts: Any) -> local_buffer:
        whole, *scalars = parts
        offsets = []
        for offset in self.view.offsets if self.view else ():
            offsets.append(offset if isinstance(offset, int) else scalars.pop(0))
        return local_buffer(whole, replace(self, whole=whole.type), tuple(offsets))

    def mangle(self) -> str:
        view = f"_{self.view.sizes}_{self.view.strides}_{[str(o) for o in self.view.offsets]}" if self.view else ""
        text = "".join(letter if letter.isalnum() else "_" for letter in view)
        return f"D{self.space.name}_{self.whole.mangle()}{text}D"

    def __str__(self) -> str:
        called = f" `{self.name}`" if self.name else ""
        return f"buffer{called} {list(self.shape)} of {self.dtype} in {self.space.name}"


class local_buffer(Whole):
    """A buffer that ``tle.dsa.alloc`` or ``tle.dsa.to_buffer`` made, or a sub-view of one.

    It is carried by loops, passed to ``@triton.jit`` functions and returned by them like a tensor, and is never copied.

    Attributes
    ----------
    shape, dtype : those of the elements.
    space : the memory that it lies in.
    """

    def __init__(self, whole: Any, type: LocalBufferType, offsets: tuple[Any, ...] = ()) -> None:
        self.whole, self.type, self.offsets = whole, type, offsets

    def parts(self) -> list[Any]:
        return [self.whole, *(offset for offset in self.offsets if not isinstance(offset, int))]

    @property
    def shape(self) -> Any:
        return core.tuple([core.constexpr(dim) for dim in self.type.shape])

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def space(self) -> Space:
        return self.type.space

    def __repr__(self) -> str:
        return str(self.type)
