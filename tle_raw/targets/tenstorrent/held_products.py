"""Products over a loop whose result fits into DST stay there until the loop has ended.

Without this each turn of the loop would bring the sum so far from its buffer and back. ``acc = 0; loop: acc += a @ b``
becomes: registers are taken before the loop, the loop only multiplies into them, and behind it they are packed, where
possible by the element-wise operation that follows, on the registers themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.blocks import BY_READER, Each, Multiply, Part, Repeat, WriteBlock, defined, parts, used
from tle_raw.targets.tenstorrent.forward import without_dead
from tle_raw.targets.tenstorrent.integers import difference
from tle_raw.targets.tenstorrent.ir import CircularBuffer, Module, walk
from tle_raw.targets.tenstorrent.lower_elements import Elements, is_wide
from tle_raw.targets.tenstorrent.padding import ZEROS
from tle_raw.targets.tenstorrent.tiles import HeldProduct, Hold, TileLoop

_MOVES = (*BY_READER, WriteBlock)


def hold_products(module: Module, lower: Any) -> Module:
    """The module with ``Hold`` and ``HeldProduct`` where they fit; ``lower`` makes a ``TileLoop`` of a ``Multiply``."""
    holder = _Holder(module, lower)
    body = without_dead(holder.body(module.body))
    left = {name for s in walk(body) for name in (defined(s), *used(s)) if name}
    buffers = {name: b for name, b in holder.buffers.items() if name in left}
    locals_ = {name: local for name, local in module.locals.items() if name in left}
    return replace(module, body=body, circular_buffers=buffers, locals=locals_)


class _Holder:
    def __init__(self, module: Module, lower: Any) -> None:
        self.module, self.lower = module, lower
        self.buffers: dict[str, CircularBuffer] = dict(module.circular_buffers)
        self.nodes = 1 + max((s.node for s in walk(module.body) if hasattr(s, "node")), default=0)

    def body(self, body: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sequence, and those inside its loops."""
        found: list[Any] = []
        for statement in body:
            inner = {
                n: self.body(getattr(statement, n)) for n in ("body", "then", "otherwise") if hasattr(statement, n)
            }
            found.append(replace(statement, **inner) if inner else statement)
        for place, statement in enumerate(found):
            if isinstance(statement, Repeat):
                found = self._held(found, place)
                if found[place] is not statement:  # what is before the loop has moved: begin again
                    return self.body(tuple(found))
        return tuple(found)

    def _held(self, body: list[Any], place: int) -> list[Any]:
        loop = body[place]
        computing = [s for s in walk(loop.body) if not isinstance(s, _MOVES)]
        if len(computing) != 1 or not isinstance(computing[0], Multiply) or computing[0] not in loop.body:
            return body
        turns = difference(loop.stop, loop.start)
        if set(turns) != {None} or turns[None] < 1:
            return body  # with no turn at all DST would hold nothing
        product = computing[0]
        name = product.target
        local = self.module.locals[name]
        makers = [s for s in walk(self.module.body) if defined(s) == name]
        users = [s for s in walk(self.module.body) if name in used(s) and s is not product]
        start = next((n for n, s in enumerate(body[:place]) if s in makers), None)
        limit = 4 if is_wide(self.module) else 8
        if start is None or len(makers) != 2 or not self._is_zero(body[start]) or local.tiles > limit:
            return body
        if any(not isinstance(s, _MOVES) for s in body[start + 1 : place]):
            return body
        made: TileLoop = self.lower(self.module, replace(product, fresh=True))
        held = HeldProduct(made.rows, made.columns, made.steps, (product.a, product.b), product.location, product.node)
        inside = tuple(held if s is product else s for s in loop.body)
        tail, rest = self._packed(name, users, body[place + 1 :], limit)
        before = [*body[:start], *body[start + 1 : place]]
        hold = Hold(made.steps, product.location)
        return [*before, hold, replace(loop, body=inside), *tail, *rest]

    def _is_zero(self, statement: Any) -> bool:
        """The tile of zeros that products start from."""
        value = getattr(statement, "value", None)
        return isinstance(statement, Each) and isinstance(value, Part) and value.local.startswith(ZEROS)

    def _packed(self, name: str, users: list[Any], rest: list[Any], limit: int) -> tuple[list[Any], list[Any]]:
        """What packs the registers, and the other operations behind the loop."""
        local = self.module.locals[name]
        place = next((n for n, s in enumerate(rest) if not isinstance(s, _MOVES)), None)
        each = rest[place] if place is not None else None
        if place is not None and isinstance(each, Each) and users == [each]:
            whole = [part for part in parts(each.value) if part.local == name]
            target = self.module.locals[each.target]
            elements = Elements(self.module, target, held=name)
            if len(whole) == 1 and target.shape == local.shape and whole[0].axes == (0, 1)[: len(local.shape)]:
                steps = elements.steps(each.value)
                if elements.stayed and local.tiles + elements.most - 1 <= limit:
                    uses = tuple(other for other in used(each) if other != name)
                    loop = TileLoop(
                        target.name, target.tile_rows, target.tile_columns, tuple(steps), uses, elements.most,
                        location=each.location, node=each.node, held=True,
                    )  # fmt: skip
                    return [*rest[:place], loop], rest[place + 1 :]
        buffer = self.buffers[name]
        self.buffers[name] = replace(buffer, capacity=buffer.block)
        loop = TileLoop(name, local.tile_rows, local.tile_columns, (), (), held=True, node=self.nodes)
        self.nodes += 1
        return [loop], rest
