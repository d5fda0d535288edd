"""Reads a typed signature from the annotations of a stub: a function whose body is ``...``."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tle_raw.errors import SignatureError
from tle_raw.fragments.mlir_types import parameter_type
from tle_raw.fragments.parameter_types import INOUT, Barrier, Element, Parameter, ParameterType, Scalar
from tle_raw.fragments.returned_tiles import tile_texts, with_returned
from tle_raw.fragments.signature import Effect, Signature


def signature_of(stub: Callable[..., Any], local_names: Mapping[str, Any] | None = None) -> Signature:
    """Read a typed signature from the annotations of a function whose body is ``...``.

    Of a function with a body, whose result is ``L["memref<…>"]`` or a tuple of such, those parameters come back that it
    returns.

    Raises
    ------
    SignatureError : it is no such function, or a parameter has no annotation, or one that is no parameter type.
    """
    if not inspect.isfunction(stub):
        raise SignatureError(
            f"a signature is read from a function, got {type(stub).__name__}",
            hint="pass signature=<a typed stub function>, or a tle_raw.Signature",
        )
    annotations = _annotations(stub, dict(local_names or {}))
    parameters = []
    for name, parameter in inspect.signature(stub).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SignatureError(f"`{stub.__name__}` takes *{name}: a typed signature names each parameter")
        if parameter.default is not parameter.empty:
            raise SignatureError(f"parameter `{name}` has a default value: fragments have none")
        parameters.append(_parameter(name, annotations.get(name)))
    texts = tile_texts(annotations.get("return"))
    if texts:
        return Signature(stub.__name__, tuple(with_returned(stub, parameters, texts)))
    return Signature(stub.__name__, tuple(parameters), _result(annotations.get("return")))


def _annotations(stub: Callable[..., Any], local_names: dict[str, Any]) -> dict[str, Any]:
    try:
        found = inspect.get_annotations(stub, locals=local_names, eval_str=True)
        return found or _written_annotations(stub)
    except SignatureError:
        raise
    except Exception as e:
        raise SignatureError(f"the annotations of `{stub.__name__}` cannot be read: {e}") from e


def _written_annotations(stub: Callable[..., Any]) -> dict[str, Any]:
    """Those of a function's source: one that was made of another's code has none of its own."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(stub))).body[0]
    except (OSError, SyntaxError):
        return {}
    if not isinstance(tree, ast.FunctionDef):
        return {}
    taken = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    written = {each.arg: each.annotation for each in taken} | {"return": tree.returns}
    return {
        name: eval(compile(ast.Expression(text), stub.__code__.co_filename, "eval"), stub.__globals__)
        for name, text in written.items()
        if text is not None
    }


def _parameter(name: str, annotation: object) -> Parameter:
    if annotation is None:
        raise SignatureError(f"parameter `{name}` has no type", hint=f'write for example `{name}: Pointer["f32"]`')
    if isinstance(annotation, Effect):
        type_ = annotation.type
        return Parameter(name, parameter_type(type_, name) if isinstance(type_, str) else type_, annotation.effect)
    if annotation is Barrier or isinstance(annotation, Barrier):
        return Parameter(name, Barrier(), INOUT)
    if isinstance(annotation, ParameterType):
        return Parameter(name, annotation)
    if isinstance(annotation, type) and issubclass(annotation, ParameterType):
        raise SignatureError(
            f"parameter `{name}`: {annotation.__name__} needs its dtype",
            hint=f'write for example `{name}: {annotation.__name__}["f32"]`',
        )
    raise SignatureError(
        f"parameter `{name}` has the annotation {annotation!r}",
        hint="use Scalar, Pointer, Tile, Buffer, Barrier, Descriptor, Element or Const, inside In, Out or InOut",
    )


def _result(annotation: object) -> Scalar | Element | None:
    if annotation is None or isinstance(annotation, (Scalar, Element)):
        return annotation
    raise SignatureError(
        f"a fragment returns Scalar[...], Element[...] or nothing, got {annotation!r}",
        hint="a tile comes back by making its parameter Out or InOut",
    )
