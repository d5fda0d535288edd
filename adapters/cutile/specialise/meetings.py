"""How the last product of a loop's turn meets the first ones of the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex
from tle_raw.adapters.cutile.specialise.products import Product, Sum, sums_of

_THREADS = 2  # for each row that a warp has for itself
_WARP = 32


class Meeting(Enum):
    """How the last product of a turn meets the first ones of the next."""

    NONE = "it is waited for in its own turn"
    SUM = "it adds to a sum that the loop does not read: the next one begins behind it"
    BEFORE = "it is put off, and begins in front of the first ones of the next turn"


@dataclass(frozen=True, eq=False)
class Turns:
    """What is done with a loop.

    Attributes
    ----------
    products : of its body, in order.
    sums : of a loop whose products add up to what it carries.
    place : that of the carried value which the product that is put off gives.
    head : how many of the body's operations, up to the first products, it is put in front of.
    runs : whether the loop is known to have a first turn.
    """

    loop: Operation
    products: tuple[Product, ...]
    meeting: Meeting
    sums: tuple[Sum, ...]
    place: int
    head: int
    runs: bool


def turns_of(loop: Operation, products: Sequence[Product], index: IrIndex, warps: int, runs: bool) -> Turns:
    """The way of a loop whose body holds these products."""
    sums = sums_of(loop, products, index)
    if sums:
        return Turns(loop, tuple(products), Meeting.SUM, sums, 0, 0, runs)
    place = _put_off(loop, products, index)
    head = _head(loop, products, place, index) if place is not None else 0
    if place is None or not head or min(p.rows for p in products) * _THREADS < warps * _WARP:
        return Turns(loop, tuple(products), Meeting.NONE, (), 0, 0, runs)
    return Turns(loop, tuple(products), Meeting.BEFORE, (), place, head, runs)


def _put_off(loop: Operation, products: Sequence[Product], index: IrIndex) -> int | None:
    """The place of the carried value that is the last product's result, where nothing else of the turn reads it."""
    last, jump = products[-1], list(loop.body)[-1]
    if len(products) < 2 or jump.op != "continue" or index.readers.get(last.result.name) != [jump]:
        return None
    places = [place for place, value in enumerate(jump.values) if value.name == last.result.name]
    return places[0] if len(places) == 1 else None


def _head(loop: Operation, products: Sequence[Product], place: int, index: IrIndex) -> int:
    """How many operations, up to the first products, know nothing of the sum that the last product adds to."""
    total, last = loop.body_vars[place].name, products[-1].op
    made = {id(p.op) for p in products}
    told, head = {total}, 0
    for number, op in enumerate(loop.body):
        if op is last or op.nested_blocks:
            break
        if any(v.name in told for v in op.all_inputs()):
            break
        if id(op) in made:
            head = number + 1
        elif head and not _is_light(op):
            break
    return head


def _is_light(op: Operation) -> bool:
    """Constants, views and loads of tiles stand between products without work of their own."""
    return op.op in ("typed_const", "tile_load", "tile_reshape", "tile_permute", "join_tokens") or "make_" in op.op
