"""Addresses of global variables that are known at run time only: each use becomes one of instructions at the top."""

from __future__ import annotations

from collections.abc import Collection

from tle_raw.linker.llvm.references import global_names
from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, tokenize

_EXPRESSIONS = frozenset(("getelementptr", "addrspacecast", "ptrtoint", "inttoptr", "bitcast", "trunc", "add", "sub"))
_OF_TWO = ("add", "sub")  # integers
_FLAGS = frozenset(("inbounds", "nuw", "nsw", "nusw", "inrange"))


class HoistedAddresses:
    """Instructions at the top of a function that compute addresses. Constant expressions over them come along."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[str] = []
        self._known: dict[str, str] = {}

    def address(self, name: str) -> str:
        """The value that stands for the variable, of its own pointer type; made of ``value`` lines."""
        raise NotImplementedError

    def value(self, instruction: str) -> str:
        """Add an instruction; the name of its result."""
        name = f"%tle.shared.{len(self._lines)}"
        self._lines.append(f"{name} = {instruction}")
        return name

    def text(self) -> str:
        """The lines to insert, each behind a line break."""
        return "".join(f"\n  {line}" for line in self._lines)

    def variable(self, name: str) -> str:
        """The value that holds a variable's address; made when it is asked for first."""
        known = self._known.get("@" + name)
        if known is None:
            known = self._known["@" + name] = self.address(name)
        return known

    def expression(self, tokens: list[Token], names: Collection[str]) -> str:
        """A constant expression as instructions: its inner ones first."""
        key = self._text[tokens[0].start : tokens[-1].end]
        if key not in self._known:
            opening = next(i for i, t in enumerate(tokens) if t.text == "(" and tokens[i - 1].text != "inrange")
            head = " ".join(t.text for t in tokens[:opening] if t.text not in ("inrange",) and t.kind == "word")
            inner = tokens[opening + 1 : -1]
            parts = _arguments(inner) if tokens[0].text in _OF_TWO else [inner]
            # an instruction says the type of both once, before the first
            parts = [part[1:] if number else part for number, part in enumerate(parts)]
            self._known[key] = self.value(f"{head} {', '.join(self._operands(part, names) for part in parts)}")
        return self._known[key]

    def _operands(self, tokens: list[Token], names: Collection[str]) -> str:
        pieces: list[str] = []
        position, index = tokens[0].start, 0
        while index < len(tokens):
            token = tokens[index]
            end = _end_of_expression(tokens, index) if token.text in _EXPRESSIONS else 0
            if end:
                pieces += (self._text[position : token.start], self.expression(tokens[index:end], names))
                position, index = tokens[end - 1].end, end
                continue
            if token.kind == "@" and token.name in names:
                pieces += (self._text[position : token.start], self.variable(token.name))
                position = token.end
            index += 1
        return "".join((*pieces, self._text[position : tokens[-1].end]))


def hoist_addresses(
    module: Module, entity: Entity, names: Collection[str], start: int, writer: HoistedAddresses
) -> list[Edit]:
    """The edits of a definition that uses the variables ``names``; ``start`` is where instructions may be put in."""
    if not any(place[0] in names for place in global_names(module.text, entity.body, entity.end)):
        return []
    edits: list[Edit] = []
    tokens = list(tokenize(module.text, entity.body + 1, entity.end - 1))
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _EXPRESSIONS and index + 1 < len(tokens):
            end = _end_of_expression(tokens, index)
            used = {t.name for t in tokens[index:end] if t.kind == "@"} if end else set()
            if end and not used.isdisjoint(names):
                edits.append(Edit(token.start, tokens[end - 1].end, writer.expression(tokens[index:end], names)))
                index = end
                continue
        if token.kind == "@" and token.name in names:
            edits.append(Edit(token.start, token.end, writer.variable(token.name)))
        index += 1
    return [*edits, Edit(start, start, writer.text())]


def _end_of_expression(tokens: list[Token], index: int) -> int:
    """One past a constant expression ``op flags (…)``; 0 for an instruction, whose operands stand in no brackets."""
    position = index + 1
    while position < len(tokens) and tokens[position].kind == "word" and tokens[position].text in _FLAGS:
        position += 1
        if tokens[position].text == "(" and tokens[position - 1].text == "inrange":
            position = _after(tokens, position)
    if position >= len(tokens) or tokens[position].text != "(":
        return 0
    return _after(tokens, position)


def _arguments(tokens: list[Token]) -> list[list[Token]]:
    """What stands between commas."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _after(tokens: list[Token], index: int) -> int:
    depth = 0
    while True:
        depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        index += 1
        if depth == 0:
            return index
