"""What a launch of a whole kernel is given, against the function's own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapter import Source
from tle_raw.dtypes import ALIASES, DTYPES, DType
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row
from tle_raw.signature import Pointer, Signature

# Arrays of complex numbers are memory of their parts.
_PARTS = {"complex64": "f32", "complex128": "f64"}


def check_arguments(signature: Signature, arguments: Sequence[Any], source: Source) -> list[Any]:
    """The arguments as Triton takes them.

    Raises
    ------
    ArgumentCountError, ArgumentTypeError : with a row for each that does not fit.
    """
    parameters = signature.parameters
    if len(arguments) != len(parameters):
        raise ArgumentCountError(
            f"`{signature.name}` takes {len(parameters)} arguments, got {len(arguments)}",
            table=[Row("arguments", str(len(parameters)), str(len(arguments)))],
            hint=f"the signature is {signature}",
        ).at(fragment=source.name, source=source.place)
    rows = []
    for parameter, argument in zip(parameters, arguments):
        dtype: Any = parameter.type.dtype  # type: ignore[attr-defined]
        if isinstance(parameter.type, Pointer):
            rows += _array_rows(parameter.name, dtype, argument)
        elif hasattr(argument, "shape") and getattr(argument, "shape", ()) != ():
            rows.append(Row(parameter.name, str(parameter.type), f"an array of shape {tuple(argument.shape)}"))
    if rows:
        raise ArgumentTypeError(
            f"the arguments do not fit `{signature.name}`", table=rows, hint=f"the signature is {signature}"
        ).at(fragment=source.name, source=source.place)
    return [
        _array(argument) if isinstance(parameter.type, Pointer) else _number(argument)
        for parameter, argument in zip(parameters, arguments)
    ]


def _array_rows(name: str, dtype: DType, argument: Any) -> list[Row]:
    found = getattr(argument, "dtype", None)
    if found is None:
        return [Row(name, f"an array of {dtype}", type(argument).__name__)]
    text = str(found).removeprefix("torch.")
    got = DTYPES.get(_PARTS.get(text, ALIASES.get(text, text)))
    if got is None or not _same_memory(dtype, got):
        return [Row(name, f"an array of {dtype}", f"an array of {text}")]
    return []


def _same_memory(wanted: DType, got: DType) -> bool:
    """Signed or not, integers of one size are the same memory."""
    if wanted == got:
        return True
    return wanted.is_integer and got.is_integer and wanted.bits == got.bits and wanted.bits > 1


class _DeviceArray:
    """An array of CuPy or PyCUDA: Triton asks for the address and the dtype, as torch tells them."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        return int(self._array.__cuda_array_interface__["data"][0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key] = value


def _array(argument: Any) -> Any:
    if str(argument.dtype).removeprefix("torch.") in _PARTS:
        argument = argument.view(argument.real.dtype)
    if not hasattr(argument, "data_ptr") and hasattr(argument, "__cuda_array_interface__"):
        return _DeviceArray(argument)
    return argument


def _number(argument: Any) -> Any:
    if getattr(argument, "shape", None) == () and not hasattr(argument, "data_ptr"):
        return argument.item()  # a number of NumPy's
    return argument
