"""Each buffer is split into its values: what one use may see of several definitions is one value, and gets a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tle_raw.errors import FragmentSourceError
from tle_raw.targets.tenstorrent.blocks import Choice, Multiply, Repeat, defined, renamed, used
from tle_raw.targets.tenstorrent.ir import Module, walk

_State = dict[str, frozenset[int]]


def numbered(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operations with a number each, in order."""
    count = iter(range(1_000_000))
    return rewritten(body, lambda one: (replace(one, node=next(count)),) if hasattr(one, "node") else (one,))


def rewritten(body: tuple[Any, ...], change: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The body with each operation replaced by several; loops and branches stay around theirs."""
    found: list[Any] = []
    for statement in body:
        inner = {
            name: rewritten(getattr(statement, name), change)
            for name in ("body", "then", "otherwise")
            if hasattr(statement, name)
        }
        found.extend((replace(statement, **inner),) if inner else change(statement))
    return tuple(found)


def split_values(module: Module) -> Module:
    """Every value under a name of its own; the first of a buffer keeps the buffer's.

    Raises
    ------
    FragmentSourceError : a buffer is read before anything is in it.
    """
    body = numbered(module.body)
    webs = _Webs()
    webs.run(body, {})
    names: dict[int, str] = {}
    locals_ = dict(module.locals)
    taken: dict[str, list[int]] = {}
    for statement in walk(body):
        target = defined(statement)
        if target is None:
            continue
        root = webs.find(statement.node)
        if root not in names:
            earlier = taken.setdefault(target, [])
            names[root] = target if not earlier else _free(target, len(earlier), locals_)
            earlier.append(root)
            locals_[names[root]] = replace(locals_[target], name=names[root])
    change = _renamer(webs, names)
    kept = rewritten(body, change)
    used_now = {name for s in walk(kept) for name in (defined(s), *used(s)) if name}
    return replace(module, body=kept, locals={n: v for n, v in locals_.items() if n in used_now})


def _renamer(webs: _Webs, names: dict[int, str]) -> Callable[[Any], tuple[Any, ...]]:
    def change(statement: Any) -> tuple[Any, ...]:
        sources = {name: names[webs.find(web)] for (node, name), web in webs.uses.items() if node == statement.node}
        statement = renamed(statement, sources, targets=False)
        target = defined(statement)
        if target is not None:
            statement = replace(statement, target=names[webs.find(statement.node)])
        return (statement,)

    return change


def _free(name: str, number: int, taken: Any) -> str:
    while f"{name}_v{number}" in taken:
        number += 1
    return f"{name}_v{number}"


class _Webs:
    """Definitions that one use may see are joined."""

    def __init__(self) -> None:
        self.parents: dict[int, int] = {}
        self.uses: dict[tuple[int, str], int] = {}

    def find(self, node: int) -> int:
        while self.parents.get(node, node) != node:
            node = self.parents[node]
        return node

    def _join(self, nodes: Iterator[int]) -> int:
        roots = sorted({self.find(node) for node in nodes})
        for root in roots[1:]:
            self.parents[root] = roots[0]
        return roots[0]

    def run(self, body: tuple[Any, ...], state: _State) -> _State:
        """The definitions that reach the end of the body."""
        for statement in body:
            if isinstance(statement, Repeat):
                state = self._loop(statement, state)
            elif isinstance(statement, Choice):
                state = _merged(self.run(statement.then, dict(state)), self.run(statement.otherwise, dict(state)))
            else:
                state = self._one(statement, state)
        return state

    def _loop(self, loop: Repeat, state: _State) -> _State:
        entered = state
        while True:
            left = self.run(loop.body, dict(entered))
            joined = {name: entered.get(name, frozenset()) | left.get(name, frozenset()) for name in {*entered, *left}}
            # What only the body defines is seen behind the loop, and by its next turn where that reads it first.
            if joined == entered:
                return joined
            entered = {name: nodes for name, nodes in joined.items() if name in entered or name in left}

    def _one(self, statement: Any, state: _State) -> _State:
        for name in used(statement):
            reaching = state.get(name, frozenset())
            if not reaching:
                raise FragmentSourceError(
                    f"the buffer `{name}` is read before anything is in it", hint="T.clear or T.fill it first"
                ).at(source=getattr(statement, "location", None))
            self.uses[statement.node, name] = self._join(iter(reaching))
        target = defined(statement)
        if target is not None:
            if isinstance(statement, Multiply) and not statement.fresh:
                self._join(iter((*state[target], statement.node)))
            state = {**state, target: frozenset({statement.node})}
        return state


def _merged(a: _State, b: _State) -> _State:
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {*a, *b}}
