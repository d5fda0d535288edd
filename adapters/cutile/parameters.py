"""The parameters of a cuTile function, as its Python signature and cuTile's annotations state them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tle_raw.adapters.cutile.installed import load_cutile
from tle_raw.adapters.cutile.locations import refused
from tle_raw.adapters.cutile.options import Options
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row, SignatureError


@dataclass(frozen=True)
class FunctionParameter:
    """``annotation`` is cuTile's reading of the annotation; ``dtypes`` and ``lists`` are what the options say.

    ``lists`` holds what is a list of arrays: the parameter's own name, or an item's, such as ``pair[0]``; ``dtypes``
    the dtypes of such names.
    """

    name: str
    annotation: Any
    dtypes: tuple[tuple[str, str], ...] = ()
    lists: tuple[str, ...] = ()

    def dtype_of(self, path: str) -> str | None:
        """What is said of an item, or of what it is an item of."""
        known = dict(self.dtypes)
        while path and path not in known:
            path = path.rpartition("[")[0]
        return known.get(path)


def read_parameters(function: FunctionType, options: Options) -> tuple[FunctionParameter, ...]:
    """The parameters in order.

    Raises
    ------
    SignatureError : a parameter that takes any number of arguments, or an option that names no parameter.
    CompilationFailed : an annotation that cuTile refuses.
    """
    load_cutile()
    from cuda.tile._annotated_function import get_annotated_function

    try:
        annotations = get_annotated_function(function).parameter_annotations
    except Exception as e:  # of the user's own annotations, which are evaluated
        raise refused(e) from e
    found = []
    for parameter, annotation in zip(inspect.signature(function).parameters.values(), annotations):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
            raise SignatureError(
                f"`{function.__name__}` takes {parameter}: a kernel passes each argument by its place",
                hint="call it from a function with ordinary parameters, and make that the fragment",
            )
        name = parameter.name
        lists = tuple(n for n in options.lists if n.partition("[")[0] == name)
        dtypes = tuple((n, d) for n, d in sorted(options.dtypes.items()) if n.partition("[")[0] == name)
        found.append(FunctionParameter(name, annotation, dtypes, lists))
    names = [p.name for p in found]
    for option, given in (
        ("dtypes", options.dtypes),
        ("lists", options.lists),
        ("alias", [name for group in options.alias for name in group]),
    ):
        for name in given:
            if name.partition("[")[0] not in names:
                raise SignatureError(f"{option}= names `{name}`, which is no parameter of `{function.__name__}`")
    for name in options.given_names:
        if name in names:
            raise SignatureError(f"grid= gives the name `{name}` to a block id, which is taken", hint="choose another")
    return tuple(found)


def match_arguments(
    function: FunctionType, names: Sequence[str], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Give each parameter its argument or its default, and each name of the grid its value.

    Raises
    ------
    ArgumentCountError : too many, too few, unknown, or one twice.
    """
    of_grid = {name: keywords[name] for name in names if name in keywords}
    missing = [name for name in names if name not in keywords]
    if missing:
        raise ArgumentCountError(
            f"`{function.__name__}` needs the block id `{missing[0]}`", hint=f"pass it by name: {missing[0]}=..."
        )
    try:
        bound = inspect.signature(function).bind(*arguments, **{k: v for k, v in keywords.items() if k not in of_grid})
    except TypeError as e:
        raise ArgumentCountError(
            f"`{function.__name__}`: {e}", hint=f"it takes {inspect.signature(function)}"
        ) from None
    bound.apply_defaults()
    return {**bound.arguments, **of_grid}


def item_annotations(name: str, annotation: Any, count: int) -> list[Any]:
    """cuTile's reading of the annotations of a tuple's items.

    Raises
    ------
    ArgumentTypeError : the annotation is of a tuple of another length.
    """
    kind = getattr(annotation, "KIND", "leaf")
    if kind == "heterogeneous_tuple":
        if len(annotation.items) != count:
            raise ArgumentTypeError(
                f"argument `{name}` is a tuple of another length",
                table=[Row(name, f"{len(annotation.items)} items", f"{count} items")],
            )
        return list(annotation.items)
    return [annotation.each if kind == "homogeneous_tuple" else annotation] * count
