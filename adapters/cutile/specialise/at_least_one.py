"""Whether a loop over tiles is known to have a first turn: the arrays that a plan copies from are not empty."""

from __future__ import annotations

from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.facts import Facts
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex

_KEEPS = ("min", "max", "mul", "add", "cdiv")  # what they make of numbers above zero is above zero


def at_least_one(loop: Operation, index: IrIndex, facts: Facts) -> bool:
    """Whether its body runs."""
    start, step = index.known(loop.start), index.known(loop.step)
    counts = start.is_constant() and step.is_constant() and start.get_constant() == 0 and step.get_constant() > 0
    return bool(counts and _is_positive(loop.stop, index, facts))


def _is_positive(variable: Variable, index: IrIndex, facts: Facts) -> bool:
    variable = index.known(variable)
    if variable.is_constant():
        return bool(variable.get_constant() > 0)
    size = index.size_of(variable)
    if size is not None:
        return size[0] in facts.adjacent_dims
    maker = index.makers.get(variable.name)
    if maker is None:
        return False
    if maker.op == "num_tiles":
        return index.array_of(maker.view) in facts.adjacent_dims
    return (
        maker.op == "raw_binary_arith"
        and maker.fn in _KEEPS
        and _is_positive(maker.lhs, index, facts)
        and _is_positive(maker.rhs, index, facts)
    )
