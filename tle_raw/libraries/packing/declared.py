"""A manifest's functions as fragments that a compiler compiles: what packing starts from, and what tries it out."""

from __future__ import annotations

from collections.abc import Collection

from tle_raw.errors import FragmentSourceError
from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.source_text import read_bytes
from tle_raw.knobs import knobs
from tle_raw.libraries.packing.cut import cut_to
from tle_raw.libraries.packing.manifest import Function, Overload
from tle_raw.linker.inputs.bitcode import disassemble
from tle_raw.linker.llvm.text import read_module
from tle_raw.registry import find_adapter


def declared(
    function: Function, overload: Overload, symbols: Collection[str] = (), variables: Collection[str] = ()
) -> Fragment:
    """The fragment of one overload.

    Parameters
    ----------
    symbols : what else of the same bitcode others will ask for, so that it is read once.
    variables : those of bitcode that stay, whether the function reaches them or not.

    Raises
    ------
    DialectError : an option that the dialect does not take. FragmentSourceError : the source cannot be read.
    """
    options = {**overload.options, **_code(function, overload, symbols, variables), "symbol": overload.symbol}
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


def _code(
    function: Function, overload: Overload, symbols: Collection[str], variables: Collection[str]
) -> dict[str, str]:
    """Of bitcode only what the function needs: a device library is cut once for each of its functions."""
    if not is_cut(overload):
        return {"file": str(overload.source)}
    data = read_bytes(overload.source, (".bc",), "LLVM bitcode")
    symbol = symbol_of(overload)
    try:
        text = disassemble(data, knobs.compile_timeout, tuple(sorted({symbol, *symbols})))
    except FragmentSourceError as error:
        told = FragmentSourceError(f"{overload.source.name}: {error.message}", log=error.log, hint=error.hint)
        raise told.at(fragment=function.name, source=overload.location) from None
    if not any(entity.name == symbol for entity in read_module(text).of_kind("define")):
        return {"source": text}  # the dialect tells what there is in place of it
    return {"source": cut_to(text, symbol, variables)}


def is_cut(overload: Overload) -> bool:
    """Whether its source is bitcode of which it takes its function."""
    return overload.source.suffix == ".bc" and overload.dialect == "llvm"


def symbol_of(overload: Overload) -> str:
    """Its function's name in the bitcode."""
    return overload.symbol.removeprefix("@")
