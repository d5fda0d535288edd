"""FlagTree's way to say that a tile comes back: the function's result has its type, and the body returns it by name."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from tle_raw.errors import Row, SignatureError
from tle_raw.fragments.mlir_types import parameter_type
from tle_raw.fragments.parameter_types import INOUT, Parameter, Tile


def tile_texts(annotation: object) -> tuple[str, ...]:
    """The types in MLIR's spelling that a result's annotation names: ``L["memref<?xf32, 3>"]``, or a tuple of such."""
    origin, items = get_origin(annotation), get_args(annotation)
    if origin is Literal and all(isinstance(item, str) for item in items):
        return items
    if isinstance(annotation, tuple) or origin is tuple:
        parts = [tile_texts(item) for item in (annotation if isinstance(annotation, tuple) else items)]
        return tuple(text for part in parts for text in part) if all(parts) else ()
    return ()


def with_returned(
    function: Callable[..., Any], parameters: Sequence[Parameter], texts: Sequence[str]
) -> list[Parameter]:
    """The parameters, of which those that the function returns are ``InOut``.

    Raises
    ------
    SignatureError : it returns something else than its tiles, in their order and of these types.
    """
    names = _returned_names(function)
    by_name = {parameter.name: parameter for parameter in parameters}
    fitting = len(names) == len(texts) and all(
        isinstance(by_name[name].type, Tile) and _same(by_name[name], text)
        for name, text in zip(names, texts)
        if name in by_name
    )
    ordered = [parameter.name for parameter in parameters if parameter.name in names]
    if not fitting or list(names) != ordered:
        raise SignatureError(
            f"`{function.__name__}` gives back tiles of which nothing says which they are",
            table=[
                Row("returned", f"{len(texts)} of its parameters, of type {', '.join(texts)}", ", ".join(names) or "?")
            ],
            hint="end it with `return y` for parameters, in their order; or make them InOut, and return nothing",
        )
    return [replace(p, effect=INOUT) if p.name in names else p for p in parameters]


def _same(parameter: Parameter, text: str) -> bool:
    type_, named = parameter.type, parameter_type(text, parameter.name)
    assert isinstance(type_, Tile)
    return isinstance(named, Tile) and (named.dtype, len(named.dims)) == (type_.dtype, len(type_.dims))


def _returned_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names in the function's ``return``; none where it has several that differ, or returns other values."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            value = node.value
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            found.add(tuple(item.id if isinstance(item, ast.Name) else "" for item in items))
    return found.pop() if len(found) == 1 else ()
