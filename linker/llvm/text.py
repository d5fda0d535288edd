"""Reads LLVM textual IR: tokens, the top-level entities of a module, and edits that keep all other bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tle_raw.errors import LinkError, SourceLocation


class UnreadableIRError(LinkError):
    """LLVM IR text that this reader does not understand; nothing is guessed."""


class Token(NamedTuple):
    """One token. ``kind`` is word, string, punctuation, or the sigil of a name: @ % $ ! # ^."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """A name without its sigil and quotes, with its escapes decoded."""
        return decode_name(self.text)


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

    def with_text(self, more: str) -> Module:
        """The module with more text behind it."""
        return self.edited([Edit(len(self.text), len(self.text), more)])


class Edit(NamedTuple):
    """Replace ``[start, end)`` of a text."""

    start: int
    end: int
    replacement: str


_NAME = r'(?:[-a-zA-Z$._0-9]+|"[^"]*")'
_TOKEN = re.compile(
    rf"""(?P<space>(?:\s|;[^\n]*)+)
    |(?P<name>[@%$]{_NAME}|[!](?:[-a-zA-Z$._0-9\\]+)|[#^][-a-zA-Z$._0-9]+)
    |(?P<string>"[^"]*")
    |(?P<word>\.\.\.|[-+]?[a-zA-Z$._0-9][-+a-zA-Z$._0-9]*)
    |(?P<punctuation>[(){{}}\[\]<>,=*:|!/])""",
    re.VERBOSE,
)
# Everything up to the next bracket that is not a flat pair; strings and comments hide their brackets.
# The outer group is not possessive: Python before 3.11.5 mishandles possessive groups.
_FLAT = re.compile(r'(?:[^"{}()\[\];]++|"[^"]*"|;[^\n]*+|\([^"{}()\[\];]*+\)|\[[^"{}()\[\];]*+\]|\{[^"{}()\[\];]*+\})*')
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
_OPEN, _CLOSE = "({[", ")}]"
# Compilers write a dozen. LLVM's own reader, and ours of types, call themselves for each and run out of stack.
_DEEPEST = 64


def tokenize(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The tokens of a range; spaces and comments are skipped.

    Raises
    ------
    UnreadableIRError : a character that begins no token.
    """
    end = len(text) if end is None else end
    while start < end:
        match = _TOKEN.match(text, start, end)
        if match is None:
            raise unreadable(text, start)
        kind, value = match.lastgroup, match.group()
        if kind != "space":
            yield Token(value[0] if kind == "name" else str(kind), value, start, match.end())
        start = match.end()


@lru_cache(maxsize=2)  # an adapter looks at its compiler's text before the linker does
def read_module(text: str) -> Module:
    """Split a module into its top-level entities.

    Raises
    ------
    UnreadableIRError : the text is no LLVM IR, or brackets do not match.
    """
    return Module(text, tuple(_entities(text, 0, len(text))))


def _entities(text: str, position: int, limit: int) -> Iterator[Entity]:
    """The entities of a range: another entity starts at ``limit``, or the text ends there."""
    position = _skip_space(text, position)
    while position < limit:
        kind, name = _starts_entity(text, _token_at(text, position)) or _refuse(text, position)
        if kind == "define":
            end, body, name = _definition(text, position)
        else:
            end = body = _end_of_entity(text, position)
            if kind == "declare":
                name = next((t.name for t in tokenize(text, position, end) if t.kind == "@"), "")
        yield Entity(kind, name, position, end, body)
        position = _skip_space(text, end)


def _entities_after(entities: Iterable[Entity], edits: Sequence[Edit], text: str) -> Iterator[Entity]:
    """The entities of ``text``, which edits in order have made of a text that had these entities."""
    shift = 0  # by which all that follows the edits so far has moved
    known = 0  # in the new text: the end of the last entity that was given
    edited, next_edit = -1, 0  # where the latest edit ends, in the old text
    is_stale = False
    for entity in entities:
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


def _refuse(text: str, position: int) -> tuple[str, str]:
    raise unreadable(text, position)


def _token_at(text: str, position: int) -> re.Match[str]:
    match = _TOKEN.match(text, position)
    if match is None:
        raise unreadable(text, position)
    return match


def _starts_entity(text: str, match: re.Match[str]) -> tuple[str, str] | None:
    """Kind and name of the entity that starts with this token; None when none does."""
    value = match.group()
    if match.lastgroup == "word":
        return (value, "") if value in _STARTERS else None
    kind = _NAMED.get(value[0]) if match.lastgroup == "name" else None
    if kind is None or not text.startswith("=", _skip_space(text, match.end())):
        return None
    return kind, decode_name(value)


def _end_of_entity(text: str, position: int) -> int:
    """Where the last token stands before the next entity starts."""
    end, first = position, True
    while position < len(text):
        match = _token_at(text, position)
        if not first and _starts_entity(text, match):
            break
        end = _after_token(text, match)
        position, first = _skip_space(text, end), False
    return end


def _definition(text: str, position: int) -> tuple[int, int, str]:
    """End, start of the body and name of a function definition."""
    name, seen_parameters = "", False
    while position < len(text):
        match = _token_at(text, position)
        value = match.group()
        if value == "{" and seen_parameters:
            return _after_token(text, match), position, name
        if value in ("prefix", "prologue") and seen_parameters:
            raise unreadable(text, position, f"`{value}` data of a function")
        if value.startswith("@") and not name:
            name = decode_name(value)
        seen_parameters = seen_parameters or (value == "(" and bool(name))
        position = _skip_space(text, _after_token(text, match))
    raise unreadable(text, len(text), "a function without a body")


def _after_token(text: str, match: re.Match[str]) -> int:
    """End of a token, or of the whole group when it opens a bracket."""
    return _after_group(text, match.start()) if match.group() in _OPEN else match.end()


def _after_group(text: str, position: int) -> int:
    opened = [position]
    position += 1
    while opened:
        flat = _FLAT.match(text, position)
        position = flat.end() if flat else position
        bracket = text[position : position + 1]
        if not bracket or bracket == '"':
            raise unreadable(text, opened[-1], "a bracket that is never closed")
        if bracket in _OPEN:
            opened.append(position)
            if len(opened) > _DEEPEST:
                raise unreadable(text, opened[0], f"brackets inside brackets, more than {_DEEPEST} deep")
        elif _CLOSE.index(bracket) != _OPEN.index(text[opened.pop()]):
            raise unreadable(text, position, "a bracket that closes another kind")
        position += 1
    return position


def _skip_space(text: str, position: int) -> int:
    match = _TOKEN.match(text, position)
    return match.end() if match and match.lastgroup == "space" else position


def decode_name(text: str) -> str:
    """The name that ``@f``, ``@"a b"`` or ``!llvm.ident`` spells."""
    name = text[1:]
    if not name.startswith('"'):
        return name
    # in one pass: a backslash that an escape gives must not be read as half of another
    return re.sub(r"\\(\\|[0-9a-fA-F]{2})", lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), name[1:-1])


def encode_name(sigil: str, name: str) -> str:
    """The inverse of ``decode_name``; quotes only where LLVM wants them."""
    if re.fullmatch(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*", name) or re.fullmatch(r"\d+", name):
        return sigil + name
    escaped = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in name)
    return f'{sigil}"{"".join(escaped)}"'


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


def line_of(text: str, position: int) -> int:
    """Line number, from 1, of a position."""
    return text.count("\n", 0, position) + 1


def unreadable(text: str, position: int, what: str = "") -> UnreadableIRError:
    """The error for text at a position that is not understood."""
    line = line_of(text, position)
    start = text.rfind("\n", 0, position) + 1
    excerpt = text[start : text.find("\n", position) if "\n" in text[position:] else len(text)]
    what = what or f"unexpected {excerpt[position - start :][:24]!r}"
    error = UnreadableIRError(
        f"cannot read the LLVM IR at line {line}: {what}",
        hint="textual LLVM IR of clang 19 to 22 is understood; bitcode must be disassembled first",
    )
    error.at(source=SourceLocation("<LLVM IR>", line, position - start + 1, excerpt[:200]))
    return error
