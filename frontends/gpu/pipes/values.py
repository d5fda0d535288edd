"""Pipes, their ends and their slots as values of a kernel, and their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from triton.language import core

from tle_raw.errors import PipeError
from tle_raw.frontends.gpu.barrier_value import barrier_type
from tle_raw.frontends.gpu.buffered_tensor import BufferType
from tle_raw.frontends.gpu.composite import Parts, Whole
from tle_raw.frontends.gpu.pipes.account import WRITER, PipeAccount
from tle_raw.regions.partitions import Partition, current_partition


@dataclass(frozen=True)
class pipe_type(Parts, core.base_type):  # type: ignore[misc]
    """The type of a pipe.

    Attributes
    ----------
    capacity : how many slots it has.
    readers, has_names : their names, and whether the kernel gave them.
    fields : of a slot: names, and the buffers that hold all slots.
    full, empty : the barriers of a slot that is filled, and of one that is given back; no ``empty`` with ``one_shot``.
    flags : which slots close the pipe; none with ``one_shot``.
    """

    capacity: int
    readers: tuple[str, ...]
    names: tuple[str, ...]
    buffers: tuple[BufferType, ...]
    full: barrier_type
    empty: barrier_type | None
    flags: BufferType | None
    has_names: bool = field(kw_only=True)
    account: PipeAccount = field(compare=False, repr=False, kw_only=True)

    def parts(self) -> Sequence[Any]:
        return [*self.buffers, self.full, *([self.empty, self.flags] if self.empty is not None else [])]

    def of(self, parts: Sequence[Any]) -> pipe_value:
        return pipe_value(parts, self)

    def mangle(self) -> str:
        parts = "_".join(part.mangle() for part in self.parts())
        partition = current_partition()
        where = self.account.number if partition is None else f"{self.account.number}of{partition.number + 1}"
        return f"P{where}_{'_'.join((*self.readers, *self.names))}_{parts}P"

    def __str__(self) -> str:
        return f"pipe of {self.capacity} slots"


class pipe_value(Whole):
    """A pipe that ``tle.pipe`` made."""

    def __init__(self, parts: Sequence[Any], type: pipe_type) -> None:
        self.type, self._parts = type, list(parts)

    def parts(self) -> Sequence[Any]:
        return self._parts

    @property
    def buffers(self) -> dict[str, Any]:
        """Of each field the buffer that holds all slots."""
        return dict(zip(self.type.names, self._parts))

    @property
    def full(self) -> Any:
        return self._parts[len(self.type.names)]

    @property
    def empty(self) -> Any:
        return self._parts[len(self.type.names) + 1]

    @property
    def flags(self) -> Any:
        return self._parts[len(self.type.names) + 2]

    @property
    def capacity(self) -> Any:
        """How many slots, a constant of the kernel."""
        return core.constexpr(self.type.capacity)

    @property
    def one_shot(self) -> bool:
        """Whether each slot is filled once."""
        return self.type.empty is None

    def __repr__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class pipe_end_type(Parts, core.base_type):  # type: ignore[misc]
    """The type of a pipe's writer, whose owner has no name, or of a reader, and the fields that it sees."""

    pipe: pipe_type
    owner: str
    names: tuple[str, ...]

    def parts(self) -> Sequence[Any]:
        return [self.pipe]

    def of(self, parts: Sequence[Any]) -> pipe_end:
        return (pipe_writer if self.owner == WRITER else pipe_reader)(parts[0], self)

    def mangle(self) -> str:
        return f"E{self.owner}_{'_'.join(self.names)}_{self.pipe.mangle()}E"

    def __str__(self) -> str:
        return "writer of a pipe" if self.owner == WRITER else "reader of a pipe"


class pipe_end(Whole):
    """An end of a pipe."""

    def __init__(self, pipe: pipe_value, type: pipe_end_type) -> None:
        self.pipe, self.type = pipe, type

    def parts(self) -> Sequence[Any]:
        return [self.pipe]

    def given_to(self, partition: Partition) -> None:
        """A partition of specialised warps gets it.

        Raises
        ------
        PipeError : another partition has it.
        """
        self.type.pipe.account.claim(self.type.owner, partition)

    def __repr__(self) -> str:
        return str(self.type)


class pipe_writer(pipe_end):
    """The end that fills slots: ``acquire``, ``commit``, ``close``, ``cursor``."""


class pipe_reader(pipe_end):
    """An end that takes what slots hold: ``wait``, ``release``, ``cursor``."""


@dataclass(frozen=True)
class pipe_slot_type(Parts, core.base_type):  # type: ignore[misc]
    """The type of a slot, or of a part of its fields."""

    names: tuple[str, ...]
    buffers: tuple[BufferType, ...]

    def parts(self) -> Sequence[Any]:
        return self.buffers

    def of(self, parts: Sequence[Any]) -> pipe_slot:
        return pipe_slot(self.names, parts)

    def mangle(self) -> str:
        return f"S{'_'.join(self.names)}_{'_'.join(buffer.mangle() for buffer in self.buffers)}S"


class _Fields(dict[str, Any]):
    """By name, which a kernel may hold as a constant of Triton's."""

    def __getitem__(self, name: Any) -> Any:
        return super().__getitem__(core._unwrap_if_constexpr(name))


class pipe_slot(Whole):
    """A slot of a pipe: each field is a buffer, ``slot.a``, without the axis that counts slots.

    Attributes
    ----------
    fields : the same by their names.
    """

    def __init__(self, names: Sequence[str], buffers: Sequence[Any]) -> None:
        self.fields = _Fields(zip(names, buffers))

    @property
    def type(self) -> pipe_slot_type:
        return pipe_slot_type(tuple(self.fields), tuple(buffer.type for buffer in self.fields.values()))

    def parts(self) -> Sequence[Any]:
        return list(self.fields.values())

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name.startswith("_") or name not in fields:
            if name.startswith("_"):
                raise AttributeError(name)
            raise PipeError(
                f"tle.pipe: a slot has no field `{name}`, or this reader does not see it; it has {', '.join(fields)}"
            )
        return fields[name]

    def __repr__(self) -> str:
        return f"slot of {', '.join(self.fields)}"


@dataclass(frozen=True)
class pipe_wait_result_type(Parts, core.base_type):  # type: ignore[misc]
    """The type of what a reader's ``wait`` gives."""

    slot: pipe_slot_type

    def parts(self) -> Sequence[Any]:
        return [self.slot, core.int1]

    def of(self, parts: Sequence[Any]) -> pipe_wait_result:
        return pipe_wait_result(*parts)

    def mangle(self) -> str:
        return f"W{self.slot.mangle()}W"


class pipe_wait_result(Whole):
    """What a reader's ``wait`` gives.

    Attributes
    ----------
    slot : with the fields that the reader sees.
    is_closed : whether the writer has closed the pipe with this slot, which holds nothing then; a scalar.
    """

    def __init__(self, slot: pipe_slot, is_closed: core.tensor) -> None:
        self.slot, self.is_closed = slot, is_closed

    @property
    def type(self) -> pipe_wait_result_type:
        return pipe_wait_result_type(self.slot.type)

    def parts(self) -> Sequence[Any]:
        return [self.slot, self.is_closed]
