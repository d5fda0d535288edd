"""Whether what is traced just now is a partition of a kernel's warps, and which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

DEFAULT = -1


@dataclass(frozen=True)
class Partition:
    """A group of a block's warps that runs a function of its own.

    Attributes
    ----------
    number : which of the workers; ``DEFAULT`` of the partition that the kernel's own warps run.
    num_warps : how many warps run what Triton makes of it: a power of two.
    own_warps : how many of them run regions; 0 where all do. A partition of three warps is one of four for Triton.
    """

    number: int
    num_warps: int
    own_warps: int = 0

    @property
    def region_warps(self) -> int:
        """The warps whose threads are a region's block."""
        return self.own_warps or self.num_warps

    @property
    def name(self) -> str:
        """As errors call it."""
        return "the default partition" if self.number == DEFAULT else f"worker {self.number}"

    def mangle(self) -> str:
        """Part of the name of a function that is traced for these warps."""
        return f"_P{'D' if self.number == DEFAULT else 'W'}{self.region_warps}"

    def initialize_callee(self, function: object, builder: object) -> None:
        """Triton asks this of whoever calls: a partition's functions are inlined, and need no mark of their own."""


_CURRENT: ContextVar[Partition | None] = ContextVar("partition", default=None)


def current_partition() -> Partition | None:
    """The partition that is traced or interpreted; None outside of ``tle.gpu.warp_specialize``."""
    return _CURRENT.get()


def warps_here(num_warps: int) -> int:
    """How many warps run what is traced: the partition's, else those of the launch."""
    partition = current_partition()
    return num_warps if partition is None else partition.num_warps


def region_warps_here(num_warps: int) -> int:
    """How many warps run a region that is called here."""
    partition = current_partition()
    return num_warps if partition is None else partition.region_warps


def started_warps(asked: int) -> int:
    """How many warps Triton starts for a partition of so many."""
    return 1 << (asked - 1).bit_length()


@contextmanager
def inside(partition: Partition) -> Iterator[Partition]:
    """Within, what is traced is a partition's."""
    token = _CURRENT.set(partition)
    try:
        yield partition
    finally:
        _CURRENT.reset(token)
