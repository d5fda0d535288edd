"""Copies between descriptors and buffers by the copy engine (TMA), as loads and stores that Triton's passes rewrite.

A kernel's Triton IR holds such a copy in one of two forms: as ``ttng.async_tma_copy_global_to_local`` (up to 3.6), or
as a noted ``tt.descriptor_load``, ``ttg.local_store`` of its value, and an arrival that never is one, which names the
barrier. Both become a load, a store, and an arrival with a note, which says that the copy's bytes have come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from triton._C.libtriton import ir

from tle_raw.errors import RegionError
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.linker.mlir.text import split_top_level

INTO, OUT = "ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global"
_NOTE, _TMA = "tle.note", "tma"
_ADDED = f'{{{_NOTE} = "{_TMA}"}}'
_LINE = re.compile(
    r"^(?P<indent>\s*)(?:(?P<result>%[\w$.\-]+) = )?\"(?P<name>[\w.]+)\"\((?P<operands>[^()]*)\)(?P<rest>.*)$"
)
_TYPES = re.compile(r" : \((?P<types>.*)\) -> (?P<results>.*?)(?P<location> loc\(.*\))?$")
_DIMS = re.compile(r"!ttg\.memdesc<((?:\d+x)*[^,]+)")


@dataclass(frozen=True)
class _Line:
    """One operation in generic form, without regions."""

    indent: str
    result: str
    name: str
    operands: tuple[str, ...]
    types: tuple[str, ...]
    location: str


def has_tma_copies(module: Any) -> bool:
    """Whether a module of Triton's has such copies, in either form."""
    found = False

    def look(op: Any) -> None:
        nonlocal found
        name = op.get_name()
        found = found or name in (INTO, OUT) or (name == "tt.descriptor_load" and op.get_str_attr(_NOTE) == _TMA)

    module.walk(look)
    return found


def lower_tma_copy(module: Any) -> Any:
    """A module of Triton's with loads and stores in the copies' place."""
    return parse_module("\n".join(_lowered(generic_text(module, ir).splitlines())), module.context)


def _lowered(lines: Sequence[str]) -> Iterator[str]:
    loaded: set[str] = set()
    waiting = False  # for the arrival that belongs to a store
    for number, text in enumerate(lines):
        match = _LINE.match(text)
        name = match["name"] if match else ""
        if name in (INTO, OUT):
            yield from (_copy_in if name == INTO else _copy_out)(_read(text), f"%tle_tma_{number}")
            continue
        if match and name == "tt.descriptor_load" and f'{_NOTE} = "{_TMA}"' in text:
            loaded.add(match["result"])
        elif match and name == "ttg.local_store" and match["operands"].split(",")[0].strip() in loaded:
            waiting = True
        elif name == "ttng.arrive_barrier" and waiting:
            text, waiting = text.replace("}> : (", f"}}> {_ADDED} : (", 1), False
        yield text


def _read(text: str) -> _Line:
    match = _LINE.match(text)
    types = _TYPES.search(match["rest"]) if match else None
    if match is None or types is None:
        raise RegionError("a copy by TMA is printed in a form that this release of tle_raw does not know", log=text)
    operands = tuple(operand.strip() for operand in match["operands"].split(","))
    listed = tuple(part.strip() for part in split_top_level(types["types"]))
    return _Line(match["indent"], match["result"] or "", match["name"], operands, listed, types["location"] or "")


def _copy_in(line: _Line, value: str) -> Iterator[str]:
    descriptor, *at, barrier, buffer, predicate = line.operands
    descriptor_type, *at_types, barrier_type, buffer_type, _ = line.types
    tensor = _tensor(buffer_type)
    load_types = ", ".join([descriptor_type, *at_types])
    start, end = line.indent, line.location
    yield f'{start}"scf.if"({predicate}) ({{'
    yield (
        f'{start}  {value} = "tt.descriptor_load"({", ".join([descriptor, *at])}) '
        f"<{{cache = 1 : i32, evict = 1 : i32}}> : ({load_types}) -> {tensor}{end}"
    )
    yield f'{start}  "ttg.local_store"({value}, {buffer}) : ({tensor}, {buffer_type}) -> (){end}'
    yield (f'{start}  "ttng.arrive_barrier"({barrier}) <{{count = 1 : i32}}> {_ADDED} : ({barrier_type}) -> (){end}')
    yield f'{start}  "scf.yield"() : () -> (){end}'
    yield f"{start}}}, {{"
    yield f"{start}}}) : (i1) -> (){end}"


def _copy_out(line: _Line, value: str) -> Iterator[str]:
    descriptor, *at, buffer = line.operands
    descriptor_type, *at_types, buffer_type = line.types
    tensor, start, end = _tensor(buffer_type), line.indent, line.location
    yield f'{start}{value} = "ttg.local_load"({buffer}) {_ADDED} : ({buffer_type}) -> {tensor}{end}'
    yield (
        f'{start}"tt.descriptor_store"({", ".join([descriptor, value, *at])}) : '
        f"({', '.join([descriptor_type, tensor, *at_types])}) -> (){end}"
    )


def _tensor(buffer_type: str) -> str:
    match = _DIMS.match(buffer_type)
    assert match, buffer_type
    return f"tensor<{match[1]}>"
