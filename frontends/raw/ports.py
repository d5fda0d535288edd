"""The port markers: how a region is written in Triton IR until FLIR puts shared memory and a call in its place.

A region is a sequence of impure ``tt.extern_elementwise`` operations in one block::

    %p = tt.extern_elementwise %x   {symbol = "tle.in.0"}      tile -> tile     (one for each passed tile)
    %q = tt.extern_elementwise %z   {symbol = "tle.new.1"}     tile -> tile     (one for each Out tile; %z is ignored)
    %r = tt.extern_elementwise %n.. {symbol = "tle.call", libname = "<region>"}  scalars and pointers -> result
    %y = tt.extern_elementwise %p   {symbol = "tle.out.0"}     tile -> tile     (one for each returned tile)

``<region>`` is the region's record as JSON. An elementwise fragment is one operation, ``tle.element``, with the same
record. Impure operations keep their order, so a region stays whole through Triton's own passes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tle_raw.bound import BoundSignature, bound_from_json
from tle_raw.errors import Place

IN, NEW, CALL, OUT, ELEMENT = "tle.in", "tle.new", "tle.call", "tle.out", "tle.element"


@dataclass(frozen=True)
class RegionRecord:
    """One use of a fragment: which fragment and how it is bound. Where it is called, the operation's location says."""

    fragment: str
    bound: BoundSignature
    call_site: Place = Place("<kernel>", 0)

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps({"fragment": self.fragment, "bound": json.loads(self.bound.to_json())}, separators=(",", ":"))


def record_from_text(text: str, call_site: Place) -> RegionRecord:
    """The inverse of ``RegionRecord.to_text``."""
    data = json.loads(text)
    return RegionRecord(data["fragment"], bound_from_json(json.dumps(data["bound"])), call_site)
