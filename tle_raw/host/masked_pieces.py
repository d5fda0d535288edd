"""Masked loads and stores in pieces of a register, where LLVM would divide them itself and fail.

LLVM's code generator for x86 with AVX, but without AVX-512, divides a masked access that is wider than a register. It
then forgets how many bytes a piece has, and an assertion ends the process where it wants to know: when the upper half
of a piece's mask is known to be false (seen with LLVM 22). Pieces that come as such are never divided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.host.cpu import HostCpu

_REGISTER = 32
_BYTES = {"float": 4, "i32": 4, "double": 8, "i64": 8}  # of smaller elements LLVM makes an access each
_LOAD = re.compile(
    r"^  (%[\w.]+) = (?:tail |musttail )?call <(\d+) x (\w+)> @llvm\.masked\.load\.v\d+(\w+)\.p0"
    r"\(ptr (.*?)(%[\w.]+|@[\w.]+|null), <\d+ x i1> (.*?), <\d+ x \w+> (.*)\)(?: #\d+)?$"
)
_STORE = re.compile(
    r"^  (?:tail |musttail )?call void @llvm\.masked\.store\.v\d+(\w+)\.p0"
    r"\(<(\d+) x (\w+)> (.*), ptr (.*?)(%[\w.]+|@[\w.]+|null), <\d+ x i1> (.*?)\)(?: #\d+)?$"
)


def divides_badly(cpu: HostCpu) -> bool:
    """Whether LLVM's code generator for this CPU has the fault."""
    return "+avx" in cpu.features.split(",") and "+avx512f" not in cpu.features.split(",")


def in_pieces(text: str) -> str:
    """The same LLVM IR, as LLVM 22 prints it, with masked accesses that fit into a register."""
    if "@llvm.masked.load." not in text and "@llvm.masked.store." not in text:
        return text
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        lines += _load(line) or _store(line, number) or [line]
    return "\n".join(lines)


def _load(line: str) -> list[str]:
    match = _LOAD.match(line)
    if match is None:
        return []
    result, count, element, short, attributes, pointer, mask, other = match.groups()
    lanes = _lanes(element, int(count))
    if not lanes:
        return []
    name, lines, parts = f"%tle.{result[1:]}", [], []
    for begin in range(0, int(count), lanes):
        piece = f"{name}.{begin}"
        lines += _places(piece, pointer, mask, int(count), begin, lanes, _BYTES[element])
        lines.append(_part(f"{piece}.other", f"<{count} x {element}> {other}", begin, lanes))
        lines.append(
            f"  {piece} = call <{lanes} x {element}> @llvm.masked.load.v{lanes}{short}.p0(ptr {attributes}{piece}.at, "
            f"<{lanes} x i1> {piece}.mask, <{lanes} x {element}> {piece}.other)"
        )
        parts.append(piece)
    return lines + list(_joined(result, name, parts, lanes, element))


def _store(line: str, number: int) -> list[str]:
    match = _STORE.match(line)
    if match is None:
        return []
    short, count, element, value, attributes, pointer, mask = match.groups()
    lanes = _lanes(element, int(count))
    if not lanes:
        return []
    lines = []
    for begin in range(0, int(count), lanes):
        piece = f"%tle.store.{number}.{begin}"
        lines += _places(piece, pointer, mask, int(count), begin, lanes, _BYTES[element])
        lines.append(_part(f"{piece}.value", f"<{count} x {element}> {value}", begin, lanes))
        lines.append(
            f"  call void @llvm.masked.store.v{lanes}{short}.p0(<{lanes} x {element}> {piece}.value, "
            f"ptr {attributes}{piece}.at, <{lanes} x i1> {piece}.mask)"
        )
    return lines


def _lanes(element: str, count: int) -> int:
    """How many elements a piece has; 0 where the access fits as it is."""
    lanes = _REGISTER // _BYTES.get(element, _REGISTER)
    return lanes if lanes > 1 and count > lanes and not count % lanes else 0


def _places(piece: str, pointer: str, mask: str, count: int, begin: int, lanes: int, size: int) -> list[str]:
    return [
        f"  {piece}.at = getelementptr i8, ptr {pointer}, i64 {begin * size}",
        _part(f"{piece}.mask", f"<{count} x i1> {mask}", begin, lanes),
    ]


def _part(name: str, whole: str, begin: int, lanes: int) -> str:
    kind = whole[: whole.index(">") + 1]
    return f"  {name} = shufflevector {whole}, {kind} poison, <{lanes} x i32> {_indices(begin, lanes)}"


def _joined(result: str, name: str, parts: list[str], lanes: int, element: str) -> Iterator[str]:
    """Two and two, until one is left, which has the name of the whole."""
    while len(parts) > 1:
        halves, parts = parts, []
        for left, right in zip(halves[::2], halves[1::2], strict=True):
            both = result if len(halves) == 2 else f"{name}.{2 * lanes}.{len(parts)}"
            kind = f"<{lanes} x {element}>"
            indices = _indices(0, 2 * lanes)
            yield f"  {both} = shufflevector {kind} {left}, {kind} {right}, <{2 * lanes} x i32> {indices}"
            parts.append(both)
        lanes *= 2


def _indices(begin: int, count: int) -> str:
    return "<" + ", ".join(f"i32 {i}" for i in range(begin, begin + count)) + ">"
