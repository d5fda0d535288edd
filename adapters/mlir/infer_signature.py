"""Reads a fragment's signature from its function's own type."""

from __future__ import annotations

import keyword
import re

from tle_raw.adapters.mlir.functions import MlirFunction
from tle_raw.errors import SignatureError
from tle_raw.fragments.mlir_types import parameter_type
from tle_raw.fragments.parameter_types import IN, INOUT, Parameter, Scalar, Tile
from tle_raw.fragments.signature import Signature


def infer_signature(function: MlirFunction) -> Signature:
    """What the function may write is InOut: a tile comes back, memory behind a pointer is updated.

    Raises
    ------
    SignatureError : a parameter or the result cannot cross into a region.
    """
    names = _names(function)
    parameters = []
    for name, spelling in zip(names, function.parameters):
        type_ = parameter_type(spelling, name)
        parameters.append(Parameter(name, type_, IN if isinstance(type_, Scalar) else INOUT))
    return Signature(function.name, tuple(parameters), _result(function))


def _names(function: MlirFunction) -> list[str]:
    """The function's own names where Python can say them."""
    names: list[str] = []
    for index, name in enumerate(function.names):
        usable = name.isidentifier() and not keyword.iskeyword(name) and name not in names
        names.append(name if usable else f"arg{index}")
    return names


def _result(function: MlirFunction) -> Scalar | None:
    if not function.results:
        return None
    if len(function.results) > 1:
        raise SignatureError(
            f"`{function.name}` gives {len(function.results)} values, and a fragment gives one",
            hint="write the others into a tile, or behind a pointer",
        )
    spelling = function.results[0]
    type_ = parameter_type(spelling, "result")
    if isinstance(type_, Scalar):
        return type_
    what = "a tile" if isinstance(type_, Tile) else "a pointer"
    raise SignatureError(
        f"`{function.name}` gives {what}, `{spelling}`, and a fragment gives one value",
        hint="take the memory as a parameter and write into it",
    )


def rank(spelling: str) -> int:
    """The rank of a memref."""
    shape = re.match(r"memref<((?:(?:\?|\d+)\s*x\s*)*)", spelling)
    return len(re.findall(r"\?|\d+", shape[1])) if shape else 0
