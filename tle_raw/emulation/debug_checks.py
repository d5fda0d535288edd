"""Debug: a call of the runtime before each access to memory that may be shared memory or a tile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from tle_raw.linker.llvm.sizes import Sizes, sizes_of
from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, tokenize
from tle_raw.linker.llvm.types import Cursor

_ACCESS = re.compile(
    r"^[ \t]+(?:%\S+ = )?(load|store|atomicrmw|cmpxchg|(?:tail )?call void @llvm\.mem\w+\S*"
    r"|call i32 @tle_team_atomic_add_(?:pair|small))\b",
    re.MULTILINE,
)
# An access that orders threads, or may be meant to: behind the name of the instruction, or of the runtime's function.
_ORDERING = re.compile(r" *(?:volatile|atomic)\b|(?<=_pair)|(?<=_small)")
_ATOMIC = ("atomicrmw", "cmpxchg")


class Numbering(Protocol):
    """Gives an instruction's location its number; ``Sites`` does, and a function that is told its place."""

    def number(self, location: str) -> int | str: ...


def check_accesses(module: Module, sites: Numbering) -> Module:
    """The module with ``tle_team_check_read`` and ``_write`` before its loads and stores.

    Of plain ones it is ``tle_team_check_plain_read`` and ``_plain_write``, which also find races.
    """
    sizes = sizes_of(module)
    return module.edited(edit for entity in module.of_kind("define") for edit in _edits(module, entity, sites, sizes))


def _edits(module: Module, entity: Entity, sites: Numbering, sizes: Sizes) -> Iterator[Edit]:
    local = _allocas(module, entity)
    for number, match in enumerate(_ACCESS.finditer(module.text, entity.body, entity.end)):
        end = module.text.find("\n", match.end())
        line = module.text[match.start() : end]
        location = re.search(r"!dbg (!\d+)", line)
        site = sites.number(location[1] if location else "")
        kind = match[1].split()[0] if "call" not in match[1] else "call"
        plain = "" if _ORDERING.match(line, match.end() - match.start()) or kind in _ATOMIC else "plain_"
        for index, (word, pointer, size) in enumerate(accesses(kind, line, sizes)):
            if not _may_be_checked(pointer, local):
                continue
            dbg = f", !dbg {location[1]}" if location else ""
            yield Edit(
                match.start(), match.start(), _check(plain + word, pointer, size, site, f"{number}.{index}", dbg)
            )


def _may_be_checked(pointer: str, local: set[str]) -> bool:
    """Not a thread's own variables, and those that are named."""
    kind, value = typed(pointer)
    return "addrspace(3)" in kind or not (value in local or value.startswith("@") or "addrspace(5)" in kind)


def _check(word: str, pointer: str, size: str, site: int | str, number: str, dbg: str) -> str:
    kind, value = typed(pointer)
    call = f"call void @tle_team_check_{word}(ptr {{}}, i64 {size}, i32 {site}){dbg}\n"
    if kind == "ptr":
        return "  " + call.format(value)
    name = f"%tle.checked.{number}"
    return f"  {name} = addrspacecast {kind} {value} to ptr\n  " + call.format(name)


def typed(pointer: str) -> tuple[str, str]:
    """The type and the value of an operand: ``ptr addrspace(3) @x``."""
    match = re.match(r"(ptr(?: addrspace\(\d+\))?) (.*)", pointer, re.DOTALL)
    assert match is not None
    return match[1], match[2]


def accesses(kind: str, line: str, sizes: Sizes) -> Iterator[tuple[str, str, str]]:
    """(read or write, pointer with its type, bytes) of an instruction."""
    tokens = list(tokenize(line))
    words = [token.text for token in tokens]
    if kind == "call":
        yield from _memory_function(line, tokens)
        return
    cursor = Cursor(line, tokens)
    cursor.index = words.index(kind) + 1
    if kind in ("load", "store"):
        while cursor.sees("volatile", "atomic"):
            cursor.take()
        size = str(sizes.size(cursor.read_type()))
        if kind == "store":
            while not cursor.sees(","):
                cursor.skip_group()
        cursor.take(",")
        yield ("read" if kind == "load" else "write"), _pointer(cursor), size
        return
    while not cursor.sees("ptr"):
        cursor.take()
    pointer = _pointer(cursor)
    cursor.take(",")
    size = str(sizes.size(cursor.read_type()))
    yield "read", pointer, size
    yield "write", pointer, size


def _pointer(cursor: Cursor) -> str:
    start = cursor.tokens[cursor.index].start
    cursor.read_type()
    expression = cursor.current is not None and cursor.current.kind == "word"
    while expression and not cursor.sees("("):  # `getelementptr inbounds (`: what follows it is no part of it
        cursor.take()
    cursor.skip_group()
    return cursor.text[start : cursor.tokens[cursor.index - 1].end]


def _memory_function(line: str, tokens: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    name = next(token.name for token in tokens if token.kind == "@")
    if name.startswith("tle_team_atomic_add_"):
        yield from _small_atomic(name, line)
        return
    if not name.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
        return
    pointers = re.findall(r"(ptr(?: addrspace\(\d+\))?)[^,]*?(%[\w.\-$]+|@[\w.\-$]+)(?=[,)])", line)
    size = re.search(r"i64 (%?[\w.\-$]+), i1", line)
    if size is None:
        return
    if not name.startswith("llvm.memset") and len(pointers) > 1:
        yield "read", " ".join(pointers[1]), size[1]
    if pointers:
        yield "write", " ".join(pointers[0]), size[1]


def _small_atomic(name: str, line: str) -> Iterator[tuple[str, str, str]]:
    pointer = re.search(r"\((ptr [^,]+),", line)
    if pointer is not None:
        for word in ("read", "write"):
            yield word, pointer[1], "2" if name.endswith("_small") else "4"


def _allocas(module: Module, entity: Entity) -> set[str]:
    pattern = re.compile(r"^\s*(%\S+) = alloca ", re.MULTILINE)
    return {match[1] for match in pattern.finditer(module.text, entity.body, entity.end)}
