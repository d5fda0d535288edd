"""tt.atomic_poll: wait until memory holds an expected value, or for a given time."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import build, types, waits
from tle_raw.flir.cpu.convert.atomics import each_element, element_address, load_ordering
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.mlir_values import Operation, Value

_CLOCK_MONOTONIC = 1
_NANOSECONDS = 1_000_000_000


@converts("tt.atomic_poll")
def atomic_poll(kernel: Kernel, op: Operation) -> None:
    """Each element is loaded at least once; all elements share the time, which starts with the first of them."""
    pointer, expected, timeout = (*op.operands, None)[:3]
    clock = Clock(kernel, kernel.scalar(timeout)) if timeout is not None else None
    # One that ends by itself is never at a standstill.
    turns = waits.Turns(kernel, op.location, works=clock is not None)

    def act(pointer: Any, expected: Value) -> Value:
        address = element_address(op, pointer).pointer()
        return _spin(address, expected, load_ordering(op), clock, turns)

    each_element(kernel, op, [pointer, expected], act)


class Clock:
    """The host's clock, started where this is made."""

    def __init__(self, kernel: Kernel, timeout: Value) -> None:
        kernel.declare("clock_gettime", "!llvm.func<i32 (i32, ptr)>")
        self.timeout = timeout
        buffer = kernel.allocate((2,), build.type_of("i64"))
        self._at = buffer.pointer()
        self.start = self._now()

    def _now(self) -> Value:
        build.call_outside("clock_gettime", [build.constant(_CLOCK_MONOTONIC, "i32"), self._at], "i32")
        seconds, rest = (build.load(build.address(self._at, n, "i64"), "i64") for n in range(2))
        return build.binary("addi", build.binary("muli", seconds, build.constant(_NANOSECONDS, "i64")), rest)

    def is_over(self) -> Value:
        """Whether the time has passed; differences, so that no sum overflows."""
        return build.compare("uge", build.binary("subi", self._now(), self.start), self.timeout)


def _spin(address: Value, expected: Value, ordering: Any, clock: Clock | None, turns: waits.Turns) -> Value:
    """Load until the value is there; other programs may begin in the meantime."""
    size = build.bits(expected.type) // 8
    loop = build.create("scf.while", [], [build.type_of("i1")], regions=2)
    with build.block(loop.regions[0]):
        seen = build.load(address, types.in_memory(expected.type), align=size, ordering=ordering)
        found = build.compare("eq", seen, expected)
        done = found if clock is None else build.binary("ori", found, clock.is_over())
        turns.see(seen, build.value("llvm.ptrtoint", [address], "i64"))
        done = build.binary("ori", done, turns.are_over())
        build.create("scf.condition", [build.negated(done), found])
    with build.block(loop.regions[1], [build.type_of("i1")]):
        build.create("scf.yield")
    return loop.results[0]
