"""Where the blocks of a cluster meet although the kernel does not say so: before one reaches another's memory first.

What a block has in shared memory is there when the block has begun, and its barriers when it has initialised them. On
NVIDIA GPUs ``flir/nvidia/cluster_barriers`` puts a barrier there for the same reason. What a block has stays until all
blocks of its cluster are done: that is the launch's business.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.context_fields import START
from tle_raw.flir.cpu.convert import group_functions, groups
from tle_raw.flir.cpu.convert.kernel import BEFORE_REACH, Kernel, converts
from tle_raw.flir.cpu.convert.plan import group_symbol, walk
from tle_raw.flir.cpu.mlir_values import Block, Operation
from tle_raw.regions.clusters import MAP, MEET, SIGNAL

_ACCESSES = ("tt.load", "tt.store", "tt.atomic")
_INIT = "ttng.init_barrier"
_CHOICE = "scf.if"


def first_reach(block: Block) -> Operation | None:
    """The first operation of a function that does something to another block's memory, or holds one that does.

    A choice that initialises barriers itself is looked into: who does not choose so is done, or comes later.
    """
    mapped: set[Any] = set()
    for view in block.operations:
        op = view.operation
        inner = [op, *(each for region in op.regions for each in walk(region))]
        for each in inner:
            _follow(each, mapped)
        if not any(_reaches(each, mapped) for each in inner):
            continue
        if op.name == _CHOICE and any(each.name == _INIT for each in inner):
            found = (first_reach(branch.blocks[0]) for branch in op.regions if len(branch.blocks))
            inside: Operation | None = next(filter(None, found), op)
            return inside
        first: Operation = op
        return first
    return None


def _follow(op: Operation, mapped: set[Any]) -> None:
    """What is made of another block's address is one."""
    if group_symbol(op) == MAP or any(operand in mapped for operand in op.operands):
        mapped.update(op.results)
        mapped.update(argument for region in op.regions for block in region.blocks for argument in block.arguments)


def _reaches(op: Operation, mapped: set[Any]) -> bool:
    if op.name.startswith(_ACCESSES):
        return op.operands[0] in mapped
    return group_symbol(op) in (SIGNAL, MEET)


@converts(BEFORE_REACH)
def meet_before_reach(kernel: Kernel, op: Operation) -> None:
    """All blocks of the cluster meet."""
    code = kernel.check("standstill", "a wait for the blocks of the cluster to have begun", op.location)
    kernel.helpers.add(group_functions.FUNCTIONS)
    groups.meet(kernel, START, code)
