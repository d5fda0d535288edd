"""``num_stages=`` and ``unroll=`` at the head of a loop: what ``tl.range`` takes as arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tle_raw.flir.hints.operation import HintedOperation

_MOST = 1024  # beyond it Triton's passes write so many copies of the loop's body that they do not end


@dataclass(frozen=True)
class LoopHint:
    """A number that the loop carries as an attribute, where it says none itself.

    Attributes
    ----------
    attribute : of the loop in Triton IR. argument : of ``tl.range``. effect : why a number means nothing, else "".
    shown : see ``proof`` of `HintHandler`.
    """

    name: str
    also: tuple[str, ...]
    targets: tuple[str, ...]
    attribute: str
    argument: str
    shown: str
    effect: Callable[[int], str]
    operations: tuple[str, ...] = ("scf.for",)

    def expected(self, value: str) -> str:
        is_number = value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST))
        return "" if is_number and 0 < int(value) <= _MOST else f"a number from 1 to {_MOST}"

    def proof(self, target: str, value: str) -> str:
        return self.shown if int(value) > 1 else ""

    def apply(self, operation: HintedOperation, value: str) -> str:
        if operation.attribute(self.attribute):
            return f"the loop says {self.argument} itself"
        operation.set_attributes({self.attribute: f"{value} : i32"})
        return self.effect(int(value))


# How many iterations of the loop Triton's pipeliner has under way.
NUM_STAGES = LoopHint(
    "num_stages", ("stages",), ("cuda",), "tt.num_stages", "num_stages", r"^cp\.async", lambda _: ""
)  # fmt: skip
# How many iterations of the loop become one.
UNROLL = LoopHint(
    "unroll", ("loop_unroll_factor",), ("cuda", "cpu"), "tt.loop_unroll_factor", "loop_unroll_factor", "",
    lambda factor: "" if factor > 1 else "a factor of 1 unrolls nothing",
)  # fmt: skip
