"""``num_stages=`` and ``unroll=`` at the head of a loop: what ``tl.range`` takes as arguments."""

from __future__ import annotations

from tle_raw.flir.hints.operation import HintedOperation

_STAGES, _UNROLL = "tt.num_stages", "tt.loop_unroll_factor"


class NumStages:
    """How many iterations of the loop Triton's pipeliner has under way."""

    name, also = "num_stages", ("stages",)
    operations = ("scf.for",)
    targets = ("cuda",)

    def expected(self, value: str) -> str:
        return "" if value.isdigit() and int(value) > 0 else "a number from 1 on"

    def proof(self, target: str, value: str) -> str:
        return r"^cp\.async" if int(value) > 1 else ""

    def apply(self, operation: HintedOperation, value: str) -> str:
        if operation.attribute(_STAGES):
            return "the loop says num_stages itself"
        operation.set_attributes({_STAGES: f"{value} : i32"})
        return ""


class Unroll:
    """How many iterations of the loop become one."""

    name, also = "unroll", ("loop_unroll_factor",)
    operations = ("scf.for",)
    targets = ("cuda", "cpu")

    def expected(self, value: str) -> str:
        return "" if value.isdigit() and int(value) > 0 else "a number from 1 on"

    def proof(self, target: str, value: str) -> str:
        return ""

    def apply(self, operation: HintedOperation, value: str) -> str:
        if operation.attribute(_UNROLL):
            return "the loop says loop_unroll_factor itself"
        operation.set_attributes({_UNROLL: f"{value} : i32"})
        return "" if int(value) > 1 else "a factor of 1 unrolls nothing"
