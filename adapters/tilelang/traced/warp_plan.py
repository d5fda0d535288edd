"""Which programs get a warp that only copies, and products in the background: those whose form says what may overlap.

Such a program has one ``T.Pipelined`` loop. In its body tiles of the PrimFunc's arrays are copied into shared buffers,
which products (``T.gemm``) alone read. The copies become the work of one warp, which runs ahead by as many tiles as
the loop has stages, and a product runs in the background until somebody needs its result.

What cannot be proven is not planned: ``find_plan`` says why, and the program is traced as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tle_raw.adapters.tilelang.program import Program, is_call
from tle_raw.adapters.tilelang.regions import region_of
from tle_raw.adapters.tilelang.traced.pipelined_body import (
    GEMM,
    C,
    Unfit,
    flat,
    is_copy_in,
    is_product,
    multiplies,
    nodes,
    size_of,
    stages,
)
from tle_raw.adapters.tilelang.traced.product_meetings import Meeting, check_product, find_meeting
from tle_raw.adapters.tilelang.traced.tile_loads import Load, Loads, check_reads

_SHARED_BYTES = 227 * 1024 - 2048  # of a block, less what barriers and reductions take
# Sums that leave no registers for a second block: half of a multiprocessor's, less 32 for other things of 256 threads.
_HALF_OF_REGISTERS = 65536 // 2 - 32 * 256
_GROUP, _MOST_THREADS = 128, 512  # threads that multiply together; of a block


@dataclass(frozen=True, eq=False)
class Plan:
    """What is done with a program.

    Attributes
    ----------
    loop, body : the pipelined loop, and its statements in order.
    slots : how many tiles of each copy there are at a time.
    ring, resident : the loop's copies; those before the loop.
    meeting : how the last product of the body meets those of the next turn, where there is one.
    head : how many statements of the next turn the product that is put off runs beside, up to the first products.
    pays : whether it is known to. Where several blocks share a multiprocessor they overlap without it: on an H200 the
        attention of 4x16x4096x64 by tiles of 64x64 takes 0.647 ms as any other kernel, and 0.733 by this plan.
    """

    loop: Any
    body: tuple[Any, ...]
    slots: int
    ring: tuple[Load, ...]
    resident: tuple[Load, ...]
    meeting: Meeting
    head: int
    pays: bool

    @property
    def loads(self) -> tuple[Load, ...]:
        """All copies, in order."""
        return (*self.resident, *self.ring)

    def reads_last(self, call: Any, load: Load) -> bool:
        """Whether a product is the last one of a turn that reads the tile of a copy."""
        readers = [s.value for s in self.body if is_product(s) and multiplies(s.value, load.target.data)]
        return bool(readers) and bool(readers[-1].same_as(call))

    def is_load(self, call: Any) -> bool:
        """Whether a copy is one that the other warp makes."""
        return any(load.call.same_as(call) for load in self.loads)


def find_plan(program: Program) -> Plan:
    """What can be done with a program none of whose tiles come from a caller.

    Raises
    ------
    Unfit : nothing.
    """
    top = list(flat(program.body))
    places = [n for n, s in enumerate(top) if stages(s)]
    if len(places) != 1:
        raise Unfit(f"{len(places) or 'no'} pipelined loops stand in its body, not one")
    threads = prod(program.threads) if program.threads else _GROUP
    if threads % _GROUP or threads & (threads - 1) or threads > _MOST_THREADS:
        raise Unfit(f"its {threads} threads are no groups of {_GROUP}")
    before, loop = top[: places[0]], top[places[0]]
    body = list(flat(loop.body))
    products = [s.value for s in body if is_product(s)]
    if not products or len(products) != sum(is_call(node, GEMM) for node in nodes(program.body)):
        raise Unfit("products stand elsewhere than in the body of its pipelined loop")
    loads = Loads(program, products)
    resident = [loads.of(s) for s in before if is_copy_in(s) and loads.readers(region_of(s.value.args[1]).buffer)]
    ring = [loads.of(s) for s in body if is_copy_in(s)]
    check_reads(body, ring)
    for call in products:
        check_product(call, [load.target for load in (*resident, *ring)])
    slots = stages(loop)
    taken = sum(load.bytes for load in resident) + slots * sum(load.bytes for load in ring)
    if taken > _SHARED_BYTES:
        raise Unfit(f"its tiles take {taken} bytes of shared memory, of {_SHARED_BYTES}")
    meeting, head = find_meeting(body, [load.target.data for load in ring], slots, threads)
    pays = 2 * taken > _SHARED_BYTES or _results(products) >= _HALF_OF_REGISTERS
    return Plan(loop, tuple(body), slots, tuple(ring), tuple(resident), meeting, head, pays)


def _results(products: list[Any]) -> int:
    """How many elements the sums of the products have."""
    found: list[Any] = []
    for call in products:
        buffer = region_of(call.args[C]).buffer
        if not any(buffer.data.same_as(known.data) for known in found):
            found.append(buffer)
    return sum(size_of(b.shape[0]) * size_of(b.shape[1]) for b in found)
