"""PyCUDA's arguments: ``"float a, float *x"``, or a list of its VectorArg and ScalarArg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.number_types import number_dtype, parts_dtype
from tle_raw.errors import Row, SignatureError, SourceLocation, TLEError
from tle_raw.fragments.dtypes import DType, parse_dtype


@dataclass(frozen=True)
class PycudaArgument:
    """One argument; ``type`` is the C++ type of a number, or of a vector's elements, and ``dtype`` that of its numbers.

    ``is_compound``: an element is several numbers, as with ``float4`` and ``pycuda::complex<float>``.
    """

    name: str
    type: str
    dtype: DType
    is_vector: bool
    is_const: bool = False
    is_compound: bool = False


def read_arguments(arguments: Any, location: SourceLocation) -> tuple[PycudaArgument, ...]:
    """The arguments in order.

    Raises
    ------
    SignatureError : one is no number and no vector of numbers; the error names it.
    """
    if isinstance(arguments, str):
        return tuple(_parsed(arguments, location))
    if not isinstance(arguments, Sequence):
        raise SignatureError(
            "arguments are text, or a list of VectorArg and ScalarArg",
            table=[Row("arguments", '"float a, float *x"', type(arguments).__name__)],
        ).at(source=location)
    return tuple(_object(argument, location) for argument in arguments)


def _parsed(text: str, location: SourceLocation) -> list[PycudaArgument]:
    found = functions(f"void f({text});")
    if len(found) != 1:
        raise SignatureError(
            "the arguments are no C declarations", table=[Row("arguments", '"float a, float *x"', text)]
        ).at(source=location)
    parsed = []
    for parameter in found[0].parameters:
        words = [w for w in parameter.type.replace("*", " * ").split() if w not in _QUALIFIERS]
        written = " ".join(w for w in words if w != "*")
        argument = _typed(parameter.name, written, "*" in words, "const" in parameter.type.split())
        if argument is None or words.count("*") > 1 or not parameter.name:
            raise _no_number(parameter.name or parameter.type, parameter.type, location)
        parsed.append(argument)
    return parsed


def _typed(name: str, written: str, is_vector: bool, is_const: bool) -> PycudaArgument | None:
    dtype = number_dtype(written)
    if dtype is not None:
        return PycudaArgument(name, dtype.cxx, dtype, is_vector, is_const)
    parts = parts_dtype(written) if is_vector else None
    return PycudaArgument(name, written, parts, is_vector, is_const, is_compound=True) if parts else None


_COMPLEX = {"complex64": "pycuda::complex<float>", "complex128": "pycuda::complex<double>"}
_QUALIFIERS = ("const", "volatile", "__restrict__", "__restrict")


def _object(argument: Any, location: SourceLocation) -> PycudaArgument:
    name, is_vector = getattr(argument, "name", ""), type(argument).__name__ == "VectorArg"
    text = str(getattr(argument, "dtype", ""))
    try:
        found = _typed(name, _COMPLEX.get(text) or parse_dtype(text).cxx, is_vector, False)
    except SignatureError:
        found = None
    if found is None:
        raise _no_number(name or repr(argument), text or repr(argument), location)
    return found


def _no_number(name: str, got: str, location: SourceLocation) -> TLEError:
    return SignatureError(
        f"the argument `{name}` is of a type that cannot cross into a region",
        table=[Row(name, "a number, or a pointer to numbers", got)],
        hint="complex numbers and structs are passed as arrays of their parts",
    ).at(source=location)


def dtype_of(value: Any, what: str, location: SourceLocation) -> DType:
    """The dtype that PyCUDA is given as ``np.float32``, a NumPy dtype or text."""
    text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    try:
        return parse_dtype(text)
    except SignatureError as error:
        raise SignatureError(
            f"{what} is a type that cannot cross into a region", table=[Row(what, "a number's dtype", str(value))],
            hint=error.hint,
        ).at(source=location) from None  # fmt: skip
