"""A manifest's functions as fragments that a compiler compiles: what packing starts from, and what tries it out."""

from __future__ import annotations

from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.source_text import read_bytes
from tle_raw.knobs import knobs
from tle_raw.libraries.packing.cut import cut_to
from tle_raw.libraries.packing.manifest import Function, Overload
from tle_raw.linker.inputs.bitcode import disassemble
from tle_raw.registry import find_adapter


def declared(function: Function, overload: Overload) -> Fragment:
    """The fragment of one overload.

    Raises
    ------
    DialectError : an option that the dialect does not take. FragmentSourceError : the source cannot be read.
    """
    options = {**overload.options, **_code(overload), "symbol": overload.symbol}
    if overload.block:
        options["block"] = overload.block
    declaration = Declaration(
        function.name,
        overload.signature,
        options,
        overload.location,
        overload.source.parent,
        libraries=overload.libraries,
    )
    return declare(find_adapter(overload.dialect), declaration)


def _code(overload: Overload) -> dict[str, str]:
    """Of bitcode only what the function needs: a device library is cut once for each of its functions."""
    if overload.source.suffix != ".bc" or overload.dialect != "llvm":
        return {"file": str(overload.source)}
    data = read_bytes(overload.source, (".bc",), "LLVM bitcode")
    symbol = overload.symbol.removeprefix("@")
    return {"source": cut_to(disassemble(data, knobs.compile_timeout, (symbol,)), symbol)}
