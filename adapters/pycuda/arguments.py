"""PyCUDA's arguments: ``"float a, float *x"``, or a list of its VectorArg and ScalarArg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cuda.declarations import functions
from tle_raw.adapters.cuda.prototypes import number_dtype
from tle_raw.dtypes import DType, parse_dtype
from tle_raw.errors import Place, Row, SignatureError, TLEError


@dataclass(frozen=True)
class Argument:
    """One argument; ``type`` is the C++ type of a number, or of a vector's elements."""

    name: str
    type: str
    dtype: DType
    is_vector: bool


def read_arguments(arguments: Any, place: Place) -> tuple[Argument, ...]:
    """The arguments in order.

    Raises
    ------
    SignatureError : one is no number and no vector of numbers; the error names it.
    """
    if isinstance(arguments, str):
        return tuple(_parsed(arguments, place))
    if not isinstance(arguments, Sequence):
        raise SignatureError(
            "arguments are text, or a list of VectorArg and ScalarArg",
            table=[Row("arguments", '"float a, float *x"', type(arguments).__name__)],
        ).at(source=place)
    return tuple(_object(argument, place) for argument in arguments)


def _parsed(text: str, place: Place) -> list[Argument]:
    found = functions(f"void f({text});")
    if len(found) != 1:
        raise SignatureError(
            "the arguments are no C declarations", table=[Row("arguments", '"float a, float *x"', text)]
        ).at(source=place)
    parsed = []
    for parameter in found[0].parameters:
        words = [w for w in parameter.type.replace("*", " * ").split() if w not in _QUALIFIERS]
        is_vector = "*" in words
        dtype = number_dtype(" ".join(w for w in words if w != "*"))
        if dtype is None or words.count("*") > 1 or not parameter.name:
            raise _no_number(parameter.name or parameter.type, parameter.type, place)
        parsed.append(Argument(parameter.name, dtype.cxx, dtype, is_vector))
    return parsed


_QUALIFIERS = ("const", "volatile", "__restrict__", "__restrict")


def _object(argument: Any, place: Place) -> Argument:
    name = getattr(argument, "name", "")
    try:
        dtype = parse_dtype(str(argument.dtype))
    except (AttributeError, SignatureError):
        raise _no_number(name or repr(argument), str(getattr(argument, "dtype", argument)), place) from None
    return Argument(name, dtype.cxx, dtype, type(argument).__name__ == "VectorArg")


def _no_number(name: str, got: str, place: Place) -> TLEError:
    return SignatureError(
        f"the argument `{name}` is of a type that cannot cross into a region",
        table=[Row(name, "a number, or a pointer to numbers", got)],
        hint="complex numbers and structs are passed as arrays of their parts",
    ).at(source=place)


def dtype_of(value: Any, what: str, place: Place) -> DType:
    """The dtype that PyCUDA is given as ``np.float32``, a NumPy dtype or text."""
    text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    try:
        return parse_dtype(text)
    except SignatureError as error:
        raise SignatureError(
            f"{what} is a type that cannot cross into a region", table=[Row(what, "a number's dtype", str(value))],
            hint=error.hint,
        ).at(source=place) from None  # fmt: skip
