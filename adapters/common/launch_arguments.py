"""What a launch of a whole kernel is given, against the function's own parameters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tle_raw.adapters.common.struct_values import VALUES, Place
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row, TLEError
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.dtypes import ALIASES, DTYPES, DType
from tle_raw.fragments.parameter_types import Parameter, Pointer
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.struct_arguments import expand_structs

# Arrays of complex numbers are memory of their parts.
_PARTS = {"complex64": "f32", "complex128": "f64"}


def check_arguments(
    signature: Signature, arguments: Sequence[Any], source: Source, opaque: Collection[str] = ()
) -> list[Any]:
    """The arguments as Triton takes them. ``None`` and 0 are null pointers.

    Parameters
    ----------
    opaque : the pointers to what is no number, such as a struct: any array may lie there.

    Raises
    ------
    ArgumentCountError, ArgumentTypeError : with a row for each that does not fit.
    """
    parameters, own = signature.parameters, signature.own
    if len(arguments) != len(own):
        raise ArgumentCountError(
            f"`{signature.name}` takes {len(own)} arguments, got {len(arguments)}",
            table=[Row("arguments", str(len(own)), str(len(arguments)))],
            hint=f"the signature is {signature}",
        ).at(fragment=source.name, source=source.location)
    try:
        arguments, _ = expand_structs(signature, arguments, {}, VALUES)
    except TLEError as error:
        raise error.at(fragment=source.name, source=source.location) from None
    rows: list[Row] = []
    for parameter, argument in zip(parameters, arguments):
        rows += _rows(parameter, argument, parameter.name in opaque)
    if rows:
        raise ArgumentTypeError(
            f"the arguments do not fit `{signature.name}`", table=rows, hint=f"the signature is {signature}"
        ).at(fragment=source.name, source=source.location)
    return [_passed(parameter, argument) for parameter, argument in zip(parameters, arguments)]


def _rows(parameter: Parameter, argument: Any, is_opaque: bool) -> list[Row]:
    dtype: Any = parameter.type.dtype  # type: ignore[attr-defined]
    if isinstance(parameter.type, Pointer):
        if _is_null(argument) or isinstance(argument, Place):
            return []
        return _array_rows(parameter.name, dtype, argument, is_opaque or parameter.type.is_opaque)
    if argument is None or (hasattr(argument, "shape") and getattr(argument, "shape", ()) != ()):
        got = "None" if argument is None else f"an array of shape {tuple(argument.shape)}"
        return [Row(parameter.name, str(parameter.type), got)]
    return []


def _is_null(argument: Any) -> bool:
    return argument is None or (isinstance(argument, int) and not isinstance(argument, bool) and argument == 0)


def _passed(parameter: Parameter, argument: Any) -> Any:
    if not isinstance(parameter.type, Pointer):
        return _number(argument)
    dtype: Any = parameter.type.dtype
    if _is_null(argument) or isinstance(argument, Place):
        return _Address(dtype.triton, argument.address if isinstance(argument, Place) else 0)
    return _array(argument)


def _array_rows(name: str, dtype: DType, argument: Any, is_opaque: bool) -> list[Row]:
    found = getattr(argument, "dtype", None)
    if found is None:
        wanted = "an array" if is_opaque else f"an array of {dtype}"
        return [Row(name, f"{wanted}, or None", type(argument).__name__)]
    text = str(found).removeprefix("torch.")
    got = DTYPES.get(_PARTS.get(text, ALIASES.get(text, text)))
    if is_opaque and (got is not None or _is_structured(found)):
        return []
    if got is None or not _same_memory(dtype, got):
        return [Row(name, f"an array of {dtype}", f"an array of {text}")]
    return []


def _is_structured(dtype: Any) -> bool:
    """NumPy's arrays of structs."""
    return getattr(dtype, "names", None) is not None


def _same_memory(wanted: DType, got: DType) -> bool:
    """Signed or not, integers of one size are the same memory."""
    if wanted == got:
        return True
    return wanted.is_integer and got.is_integer and wanted.bits == got.bits and wanted.bits > 1


class _Address:
    """A bare address as Triton asks for pointers: like a tensor, which is empty. None would be a compile-time value."""

    shape = (0,)

    def __init__(self, dtype: str, address: int) -> None:
        self.dtype, self._address = dtype, address

    def data_ptr(self) -> int:
        return self._address

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def element_size(self) -> int:
        return 1

    def untyped_storage(self) -> None:
        return None


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
    if _is_structured(argument.dtype):
        argument = argument.view("u1")
    if str(argument.dtype).removeprefix("torch.") in _PARTS:
        argument = argument.view(argument.real.dtype)
    if not hasattr(argument, "data_ptr") and hasattr(argument, "__cuda_array_interface__"):
        return _DeviceArray(argument)
    return argument


def _number(argument: Any) -> Any:
    if getattr(argument, "shape", None) == () and not hasattr(argument, "data_ptr"):
        return argument.item()  # a number of NumPy's
    if isinstance(argument, int | float) or hasattr(argument, "dtype"):
        return argument
    # an object of a texture or a surface: of CuPy's, which has a `ptr`, or of CUDA's own binding, which is an int
    handle = getattr(argument, "ptr", argument)
    return int(handle) if hasattr(handle, "__int__") else argument
