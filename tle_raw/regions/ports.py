"""The port markers: how a region is written in Triton IR until FLIR puts shared memory and a call in its place.

A region is a sequence of impure ``tt.extern_elementwise`` operations in one block::

    %p = tt.extern_elementwise %x   {symbol = "tle.in.0"}      tile -> tile     (one for each passed tile)
    %q = tt.extern_elementwise %z   {symbol = "tle.new.1"}     tile -> tile     (one for each Out tile; %z is ignored)
    %r = tt.extern_elementwise %n.. {symbol = "tle.call", libname = "<region>"}  scalars and pointers -> result
    %y = tt.extern_elementwise %p   {symbol = "tle.out.0"}     tile -> tile     (one for each returned tile)

``<region>`` is the region's record as JSON. An elementwise fragment is one operation, ``tle.element``, with the same
record. Impure operations keep their order, so a region stays whole through Triton's own passes.

A region that was traced stands between ``tle.border.begin`` and ``tle.border.end``, which become block barriers, or
nothing. ``libname`` is what its report is found by.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tle_raw.errors import RegionError, SourceLocation
from tle_raw.fragments.bound import BoundSignature, bound_from_values

IN, NEW, CALL, OUT, ELEMENT = "tle.in", "tle.new", "tle.call", "tle.out", "tle.element"
# A tensor descriptor: a load by it that is noted so, of which nothing but the descriptor is used. Where no descriptor
# is left at the end, behind it the array's sizes and strides, each in all elements of a tile.
DESCRIPTOR = "tle.descriptor"
DESCRIPTOR_NOTE = "descriptor"  # the value of its `tle.note`
BOUNDARY = "tle.border"
# A wait or an arrival at a named barrier: `tle.named.wait`. It is no region; libname holds the number of threads.
NAMED = "tle.named"
# A tensor whose layout the kernel says: libname holds the layout's text.
LAYOUT = "tle.layout"
KEPT = "tle.layout.kept"  # behind the conversion, as long as Triton chooses layouts
# On pointers into a shared buffer: that they are to all elements in their order, or where elements lie, from which
# `flir/nvidia/load_in_place.py` finds out whether they are to a part of it.
PART, WHOLE = "tle.part", "whole"


PIPELINE = "pipeline"  # the hint of a call: the region is a producer, which runs ahead in its loop


@dataclass(frozen=True)
class RegionRecord:
    """One use of a fragment: which fragment and how it is bound. Where it is called, the operation's location says.

    ``compiled`` is False in IR that somebody makes to look at it: its regions are not whole. ``hint`` is the call's.
    ``warps`` are those that run it, where they are not all of its partition; else 0.
    """

    fragment: str
    bound: BoundSignature
    call_site: SourceLocation = SourceLocation("<kernel>", 0)
    compiled: bool = True
    hint: str = ""
    warps: int = 0

    def to_text(self) -> str:
        """One line of JSON."""
        data: dict[str, Any] = {"hint": self.hint} if self.hint else {}
        data |= {"warps": self.warps} if self.warps else {}
        data |= {} if self.compiled else {"compiled": False}
        more = f",{json.dumps(data, separators=(',', ':'))[1:-1]}" if data else ""
        return f'{{"fragment":{json.dumps(self.fragment)},"bound":{self.bound.to_json()}{more}}}'


def record_from_text(text: str, call_site: SourceLocation) -> RegionRecord:
    """The inverse of ``RegionRecord.to_text``.

    Raises
    ------
    RegionError : the region is not whole.
    """
    data, bound = _read(text)
    if not data.get("compiled", True):
        raise RegionError(
            "this Triton IR was made to be looked at: its regions are not whole",
            hint="take the IR of a compilation: kernel.asm['ttir'], or what triton.compile writes",
        ).at(call_site=call_site)
    return RegionRecord(data["fragment"], bound, call_site, hint=data.get("hint", ""), warps=data.get("warps", 0))


@lru_cache(maxsize=1024)  # one text goes through several stages, and a kernel may hold it many times
def _read(text: str) -> tuple[dict[str, Any], BoundSignature]:
    data = json.loads(text)
    return data, bound_from_values(data["bound"])
