"""The types of a launch's arguments, as a region with them will have them: a kernel is typed before it is traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.cutile.argument_types import (
    ArgumentType,
    ArrayListType,
    ArrayType,
    ConstantType,
    TileType,
    TupleType,
)
from tle_raw.adapters.cutile.dtypes import CARRIED, cutile_dtype
from tle_raw.adapters.cutile.parameters import FunctionParameter, item_annotations
from tle_raw.fragments.dtypes import parse_dtype


class Untyped(Exception):
    """What an argument will be in the kernel is known where it is traced only."""


def host_types(parameters: Sequence[FunctionParameter], arguments: Sequence[Any]) -> Mapping[str, ArgumentType]:
    """By parameter.

    Raises
    ------
    Untyped : one of them cannot be told.
    """
    return {p.name: _type(p, p.name, a, p.annotation) for p, a in zip(parameters, arguments)}


def _type(parameter: FunctionParameter, path: str, value: Any, annotation: Any) -> ArgumentType:
    if getattr(annotation, "constant", False):
        return ConstantType(value)
    if isinstance(value, list):
        element = getattr(getattr(annotation, "list", None), "element", None)
        return ArrayListType(_array(parameter, path, value[0], element))
    if isinstance(value, tuple):
        nodes = item_annotations(path, annotation, len(value))
        return TupleType(
            tuple(_type(parameter, f"{path}[{i}]", item, node) for i, (item, node) in enumerate(zip(value, nodes)))
        )
    if hasattr(value, "block_shape") or (hasattr(value, "shape") and hasattr(value, "dtype")):
        return _array(parameter, path, value, annotation)
    if not isinstance(value, (bool, int, float)):
        return ConstantType(value)
    scalar = getattr(annotation, "scalar", None)
    return TileType(str(scalar.dtype) if scalar is not None else scalar_dtype(value))


def _array(parameter: FunctionParameter, path: str, value: Any, annotation: Any) -> ArrayType:
    name = str(value.base.dtype if hasattr(value, "block_shape") else value.dtype)  # of a tensor descriptor
    name = name.removeprefix("torch.")
    dtype = name if name in CARRIED else cutile_dtype(parse_dtype(name).triton)
    dtype = parameter.dtype_of(path) or dtype
    array = getattr(annotation, "array", annotation if hasattr(annotation, "index_dtype") else None)
    constants = [*getattr(array, "static_shape_dims", ()), *getattr(array, "static_stride_dims", ())]
    if dtype is None or constants:
        raise Untyped(f"`{path}` has sizes that are constants, or elements that cuTile does not know")
    bits = 64 if array is not None and str(array.index_dtype) == "int64" else 32
    unknown = (None,) * len(value.shape)
    return ArrayType(dtype, unknown, unknown, (path,), bits)


def scalar_dtype(value: bool | int | float) -> str:
    """What cuTile makes of a Python number that a kernel is launched with."""
    if isinstance(value, bool):
        return "bool_"
    if isinstance(value, float):
        return "float32"
    return "int32" if -(2**31) <= value < 2**31 else "int64"
