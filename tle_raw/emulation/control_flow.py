"""The blocks of a function in LLVM's text, in an order in which a loop stands before what follows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tle_raw.linker.llvm.text import Entity, Module

# The blocks to which a block may go.
Following = Callable[[str], list[str]]
_LABEL = re.compile(r'^(?P<name>[-\w.$]+|"[^"\n]*"):', re.MULTILINE)
_TARGET = re.compile(r'\blabel %(?P<name>[-\w.$]+|"[^"\n]*")')
_TERMINATOR = re.compile(r"^[ \t]+(?:br|switch|indirectbr|callbr) ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A basic block: where it stands in the text, and where it may go."""

    start: int
    end: int
    branch: int  # where its branch begins; its end when it has none
    successors: tuple[str, ...]


@dataclass
class ProgramOrder:
    """Blocks in order, and the loops: the blocks of each, and those of them that go back to its head."""

    names: list[str] = field(default_factory=list)
    loops: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)


def read_blocks(module: Module, entity: Entity) -> dict[str, Block]:
    """The blocks of a definition by name; the first one's is ""."""
    text, start = module.text, entity.body + 1
    labels = list(_LABEL.finditer(text, start, entity.end))
    if labels and not text[start : labels[0].start()].strip():
        starts = [("", labels[0].end()), *((m["name"], m.end()) for m in labels[1:])]
        first = labels[0]["name"]
    else:
        starts, first = [("", start), *((m["name"], m.end()) for m in labels)], ""
    ends = [*(position for _, position in starts[1:]), entity.end]
    return {name: _block(text, position, end, first) for (name, position), end in zip(starts, ends)}


def _block(text: str, start: int, end: int, first: str) -> Block:
    branches = [m.start() for m in _TERMINATOR.finditer(text, start, end)]
    branch = branches[-1] if branches else end
    names = [m["name"] for m in _TARGET.finditer(text, branch, end)]
    return Block(start, end, branch, tuple("" if first and name == first else name for name in names))


def program_order(successors: dict[str, Sequence[str]], entry: str) -> ProgramOrder:
    """The order in which lanes that have parted come together again: where all wait but those that are first in it.

    Each block stands behind those that lead to it, and what follows a loop behind all of the loop.
    """
    order = ProgramOrder()
    _visit(set(successors), successors, entry, frozenset(), order)
    return order


def _visit(
    nodes: set[str], successors: dict[str, Sequence[str]], entry: str, without: frozenset[str], order: ProgramOrder
) -> None:
    """Components that reach each other, in order; of a loop, the rest of it without the way back to its head."""

    def following(name: str) -> list[str]:
        return [s for s in successors[name] if s in nodes and s not in without]

    for component in reversed(list(_components(entry, nodes, following))):
        if len(component) == 1 and component[0] not in following(component[0]):
            order.names.append(component[0])
            continue
        inside = set(component)
        head = _head(component, inside, entry, nodes, following)
        back = frozenset(name for name in component if head in following(name))
        order.loops.append((frozenset(inside), back))
        _visit(inside, successors, head, without | {head}, order)


def _head(component: list[str], inside: set[str], entry: str, nodes: set[str], following: Following) -> str:
    """The block by which a loop is entered."""
    if entry in inside:
        return entry
    entered = {s for name in nodes - inside for s in following(name)} & inside
    return next((name for name in component if name in entered), component[0])


def _components(entry: str, nodes: Iterable[str], following: Following) -> Iterator[list[str]]:
    """Tarjan's strongly connected components, last ones first."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    for root in (entry, *sorted(nodes)):
        if root in number:
            continue
        work = [(root, iter(following(root)))]
        number[root] = low[root] = len(number)
        path.append(root)
        on_path.add(root)
        while work:
            name, rest = work[-1]
            unseen = next((s for s in rest if _notice(name, s, number, low, on_path)), None)
            if unseen is not None:
                number[unseen] = low[unseen] = len(number)
                path.append(unseen)
                on_path.add(unseen)
                work.append((unseen, iter(following(unseen))))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[name])
            if low[name] == number[name]:
                component = path[path.index(name) :]
                del path[path.index(name) :]
                on_path.difference_update(component)
                yield component


def _notice(name: str, successor: str, number: dict[str, int], low: dict[str, int], on_path: set[str]) -> bool:
    """Whether a successor is new; of one that is not, what it tells of the block."""
    if successor not in number:
        return True
    if successor in on_path:
        low[name] = min(low[name], number[successor])
    return False
