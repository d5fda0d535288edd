"""A signature as text: ``(x: InOut[Tile[f32, M, N]], n: Scalar[i32]) -> Scalar[f32]``."""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache
from typing import Any

from tle_raw.errors import SignatureError
from tle_raw.fragments.parameter_types import (
    IN,
    INOUT,
    AnyLayout,
    Barrier,
    Buffer,
    Const,
    Descriptor,
    Element,
    Parameter,
    ParameterType,
    Pointer,
    Scalar,
    Tile,
)
from tle_raw.fragments.signature import Effect, In, InOut, Out, Signature

TYPES: dict[str, Any] = {"Scalar": Scalar, "Pointer": Pointer, "Tile": Tile, "Buffer": Buffer, "Descriptor": Descriptor,
         "Element": Element, "Const": Const}  # fmt: skip
EFFECTS = {"In": In, "Out": Out, "InOut": InOut}
EXAMPLE = "write for example (x: InOut[Tile[f32, M, N]], n: Scalar[i32]) -> Scalar[f32]"


def read_signature(name: str, text: str) -> Signature:
    """The signature of the function ``name`` that a text states.

    Raises
    ------
    SignatureError : the text is none, or names a type that there is not.
    """
    parameters, result = _parameters_and_result(text)
    return Signature(name, parameters, result)


@lru_cache(maxsize=4096)  # functions of a library have few signatures
def _parameters_and_result(text: str) -> tuple[tuple[Parameter, ...], Scalar | Element | None]:
    arguments, result = _parsed(text)
    parameters = tuple(_parameter(a.arg, a.annotation) for a in arguments)
    names = [p.name for p in parameters]
    twice = next((n for n in names if names.count(n) > 1), "")
    if twice:
        raise SignatureError(f"two parameters have the name `{twice}`")
    return parameters, _result(result)


def signature_text(signature: Signature) -> str:
    """The inverse of ``read_signature``, without the name."""
    return str(signature).removeprefix(signature.name)


def _parsed(text: str) -> tuple[list[ast.arg], ast.expr | None]:
    try:
        tree = ast.parse(f"def f{text.strip()}: ...")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        taken = next((w for w in re.findall(r"(\w+)\s*:", text) if keyword.iskeyword(w)), "")
        raise SignatureError(
            f"the signature {text!r} cannot be read: " + (f"`{taken}` is a word of Python's" if taken else f"{why}"),
            hint=f"call the parameter `{taken}_`" if taken else EXAMPLE,
        ) from None
    function = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(function, ast.FunctionDef) or len(function.body) != 1:
        raise SignatureError(f"{text!r} is no signature", hint=EXAMPLE)
    taken = function.args
    if taken.vararg or taken.kwarg or taken.kwonlyargs or taken.posonlyargs or taken.defaults:
        raise SignatureError(f"the signature {text!r} names each parameter once, without * and without defaults")
    return taken.args, function.returns


def _parameter(name: str, annotation: ast.expr | None) -> Parameter:
    if annotation is None:
        raise SignatureError(f"parameter `{name}` has no type", hint=EXAMPLE)
    type_ = _type(annotation)
    if isinstance(type_, Effect):
        assert isinstance(type_.type, ParameterType)
        return Parameter(name, type_.type, type_.effect)
    return Parameter(name, type_, INOUT if isinstance(type_, Barrier) else IN)


def _result(annotation: ast.expr | None) -> Scalar | Element | None:
    type_ = None if annotation is None or _is_none(annotation) else _type(annotation)
    if type_ is None or isinstance(type_, (Scalar, Element)):
        return type_
    raise SignatureError(
        f"a function returns Scalar[...], Element[...] or nothing, not {ast.unparse(annotation)}",  # type: ignore[arg-type]
        hint="a tile comes back by making its parameter Out or InOut",
    )


def _type(node: ast.expr) -> ParameterType | Effect:
    if isinstance(node, ast.Name) and node.id == "Barrier":
        return Barrier()
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        name = node.value.id
        if name in EFFECTS:
            inner = _type(node.slice)
            if isinstance(inner, Effect):
                raise SignatureError(f"`{ast.unparse(node)}` has two effects")
            return EFFECTS[name][inner]
        if name in TYPES:
            items = tuple(map(_item, node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)))
            made: ParameterType = TYPES[name].__class_getitem__(items if len(items) != 1 else items[0])
            return made
    raise SignatureError(
        f"`{ast.unparse(node)}` is no parameter type",
        hint=f"types are {', '.join((*TYPES, 'Barrier'))}, inside {', '.join(EFFECTS)}",
    )


def _item(node: ast.expr) -> object:
    if isinstance(node, ast.Name):
        return AnyLayout if node.id == "AnyLayout" else node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return node.value
    raise SignatureError(f"`{ast.unparse(node)}` is neither a dtype, a name nor an integer", hint=EXAMPLE)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
