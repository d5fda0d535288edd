"""Copies of 16 bytes between aligned places by one load and one store, as nvcc makes them.

What C++ assigns as a struct, a ``uint4``, is a call of ``llvm.memcpy`` in LLVM IR. LLVM's code generation for NVPTX
splits it into words of 8 bytes, each stored before the next one is loaded; of a loop that copies, a turn waits for
memory twice. What it pays says samples/benchmarks/RESULTS.md.
``TLE_RAW_DISABLE_PASSES=wide-copies`` compiles without it.
"""

from __future__ import annotations

import re

from tle_raw.linker.llvm.control_flow import NAME, names_in

_POINTER = r'ptr(?: addrspace\((\d)\))?(?: (?!addrspace)[\w()]+)*? align (\d+)(?: [\w()]+)*? (%(?:[-\w$.]+|"[^"]*"))'
_COPY = re.compile(
    rf"^  (?:tail )?call void @llvm\.mem(?:cpy|move)\.[\w.]+\({_POINTER}, {_POINTER}, i(?:32|64) (\d+), i1 false\)"
    r"(?:, (!dbg !\d+)|[^\n!]*)$",
    re.MULTILINE,
)
_LOCAL = re.compile(rf"^  ({NAME}) = alloca ", re.MULTILINE)
_RESULT = re.compile(rf"^  ({NAME}) = (?!load )([^\n]*)", re.MULTILINE)
_WIDE, _MOST = 16, 64  # bytes


def wide_copies(text: str) -> str:
    """The module with aligned copies of up to 64 bytes, all loads of one before its stores."""
    if "@llvm.mem" not in text:
        return text
    local = _local_places(text)  # code generation makes registers of a local array, of which no vector may be stored
    return _COPY.sub(lambda copy: copy[0] if {copy[3], copy[6]} & local else _moved(copy), text)


def _local_places(text: str) -> set[str]:
    """Local arrays, and whatever is computed of their addresses."""
    found = set(_LOCAL.findall(text))
    made = [(result, names_in(how)) for result, how in _RESULT.findall(text)] if found else []
    before = 0
    while len(found) > before:
        before = len(found)
        found |= {result for result, operands in made if not found.isdisjoint(operands)}
    return found


def _moved(copy: re.Match[str]) -> str:
    to_space, to_alignment, to, from_space, from_alignment, source, size, location = copy.groups()
    if min(int(to_alignment), int(from_alignment)) < _WIDE or int(size) % _WIDE or not 0 < int(size) <= _MOST:
        return copy[0]
    at, loads, stores = (f", {location}" if location else ""), [], []
    for offset in range(0, int(size), _WIDE):
        name = f"tle.copy.{copy.start()}.{offset}"
        places = []
        for space, pointer, end in ((from_space, source, "from"), (to_space, to, "to")):
            type_ = f"ptr addrspace({space})" if space else "ptr"
            if offset:
                loads.append(f"  %{name}.{end} = getelementptr i8, {type_} {pointer}, i64 {offset}{at}")
                pointer = f"%{name}.{end}"
            places.append(f"{type_} {pointer}")
        loads.append(f"  %{name} = load <4 x i32>, {places[0]}, align {_WIDE}{at}")
        stores.append(f"  store <4 x i32> %{name}, {places[1]}, align {_WIDE}{at}")
    return "\n".join((*loads, *stores))
