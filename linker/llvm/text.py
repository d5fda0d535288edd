"""Reads LLVM textual IR: the top-level entities of a module, and edits that keep all other bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from tle_raw.linker.llvm.tokens import (
    Token,
    UnreadableIRError,
    after_body,
    after_token,
    decode_name,
    encode_name,
    line_of,
    skip_space,
    token_at,
    tokenize,
    unreadable,
)

__all__ = [
    "Edit",
    "Entity",
    "Module",
    "Token",
    "UnreadableIRError",
    "apply_edits",
    "decode_name",
    "encode_name",
    "line_of",
    "read_module",
    "tokenize",
    "unreadable",
]

T = TypeVar("T")


class Entity(NamedTuple):
    """One top-level entity and its exact range. ``body`` is where a definition's ``{`` stands, else ``end``.

    ``kind`` is define, declare, global, type, comdat, metadata, attributes, target, source_filename, module,
    summary or uselistorder; ``name`` comes without sigil.
    """

    kind: str
    name: str
    start: int
    end: int
    body: int


@dataclass(frozen=True)
class Module:
    """A module's text and its entities in order; what stands between two entities is space and comments.

    The steps of the linker take and give modules: text is read when it comes, and stored or compiled at the end.
    """

    text: str
    entities: tuple[Entity, ...]
    _found: dict[Callable[[Module], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, find: Callable[[Module], T]) -> T:
        """What a function finds in the module. It is called the first time only, since modules never change."""
        if find not in self._found:
            self._found[find] = find(self)
        found: T = self._found[find]
        return found

    def of_kind(self, *kinds: str) -> Iterator[Entity]:
        """The entities of these kinds, in the text's order."""
        return (entity for entity in self.entities if entity.kind in kinds)

    def source(self, entity: Entity) -> str:
        """The text of one entity."""
        return self.text[entity.start : entity.end]

    def header(self, entity: Entity) -> list[Token]:
        """The tokens of an entity, a definition's without its body."""
        return list(tokenize(self.text, entity.start, entity.body))

    def edited(self, edits: Iterable[Edit]) -> Module:
        """The module with non-overlapping edits; only entities that an edit touches are read again.

        Raises
        ------
        UnreadableIRError : what an edit leaves is no LLVM IR.
        """
        ordered = sorted(edits)
        if not ordered:
            return self
        text = apply_edits(self.text, ordered)
        return Module(text, tuple(_entities_after(self.entities, ordered, text)))

    def respelled(self, edits: Iterable[Edit], names: Mapping[str, str] = MappingProxyType({})) -> Module:
        """The module with other words in its entities, and with the same brackets: nothing is read again.

        Parameters
        ----------
        edits : each puts whole tokens in the place of whole tokens of one entity, and leaves the number of its open
            brackets, and where a function's body begins, as they are.
        names : what functions and variables are called instead, where that changes.
        """
        ordered = sorted(edits)
        return Module(apply_edits(self.text, ordered), tuple(_moved(self.entities, ordered, names)))

    def with_text(self, more: str) -> Module:
        """The module with more text behind it."""
        return self.edited([Edit(len(self.text), len(self.text), more)])


class Edit(NamedTuple):
    """Replace ``[start, end)`` of a text."""

    start: int
    end: int
    replacement: str


_STARTERS = frozenset(
    [
        "source_filename",
        "target",
        "module",
        "define",
        "declare",
        "attributes",
        "uselistorder",
        "uselistorder_bb",
    ]
)
_NAMED = {"@": "global", "%": "type", "$": "comdat", "!": "metadata", "^": "summary"}
_WITHIN = r'(?:[^"{}()\[\];\n]++|"[^"\n]*")*'
# A node of metadata in a line, with another one behind it: compilers write thousands.
_NODE = re.compile(
    rf"""!(?P<name>[-a-zA-Z$._0-9\\]+)[ ]=[ ]
    (?:[^"{{}}()\[\];\n]++|"[^"\n]*"|\({_WITHIN}\)|\[{_WITHIN}\]|\{{{_WITHIN}\}})*(?<=[)}}])\n
    (?=![-a-zA-Z$._0-9\\]+[ ]=|\Z)""",
    re.VERBOSE,
)


@lru_cache(maxsize=2)  # an adapter looks at its compiler's text before the linker does
def read_module(text: str) -> Module:
    """Split a module into its top-level entities.

    Raises
    ------
    UnreadableIRError : the text is no LLVM IR, or brackets do not match.
    """
    return Module(text, tuple(_entities(text, 0, len(text))))


def read_global_alone(text: str, name: str) -> Module:
    """A module of one variable, in LLVM's own spelling, without a look at the others; of none where there is none."""
    start = text.find(f"\n{encode_name('@', name)} = ") + 1
    entities = () if start == 0 else (Entity("global", name, start, *[_end_of_entity(text, start)] * 2),)
    return Module(text, entities)


def _entities(text: str, position: int, limit: int) -> Iterator[Entity]:
    """The entities of a range: another entity starts at ``limit``, or the text ends there."""
    position = skip_space(text, position)
    while position < limit:
        node = _NODE.match(text, position)
        if node:
            yield Entity("metadata", node["name"], position, node.end() - 1, node.end() - 1)
            position = node.end()
            continue
        kind, name = _starts_entity(text, token_at(text, position)) or _refuse(text, position)
        if kind == "define":
            end, body, name = _definition(text, position)
        else:
            end = body = _end_of_entity(text, position)
            if kind == "declare":
                name = next((t.name for t in tokenize(text, position, end) if t.kind == "@"), "")
        yield Entity(kind, name, position, end, body)
        position = skip_space(text, end)


def _entities_after(entities: Sequence[Entity], edits: Sequence[Edit], text: str) -> Iterator[Entity]:
    """The entities of ``text``, which edits in order have made of a text that had these entities."""
    shift = 0  # by which all that follows the edits so far has moved
    known = 0  # in the new text: the end of the last entity that was given
    edited, next_edit = -1, 0  # where the latest edit ends, in the old text
    is_stale = False
    for number, entity in enumerate(entities):
        if next_edit == len(edits) and not is_stale:
            yield from _shifted(entities[number:], shift)
            return
        while next_edit < len(edits) and edits[next_edit].start <= entity.end:
            edit = edits[next_edit]
            shift += len(edit.replacement) - (edit.end - edit.start)
            edited, next_edit, is_stale = edit.end, next_edit + 1, True
        if edited >= entity.start:
            continue
        start = entity.start + shift
        if is_stale:
            yield from _entities(text, known, start)
        known, is_stale = entity.end + shift, False
        yield Entity(entity.kind, entity.name, start, known, entity.body + shift) if shift else entity
    if is_stale or next_edit < len(edits):
        yield from _entities(text, known, len(text))


def _moved(entities: Sequence[Entity], edits: Sequence[Edit], names: Mapping[str, str]) -> Iterator[Entity]:
    """The entities, moved and grown by edits in order, each of which lies in one of them."""
    shift = done = 0
    for number, entity in enumerate(entities):
        if done == len(edits):
            yield from _shifted(entities[number:], shift)
            return
        places = []
        for place in (entity.start, entity.body, entity.end):
            while done < len(edits) and edits[done].end <= place:
                shift += len(edits[done].replacement) - (edits[done].end - edits[done].start)
                done += 1
            places.append(place + shift)
        name = names.get(entity.name, entity.name) if entity.kind in ("define", "global") else entity.name
        yield Entity(entity.kind, name, places[0], places[2], places[1])


def _shifted(entities: Sequence[Entity], shift: int) -> Iterable[Entity]:
    return (Entity(kind, name, start + shift, end + shift, body + shift) for kind, name, start, end, body in entities)


def _refuse(text: str, position: int) -> tuple[str, str]:
    raise unreadable(text, position)


def _starts_entity(text: str, match: re.Match[str]) -> tuple[str, str] | None:
    """Kind and name of the entity that starts with this token; None when none does."""
    value = match.group()
    if match.lastgroup == "word":
        return (value, "") if value in _STARTERS else None
    kind = _NAMED.get(value[0]) if match.lastgroup == "name" else None
    if kind is None or not text.startswith("=", skip_space(text, match.end())):
        return None
    return kind, decode_name(value)


def _end_of_entity(text: str, position: int) -> int:
    """Where the last token stands before the next entity starts."""
    end, first = position, True
    while position < len(text):
        match = token_at(text, position)
        if not first and _starts_entity(text, match):
            break
        end = after_token(text, match)
        position, first = skip_space(text, end), False
    return end


def _definition(text: str, position: int) -> tuple[int, int, str]:
    """End, start of the body and name of a function definition."""
    name, seen_parameters = "", False
    while position < len(text):
        match = token_at(text, position)
        value = match.group()
        if value == "{" and seen_parameters:
            return after_body(text, position), position, name
        if value in ("prefix", "prologue") and seen_parameters:
            raise unreadable(text, position, f"`{value}` data of a function")
        if value.startswith("@") and not name:
            name = decode_name(value)
        seen_parameters = seen_parameters or (value == "(" and bool(name))
        position = skip_space(text, after_token(text, match))
    raise unreadable(text, len(text), "a function without a body")


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with non-overlapping edits; every other character stays."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits):
        if edit.start < position:
            raise ValueError(f"edits overlap at {edit.start}")
        pieces += (text[position : edit.start], edit.replacement)
        position = edit.end
    return "".join((*pieces, text[position:]))
