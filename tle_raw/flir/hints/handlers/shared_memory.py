"""``shared_memory``: a load is staged through shared memory, by ``cp.async``, as ``tle.load(is_async=True)`` is."""

from __future__ import annotations

from tle_raw.flir.early_loads import EARLY, iterations_ahead
from tle_raw.flir.hints.operation import HintedOperation

_LOAD, _DOT = "tt.load", "tt.dot"
_AMPERE = 80


class SharedMemory:
    """In a loop the copy of a later iteration is under way while this one computes; outside it is waited for where the
    value is used.

    Triton's pipeliner overlaps those loads of a loop that are noted and no others. So the loads that make the operands
    of a product in the same loop, which it would have overlapped by itself, are noted too.
    """

    name, also = "shared_memory", ("smem", "shared")
    operations = (_LOAD,)
    targets = ("cuda",)

    def expected(self, value: str) -> str:
        return "no value" if value else ""

    def proof(self, target: str, value: str) -> str:
        return r"^cp\.async"

    def apply(self, operation: HintedOperation, value: str) -> str:
        load = operation.read()
        if operation.machine.capability < _AMPERE:
            return "a GPU before sm_80 has no copies into shared memory that run in the background"
        if not load.types[0].startswith("tensor<"):
            return "it loads no block of pointers"
        if load.property("isVolatile") == "true":
            return "the load is volatile"
        note = {EARLY: f"{iterations_ahead(operation.stages())} : i32"}
        operation.set_attributes(note)
        loop = operation.loop()
        if loop is not None:
            for other in _feeding_products(loop):
                if not other.attribute(EARLY):
                    other.set_attributes(note)
        return ""


def _feeding_products(loop: HintedOperation) -> list[HintedOperation]:
    """The loads of blocks in a loop whose values reach an operand of a product in it."""
    found: dict[str, set[int]] = {}
    feeding: set[int] = set()
    inside = {operation.number: operation for operation in loop.inside() if operation.name}
    for number, operation in inside.items():
        if loop.module.last_line(number) != number:
            continue
        read = operation.read()
        reached = {n for operand in read.operands for n in found.get(operand, ())}
        if read.name == _DOT:
            feeding |= {n for operand in read.operands[:2] for n in found.get(operand, ())}
            reached = set()
        elif read.name == _LOAD and read.types[0].startswith("tensor<"):
            reached = {number}
        for result in read.results.split(","):
            found[result.strip().split(":")[0]] = reached
    return [inside[number] for number in sorted(feeding)]
