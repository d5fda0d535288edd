"""Bind a signature to the arguments of one call: every name gets its one value, every mismatch its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, BindingError, Row, ShapeError
from tle_raw.fragments.argument import CONSTANT, Argument, natural_dtype
from tle_raw.fragments.bound import CONST, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.check_arguments import cast_hint, check_constant, check_dims, check_kind, not_row_major, table_of
from tle_raw.fragments.dtypes import DType, parse_dtype
from tle_raw.fragments.parameter_types import (
    BARRIER,
    COPIED,
    ROW_MAJOR,
    Barrier,
    Buffer,
    Const,
    Descriptor,
    Element,
    Parameter,
    Pointer,
    Scalar,
    Tile,
)
from tle_raw.fragments.signature import Signature

Passed = TypeVar("Passed")  # what a call passes: Argument, or Triton's own value


@dataclass
class _Names:
    """The values of names so far, and which parameter gave each."""

    values: dict[str, int | DType] = field(default_factory=dict)
    givers: dict[str, str] = field(default_factory=dict)

    def bind(self, name: str, value: int | DType, giver: str) -> None:
        if self.values.setdefault(name, value) != value:
            raise BindingError(
                f"the name `{name}` has two different values in one call",
                table=[
                    Row(f"{name} in `{self.givers[name]}`", str(self.values[name]), str(self.values[name])),
                    Row(f"{name} in `{giver}`", str(self.values[name]), str(value)),
                ],
            )
        self.givers.setdefault(name, giver)


def match_arguments(
    signature: Signature, positional: Sequence[Passed], keywords: Mapping[str, Passed]
) -> dict[str, Passed]:
    """Give each passed parameter its argument, as Python itself would.

    Raises
    ------
    ArgumentCountError : too many, too few, an unknown keyword, or one parameter twice.
    """
    names = [p.name for p in signature.passed]
    unknown = [k for k in keywords if k not in names]
    outputs = [p.name for p in signature.parameters if not p.is_passed]
    if unknown:
        is_output = unknown[0] in outputs
        raise ArgumentCountError(
            f"`{signature.name}` takes no argument `{unknown[0]}`",
            hint="an Out parameter is not passed, it is returned" if is_output else f"it takes {signature}",
        )
    given = dict(zip(names, positional))
    twice = [k for k in keywords if k in given]
    if twice:
        raise ArgumentCountError(f"`{signature.name}` got the argument `{twice[0]}` twice")
    given |= keywords
    missing = [n for n in names if n not in given]
    if len(positional) > len(names) or missing:
        count = len(positional) + len(keywords)
        raise ArgumentCountError(
            f"`{signature.name}` takes {len(names)} argument{'s' * (len(names) != 1)}, got {count}",
            table=[
                Row("arguments", str(len(names)), str(count)),
                *(Row(m, "a value", "nothing") for m in missing),
            ],
            hint=f"the signature is {signature}"
            + (f"; Out parameters ({', '.join(outputs)}) are not passed" if outputs else ""),
        )
    return given


def bind(
    signature: Signature,
    arguments: Mapping[str, Argument],
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    given: Mapping[str, int | DType] | None = None,
) -> BoundSignature:
    """Bind ``signature`` to the arguments of one call.

    Parameters
    ----------
    arguments : by parameter name, for every passed parameter.
    shapes : shapes of ``Out`` tiles whose dims nothing else binds.
    given : values of names that the call states itself, as in ``make(n, M=64)``.

    Raises
    ------
    ArgumentTypeError, ShapeError, BindingError : with a table of what was expected and what came.
    """
    names = _Names()
    for name, value in (given or {}).items():
        _check_name_value(signature, name, value)
        names.bind(name, value, f"{name}=")
    for parameter in signature.passed:
        check_kind(signature, parameter, arguments)
    for parameter in signature.passed:
        _bind_passed(parameter, arguments[parameter.name], names, signature, arguments)
    for parameter in signature.parameters:
        if not parameter.is_passed:
            _bind_output(parameter, dict(shapes or {}), names)
    _default_dtypes(signature, arguments, names)
    layouts = {name: argument.layout for name, argument in arguments.items()}
    parameters = tuple(_bound(p, names, layouts.get(p.name, "")) for p in signature.parameters)
    for parameter in signature.passed:
        check_constant(parameter, _bound(parameter, names), arguments[parameter.name])
    result = _resolve_dtype(signature.result.dtype, names, "the result") if signature.result else None
    ordered = tuple((n, names.values[n]) for n in signature.names if n in names.values)
    return BoundSignature(signature.name, parameters, result, ordered)


def bind_names(signature: Signature, bindings: Mapping[str, object]) -> BoundSignature:
    """Bind by the names' values alone, as ``fragment.compile(M=64, T="f16")`` does.

    Raises
    ------
    BindingError : a name of the signature has no value, or a value has no name.
    """
    unknown = [n for n in bindings if n not in signature.names]
    missing = [n for n in signature.names if n not in bindings]
    if unknown or missing:
        raise BindingError(
            f"`{signature.name}` needs values for {', '.join(signature.names) or 'no names'}",
            table=[
                *(Row(n, "a value", "nothing") for n in missing),
                *(Row(n, "no such name", repr(bindings[n])) for n in unknown),
            ],
        )
    names = _Names()
    dtype_names = _dtype_names(signature)
    for name, value in bindings.items():
        if name in dtype_names:
            names.bind(name, parse_dtype(value), "the caller")
        elif isinstance(value, int) and not isinstance(value, bool):
            names.bind(name, value, "the caller")
        else:
            raise BindingError(f"the name `{name}` stands for an integer, got {value!r}")
    parameters = tuple(_bound(p, names) for p in signature.parameters)
    result = _resolve_dtype(signature.result.dtype, names, "the result") if signature.result else None
    return BoundSignature(signature.name, parameters, result, tuple((n, names.values[n]) for n in signature.names))


def _bind_passed(
    parameter: Parameter,
    argument: Argument,
    names: _Names,
    signature: Signature,
    arguments: Mapping[str, Argument],
) -> None:
    type_ = parameter.type
    if isinstance(type_, Const):
        if not isinstance(argument.value, int):
            raise ArgumentTypeError(f"argument `{parameter.name}` is no integer", table=table_of(signature, arguments))
        names.bind(type_.name, int(argument.value), parameter.name)
        return
    if argument.kind != CONSTANT:
        assert argument.dtype is not None and isinstance(type_, Scalar | Pointer | Tile | Element)
        if isinstance(type_.dtype, str):
            names.bind(type_.dtype, argument.dtype, parameter.name)
        elif type_.dtype != argument.dtype:
            raise ArgumentTypeError(
                f"argument `{parameter.name}` has another dtype",
                table=table_of(signature, arguments),
                hint=cast_hint(parameter, type_.dtype, argument),
            )
    if isinstance(type_, Barrier) and type_.arrivals not in (0, argument.arrivals):
        raise ArgumentTypeError(
            f"the barrier `{parameter.name}` counts other arrivals than the function makes",
            table=[Row(f"arrivals of `{parameter.name}`", str(type_.arrivals), str(argument.arrivals))],
            hint=f"allocate it with tle.gpu.alloc_barrier({type_.arrivals})",
        )
    if isinstance(type_, Tile):
        _bind_dims(parameter, argument.dims, names, table_of(signature, arguments))
    if isinstance(type_, Buffer) and type_.layout == ROW_MAJOR != argument.layout:
        raise not_row_major(f"`{parameter.name}`", table_of(signature, arguments))


def _bind_dims(parameter: Parameter, dims: tuple[int, ...], names: _Names, table: Sequence[Row]) -> None:
    type_ = parameter.type
    assert isinstance(type_, Tile)
    if len(dims) != len(type_.dims):
        raise ShapeError(
            f"argument `{parameter.name}` has rank {len(dims)}, the signature says rank {len(type_.dims)}",
            table=table,
            hint="reshape the tile at the call",
        )
    check_dims(f"`{parameter.name}`", dims)
    for declared, dim in zip(type_.dims, dims):
        if isinstance(declared, str):
            names.bind(declared, dim, parameter.name)
        elif declared != dim:
            raise ShapeError(f"argument `{parameter.name}` has another shape", table=table)


def _check_name_value(signature: Signature, name: str, value: object) -> None:
    is_dtype = name in _dtype_names(signature)
    if isinstance(value, DType) != is_dtype or not isinstance(value, (DType, int)):
        raise BindingError(
            f"the name `{name}` got a value of another kind",
            table=[Row(name, "a dtype" if is_dtype else "an integer", str(value))],
        )


def _bind_output(parameter: Parameter, shapes: Mapping[str, Sequence[int]], names: _Names) -> None:
    type_ = parameter.type
    if isinstance(type_, Element):
        return
    assert isinstance(type_, Tile)
    if parameter.name in shapes:
        shape = tuple(shapes[parameter.name])
        _bind_dims(parameter, shape, names, [Row(parameter.name, str(type_), f"shape={shape}")])
    free = [d for d in type_.dims if isinstance(d, str) and d not in names.values]
    if free:
        raise ShapeError(
            f"nothing says how large the Out tile `{parameter.name}` is",
            table=[Row(d, "a value", "nothing") for d in free],
            hint=f"give it at the call: shape=({', '.join(map(str, type_.dims))},), or {free[0]}=...",
        )


def _default_dtypes(signature: Signature, arguments: Mapping[str, Argument], names: _Names) -> None:
    """A dtype name that only constants carry takes the dtype that Triton gives such a constant."""
    for parameter in signature.passed:
        dtype = getattr(parameter.type, "dtype", None)
        argument = arguments[parameter.name]
        if isinstance(dtype, str) and dtype not in names.values and argument.kind == CONSTANT:
            names.bind(dtype, natural_dtype(argument.value), parameter.name)


def _resolve_dtype(dtype: DType | str, names: _Names, what: str) -> DType:
    if isinstance(dtype, DType):
        return dtype
    value = names.values.get(dtype)
    if not isinstance(value, DType):
        raise BindingError(f"nothing says which dtype `{dtype}` of {what} is")
    return value


def _bound(parameter: Parameter, names: _Names, layout: str = "") -> BoundParameter:
    """``layout`` is that of the buffer that a call passes; one that nobody passes is row-major."""
    type_ = parameter.type
    if isinstance(type_, Const):
        return BoundParameter(parameter.name, CONST, parameter.effect, value=names.values[type_.name])  # type: ignore[arg-type]
    dtype = _resolve_dtype(type_.dtype, names, f"`{parameter.name}`")  # type: ignore[attr-defined]
    dims: tuple[int, ...] = ()
    if isinstance(type_, Tile):
        dims = tuple(d if isinstance(d, int) else names.values[d] for d in type_.dims)  # type: ignore[misc]
        check_dims(f"`{parameter.name}`", dims)
    spelling: str = type_.spelling if isinstance(type_, (Scalar, Pointer, Tile)) else ""
    if isinstance(type_, Descriptor):  # the kernel's values do not change by it, whatever its effect is
        return BoundParameter(parameter.name, TILE, "In", dtype, dims, buffer=type_.layout)
    if isinstance(type_, Buffer):
        layout = layout or (BARRIER if isinstance(type_, Barrier) else ROW_MAJOR)
        return BoundParameter(parameter.name, TILE, parameter.effect, dtype, dims, buffer=layout)
    buffer = COPIED if layout not in ("", ROW_MAJOR) else layout
    return BoundParameter(parameter.name, type_.kind, parameter.effect, dtype, dims, spelling=spelling, buffer=buffer)


def _dtype_names(signature: Signature) -> set[str]:
    types = [*(p.type for p in signature.parameters), signature.result]
    return {t.dtype for t in types if isinstance(getattr(t, "dtype", None), str)}  # type: ignore[union-attr]
