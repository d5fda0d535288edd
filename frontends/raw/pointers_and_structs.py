"""What a kernel passes for a pointer that may be null or point to anything, and for a struct: a tuple of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triton.language import core

from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import Pointer
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.struct_arguments import expand_structs
from tle_raw.fragments.structs import Parts, Taker
from tle_raw.regions.values import describe, to_handle_type


def open_structs(
    signature: Signature, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with all that a struct holds in its place.

    Raises
    ------
    ArgumentCountError, ArgumentTypeError : a struct has other parts than the kernel passes.
    """
    return expand_structs(signature, args, keywords, Taker(_parts, lambda value: str(describe(value))))


def _parts(value: Any) -> Parts | None:
    if isinstance(value, core.constexpr):
        value = value.value
    if isinstance(value, core.tuple):
        fields = getattr(value.type, "fields", None)
        return Parts(list(value.values), tuple(fields) if fields and all(fields) else ())
    if isinstance(value, (tuple, list)):
        return Parts(value, tuple(getattr(value, "_fields", ())))
    return None


def fit_pointers(signature: Signature, given: Mapping[str, Any], semantic: Any) -> dict[str, Any]:
    """None and 0 as null pointers, and pointers of any dtype where the function takes a pointer to anything."""
    fitted = dict(given)
    for parameter in signature.parameters:
        type_ = parameter.type
        if isinstance(type_, Pointer) and isinstance(type_.dtype, DType) and parameter.name in fitted:
            fitted[parameter.name] = _fitted(type_, type_.dtype, fitted[parameter.name], semantic)
    return fitted


def _fitted(type_: Pointer, dtype: DType, value: Any, semantic: Any) -> Any:
    plain = value if isinstance(value, core.tuple) else core._unwrap_if_constexpr(value)
    wanted = core.pointer_type(to_handle_type(dtype))
    if plain is None or (isinstance(plain, int) and not isinstance(plain, bool) and plain == 0):
        return _null(wanted, semantic)
    if not type_.is_opaque or not isinstance(plain, core.tensor) or not plain.type.is_ptr():
        return value
    if plain.type.element_ty.is_block() or plain.type == wanted:
        return value
    return _semantic(semantic).bitcast(plain, wanted)


def _null(wanted: core.dtype, semantic: Any) -> core.tensor:
    here = _semantic(semantic)
    return here.cast(core.tensor(here.builder.get_int64(0), core.int64), wanted)


def _semantic(semantic: Any) -> Any:
    """Triton's own; its interpreter passes a region none."""
    if semantic is not None:
        return semantic
    from triton.runtime.interpreter import interpreter_semantic

    return interpreter_semantic
