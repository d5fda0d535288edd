"""Products of tiles, and how the last one of a loop's turn meets the first ones of the next."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from tle_raw.adapters.tilelang.regions import constant, region_of
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced.effects import Walk, holds
from tle_raw.adapters.tilelang.traced.pipelined_body import (
    CLEAR,
    TURN_A,
    A,
    B,
    C,
    Unfit,
    is_product,
    is_whole,
    multiplies,
    size_of,
)
from tle_raw.adapters.tilelang.traced.tile_loads import DTYPES
from tle_raw.adapters.tilelang.traced.types import padded

_ROWS, _COLUMNS = 64, 8  # multiples of which tensor cores take
_THREADS = 2  # for each row that a warp has for itself


class Meeting(Enum):
    """How the last product of a turn meets the first ones of the next.

    On an H200 attention of 4x16x4096x128 takes 0.912 ms by NONE, 0.835 by BEFORE and 0.851 by BEHIND. A latent one
    of 128x128 whose results lie in two ways takes 0.616 by NONE and 1.315 by BEFORE.
    """

    NONE = "it is waited for in its own turn"
    SUM = "it is the only one, and adds to a sum that the loop does not read: the next one begins behind it"
    BEFORE = "it is put off, and begins in front of the first ones of the next turn"
    BEHIND = "it is put off, and begins behind them: what is computed from their results overlaps with it"


def check_product(call: Any, filled: Sequence[Buffer]) -> None:
    """A product of the tensor cores' own, whose right operand, at least, is one of the buffers that are ``filled``.

    Raises
    ------
    Unfit : it is none.
    """
    a, b, c = (region_of(call.args[which]) for which in (A, B, C))
    memory = [buffer.data for buffer in filled]
    if not all(map(is_whole, (a, b, c))) or any(len(box.extents) != 2 for box in (a, b, c)):
        raise Unfit("a product of parts of buffers")
    if not holds(memory, b.buffer.data):
        raise Unfit(f"`{b.buffer.name}` is multiplied with, and is no copy from global memory")
    if not holds(memory, a.buffer.data) and constant(call.args[TURN_A]):
        raise Unfit(f"`{a.buffer.name}` is turned in registers")
    if str(a.buffer.dtype) not in DTYPES or a.buffer.dtype != b.buffer.dtype or str(c.buffer.dtype) != "float32":
        raise Unfit(f"a product of {a.buffer.dtype} and {b.buffer.dtype} in {c.buffer.dtype}")
    rows, columns = (size_of(extent) for extent in c.buffer.shape)
    sizes = [*(size_of(extent) for box in (a, b) for extent in box.buffer.shape), rows, columns]
    if rows % _ROWS or columns % _COLUMNS or any(n != padded(n) or n < _COLUMNS for n in sizes):
        raise Unfit(f"a product of {rows} by {columns} elements, which is none of the tensor cores'")


def find_meeting(body: Sequence[Any], ring: Sequence[Any], slots: int, threads: int) -> tuple[Meeting, int]:
    """How the last product of a body meets those of the next turn, and beside how many statements it runs there.

    Parameters
    ----------
    ring : the memory of the tiles that are copied anew each turn, of which ``slots`` are there at a time.
    """
    if not is_product(body[-1]):
        return Meeting.NONE, 0
    last, products = body[-1].value, [s.value for s in body if is_product(s)]
    if len(products) == 1:
        return (Meeting.SUM if _is_sum(last, body[:-1], ring) else Meeting.NONE), 0
    head = _head(last, body[:-1], ring)
    if not head:
        return Meeting.NONE, 0
    if min(size_of(region_of(call.args[C]).buffer.shape[0]) for call in products) * _THREADS >= threads:
        return Meeting.BEFORE, head  # each warp has rows of its own, so that all results lie in the same way
    # In front of the others it would be brought into the way in which their results lie, and behind them it would hold
    # tiles that both read for so long that the copies stand still.
    read = [region_of(last.args[which]).buffer.data for which in (A, B)]
    first = [s.value for s in body[:head] if is_product(s)]
    shares = any(holds(ring, memory) and multiplies(call, memory) for call in first for memory in read)
    return (Meeting.NONE, 0) if shares and slots < 3 else (Meeting.BEHIND, head)


def _is_sum(product: Any, others: Sequence[Any], ring: Sequence[Any]) -> bool:
    left, total = (region_of(product.args[which]).buffer.data for which in (A, C))
    effects = Walk({}).block(others).effects
    is_read = holds((*effects.written, *effects.seen), total)
    return holds(ring, left) and not is_read and constant(product.args[CLEAR]) == 0


def _head(product: Any, others: Sequence[Any], ring: Sequence[Any]) -> int:
    """How many statements, up to the first products, know nothing of the last one."""
    left, total = (region_of(product.args[which]).buffer.data for which in (A, C))
    head = 0
    for number, statement in enumerate(others):
        effects = Walk({}).block([statement]).effects
        if holds((*effects.written, *effects.seen), total):
            break
        if holds(effects.written, left) and not holds(ring, left):
            break
        if is_product(statement):
            head = number + 1
        elif head:
            break
    return head
