"""Static shared variables: from globals of address space 3 to places in the block's shared memory.

A block has one object for each variable, and each worker thread of the launch has a block of its own. So a global
will not do: every function asks the runtime for the block's shared memory first, and adds the variable's offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.errors import SharedMemoryError
from tle_raw.flir.cpu.team.stack_checks import start_of_block
from tle_raw.linker.functions import read_global
from tle_raw.linker.llvm_text import Edit, Entity, Module, Token, apply_edits, read_module, tokenize
from tle_raw.linker.normalise import removal
from tle_raw.linker.references import global_names
from tle_raw.linker.shared_memory import SHARED_SPACE, SharedVariable, static_shared

LIMIT = 227 * 1024  # of a block on the largest GPU
_EXPRESSIONS = frozenset(("getelementptr", "addrspacecast", "ptrtoint", "inttoptr", "bitcast", "trunc", "add", "sub"))


@dataclass(frozen=True)
class Placed:
    """The module without shared globals, and what its block's shared memory holds."""

    text: str
    variables: tuple[SharedVariable, ...]
    bytes: int


def place_shared_variables(text: str, entry: str) -> Placed:
    """Give every shared variable that the entry reaches its offset.

    Raises
    ------
    UnsupportedFeatureError : ``extern __shared__``. SharedMemoryError : more than any GPU's block has.
    """
    variables = static_shared(text, entry)
    module = read_module(text)
    offsets, total = _offsets(variables)
    if total > LIMIT:
        raise SharedMemoryError(
            f"the fragment's shared variables take {total} bytes, and a block has {LIMIT} at most",
            hint="use smaller arrays, or reuse one",
        )
    everywhere = {e.name for e in module.of_kind("global") if read_global(module, e).address_space == SHARED_SPACE}
    edits: list[Edit] = []
    for entity in module.entities:
        if entity.kind == "global" and (entity.name in everywhere or _keeps_alive(entity)):
            edits.append(removal(module, entity))
        elif entity.kind == "define":
            edits += _function_edits(module, entity, everywhere, offsets)
    return Placed(apply_edits(text, edits), variables, total)


def _offsets(variables: tuple[SharedVariable, ...]) -> tuple[dict[str, int], int]:
    offsets, end = {}, 0
    for variable in sorted(variables, key=lambda v: (-v.align, v.name)):
        align = max(variable.align, 16)
        end = -(-end // align) * align
        offsets[variable.name] = end
        end += variable.bytes
    return offsets, end


def _keeps_alive(entity: Entity) -> bool:
    return entity.name in ("llvm.used", "llvm.compiler.used")


def _function_edits(module: Module, entity: Entity, shared: set[str], offsets: dict[str, int]) -> list[Edit]:
    found = [place for place in global_names(module.text, entity.body, entity.end) if place[0] in shared]
    if not found:
        return []
    writer = _Hoisted(module.text, offsets)
    edits: list[Edit] = []
    tokens = list(tokenize(module.text, entity.body + 1, entity.end - 1))
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _EXPRESSIONS and index + 1 < len(tokens):
            end = _end_of_expression(tokens, index)
            names = {t.name for t in tokens[index:end] if t.kind == "@"} if end else set()
            if end and names & shared:
                value = writer.expression(tokens[index:end])
                edits.append(Edit(token.start, tokens[end - 1].end, value))
                index = end
                continue
        if token.kind == "@" and token.name in shared:
            edits.append(Edit(token.start, token.end, writer.variable(token.name)))
        index += 1
    start = start_of_block(module.text, entity)
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


_FLAGS = frozenset(("inbounds", "nuw", "nsw", "nusw", "inrange"))


def _after(tokens: list[Token], index: int) -> int:
    depth = 0
    while True:
        depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        index += 1
        if depth == 0:
            return index


class _Hoisted:
    """Instructions at the top of a function that compute addresses of shared variables."""

    def __init__(self, text: str, offsets: dict[str, int]) -> None:
        self._text, self._offsets = text, offsets
        self._lines: list[str] = []
        self._known: dict[str, str] = {}

    def text(self) -> str:
        return "".join(f"\n  {line}" for line in self._lines)

    def variable(self, name: str) -> str:
        if "base" not in self._known:
            self._known["base"] = self._value("call ptr @tle_team_shared()")
        known = self._known.get("@" + name)
        if known is None:
            offset = self._offsets.get(name, 0)
            plain = self._value(f"getelementptr i8, ptr {self._known['base']}, i64 {offset}")
            known = self._known["@" + name] = self._value(f"addrspacecast ptr {plain} to ptr addrspace({SHARED_SPACE})")
        return known

    def expression(self, tokens: list[Token]) -> str:
        """A constant expression as instructions: its inner ones first."""
        key = self._text[tokens[0].start : tokens[-1].end]
        if key not in self._known:
            opening = next(i for i, t in enumerate(tokens) if t.text == "(" and tokens[i - 1].text != "inrange")
            head = " ".join(t.text for t in tokens[:opening] if t.text not in ("inrange",) and t.kind == "word")
            inner = tokens[opening + 1 : -1]
            self._known[key] = self._value(f"{head} {self._operands(inner)}")
        return self._known[key]

    def _operands(self, tokens: list[Token]) -> str:
        pieces: list[str] = []
        position, index = tokens[0].start, 0
        while index < len(tokens):
            token = tokens[index]
            end = _end_of_expression(tokens, index) if token.text in _EXPRESSIONS else 0
            if end:
                pieces += (self._text[position : token.start], self.expression(tokens[index:end]))
                position, index = tokens[end - 1].end, end
                continue
            if token.kind == "@" and token.name in self._offsets:
                pieces += (self._text[position : token.start], self.variable(token.name))
                position = token.end
            index += 1
        return "".join((*pieces, self._text[position : tokens[-1].end]))

    def _value(self, instruction: str) -> str:
        name = f"%tle.shared.{len(self._lines)}"
        self._lines.append(f"{name} = {instruction}")
        return name
