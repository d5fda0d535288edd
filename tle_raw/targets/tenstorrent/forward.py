"""Element-wise operations one after the other become one: an intermediate that one other reads is computed there.

A buffer that is only copied into another takes its name, and what nobody reads is not computed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.blocks import (
    Each,
    Multiply,
    Part,
    WriteBlock,
    defined,
    map_expression,
    parts,
    renamed,
    used,
)
from tle_raw.targets.tenstorrent.ir import Module, walk
from tle_raw.targets.tenstorrent.webs import rewritten
from tle_raw.tile_program import Apply, Number

REGISTERS = 4  # of 32 bits an element, which DST holds at the least


def forward(module: Module) -> Module:
    """The same program with fewer buffers."""
    body = module.body
    while True:
        changed = without_dead(_renamed_copies(module, _sequence(module, body)))
        if changed == body:
            break
        body = changed
    left = {name for s in walk(body) for name in (defined(s), *used(s)) if name}
    return replace(module, body=body, locals={n: v for n, v in module.locals.items() if n in left})


def registers_of(expression: Any) -> int:
    """How many registers an expression takes, the more expensive side first."""
    needs = sorted((registers_of(a) for a in getattr(expression, "arguments", ())), reverse=True)
    return max([need + place for place, need in enumerate(needs)], default=1)


def _counts(body: tuple[Any, ...]) -> tuple[Counter[str], Counter[str]]:
    uses: Counter[str] = Counter()
    defs: Counter[str] = Counter()
    for statement in walk(body):
        uses.update([p.local for p in parts(statement.value)] if isinstance(statement, Each) else used(statement))
        if defined(statement):
            defs[str(defined(statement))] += 1
    return uses, defs


def _sequence(module: Module, body: tuple[Any, ...]) -> tuple[Any, ...]:
    """One element-wise operation put into the next that reads it."""
    uses, defs = _counts(module.body if body is module.body else body)
    return _substituted(module, body, uses, defs)


def _substituted(module: Module, body: tuple[Any, ...], uses: Any, defs: Any) -> tuple[Any, ...]:
    found = [_inside(module, statement, uses, defs) for statement in body]
    number = 0
    while number < len(found):
        one = found[number]
        if isinstance(one, Each) and uses[one.target] == 1 and defs[one.target] == 1:
            place = _reader_of(module, found, number)
            if place is not None:
                found[place] = _put_into(found[place], one)
                del found[number]
                continue
        number += 1
    return tuple(found)


def _inside(module: Module, statement: Any, uses: Any, defs: Any) -> Any:
    names = [name for name in ("body", "then", "otherwise") if hasattr(statement, name)]
    inner = {name: _substituted(module, getattr(statement, name), uses, defs) for name in names}
    return replace(statement, **inner) if inner else statement


def _reader_of(module: Module, body: list[Any], number: int) -> int | None:
    """Where the one reader stands, if the operation may be put there."""
    one = body[number]
    needs = {part.local for part in parts(one.value)}
    for place in range(number + 1, len(body)):
        other = body[place]
        if one.target in used(other):
            if not isinstance(other, Each) or module.locals[other.target].shape != module.locals[one.target].shape:
                return None
            return place if registers_of(_put_into(other, one).value) <= REGISTERS else None
        if needs & {defined(s) for s in walk((other,))} or one.target in {n for s in walk((other,)) for n in used(s)}:
            return None
    return None


def _put_into(reader: Each, one: Each) -> Each:
    change = lambda e: one.value if isinstance(e, Part) and e.local == one.target else _simpler(e)  # noqa: E731
    return replace(reader, value=map_expression(map_expression(reader.value, change), _simpler))


def _simpler(expression: Any) -> Any:
    """Without what changes nothing."""
    if not isinstance(expression, Apply) or len(expression.arguments) != 2:
        return expression
    nothing = {"max": float("-inf"), "min": float("inf"), "add": 0, "mul": 1}.get(expression.function)
    for a, b in (expression.arguments, expression.arguments[::-1]):
        if nothing is not None and isinstance(a, Number) and a.value == nothing:
            return b
    return expression


def _renamed_copies(module: Module, body: tuple[Any, ...]) -> tuple[Any, ...]:
    uses, defs = _counts(body)
    makers = {defined(s): s for s in walk(body) if defined(s)}
    for statement in walk(body):
        if not (isinstance(statement, Each) and isinstance(statement.value, Part)):
            continue
        source, target = module.locals[statement.value.local], module.locals[statement.target]
        if statement.value.axes != tuple(range(len(source.shape))) or source.name == target.name:
            continue
        same = (source.shape, source.dtype) == (target.shape, target.dtype) and source.form in ("", target.form)
        if not same or uses[source.name] != 1 or defs[source.name] != 1 or defs[target.name] != 1:
            continue
        if isinstance(makers[source.name], Multiply) or not _same_sequence(body, makers[source.name], statement):
            continue
        names = {source.name: target.name}

        def change(one: Any, copy: Any = statement, names: Any = names) -> tuple[Any, ...]:
            return () if one is copy else (renamed(one, names),)

        return rewritten(body, change)
    return body


def _same_sequence(body: tuple[Any, ...], a: Any, b: Any) -> bool:
    here = [one is a or one is b for one in body]
    if any(here):
        return sum(here) == 2
    return any(
        _same_sequence(getattr(s, n), a, b) for s in body for n in ("body", "then", "otherwise") if hasattr(s, n)
    )


def without_dead(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without what gives values to buffers that nobody reads."""
    read = {name for statement in walk(body) for name in used(statement)}

    def change(one: Any) -> tuple[Any, ...]:
        dead = defined(one) is not None and defined(one) not in read and not isinstance(one, WriteBlock)
        return () if dead else (one,)

    return rewritten(body, change)
