"""Arrivals at other blocks' barriers that each warp makes by itself, where one thread would arrive for all of them.

That one thread comes after all that the warps did, so they would meet before each arrival. It is for barriers at which
nobody arrives but by ``tle.remote``: each counts as many arrivals more as the largest partition that arrives has warps.
"""

from __future__ import annotations

from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.flir.nvidia.shared_pointers import SharedPointers
from tle_raw.linker.mlir.generic_operation import GenericOperation
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.text import OPERATION, unescape
from tle_raw.regions.clusters import MAP, SIGNAL, read_record

_INIT = "ttng.init_barrier"
# What may be done with a barrier at which nobody arrives but by `tle.remote`.
_NO_ARRIVALS = (
    *("ttg.local_alloc", "ttg.local_dealloc", "ttg.memdesc_index", "tti.", "arith.extui", "scf.", SPECIALIZE),
    *(_INIT, "ttng.inval_barrier", "ttng.wait_barrier"),
)


class ArrivalsByWarps:
    """At which barriers each warp may arrive by itself: where all arrivals are those of ``tle.remote``.

    inits : where such barriers are initialised, and how many arrivals each that the kernel counts becomes.
    """

    def __init__(self, pointers: SharedPointers, parsed: dict[Operation, GenericOperation]):
        self.pointers = pointers
        self.found: dict[Value, int] = {}
        self.inits: dict[Operation, int] = {}
        signals = [each for each, call in parsed.items() if SIGNAL in call.property("symbol")]
        warps = {each: read_record(unescape(parsed[each].property("libname")))["warps"] for each in signals}
        uses: dict[Value, set[Operation]] = {}
        for value, roots in pointers.buffers.items():
            for root in roots:
                uses.setdefault(root, set()).update(value.uses)
        for root in {root for each in signals for root in pointers.of(each.operands[0])}:
            own = [each for each in uses[root] if each in warps]
            others = [each for each in uses[root] if each not in warps and not _is_harmless(each)]
            if not others and all(len(pointers.of(each.operands[0])) == 1 for each in own):
                self.found[root] = max(warps[each] for each in own)
                self.inits |= {each: self.found[root] for each in uses[root] if each.name == _INIT}

    def counted_as(self, call: Operation, warps: int) -> int:
        """As how many arrivals one of a warp counts; 0 where one thread arrives for all."""
        (root, *_) = self.pointers.of(call.operands[0])
        return self.found.get(root, 0) // warps


def _is_harmless(use: Operation) -> bool:
    return use.name.startswith(_NO_ARRIVALS) or (use.name == OPERATION and f'"{MAP}"' in use.details)
