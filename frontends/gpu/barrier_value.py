"""``barrier``: barriers in shared memory as values of a kernel, and their type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from triton._C.libtriton import gluon_ir
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.gluon_builder import identity, new_builder

PENDING, READY = "PENDING", "READY"
# What a barrier is used as: a counter of phases in memory, or a number of the GPU's.
COUNTING, NAMED = "with phases", "without"


@dataclass
class Account:
    """What is traced of one allocation of barriers, shared by its slots.

    ``begun`` is of how many bytes copies of a slot's phase have begun, and in which function, while more are to follow;
    ``kinds`` what a slot is used as.
    """

    name: str = ""
    begun: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    kinds: dict[Any, str] = field(default_factory=dict)


@dataclass(frozen=True)
class barrier_type(core.base_type):  # type: ignore[misc]
    """The type of one barrier, or of several.

    Attributes
    ----------
    slots : how many; 0 for one that was taken out of several, or allocated alone.
    arrive_count : arrivals that complete a phase.
    ready : whether the phase before the first counts as complete.
    expect_bytes : what the copies of a phase bring; 0 for a barrier that no copy completes.
    slot : which of the allocation it is: a constant, or a value's identity.
    origin : the value that has this type; another value that has it may be another barrier.
    is_known : whether it is that value: a barrier that comes out of a loop or a function may not be.
    """

    slots: int
    arrive_count: int
    ready: bool
    expect_bytes: int
    slot: Any = field(default=None, compare=False)
    account: Account = field(default_factory=Account, compare=False, repr=False)
    context: Any = field(default=None, compare=False, repr=False)
    origin: int = field(default=0, compare=False, repr=False)
    is_known: bool = field(default=True, compare=False)

    def changed_slots(self, slots: int, slot: Any = None) -> barrier_type:
        """The type of another number of them."""
        return replace(self, slots=slots, slot=slot)

    def to_ir(self, builder: Any) -> Any:
        """``!ttg.memdesc<n x 1 x i64>``, or ``<1 x i64>`` of one."""
        made = builder if isinstance(builder, gluon_ir.GluonOpBuilder) else new_builder(self.context)
        shape = [self.slots, 1] if self.slots else [1]
        layout = made.get_swizzled_shared_layout(1, 1, 1, [0], [])
        return made.get_shared_mem_desc_ty(core.int64.to_ir(made), shape, layout, shape)

    def mangle(self) -> str:
        return f"Q{self.slots}_{self.arrive_count}_{int(self.ready)}_{self.expect_bytes}Q"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.to_ir(builder))

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        is_same = self.is_known and identity(handles[cursor]) == self.origin
        return barrier(handles[cursor], replace(self, is_known=is_same)), cursor + 1

    def of(self, handle: Any) -> barrier:
        """The barrier that a new value is."""
        return barrier(handle, replace(self, origin=identity(handle)))

    def __str__(self) -> str:
        return f"{self.slots} barriers" if self.slots else "a barrier"


class barrier(core.base_value):  # type: ignore[misc]
    """Barriers that ``tle.gpu.alloc_barriers`` made, or one of them: ``barriers[i]``, ``barriers.slot(i)``."""

    def __init__(self, handle: Any, type: barrier_type) -> None:
        self.handle = handle
        self.type = type

    def __repr__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


def check_kind(function: str, one: barrier, kind: str) -> None:
    """A barrier has phases at each use of it, or at none.

    Raises
    ------
    ArgumentTypeError : it was used the other way before.
    """
    if not one.type.is_known:
        return
    before = one.type.account.kinds.setdefault(one.type.slot, kind)
    if before != kind:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a barrier is used two ways: {before} before, and {kind} here",
            table=[Row("phaseIdx", "at each use of a barrier, or at none", f"{before} before, {kind} here")],
            hint="allocate one barrier for each",
        )


def check_begun(function: str, one: barrier) -> None:
    """Nothing waits for a phase some of whose copies have begun, and not all.

    Raises
    ------
    ArgumentTypeError : the copies before bring fewer bytes than the barrier expects.
    """
    if one.type.slot in one.type.account.begun:
        bytes_, _ = one.type.account.begun[one.type.slot]
        raise ArgumentTypeError(
            f"tle.gpu.{function}: the copies of this phase that began before bring less than the barrier expects",
            table=[Row("bytes of the phase", str(one.type.expect_bytes), str(bytes_))],
            hint="a function that is called for each of them begins a phase each time: its copies are to make a phase",
        )
