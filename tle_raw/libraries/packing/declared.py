"""A manifest's functions as fragments that a compiler compiles: what packing starts from, and what tries it out."""

from __future__ import annotations

from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.libraries.packing.manifest import Function, Overload
from tle_raw.registry import find_adapter


def declared(function: Function, overload: Overload) -> Fragment:
    """The fragment of one overload.

    Raises
    ------
    DialectError : an option that the dialect does not take. FragmentSourceError : the source cannot be read.
    """
    options = {**overload.options, "file": str(overload.source), "symbol": overload.symbol}
    if overload.block:
        options["block"] = overload.block
    declaration = Declaration(
        function.name, overload.signature, options, overload.location, overload.source.parent
    )
    return declare(find_adapter(overload.dialect), declaration)
