"""Which kernels get a warp that only copies, and products in the background: those whose form says what may overlap.

Such a kernel has loops over tiles, ``for k in range(...)``, in whose bodies tiles of its arrays are loaded, which
products (``ct.mma``) alone read. The loads become the work of one warp, which runs ahead by as many tiles as shared
memory has slots, and a product runs in the background until somebody needs its result.

What cannot be proven is not planned: ``find_plan`` says why, and the kernel is traced as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.at_least_one import at_least_one
from tle_raw.adapters.cutile.specialise.facts import Facts, Unfit
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex, is_loop
from tle_raw.adapters.cutile.specialise.meetings import Meeting, Turns, turns_of
from tle_raw.adapters.cutile.specialise.products import Product, product
from tle_raw.adapters.cutile.specialise.tile_rings import BYTES, TileLoads, TileRing
from tle_raw.adapters.cutile.specialise.tile_stores import TileStore, tile_stores
from tle_raw.adapters.cutile.specialise.worker_slice import Slice, Slicer
from tle_raw.adapters.cutile.typed_ir import TypedFunction

SHARED_BYTES = 227 * 1024 - 2048  # of a block, less what barriers and reductions take
# Sums that leave no registers for a second block: half of a multiprocessor's, less 32 for other things of 256 threads.
_HALF_OF_REGISTERS = 65536 // 2 - 32 * 256
_GROUP, _MOST_WARPS = 4, 16  # warps that multiply together; of a block
_FEWEST = 2  # slots: one is filled while another one is read
_OF_SUMS = 3  # where two turns' tiles are read at a time
_READS = ("tile_load", "load_pointer", "get_array_list_item")


@dataclass(frozen=True, eq=False)
class Plan:
    """What is done with a kernel.

    Attributes
    ----------
    rings : what is copied. ``ring_of`` gives them by the identity of a load.
    hidden : the operations, by identity, that rings stand for: loads, and views of their tiles.
    products : by the identity of ``ct.mma``.
    turns : the loops that hold products, by identity.
    around : the loops around those, by identity.
    start, stop : the function's own operations from the first of these loops to the last.
    early : those among them, by identity, that wait for none of the loops.
    copies : what the copying warp computes by itself.
    stores : what the copy engine stores behind the loops, by the identity of the operation.
    against : why it is not known to pay; "" where it is.
    """

    rings: tuple[TileRing, ...]
    ring_of: Mapping[int, TileRing]
    hidden: frozenset[int]
    products: Mapping[int, Product]
    turns: Mapping[int, Turns]
    around: frozenset[int]
    start: int
    stop: int
    early: frozenset[int]
    copies: Slice
    stores: Mapping[int, TileStore]
    against: str

    @property
    def described(self) -> tuple[TileRing | TileStore, ...]:
        """What the kernel gets a descriptor for, in order."""
        return (*self.rings, *self.stores.values())

    def freed_by(self, product: Product) -> list[TileRing]:
        """The rings whose tile of a turn nobody reads behind a product."""
        turns = next(turns for turns in self.turns.values() if product in turns.products)
        found = []
        for ring in self.rings:
            readers = [p for p in turns.products if any(operand.ring is ring for operand in p.operands)]
            if id(turns.loop.body) in ring.homes and readers and readers[-1] is product:
                found.append(ring)
        return found

    def is_of_turns(self, ring: TileRing) -> bool:
        """Whether a ring is filled in a body with products."""
        return any(id(turns.loop.body) in ring.homes for turns in self.turns.values())


def has_products_in_loops(typed: TypedFunction) -> bool:
    """Whether a plan would be worth a word."""
    index = IrIndex(typed)
    return any(op.op == "tile_mma" and index.owner(index.home(op)) is not None for op in index.operations)


def find_plan(typed: TypedFunction, facts: Facts, barriers: frozenset[int] = frozenset()) -> Plan:
    """What can be done with a kernel. ``barriers`` are operations, by identity, that a block barrier stands before.

    Raises
    ------
    Unfit : nothing.
    """
    if facts.warps % _GROUP or facts.warps > _MOST_WARPS:
        raise Unfit(f"its {facts.warps} warps are no groups of {_GROUP}")
    index = IrIndex(typed)
    loads = TileLoads(index, facts)
    multiplied = [op for op in index.operations if op.op == "tile_mma"]
    if not multiplied or any(op.op == "tile_mma_scaled" for op in index.operations):
        raise Unfit("it has no products, or such with scales")
    loops = _loops(multiplied, index)
    products = {id(op): product(op, loads) for op in multiplied}
    _check_bodies(loops, loads, index)
    around = {id(o): o for loop in loops for o in index.around(loop)}
    if around.keys() & {id(loop) for loop in loops}:
        raise Unfit("a loop with products stands in another one")
    _check_homes(loads.rings, index, [*loops, *around.values()])
    start, stop = min(map(index.place, loops)), max(map(index.place, loops)) + 1
    if any(id(op) in barriers for loop in loops for op in loop.body.traverse()):
        raise Unfit("a loop with products puts accesses to memory in order by barriers")
    if any(ring.stays and index.place(load) >= start for ring in loads.rings for load in ring.loads):
        raise Unfit("a tile that stays is loaded between the loops")
    early = _early(list(index.top)[start:stop], loads.hidden)
    if any(op.op == "ifelse" for op in list(index.top)[start:stop]):
        raise Unfit("a branch stands between its loops")
    outside = frozenset([*(id(op) for op in list(index.top)[:start]), *early])
    slicer = Slicer(index, [*loops, *around.values()], outside)
    for loop in [*loops, *around.values()]:
        for bound in (loop.start, loop.stop, loop.step):
            slicer.need(bound)
    for ring in loads.rings:
        for load in ring.loads:
            for place in load.index:
                slicer.need(place)
    turns = {
        id(loop): turns_of(
            loop,
            [products[id(op)] for op in multiplied if index.home(op) is loop.body],
            index,
            facts.warps,
            at_least_one(loop, index, facts),
        )
        for loop in loops
    }
    room = SHARED_BYTES // (facts.blocks or 1) - max(map(_stored_bytes, around.values()), default=0)
    taken = _give_slots(loads.rings, list(turns.values()), room, facts.stages)
    return Plan(
        tuple(loads.rings),
        {id(load): ring for ring in loads.rings for load in ring.loads},
        frozenset(loads.hidden),
        products,
        turns,
        frozenset(around),
        start,
        stop,
        early,
        slicer.found,
        tile_stores(index, facts, stop, len(loads.rings)),
        _against(taken, loads.rings, list(turns.values()), facts),
    )


def _loops(multiplied: Sequence[Operation], index: IrIndex) -> list[Operation]:
    """The loops that hold products, in order."""
    found: dict[int, Operation] = {}
    for op in multiplied:
        owners = list(index.around(op))
        if not owners or not all(map(is_loop, owners)):
            raise Unfit("products stand elsewhere than in the bodies of loops over ranges, which run to their ends")
        found[id(owners[0])] = owners[0]
    return list(found.values())


def _check_bodies(loops: Sequence[Operation], loads: TileLoads, index: IrIndex) -> None:
    """All that they take from memory are tiles of rings: other loads would not be fetched ahead."""
    for loop in loops:
        for op in loop.body.traverse():
            if op.op in _READS and loads.of(op) is None:
                if op.op == "tile_load":
                    name = index.array_of(op.view)
                    raise Unfit(f"`{name or 'an array'}` is loaded in a loop for something else than products")
                raise Unfit("a loop with products gathers from memory")


def _check_homes(rings: Sequence[TileRing], index: IrIndex, loops: Sequence[Operation]) -> None:
    known = {id(loop.body) for loop in loops} | {id(index.top)}
    if any(not ring.homes <= known for ring in rings):
        raise Unfit("a tile for products is loaded in a branch, or in a loop without products")


def _early(span: Sequence[Operation], hidden: set[int]) -> frozenset[int]:
    """What needs none of the loops, and does nothing to memory."""
    told: set[str] = set()
    found = set()
    for op in span:
        waits = bool(op.nested_blocks) or id(op) in hidden or any(v.name in told for v in op.all_inputs())
        if waits or not op.result_vars or not all(map(_is_scalar_or_view, op.result_vars)):
            told.update(v.name for v in op.result_vars)
        else:
            found.add(id(op))
    return frozenset(found)


def _is_scalar_or_view(variable: Variable) -> bool:
    """And no token, which what does something to memory gives."""
    type_ = variable.get_type()
    kind = type(type_).__name__
    return kind != "TokenTy" and not (kind == "TileTy" and len(type_.shape))


def _give_slots(rings: Sequence[TileRing], turns: Sequence[Turns], room: int, stages: int) -> int:
    """As many as the launch has stages, or as a load's ``latency`` says, and as there is room for.

    Tiles that are loaded around the loops with products come seldom. Returns the bytes that are taken.
    """
    bodies = {id(each.loop.body) for each in turns}
    least = {ring: _FEWEST if ring.homes & bodies else 1 for ring in rings}
    for ring in rings:
        wanted = max(_OF_SUMS if ring in _of_sums(rings, turns) else least[ring], ring.latency or stages)
        ring.slots = 1 if ring.stays else wanted if ring.homes & bodies else min(wanted, _FEWEST)
    while (taken := sum(ring.slots * ring.bytes for ring in rings)) > room:
        more = [ring for ring in rings if ring.slots > least[ring]]
        if not more:
            raise Unfit(f"its tiles take {taken} bytes of shared memory, of {room}")
        max(more, key=lambda ring: (ring.slots, ring.bytes)).slots -= 1
    return taken


def _of_sums(rings: Sequence[TileRing], turns: Sequence[Turns]) -> list[TileRing]:
    """The rings whose tiles are read until the next turn's products have begun."""
    bodies = {id(each.loop.body) for each in turns if each.meeting is Meeting.SUM}
    return [ring for ring in rings if ring.homes & bodies]


def _stored_bytes(loop: Operation) -> int:
    """What the largest tile takes on its way to memory, beside the rings: it is stored while they are in use."""
    stored = [op.tile.get_type() for op in loop.body.traverse() if op.op == "tile_store"]
    return max((prod(type_.shape) * type_.dtype.bitwidth // 8 for type_ in stored), default=0)


def _against(taken: int, rings: Sequence[TileRing], turns: Sequence[Turns], facts: Facts) -> str:
    """Why a plan is not known to pay, "" where it is. All figures are of an H200, with Triton 3.6 and 3.9.

    Where several blocks share a multiprocessor they overlap without it: a product of 4096³ by tiles of 128x128 and four
    warps takes 0.206 ms as any other kernel, and 0.264 by this plan. By tiles of 128x256 it takes 0.98 of its time, and
    attention of 4x16x4096x128 by tiles of 128x128 0.81 to 0.89. With two slots the copies for a sum wait for products:
    that product takes 0.280 ms. By tiles of 128x64, where the two results of a turn are not of one width, attention
    takes 0.88 to 0.90 with Triton 3.6, and 0.97 to 1.06 with 3.9. Bytes take 1.03.
    """
    products = [product for each in turns for product in each.products]
    sums = {p.op.acc.name: p.elements for p in products}
    is_alone = 2 * taken > SHARED_BYTES or sum(sums.values()) >= _HALF_OF_REGISTERS
    if facts.blocks != 1 and (facts.blocks is not None or not is_alone):
        return "several blocks of its size share a multiprocessor, and overlap without it"
    if any(BYTES[ring.dtype] == 1 for ring in rings):
        return "products of bytes are no faster with a warp that copies"
    if any(ring.slots < _OF_SUMS for ring in _of_sums(rings, turns)):
        return "there is room for two tiles of each array only, and copies would wait for products"
    if any(len({p.columns for p in each.products}) > 1 for each in turns if each.meeting is not Meeting.SUM):
        return "the results of its products are not of one width"
    return ""
