"""What a warp that only copies computes by itself: where tiles begin, and how often loops come round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.facts import Unfit
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex

# Of scalars; what they read is computed, too.
_COMPUTED = (
    *("raw_binary_arith", "raw_binary_bitwise", "raw_bitwise_shift", "raw_cmp", "raw_where", "unaryop", "fma"),
    *("tile_astype", "tile_reshape", "tile_broadcast", "tile_bitcast", "tile_bid", "tile_num_blocks", "num_tiles"),
    *("assume_bounded", "assume_div_by", "assign"),
)
_MADE_ANEW = ("typed_const", "make_tensor_view", "make_partition_view", "make_strided_view")


@dataclass(eq=False)
class Slice:
    """
    Attributes
    ----------
    computed : the operations, by identity, that are repeated.
    captured : the values from outside, by name.
    carried : for each loop, by identity, the places of the carried values that are needed.
    """

    computed: set[int] = field(default_factory=set)
    captured: dict[str, Variable] = field(default_factory=dict)
    carried: dict[int, set[int]] = field(default_factory=dict)


class Slicer:
    """``loops`` are those that the copying warp runs, too; what stands ``before`` them is there."""

    def __init__(self, index: IrIndex, loops: Iterable[Operation], outside: frozenset[int]) -> None:
        self._index, self._loops, self._outside = index, {id(op) for op in loops}, outside
        self.found = Slice()
        self._seen: set[str] = set()

    def need(self, variable: Variable) -> None:
        """A value.

        Raises
        ------
        Unfit : the other warp cannot compute it.
        """
        if variable.name in self._seen:
            return
        self._seen.add(variable.name)
        loop, maker = self._index.inside.get(variable.name), self._index.makers.get(variable.name)
        if loop is not None and id(loop) in self._loops:
            self._need_carried(loop, variable)
        elif maker is not None and maker.op in _MADE_ANEW:
            self._repeat(maker)
        elif maker is None or id(self._outermost(maker)) in self._outside:
            if len(getattr(variable.get_type(), "shape", ())):
                raise Unfit("where a tile begins is computed from tiles")
            self.found.captured[variable.name] = variable
        elif id(maker) in self._loops:
            self._need_place(maker, next(n for n, v in enumerate(maker.result_vars) if v.name == variable.name))
        elif maker.op in _COMPUTED:
            self._repeat(maker)
        else:
            raise Unfit(f"where a tile begins comes from {maker.op}, which the warp that copies does not repeat")

    def _outermost(self, op: Operation) -> Operation:
        return [op, *self._index.around(op)][-1]

    def _repeat(self, op: Operation) -> None:
        if any(owner.op != "loop" or id(owner) not in self._loops for owner in self._index.around(op)):
            raise Unfit("where a tile begins is computed in a branch")
        self.found.computed.add(id(op))
        for variable in op.all_inputs():
            self.need(variable)

    def _need_carried(self, loop: Operation, variable: Variable) -> None:
        if variable.name != loop.induction_var.name:
            self._need_place(loop, next(n for n, v in enumerate(loop.body_vars) if v.name == variable.name))

    def _need_place(self, loop: Operation, place: int) -> None:
        places = self.found.carried.setdefault(id(loop), set())
        if place not in places:
            places.add(place)
            self.need(loop.initial_values[place])
            self.need(list(loop.body)[-1].values[place])
