"""How a pipelined loop's groups are written in Triton IR: the front end writes markers, FLIR reads them.

A marker is an impure ``tt.extern_elementwise`` on a number. Impure operations keep their order, so that what a kernel
wrote in a group stays between the group's markers through Triton's own passes::

    pipeline.loop          once in the loop's body: the schedule, as JSON
    pipeline.group.begin   the group's number
    pipeline.group.end     the same

On NVIDIA GPUs the markers become, before the tensors get their layouts, attributes of the loop and locations of its
operations, ``loc("tle.group.1"(...))``: every pass that rewrites an operation keeps its location.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

LOOP, BEGIN, END = "pipeline.loop", "pipeline.group.begin", "pipeline.group.end"
GROUP = "tle.group."  # and the number: the name of a location
STAGES, ORDERS = "tle.pipe_stages", "tle.pipe_orders"  # attributes of a loop
_EXECUTORS = "\\22executors\\22"  # as a module's text has it
_ALWAYS = ("stages", "orders", "reorder")  # in a schedule's text


@dataclass(frozen=True)
class LoopSchedule:
    """What ``tle.range`` asks of the software pipeliner.

    Attributes
    ----------
    stages : the stage of each group, from 0 on; empty where Triton decides.
    orders : the place of each group among those of its stage.
    reorder : whether the loads of the body come first.
    executors : the executor of each group, numbered as they come; empty where one runs all groups.
    names, warps : of each executor, as the kernel writes it, and how many warps it asks for; 0 where it does not say.
    slots : how many iterations executors may be apart; 0 where the kernel does not say.
    """

    stages: tuple[int, ...] = ()
    orders: tuple[int, ...] = ()
    reorder: bool = False
    executors: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    warps: tuple[int, ...] = ()
    slots: int = 0

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps({name: value for name, value in asdict(self).items() if value or name in _ALWAYS})

    @property
    def count(self) -> int:
        """Of groups; 0 where any may stand in the loop."""
        return len(self.executors) or len(self.stages)

    @property
    def is_marked(self) -> bool:
        """Whether the loop's groups are written into Triton IR."""
        return bool(self.stages or self.executors)

    @property
    def last_stage(self) -> int:
        """The largest stage."""
        return max(self.stages, default=0)

    def clusters(self) -> tuple[int, ...]:
        """The place of each group's operations in the body of the pipelined loop.

        Later stages come first, as in Triton's own schedules: what an iteration loaded ahead is used before the next
        load may take its buffer. Groups of one stage stand in their order, and those of one order together.
        """
        keys = [(-stage, order) for stage, order in zip(self.stages, self.orders)]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        return tuple(ranks[key] for key in keys)


def read_schedule(text: str) -> LoopSchedule:
    """The inverse of ``LoopSchedule.to_text``."""
    data: dict[str, Any] = json.loads(text)
    given: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in data.items()}
    return LoopSchedule(**given)


def holds_groups(text: str) -> bool:
    """Whether a module's text holds a loop that ``tle.range`` has marked."""
    return f'symbol = "{LOOP}"' in text


def holds_executors(text: str) -> bool:
    """Whether the groups of such a loop have several executors."""
    return holds_groups(text) and _EXECUTORS in text
