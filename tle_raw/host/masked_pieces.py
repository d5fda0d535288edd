"""Masked loads and stores in pieces of a register, where LLVM would divide them itself and fail.

LLVM's code generator for x86 with AVX, but without AVX-512, divides a masked access that is wider than a register. It
then forgets how many bytes a piece has, and an assertion ends the process where it wants to know: when the upper half
of a piece's mask is known to be false (seen with LLVM 22). So pieces come as such, with masks of which LLVM knows
nothing; where a mask is a constant the elements are accessed that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import gcd

from tle_raw.host.cpu import HostCpu

_REGISTER = 32
_ALIGN = re.compile(r"\balign (\d+)")
_BYTES = {"float": 4, "i32": 4, "double": 8, "i64": 8}  # of smaller elements LLVM makes an access each
_LOAD = re.compile(
    r"^  (%[\w.]+) = (?:tail |musttail |notail )?call <(\d+) x (\w+)> @llvm\.masked\.load\.v\d+(\w+)\.p0"
    r"\(ptr (.*?)(%[\w.]+|@[\w.]+|null), <\d+ x i1> (.*?), <\d+ x \w+> (.*)\)(?: #\d+)?(?:, ![\w.]+ !\d+)*$"
)
_STORE = re.compile(
    r"^  (?:tail |musttail |notail )?call void @llvm\.masked\.store\.v\d+(\w+)\.p0"
    r"\(<(\d+) x (\w+)> (.*), ptr (.*?)(%[\w.]+|@[\w.]+|null), <\d+ x i1> (.*?)\)(?: #\d+)?(?:, ![\w.]+ !\d+)*$"
)


def divides_badly(cpu: HostCpu) -> bool:
    """Whether LLVM's code generator for this CPU has the fault."""
    return "+avx" in cpu.features.split(",") and "+avx512f" not in cpu.features.split(",")


def is_masked_access(function: str) -> bool:
    """Whether a function of this name is what ``in_pieces`` divides: a module that declares none needs no look."""
    return function.startswith(("llvm.masked.load.", "llvm.masked.store."))


def in_pieces(text: str) -> str:
    """The same LLVM IR, as LLVM 22 prints it, with masked accesses that fit into a register."""
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        lines += _load(line) or _store(line, number) or [line]
    return "\n".join(lines)


def _load(line: str) -> list[str]:
    match = _LOAD.match(line)
    if match is None:
        return []
    result, count, element, short, attributes, pointer, mask, other = match.groups()
    known = _known(mask, int(count))
    lanes = _lanes(element, int(count), known)
    if not lanes:
        return []
    name, lines, parts = f"%tle.{result[1:]}", [], []
    for begin in range(0, int(count), lanes):
        piece = f"{name}.{begin}"
        kind = f"<{lanes} x {element}>"
        lines.append(_part(f"{piece}.other", f"<{count} x {element}> {other}", begin, lanes))
        if known:
            value = f"{piece}.other"
            for lane in _true(known, begin, lanes):
                at, one, more = (f"{piece}.{what}{lane}" for what in ("at", "one", "with"))
                place = (begin + lane) * _BYTES[element]
                lines.append(_place(at, pointer, place))
                lines.append(f"  {one} = load {element}, ptr {at}, align {_align(attributes, place)}")
                lines.append(f"  {more} = insertelement {kind} {value}, {element} {one}, i64 {lane}")
                value = more
            parts.append(value)
            continue
        lines += _masked(piece, pointer, f"<{count} x i1> {mask}", begin, lanes, element)
        lines.append(
            f"  {piece} = call {kind} @llvm.masked.load.v{lanes}{short}.p0("
            f"ptr {_moved(attributes, begin, element)}{piece}.at, <{lanes} x i1> {piece}.mask, {kind} {piece}.other)"
        )
        parts.append(piece)
    return lines + list(_joined(result, name, parts, lanes, element))


def _store(line: str, number: int) -> list[str]:
    match = _STORE.match(line)
    if match is None:
        return []
    short, count, element, value, attributes, pointer, mask = match.groups()
    known = _known(mask, int(count))
    lanes = _lanes(element, int(count), known)
    if not lanes:
        return []
    lines = []
    for begin in range(0, int(count), lanes):
        piece = f"%tle.store.{number}.{begin}"
        kind = f"<{lanes} x {element}>"
        lines.append(_part(f"{piece}.value", f"<{count} x {element}> {value}", begin, lanes))
        if known:
            for lane in _true(known, begin, lanes):
                at, one = (f"{piece}.{what}{lane}" for what in ("at", "one"))
                place = (begin + lane) * _BYTES[element]
                lines.append(_place(at, pointer, place))
                lines.append(f"  {one} = extractelement {kind} {piece}.value, i64 {lane}")
                lines.append(f"  store {element} {one}, ptr {at}, align {_align(attributes, place)}")
            continue
        lines += _masked(piece, pointer, f"<{count} x i1> {mask}", begin, lanes, element)
        lines.append(
            f"  call void @llvm.masked.store.v{lanes}{short}.p0({kind} {piece}.value, "
            f"ptr {_moved(attributes, begin, element)}{piece}.at, <{lanes} x i1> {piece}.mask)"
        )
    return lines


def _masked(piece: str, pointer: str, mask: str, begin: int, lanes: int, element: str) -> list[str]:
    """The address of a piece, and its mask."""
    place = _place(f"{piece}.at", pointer, begin * _BYTES[element])
    return [place, _part(f"{piece}.known", mask, begin, lanes), *_opaque(piece, lanes, element)]


def _known(mask: str, count: int) -> list[bool]:
    """The mask where it is a constant; empty where it is not."""
    if mask == "zeroinitializer":
        return [False] * count
    if mask.startswith("splat"):
        return ["true" in mask] * count
    return [word.strip() == "i1 true" for word in mask[1:-1].split(",")] if mask.startswith("<") else []


def _true(known: list[bool], begin: int, lanes: int) -> list[int]:
    return [lane for lane in range(lanes) if known[begin + lane]]


def _align(attributes: str, distance: int) -> int:
    """Of an address so many bytes behind the one that has the attributes."""
    align = _ALIGN.search(attributes)
    return gcd(int(align[1]), distance) if align else 1


def _moved(attributes: str, begin: int, element: str) -> str:
    """The attributes of the address of an element."""
    return _ALIGN.sub(f"align {_align(attributes, begin * _BYTES[element])}", attributes)


def _lanes(element: str, count: int, known: list[bool]) -> int:
    """How many elements a piece has; 0 where the access fits as it is."""
    if element not in _BYTES:
        return 0
    lanes = _REGISTER // _BYTES[element]
    if count < lanes:
        return count if known else 0
    return 0 if count % lanes else lanes


def _opaque(piece: str, lanes: int, element: str) -> list[str]:
    """The mask of a piece by a register of which nothing is known: what LLVM knows of it is what it fails by."""
    kind = f"<{lanes} x i{8 * _BYTES[element]}>"
    return [
        f"  {piece}.words = sext <{lanes} x i1> {piece}.known to {kind}",
        f'  {piece}.register = call {kind} asm "", "=x,0"({kind} {piece}.words)',
        f"  {piece}.mask = icmp slt {kind} {piece}.register, zeroinitializer",
    ]


def _place(name: str, pointer: str, distance: int) -> str:
    return f"  {name} = getelementptr i8, ptr {pointer}, i64 {distance}"


def _part(name: str, whole: str, begin: int, lanes: int) -> str:
    kind = whole[: whole.index(">") + 1]
    return f"  {name} = shufflevector {whole}, {kind} poison, <{lanes} x i32> {_indices(begin, lanes)}"


def _joined(result: str, name: str, parts: list[str], lanes: int, element: str) -> Iterator[str]:
    """Two and two, until one is left, which has the name of the whole."""
    if len(parts) == 1:
        yield f"  {result} = shufflevector <{lanes} x {element}> {parts[0]}, <{lanes} x {element}> poison, " + (
            f"<{lanes} x i32> {_indices(0, lanes)}"
        )
    count = lanes * len(parts)
    parts = [*parts, *["poison"] * ((1 << (len(parts) - 1).bit_length()) - len(parts))]
    while len(parts) > 1:
        halves, parts = parts, []
        for left, right in zip(halves[::2], halves[1::2], strict=True):
            both = result if len(halves) == 2 else f"{name}.{2 * lanes}.{len(parts)}"
            kind = f"<{lanes} x {element}>"
            width = count if len(halves) == 2 else 2 * lanes
            yield f"  {both} = shufflevector {kind} {left}, {kind} {right}, <{width} x i32> {_indices(0, width)}"
            parts.append(both)
        lanes *= 2


def _indices(begin: int, count: int) -> str:
    return "<" + ", ".join(f"i32 {i}" for i in range(begin, begin + count)) + ">"
