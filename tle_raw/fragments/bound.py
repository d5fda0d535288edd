"""A signature whose names all have values: what one region compiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tle_raw.fragments.dtypes import DType, parse_dtype
from tle_raw.fragments.parameter_types import BARRIER, DESCRIPTOR, READY_BARRIER

# kinds of a bound parameter
SCALAR, POINTER, TILE, ELEMENT, CONST = "scalar", "pointer", "tile", "element", "const"
# The spelling of a pointer that FlagTree's convention passes: the function's own type may be any of that size.
OF_ANY_TYPE = "of any type"


@dataclass(frozen=True)
class BoundParameter:
    """One parameter after binding. ``dims`` is set for tiles, ``value`` for constants only.

    ``spelling`` is the author's own text of a type that was written as MLIR. ``buffer`` is set for a tile that is a
    shared buffer of the kernel: ``row_major`` or a layout of ``tle_raw/buffer.h`` for one in place, ``copied`` for a
    row-major copy of it, ``barrier`` or ``ready_barrier`` for the word of a barrier, ``descriptor`` for a tensor
    descriptor, of which ``dims`` are the block's.
    """

    name: str
    kind: str
    effect: str
    dtype: DType | None = None
    dims: tuple[int, ...] = ()
    value: int | None = None
    spelling: str = ""
    buffer: str = ""

    @property
    def is_in_place(self) -> bool:
        """Whether the function gets the buffer itself."""
        return self.buffer not in ("", "copied", DESCRIPTOR)

    @property
    def is_barrier(self) -> bool:
        """Whether it is a barrier of the kernel."""
        return self.buffer in (BARRIER, READY_BARRIER)

    @property
    def is_descriptor(self) -> bool:
        """Whether it is a tensor descriptor of the kernel."""
        return self.buffer == DESCRIPTOR

    @property
    def cxx_layout(self) -> str:
        """The layout of a buffer that the function takes however its elements lie; "" for any other parameter."""
        return self.buffer if self.buffer.startswith("tle::") else ""

    @property
    def is_returned(self) -> bool:
        """A tile or an element that the call gives back; a buffer is updated where it is."""
        return self.kind in (TILE, ELEMENT) and self.effect != "In" and not self.buffer

    @property
    def is_of_any_type(self) -> bool:
        """A pointer whose type is compared with the function's by its size alone."""
        return self.spelling == OF_ANY_TYPE

    @property
    def is_memref(self) -> bool:
        """A tile that the function takes as an expanded memref descriptor, 3+2r parameters (r is the rank):
        allocated, aligned, offset, sizes, strides."""
        return self.kind == TILE and self.spelling.startswith("memref<")

    @property
    def size(self) -> int:
        """Elements of a tile."""
        total = 1
        for dim in self.dims:
            total *= dim
        return total

    @property
    def llvm(self) -> str:
        """LLVM type under which it crosses: a tile is its 32-bit shared address, a descriptor its generic one."""
        if self.is_descriptor:
            return "i64"
        if self.kind == TILE:
            return "i32"
        if self.kind == POINTER:
            return "ptr addrspace(1)"
        assert self.dtype is not None
        return self.dtype.llvm

    def __str__(self) -> str:
        if self.kind == CONST:
            return f"{self.name} = {self.value}"
        if self.is_barrier:
            return f"{self.name}: Barrier"
        if self.is_descriptor:
            return f"{self.name}: Descriptor[{', '.join(map(str, (self.dtype, *self.dims)))}]"
        dims = "".join(f", {d}" for d in self.dims)
        layout = f", {self.cxx_layout}" if self.cxx_layout else ""
        kind = "Buffer" if self.is_in_place else self.kind.capitalize()
        note = ", compared by size" if self.is_of_any_type else ""
        return f"{self.name}: {kind}[{self.dtype}{dims}{layout}]{note}"


@dataclass(frozen=True)
class BoundSignature:
    """A fragment's signature for one call: every dim, dtype and constant has its value.

    ``names`` maps each name of the signature, in its order, to an int (dim, constant) or a DType.
    ``result`` is the dtype of a scalar or element result, or None.
    """

    name: str
    parameters: tuple[BoundParameter, ...]
    result: DType | None = None
    names: tuple[tuple[str, int | DType], ...] = ()

    @property
    def crossing(self) -> tuple[BoundParameter, ...]:
        """The parameters that cross the boundary at run time, in order: all but the constants."""
        return tuple(p for p in self.parameters if p.kind != CONST)

    @property
    def tiles(self) -> tuple[BoundParameter, ...]:
        """The parameters that are tiles, in order."""
        return tuple(p for p in self.parameters if p.kind == TILE)

    @property
    def has_barriers(self) -> bool:
        """Whether it takes barriers of the kernel."""
        return any(p.is_barrier for p in self.parameters)

    @property
    def is_elementwise(self) -> bool:
        """Whether the function is applied to each element, in registers."""
        return any(p.kind == ELEMENT for p in self.parameters)

    @property
    def entry_parameters(self) -> tuple[str, ...]:
        """LLVM types of the generated entry function's parameters. A dummy i32 stands where nothing crosses."""
        return tuple(p.llvm for p in self.crossing) or ("i32",)

    @property
    def entry_result(self) -> str:
        """LLVM type that the entry function returns; Triton wants a value, so nothing becomes an i32."""
        if self.result is not None:
            return self.result.llvm
        updated = [p for p in self.parameters if p.kind == ELEMENT and p.effect != "In"]
        return updated[0].llvm if updated else "i32"

    @property
    def host_parameters(self) -> tuple[str, ...]:
        """LLVM types of the entry's parameters on the CPU. A block-level region takes the call and its arguments."""
        if not self.is_elementwise:
            return ("ptr", "ptr")
        return tuple(p.replace(" addrspace(1)", "") for p in self.entry_parameters)

    @property
    def host_result(self) -> str:
        """LLVM type that the entry returns on the CPU. A block-level region tells whether it failed."""
        return self.entry_result if self.is_elementwise else "i32"

    def to_json(self) -> str:
        """One line of text, the same for equal signatures."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return json.dumps(
            {
                "name": self.name,
                "parameters": [
                    [p.name, p.kind, p.effect, p.dtype.name if p.dtype else None, list(p.dims), p.value]
                    + ([p.spelling] if p.spelling or p.buffer else [])
                    + ([p.buffer] if p.buffer else [])
                    for p in self.parameters
                ],
                "result": self.result.name if self.result else None,
                "names": [[n, v.name if isinstance(v, DType) else v] for n, v in self.names],
            },
            separators=(",", ":"),
        )


def bound_from_json(text: str) -> BoundSignature:
    """The inverse of ``BoundSignature.to_json``."""
    return bound_from_values(json.loads(text))


def bound_from_values(data: Mapping[str, Any]) -> BoundSignature:
    """The inverse of ``BoundSignature.to_json``, of the values that are written there."""
    return BoundSignature(
        data["name"],
        tuple(
            BoundParameter(name, kind, effect, parse_dtype(dtype) if dtype else None, tuple(dims), value, *texts)
            for name, kind, effect, dtype, dims, value, *texts in data["parameters"]
        ),
        parse_dtype(data["result"]) if data["result"] else None,
        tuple((n, parse_dtype(v) if isinstance(v, str) else v) for n, v in data["names"]),
    )
