"""Numba's types and ours: which parameters a function of certain types has in a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import DialectError, Row, SignatureError, UnsupportedFeatureError
from tle_raw.fragments.dtypes import DType, parse_dtype
from tle_raw.fragments.parameter_types import IN, INOUT, Element, Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature

_NAMES = {"boolean": "bool", "bool": "bool"}


@dataclass(frozen=True)
class NumbaArgument:
    """One argument of the function. ``rank`` is that of an array, -1 for a pointer, 0 for a number."""

    name: str
    dtype: DType
    rank: int
    is_read_only: bool = False

    @property
    def sizes(self) -> tuple[str, ...]:
        """The parameters that tell an array's extents."""
        return (f"{self.name}_size",) if self.rank == 1 else tuple(f"{self.name}_size{i}" for i in range(self.rank))


def read_types(types: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """The types of the arguments, and of the result or None, of what Numba takes as a signature.

    Raises
    ------
    DialectError : it is none, or for another number of arguments.
    """
    from numba.core import sigutils

    try:
        arguments, result = sigutils.normalize_signature(types)
    except Exception as error:  # Numba evaluates the text: whatever may be raised is raised
        raise DialectError(
            "types= is no signature of Numba's",
            table=[Row("types", '"float32(float32, float32)", "void(float32[::1])"', repr(types))],
        ) from error
    if len(arguments) != len(names):
        raise DialectError(
            f"types= is for {len(arguments)} arguments, and the function has {len(names)}",
            table=[Row("arguments", ", ".join(names), ", ".join(map(str, arguments)))],
        )
    return arguments, result


def arguments_of(types: Sequence[Any], names: Sequence[str]) -> tuple[NumbaArgument, ...]:
    """What Numba's types are here.

    Raises
    ------
    UnsupportedFeatureError : an array that is not contiguous in C's order.
    SignatureError : no number, pointer or array.
    """
    return tuple(_argument(type_, name) for type_, name in zip(types, names))


def _argument(type_: Any, name: str) -> NumbaArgument:
    from numba import types

    if isinstance(type_, types.Array):
        if type_.layout != "C":
            raise UnsupportedFeatureError(
                f"the array `{name}` may have any strides, and a region gets a pointer and sizes",
                table=[Row(name, f"{type_.dtype}[{'::1' if type_.ndim == 1 else ':, ' * (type_.ndim - 1) + '::1'}]",
                           str(type_))],
                hint="say that it is contiguous in C's order: [::1], [:, ::1]",
            )  # fmt: skip
        return NumbaArgument(name, dtype_of(type_.dtype, name), type_.ndim, not type_.mutable)
    if isinstance(type_, types.CPointer):
        return NumbaArgument(name, dtype_of(type_.dtype, name), -1)
    return NumbaArgument(name, dtype_of(type_, name), 0)


def dtype_of(type_: Any, name: str) -> DType:
    """Our dtype of a number of Numba's.

    Raises
    ------
    SignatureError : it is no number, or one that cannot cross.
    """
    text = str(type_)
    try:
        found = parse_dtype(_NAMES.get(text, text))
    except SignatureError:
        found = None
    if found is None or numba_dtype(found) != type_:
        raise SignatureError(
            f"`{name}` is of a type that cannot cross into a region",
            table=[Row(name, "a number, a pointer, or an array of numbers that is contiguous in C's order", text)],
        )
    return found


def numba_dtype(dtype: DType) -> Any:
    """Numba's type of a number, or None."""
    from numba import types

    name = {"i1": "boolean", "f16": "float16", "f32": "float32", "f64": "float64"}.get(dtype.name)
    if name is None and dtype.is_integer:
        name = f"{'u' if dtype.name[0] == 'u' else ''}int{dtype.bits}"
    return getattr(types, name) if name else None


def types_of(signature: Signature) -> tuple[Any, ...]:
    """Numba's types of a signature's parameters.

    Raises
    ------
    SignatureError : a tile, a constant, or a dtype that Numba has not.
    """
    from numba import types

    found = []
    for parameter in signature.parameters:
        kind, dtype = parameter.type, getattr(parameter.type, "dtype", None)
        known = numba_dtype(dtype) if isinstance(dtype, DType) else None
        is_updated = isinstance(kind, Element) and parameter.effect != IN
        if known is None or not isinstance(kind, (Scalar, Pointer, Element)) or is_updated:
            raise SignatureError(
                f"a function of Numba's cannot take the parameter `{parameter.name}`",
                table=[Row(parameter.name, "Scalar, Pointer or In Element, of a number of Numba's", str(kind))],
                hint="a result is returned; an array is given by types=",
            )
        found.append(types.CPointer(known) if isinstance(kind, Pointer) else known)
    return tuple(found)


def signature_for(name: str, arguments: Sequence[NumbaArgument], result: Any) -> Signature:
    """Arrays become pointers with their sizes behind them. A function of numbers alone is applied to elements.

    Raises
    ------
    UnsupportedFeatureError : a result beside arrays, of which each thread has its own.
    """
    are_numbers = all(argument.rank == 0 for argument in arguments)
    if result is None:
        given = None
    elif are_numbers and arguments:
        given = Element(dtype_of(result, "result"))
    else:
        raise UnsupportedFeatureError(
            f"`{name}` returns a number of each thread, and takes memory",
            hint="write it to an array; or pass signature=, with a Scalar result, which is equal in all threads",
        )
    parameters = []
    for argument in arguments:
        if argument.rank == 0:
            kind = Element(argument.dtype) if given else Scalar(argument.dtype)
            parameters.append(Parameter(argument.name, kind))
            continue
        parameters.append(Parameter(argument.name, Pointer(argument.dtype), IN if argument.is_read_only else INOUT))
        parameters += [Parameter(size, Scalar(parse_dtype("i64"))) for size in argument.sizes]
    return Signature(name, tuple(parameters), given)
