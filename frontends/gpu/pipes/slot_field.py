"""The fields of a pipe's slot: buffers that are the writer's, or a reader's, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.frontends.gpu.buffered_tensor import BufferType, Storage, buffered_tensor
from tle_raw.frontends.gpu.pipes.account import Window


@dataclass
class SlotStorage(Storage):
    """The memory of one field of one slot."""

    window: Window | None = None

    def check_alive(self, function: str) -> None:
        """Raise a PipeError where the slot was given on."""
        assert self.window is not None
        self.window.check_open(f"tle.gpu.{function}", self.name)

    def passed_on(self) -> None:
        """A function may do anything with the slot."""
        assert self.window is not None
        self.window.touched = True


class slot_field(buffered_tensor):
    """A field of a slot, or a view of one, in the function that acquired the slot or waited for it.

    Whoever takes its handle reaches into the slot: that is noted, and refused behind the slot's end.
    """

    def __init__(self, handle: Any, type: BufferType, storage: Any = None) -> None:
        super().__init__(handle, type, storage)

    @property
    def handle(self) -> Any:
        self.storage.check_alive("buffer")
        self.storage.passed_on()
        return self._handle

    @handle.setter
    def handle(self, handle: Any) -> None:
        self._handle = handle

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self._handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self._handle.set_loc(builder.create_name_loc(name, self._handle.get_loc()))


def untracked(buffer: buffered_tensor) -> buffered_tensor:
    """The same buffer for a copy that the pipe itself follows."""
    handle = buffer._handle if isinstance(buffer, slot_field) else buffer.handle
    return buffered_tensor(handle, buffer.type.changed(storage=None))


def made_field(handle: Any, type_: BufferType, name: str, window: Window) -> slot_field:
    """A field of the slot that a window is about."""
    return slot_field(handle, type_, SlotStorage(name=name, type=type_, window=window))
