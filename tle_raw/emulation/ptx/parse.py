"""Reads the text of an inline PTX statement.

This is not ``linker/ptx/statements.py``, which reads what LLVM prints: a module's headers, lines and places, with each
statement as flat tokens. Here the last statement may have no end, a label may stand in front of an instruction, an
operand keeps its text (``[$1+4]``, ``{a, b}``), and what is not understood is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$%]*)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s*")
_DECLARATION = re.compile(r"\.reg\s*(?:\.v([24])\s*)?\.(\w+)\s+(.+)", re.DOTALL)
_INSTRUCTION = re.compile(r"([a-z][\w.:]*)((?:[\s{\[].*)?)", re.DOTALL)  # braces need no space before them
_OPERANDS = re.compile(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*)")


class PtxSyntaxError(ValueError):
    """Text that is no PTX that this reader knows."""


@dataclass(frozen=True)
class InlineStatement:
    """An instruction, a register declaration, a label, or the start or end of a block.

    ``kind`` is one of these words: instruction, registers, label, open, close.
    """

    kind: str
    opcode: str = ""  # whole, as "ld.global.nc.u16"; a label's name; a register's type
    operands: tuple[str, ...] = ()
    guard: str = ""
    negated: bool = False

    @property
    def parts(self) -> list[str]:
        return self.opcode.split(".")


def decoded(text: str) -> str:
    r"""An asm string of LLVM IR: ``\0A`` is a line end, ``$$`` a dollar."""
    return re.sub(r"\\([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)


def statements(text: str) -> Iterator[InlineStatement]:
    """The statements of an inline PTX text, operands written ``$0``.

    Raises
    ------
    PtxSyntaxError : a statement is not understood.
    """
    text = _COMMENT.sub(" ", text)
    depth, piece = 0, ""
    for character in text:
        if character == "{" and not piece.strip():
            yield InlineStatement("open")
            continue
        if character == "}" and depth == 0:
            yield from _statement(piece)
            yield InlineStatement("close")
            piece = ""
            continue
        depth += (character in "{[(") - (character in "}])")
        if character == ";" and depth == 0:
            yield from _statement(piece)
            piece = ""
        else:
            piece += character
    yield from _statement(piece)


def _statement(text: str) -> Iterator[InlineStatement]:
    while True:
        label = _LABEL.match(text)
        if label is None:
            break
        yield InlineStatement("label", label[1])
        text = text[label.end() :]
    text = text.strip()
    while text.startswith("{"):
        yield InlineStatement("open")
        text = text[1:].strip()
    if not text:
        return
    if text.startswith("."):
        declared = _DECLARATION.fullmatch(text)
        if declared is None:
            raise PtxSyntaxError(text)
        parts = [f".{letter}" for letter in "xyzw"[: int(declared[1])]] if declared[1] else [""]
        names = tuple(f"{name}{part}" for name in _registers(declared[3]) for part in parts)
        yield InlineStatement("registers", declared[2], names)
        return
    guard, negated = "", False
    match = _GUARD.match(text)
    if match:
        guard, negated, text = match[2], bool(match[1]), text[match.end() :]
    instruction = _INSTRUCTION.fullmatch(text)
    if instruction is None:
        raise PtxSyntaxError(text)
    operands = tuple(part.strip() for part in _OPERANDS.findall(instruction[2]) if part.strip())
    yield InlineStatement("instruction", instruction[1], operands, guard, negated)


def _registers(text: str) -> Iterator[str]:
    """``a, b<3>`` is a, b0, b1, b2."""
    for name in (part.strip() for part in text.split(",")):
        many = re.fullmatch(r"([\w$%]+)<(\d+)>", name)
        if many:
            yield from (f"{many[1]}{i}" for i in range(int(many[2])))
        elif name:
            yield name
