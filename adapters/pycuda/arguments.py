"""PyCUDA's arguments: ``"float a, float *x"``, or a list of its VectorArg and ScalarArg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.prototypes import number_dtype, parts_dtype
from tle_raw.errors import Place, Row, SignatureError, TLEError
from tle_raw.fragments.dtypes import DType, parse_dtype


@dataclass(frozen=True)
class Argument:
    """One argument; ``type`` is the C++ type of a number, or of a vector's elements, and ``dtype`` that of its numbers.

    ``is_compound``: an element is several numbers, as with ``float4`` and ``pycuda::complex<float>``.
    """

    name: str
    type: str
    dtype: DType
    is_vector: bool
    is_const: bool = False
    is_compound: bool = False


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
        written = " ".join(w for w in words if w != "*")
        argument = _typed(parameter.name, written, "*" in words, "const" in parameter.type.split())
        if argument is None or words.count("*") > 1 or not parameter.name:
            raise _no_number(parameter.name or parameter.type, parameter.type, place)
        parsed.append(argument)
    return parsed


def _typed(name: str, written: str, is_vector: bool, is_const: bool) -> Argument | None:
    dtype = number_dtype(written)
    if dtype is not None:
        return Argument(name, dtype.cxx, dtype, is_vector, is_const)
    parts = parts_dtype(written) if is_vector else None
    return Argument(name, written, parts, is_vector, is_const, is_compound=True) if parts else None


_COMPLEX = {"complex64": "pycuda::complex<float>", "complex128": "pycuda::complex<double>"}
_QUALIFIERS = ("const", "volatile", "__restrict__", "__restrict")


def _object(argument: Any, place: Place) -> Argument:
    name, is_vector = getattr(argument, "name", ""), type(argument).__name__ == "VectorArg"
    text = str(getattr(argument, "dtype", ""))
    try:
        found = _typed(name, _COMPLEX.get(text) or parse_dtype(text).cxx, is_vector, False)
    except SignatureError:
        found = None
    if found is None:
        raise _no_number(name or repr(argument), text or repr(argument), place)
    return found


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
