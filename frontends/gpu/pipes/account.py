"""What is traced of a pipe: who uses its ends, and which of its slots are open."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tle_raw.errors import PipeError, Row, SourceLocation
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.gpu.pipes.gone_pointer import gone_type
from tle_raw.regions.interpret import interpreted_call_site
from tle_raw.regions.partitions import Partition, current_partition

WRITER = ""  # who is no reader; readers have names
_MOST_BYTES = (1 << 20) - 1  # that an mbarrier waits for in a phase


@dataclass(eq=False)
class Window:
    """One slot between two steps of an end: ``acquire`` and ``commit``, or ``wait`` and ``release``.

    Attributes
    ----------
    owner : ``WRITER``, or the reader's name.
    iteration : of the slot: a number, or what stands for a run-time one.
    block : where in the kernel the window was opened; None in Triton's interpreter.
    full : the barrier that the slot's copies complete, of the writer's windows.
    bytes : that copies by TMA bring. None else.
    copies, background : whether pointers are copied from asynchronously, and into what tensor cores may read.
    touched : whether the kernel's threads reach the slot otherwise.
    product : the number of the latest product that reads the slot; 0 of none.
    pointers : those into it that ``tle.gpu.local_ptr`` gave.
    closed : what closed it, and where.
    """

    pipe: PipeAccount
    owner: str
    iteration: Any
    block: int | None
    opened: SourceLocation | None
    full: Any = None
    bytes: int = 0
    copies: bool = False
    background: bool = False
    touched: bool = False
    product: int = 0
    pointers: list[Any] = field(default_factory=list)
    closed: tuple[str, SourceLocation | None] | None = None

    def check_open(self, function: str, field_name: str) -> None:
        """Raise a PipeError where the slot was given on."""
        if self.closed is not None:
            step, site = self.closed
            whose = "other" if self.owner == WRITER else "the writer's"
            raise PipeError(
                f"{function}: a slot of the pipe `{self.pipe.name}` is used behind its {step}, where it may be {whose}",
                table=[Row(f"`{field_name}`", f"used before {step}", f"{step} at {site}")],
                hint=f"use it before {step}, or take what it holds: slot.{field_name}.load()",
            )

    def check_writing(self, field_name: str) -> None:
        """Raise a PipeError where it is a reader's."""
        self.check_open("tle.gpu.copy", field_name)
        if self.owner != WRITER:
            raise PipeError(
                f"tle.gpu.copy: a copy into a slot of the pipe `{self.pipe.name}` that a reader was given",
                table=[Row(f"`{field_name}`", "a slot of writer.acquire", "a slot of reader.wait")],
            )

    def count(self, size: int, semantic: Any, generator: Any) -> None:
        """Count the bytes of a copy by TMA.

        Raises
        ------
        PipeError : it stands in a run-time branch or loop of its own, or they are more than a barrier counts.
        """
        if block_of(semantic, generator) != self.block:
            raise PipeError(
                f"tle.gpu.copy: how many bytes come into a slot of the pipe `{self.pipe.name}` is not known",
                table=[Row("the copy", "beside acquire and commit", "in a run-time branch or loop between them")],
                hint="tl.static_range in place of the loop, a constexpr condition, or all three in the branch",
            )
        self.bytes += size
        if self.bytes > _MOST_BYTES:
            raise PipeError(
                f"tle.gpu.copy: more bytes than a barrier counts come into a slot of the pipe `{self.pipe.name}`",
                table=[Row("bytes of a slot", f"at most {_MOST_BYTES}", str(self.bytes))],
            )


@dataclass(frozen=True)
class Fill:
    """An ``acquire`` of the kernel, how often it runs before a step behind its loops, and where it stands.

    ``loops`` are those around it, outermost first, with the times that each runs; None where that is not known.
    """

    partition: Partition | None
    site: SourceLocation | None
    iteration: Any
    loops: tuple[tuple[int, int | None], ...]


@dataclass(eq=False)
class PipeAccount:
    """Of one pipe. It is not compared: two values of one type may be two pipes.

    Attributes
    ----------
    number : which of the kernel's pipes it is: functions that are called with two pipes are traced for each.
    users : the partition in which each end is used.
    """

    name: str
    number: int
    users: dict[str, Partition] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    fills: list[Fill] = field(default_factory=list)
    waited: set[str] = field(default_factory=set)

    def claim(self, owner: str, partition: Partition | None = None) -> None:
        """An end is used here, or given to a partition.

        Raises
        ------
        PipeError : another partition uses it.
        """
        partition = current_partition() if partition is None else partition
        if partition is None:
            return
        before = self.users.setdefault(owner, partition)
        if before != partition:
            whose = {WRITER: "the writer", DEFAULT_READER: "the reader"}.get(owner, f"reader `{owner}`")
            raise PipeError(
                f"tle.pipe: {whose} of `{self.name}` is used in two partitions",
                table=[Row(whose, before.name, partition.name)],
                hint="a pipe has one writer; name a reader for each partition: readers=('a', 'b')"
                if owner != WRITER
                else "make a pipe for each partition that writes",
            )

    def open(self, window: Window) -> Window:
        """Remember an open window. Of a block that Triton has thrown away none is left open for long."""
        self.windows.append(window)
        return window

    def find(self, owner: str, iteration: Any, block: int | None) -> Window | None:
        """The open window that a step of the same block is about; None where it cannot be told."""
        here = [each for each in self.windows if each.owner == owner and each.block == block]
        same = [each for each in here if each.iteration == iteration]
        if same:
            return same[-1]
        if len(here) == 1 and not (isinstance(iteration, int) and isinstance(here[0].iteration, int)):
            return here[0]
        return None

    def close(self, window: Window, step: str, site: SourceLocation | None, is_rehearsed: bool = False) -> None:
        """From here on its slot is another's. In a rehearsal nobody knows for certain which window it is."""
        self.windows.remove(window)
        if is_rehearsed:
            return
        window.closed = step, site
        for pointer in window.pointers:
            pointer.type = gone_type(pointer.type, partial(window.check_open, "a pointer of tle.gpu.local_ptr", "slot"))


DEFAULT_READER = "reader"  # of a pipe whose readers have no names


def block_of(semantic: Any, generator: Any) -> int | None:
    """Which block of the kernel is being written; None in Triton's interpreter."""
    return None if generator is None else int(semantic.builder.get_insertion_block().id())


def site_of(semantic: Any, generator: Any) -> SourceLocation | None:
    """The kernel's line."""
    return call_site(generator, semantic) if generator is not None else interpreted_call_site()
