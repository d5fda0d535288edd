"""The body of a loop in MLIR's generic form: its operations, and which of them needs the value of which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.linker.mlir.generic_operation import generic_name, read_generic
from tle_raw.linker.mlir.structure import Nest
from tle_raw.linker.mlir.text import matching_bracket, split_top_level, value_names

FOR = "scf.for"


@dataclass(frozen=True)
class BodyOperation:
    """One operation of the body, with all that stands in its regions.

    Attributes
    ----------
    begin, end : its first and its last line.
    result : the SSA name of its results, without the number of one of several; "" where it has none.
    uses : the names that it and what it holds use.
    """

    name: str
    begin: int
    end: int
    result: str
    uses: frozenset[str]


@dataclass(frozen=True)
class Need:
    """Operation ``user`` needs what ``maker`` gives, in the same iteration or in the one before."""

    maker: int
    user: int
    is_carried: bool


@dataclass(frozen=True)
class LoopBody:
    """A loop's body.

    Attributes
    ----------
    begin, end : the first and the last line of the loop.
    needs : between operations of the body, by their places in it.
    strays : loop variables that get the value of another one, or of none that the body makes: it is older than one
        iteration where it is used.
    """

    begin: int
    end: int
    operations: tuple[BodyOperation, ...]
    needs: tuple[Need, ...]
    strays: tuple[str, ...]


def loops(found: Sequence[int | Nest]) -> Iterator[Nest]:
    """The ``scf.for`` of a structure, outer ones first."""
    for item in found:
        if isinstance(item, Nest):
            if f'"{FOR}"' in item.text:
                yield item
            for body in item.bodies:
                yield from loops(body)


def read_body(loop: Nest, lines: Sequence[str]) -> LoopBody:
    """A loop's body, from the lines of its module in generic form."""
    label, *items = loop.bodies[0]
    assert isinstance(label, int)
    arguments = _arguments(lines[label])
    *held, last = items
    assert isinstance(last, int)
    yielded = [operand.split("#")[0] for operand in read_generic(lines[last]).operands]
    operations = tuple(_read(item, lines) for item in held)
    maker = {operation.result: place for place, operation in enumerate(operations) if operation.result}
    carried = dict(zip(arguments[1:], yielded))
    needs = []
    for place, operation in enumerate(operations):
        for name in sorted(operation.uses):
            if name in maker:
                needs.append(Need(maker[name], place, False))
            elif name in carried and carried[name] in maker:
                needs.append(Need(maker[carried[name]], place, True))
    strays = tuple(name for name, value in carried.items() if value not in maker)
    return LoopBody(loop.begin, loop.end, operations, tuple(needs), strays)


def _arguments(label: str) -> list[str]:
    """The names in ``^bb0(%i: i32 loc(...), %x: tensor<...>):``, the loop's variable first."""
    start = label.index("(")
    inside = label[start + 1 : matching_bracket(label, start)]
    return [part.strip().partition(":")[0] for part in split_top_level(inside)]


def _read(item: int | Nest, lines: Sequence[str]) -> BodyOperation:
    begin, end = (item, item) if isinstance(item, int) else (item.begin, item.end)
    head = lines[begin]
    result = head.strip().partition(" = ")[0].split(":")[0] if head.lstrip().startswith("%") else ""
    named = {name for line in lines[begin : end + 1] for name in value_names(line)}
    return BodyOperation(generic_name(head), begin, end, result, frozenset(named - {result}))
