"""The fields of a pipe's slot: buffers that are the writer's, or a reader's, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.frontends.gpu.buffered_tensor import BufferType, Storage, buffered_tensor
from tle_raw.frontends.gpu.pipes.account import Window


@dataclass
class SlotStorage(Storage):
    """The memory of one field of one slot, in the function that acquired the slot or waited for it.

    Whoever takes a handle of it, or of a view of it, reaches into the slot: that is noted, and refused behind the
    slot's end.
    """

    window: Window | None = None

    def check_alive(self, function: str) -> None:
        """Raise a PipeError where the slot was given on."""
        assert self.window is not None
        self.window.check_open(f"tle.gpu.{function}", self.name)

    def reached(self) -> None:
        """Anything may be done with the slot."""
        assert self.window is not None
        self.passed_on()
        self.window.check_open("tle.gpu", self.name)

    def passed_on(self) -> None:
        """The function may write it."""
        assert self.window is not None
        self.window.touched = True


def made_field(handle: Any, type_: BufferType, name: str, window: Window) -> buffered_tensor:
    """A field of the slot that a window is about."""
    return buffered_tensor(handle, type_, SlotStorage(name=name, type=type_, window=window))
