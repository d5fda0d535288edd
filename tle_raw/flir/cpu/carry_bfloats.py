"""Carry bf16 as 16-bit integers, once all of its arithmetic is written in f32 and integers.

On x86-64 without AVX512-BF16 LLVM keeps a bf16 that lives from one block of code to another as a float, and rounds it
by a library's function, ``__truncsfbf2``, that nobody has. What is left of bf16 in a kernel's LLVM IR only moves.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from tle_raw.linker.llvm.tokens import Token, tokenize

_TYPE, _WORD = "bfloat", "i16"
_BITS = re.compile(r"0xR([0-9A-Fa-f]{4})")
_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")
_SPECIAL = {"+qnan": 0x7FC0, "-qnan": 0xFFC0, "+inf": 0x7F80, "-inf": 0xFF80}
_MOVES = frozenset(
    ("alloca", "bitcast", "extractelement", "extractvalue", "freeze", "getelementptr", "insertelement", "insertvalue",
     "load", "phi", "select", "shufflevector", "store")
)  # fmt: skip
_FLAGS = frozenset(("afn", "arcp", "contract", "fast", "ninf", "nnan", "nsz", "reassoc"))  # of floats alone
_CALLS = frozenset(("call", "declare", "tail"))
_DECLARED = re.compile(r"^declare [^@\n]*(@[\w.]+)", re.MULTILINE)
# Of the functions that LLVM knows those that move what they are given; their names hold its type.
_MOVING = re.compile(r"@llvm\.masked\.(?:load|store|gather|scatter|expandload|compressstore)\.\S*")


def carry_bfloats(text: str) -> str:
    """LLVM IR text in which bf16 is ``i16``; unchanged where something computes with it, or takes it from elsewhere."""
    if _TYPE not in text:
        return text
    lines, declared = text.split("\n"), set(_DECLARED.findall(text))
    for number, line in enumerate(lines):
        if _TYPE not in line:
            continue
        tokens = list(tokenize(line))
        if not _moves(tokens):
            return text
        try:
            lines[number] = "".join(_rewritten(line, tokens))
        except ValueError:
            return text
        name = _DECLARED.match(lines[number])
        if name and name[1] in declared:  # for 16-bit integers of the kernel's: LLVM takes one declaration of a name
            lines[number] = ""
    return "\n".join(lines)


def _moves(tokens: list[Token]) -> bool:
    words = [token.text for token in tokens]
    first = words[2] if len(words) > 2 and words[1] == "=" else words[0]
    if not _FLAGS.isdisjoint(words):
        return False
    if first in _CALLS:
        return all(_MOVING.fullmatch(token.text) for token in tokens if token.kind == "@")
    return first in _MOVES or words[0].startswith("@")  # an instruction, or a constant of the module


def _rewritten(line: str, tokens: list[Token]) -> Iterator[str]:
    end = 0
    for token in tokens:
        yield line[end : token.start]
        yield _as_word(token)
        end = token.end
    yield line[end:]


def _as_word(token: Token) -> str:
    if token.text == _TYPE:
        return _WORD
    if token.kind == "@":
        return token.text.replace("bf16", _WORD) if _MOVING.fullmatch(token.text) else token.text
    return token.text if token.kind != "word" else _literal(token.text)


def _literal(word: str) -> str:
    """A number of bf16 by its bits; another word as it is.

    Raises
    ------
    ValueError : a number that is written in another way.
    """
    if bits := _BITS.fullmatch(word):
        return str(int(bits[1], 16))
    if word in _SPECIAL:
        return str(_SPECIAL[word])
    if _NUMBER.fullmatch(word):
        (wide,) = struct.unpack("<I", struct.pack("<f", float(word)))
        if wide & 0xFFFF:
            raise ValueError(word)
        return str(wide >> 16)
    if word[:1] in "+-f" and ("nan" in word or word.startswith("f0x")):
        raise ValueError(word)
    return word
