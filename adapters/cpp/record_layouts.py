"""How structs lie in memory, read from clang's dump of their layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tle_raw.adapters.cpp.number_types import class_dtype, memory_dtype, number_dtype
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.structs import Address, Array, Bits, Member, Node, Number, Struct

DUMP_LAYOUTS = ("-Xclang", "-fdump-record-layouts-canonical", "-Xclang", "-fdump-record-layouts")
# What stands before each record.
LAYOUT = "*** Dumping AST Record Layout"
_LINE = re.compile(r" *(\d+)(?::(\d+)-(\d+)|:-)? \|( +)(.*)")
_SIZES = re.compile(r" *\| \[sizeof=(\d+),.* align=(\d+),?.*")
# Before `(unnamed struct at …)` the word is the name's own; before `(anonymous namespace)::Name` it is not.
_FUNCTION = re.compile(r"\(\*\)\(")  # a pointer to one
_ROWS = re.compile(r"(.*?) ?\(\*\)(?:\[\d*\])+")  # a pointer to an array
_WORDS = re.compile(r"\b(?:struct|class|union|enum) (?!\((?!anonymous namespace\)))")
_TENSOR_MAPS = ("CUtensorMap", "CUtensorMap_st")
_QUALIFIERS = re.compile(r"^(?:(?:const|volatile) )+")
_NO_ITEMS = re.compile(r"\[0\]")  # an extension of C: such a member has no room
_MARKS = re.compile(r" \((?:base|primary base|empty|virtual base)\)")


class UnknownLayout(Exception):
    """A type that cannot be passed by value; the text says which and why."""


@dataclass
class _Line:
    offset: int
    text: str
    bits: tuple[int, int] | None
    inner: list[_Line] = field(default_factory=list)


@dataclass
class _Record:
    root: _Line
    size: int
    align: int


class Layouts:
    """The records of one dump, by their names."""

    def __init__(self, dump: str) -> None:
        self._records = dict(_records(dump))

    def struct(self, name: str) -> Node:
        """A record by the name that the syntax tree has for it.

        Raises
        ------
        UnknownLayout : it is not in the dump, or has a member that cannot be passed.
        """
        record = self._records.get(_bare(name))
        if record is None:
            raise UnknownLayout(f"`{name}`, whose layout the compiler does not tell")
        return self._record(_bare(name), record.root, record.size, record.align)

    def _record(self, name: str, line: _Line, size: int, align: int) -> Node:
        if name in _TENSOR_MAPS:
            raise UnknownLayout("a tensor map, which the copy engine reads where CUDA's own launch has its parameters")
        number = class_dtype(name, size)
        if number is not None:
            return Number(DTYPES["u8"] if number.bits == 8 else number)
        if _is_union(line.text):
            return _bits(size, align)
        return Struct(name, size, align, tuple(self._members(line, line.offset, size)))

    def _members(self, line: _Line, start: int, size: int) -> Iterator[Member]:
        inner = line.inner
        index = 0
        taken: set[str] = set()
        while index < len(inner):
            member = inner[index]
            if member.bits:
                last = index
                while last + 1 < len(inner) and inner[last + 1].bits:
                    last += 1
                end = max(m.offset + (m.bits[1] if m.bits else 0) // 8 + 1 for m in inner[index : last + 1])
                yield Member(f"bits{member.offset - start}", member.offset - start, _bits(end - member.offset, 1))
                index = last + 1
                continue
            behind = (m.offset for m in inner[index + 1 :] if m.offset > member.offset)  # an empty one takes no room
            for found in self._member(member, start, next(behind, start + size) - member.offset):
                yield _with_own_name(found, taken)
            index += 1

    def _member(self, line: _Line, start: int, room: int) -> Iterator[Member]:
        text, name = _split(line.text)
        offset = line.offset - start
        if "(empty)" in line.text or _NO_ITEMS.search(text):
            return
        if "vtable pointer" in line.text or "vbtable pointer" in line.text:
            raise UnknownLayout("a class with virtual functions")
        if not name and not _is_union(text) and line.inner:  # an anonymous struct: its fields are the outer one's
            yield from (Member(m.name, offset + m.offset, m.type) for m in self._members(line, line.offset, room))
            return
        yield Member(name or f"union{offset}", offset, self._type(text, line, line.offset, room))

    def _type(self, text: str, line: _Line, offset: int, room: int) -> Node:
        if _FUNCTION.search(text):  # which a call of the program's, on the host, goes through
            return Address(DTYPES["u8"], False, True)
        if rows := _ROWS.fullmatch(text):
            return pointer_type(f"{rows[1]} *")
        array = re.fullmatch(r"(.*?)\[(\d+)\]((?:\[\d+\])*)", text)
        if array:
            count = int(array[2])
            return Array(count, self._type(f"{array[1].rstrip()}{array[3]}", line, offset, room // count))
        if text.endswith(("*", "&", "* __restrict", "*__restrict")) or re.search(r"\*\s*(const|volatile)+$", text):
            return pointer_type(text)
        text = _QUALIFIERS.sub("", text)  # those in front alone: a template's arguments may have their own
        bare = _bare(text)
        number = number_dtype(bare)
        if number is not None:
            return Number(number)
        if text.startswith("enum "):
            return Number(DTYPES[f"i{8 * _room(offset, min(room, 4))}"], is_enum=True)
        if bare in ("_Complex float", "_Complex double"):
            return Array(2, Number(DTYPES["f32" if bare.endswith("float") else "f64"]))
        record = self._records.get(bare)
        if record is not None:
            return self._record(bare, record.root, record.size, record.align)
        if _is_union(text):
            return _bits(room, _room(offset, min(room, 8)))
        if line.inner:
            return Struct(bare, room, 1, tuple(self._members(line, line.offset, room)))
        raise UnknownLayout(f"`{text}`")


def pointer_type(text: str) -> Address:
    """A pointer as C++ spells it: to numbers, or to something else.

    Raises
    ------
    UnknownLayout : it points to a function.
    """
    if "(" in text.replace("(anonymous", "").replace("(unnamed", "").replace("(lambda", ""):
        raise UnknownLayout(f"`{text}`, a pointer to a function or an array")
    pointee = re.sub(r"(?:\s*(?:const|volatile|__restrict))*\s*$", "", text)[:-1].rstrip()
    is_const = bool(re.match(r"const\b", pointee)) or pointee.endswith(" const")
    bare = _bare(re.sub(r"\b(const|volatile|__restrict)\b ?", "", pointee).strip())
    dtype = memory_dtype(bare)
    return Address(dtype or DTYPES["u8"], is_const, dtype is None)


def _records(dump: str) -> Iterator[tuple[str, _Record]]:
    for part in dump.split(LAYOUT)[1:]:
        lines = part.splitlines()
        sizes = next((m for m in map(_SIZES.fullmatch, lines) if m), None)
        root = _tree(lines)
        if sizes is not None and root is not None:
            yield _bare(_MARKS.sub("", root.text)), _Record(root, int(sizes[1]), int(sizes[2]))


def _tree(lines: list[str]) -> _Line | None:
    stack: list[tuple[int, _Line]] = []
    root = None
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            if root is not None:
                break
            continue
        depth = len(match[4])
        bits = (int(match[2]), int(match[3])) if match[2] else None
        here = _Line(int(match[1]), match[5].rstrip(), bits)
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if stack:
            stack[-1][1].inner.append(here)
        else:
            root = here
        stack.append((depth, here))
    return root


def _split(text: str) -> tuple[str, str]:
    """The type and the name of a member; a base class has that of its class, an anonymous member none."""
    if _MARKS.search(text):
        own = _bare(_MARKS.sub("", text))
        return _MARKS.sub("", text), re.split(r"::", own.partition("<")[0])[-1]
    if re.search(r"\((?:anonymous|unnamed)[^()]*\)$", text):
        return text, ""
    type_, _, name = text.rpartition(" ")
    return type_, name


def _with_own_name(member: Member, taken: set[str]) -> Member:
    """Two bases may be of one class template: ``leaf<0, A>`` and ``leaf<1, B>``."""
    name, count = member.name, 1
    while name in taken:
        name, count = f"{member.name}{count}", count + 1
    taken.add(name)
    return Member(name, member.offset, member.type)


def _bare(name: str) -> str:
    """The name as the syntax tree and the dump of layouts both have it; the latter speaks of ``A<B<_Bool> >``."""
    return re.sub(r" (?=>)", "", re.sub(r"\b_Bool\b", "bool", _WORDS.sub("", name))).strip()


def _is_union(text: str) -> bool:
    return text.startswith("union ")


def _bits(size: int, align: int) -> Bits:
    word = next(n for n in (8, 4, 2, 1) if n <= max(align, 1) and size % n == 0)
    return Bits(DTYPES[f"u{8 * word}"], size // word)


def _room(offset: int, most: int) -> int:
    """The largest power of two that an integer at this place may be, in bytes."""
    return next(n for n in (8, 4, 2, 1) if n <= max(most, 1) and offset % n == 0)
