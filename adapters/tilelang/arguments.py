"""Reads what a launch needs from its arguments: the sizes and strides that the PrimFunc leaves open, and the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.tilelang.dtypes import dtype_of
from tle_raw.adapters.tilelang.narrow import as_bytes, holders, is_narrow, per_byte
from tle_raw.adapters.tilelang.program import Program, variables_of
from tle_raw.adapters.tilelang.regions import constant, strides_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Expression, Node
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row, ShapeError
from tle_raw.fragments.dtypes import parse_dtype


def read_sizes(program: Program, arguments: Sequence[Any], names: Sequence[str] | None = None) -> dict[str, int]:
    """The sizes and strides that the PrimFunc leaves open, read from the arrays.

    Parameters
    ----------
    names : which parameters the arguments are for; all of them by default.

    Raises
    ------
    ArgumentCountError, ArgumentTypeError, ShapeError : an array does not fit its buffer. None does for one that the
        PrimFunc does not touch.
    """
    names = program.order if names is None else names
    if len(arguments) != len(names):
        raise ArgumentCountError(
            f"`{program.name}` takes {len(names)} arguments, got {len(arguments)}",
            hint=f"they are {', '.join(names)}",
        ).at(fragment=program.name)
    given = dict(zip(names, arguments))
    unused = untouched(program) if any(value is None for value in arguments) else ()
    buffers = {n: b for n, b in program.buffers.items() if n in given and not (given[n] is None and n in unused)}
    found: dict[str, int] = {}
    for name, buffer in buffers.items():
        _bind_open(program, buffer, given[name], found)
    for name, buffer in buffers.items():
        _bind_composed(program, buffer, given[name], found)
    missing = [name for name in program.dims if name not in found]
    if unused and missing:
        used = variables_of(program.prim_func.body)
        found |= {name: 0 for name in missing if not any(program.dims[name].same_as(v) for v in used)}
        missing = [name for name in missing if name not in found]
    if missing:
        raise ShapeError(
            f"nothing says what `{missing[0]}` is", hint=f"no buffer has `{missing[0]}` as one of its own sizes"
        ).at(fragment=program.name)
    known = _known(program, given, found)
    for name, buffer in buffers.items():
        _check_array(program, name, buffer, given[name], known)
    return {name: found[name] for name in program.dims}


def untouched(program: Program) -> frozenset[str]:
    """The buffers whose memory the body never names."""
    from tvm.tirx.stmt_functor import post_order_visit

    named: set[Any] = set()

    def visit(node: Node) -> None:
        if type(node).__name__ in ("BufferLoad", "BufferStore"):
            named.add(node.buffer.data)
        elif type(node).__name__ == "Var":
            named.add(node)

    post_order_visit(program.body, visit)
    return frozenset(n for n, b in program.buffers.items() if not any(b.data.same_as(m) for m in named))


def size_of(program: Program, extent: Any, sizes: Mapping[str, int]) -> int:
    """A size of a buffer, from the open ones."""
    return _value(extent, _known(program, {}, sizes))


def read_grid(program: Program, arguments: Sequence[Any], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """How many programs the PrimFunc wants."""
    known = _known(program, dict(zip(program.order, arguments)), sizes)
    return tuple(_value(axis.extent, known) for axis in program.grid)


def _known(program: Program, given: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[Any, int]:
    known = {variable: sizes[name] for name, variable in program.dims.items()}
    whole = {n: v for n, v in program.scalars.items() if "int" in str(v.dtype) or str(v.dtype) == "bool"}
    return known | {v: given[n] for n, v in whole.items() if isinstance(given.get(n), int)}


def _bind_open(program: Program, buffer: Buffer, array: Any, found: dict[str, int]) -> None:
    """A size or a stride that is a variable takes the array's own."""
    shape, strides = _shape(program, buffer, array)
    for expression, value in zip((*buffer.shape, *buffer.strides), (*shape, *strides)):
        name = next((n for n, v in program.dims.items() if v.same_as(expression)), None)
        if name is not None:
            found.setdefault(name, value)


def _bind_composed(program: Program, buffer: Buffer, array: Any, found: dict[str, int]) -> None:
    """A size such as ``n + 1`` or ``2 * n * m``, all of whose variables but one are known, tells the last one."""
    shape, strides = _shape(program, buffer, array)
    for expression, value in zip((*buffer.shape, *buffer.strides), (*shape, *strides)):
        within = variables_of(expression)
        dims = [(n, v) for n, v in program.dims.items() if n not in found and any(v.same_as(u) for u in within)]
        if len(dims) == 1:
            ((name, variable),) = dims
            known = {program.dims[n]: size for n, size in found.items()}
            zero, one = (_value(expression, {**known, variable: x}) for x in (0, 1))
            solved = (value - zero) // (one - zero) if one != zero else -1
            if solved >= 0 and _value(expression, {**known, variable: solved}) == value:
                found[name] = solved


def _check_array(program: Program, name: str, buffer: Buffer, array: Any, known: Mapping[Any, int]) -> None:
    expected, got = _dtypes(buffer, array)
    if got not in expected:
        raise ArgumentTypeError(
            f"the array for `{name}` has another dtype", table=[Row(name, " or ".join(expected), got)]
        ).at(fragment=program.name)
    shape, strides = _shape(program, buffer, array)
    wanted = tuple(_value(e, known) for e in buffer.shape)
    rows = [Row(f"shape of {name}", str(wanted), str(shape))]
    steps = tuple(_value(e, known) for e in strides_of(buffer))
    matters = [d for d, size in enumerate(wanted) if size > 1]  # the stride of a single row is never used
    rows.append(Row(f"strides of {name}", str(steps), str(strides)))
    if wanted != shape or any(steps[d] != strides[d] for d in matters):
        raise ShapeError(f"the array for `{name}` does not fit its buffer", table=rows).at(fragment=program.name)


def _shape(program: Program, buffer: Buffer, array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in elements."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise ArgumentTypeError(
            f"`{buffer.name}` is a buffer", table=[Row(str(buffer.name), "an array", type(array).__name__)]
        ).at(fragment=program.name)
    shape = tuple(int(n) for n in array.shape)
    if len(shape) != len(buffer.shape):
        raise ShapeError(
            f"the array for `{buffer.name}` has another rank",
            table=[Row(str(buffer.name), f"rank {len(buffer.shape)}", f"rank {len(shape)}")],
        ).at(fragment=program.name)
    strides = array.stride() if callable(getattr(array, "stride", None)) else None
    if strides is None:
        strides = [s // array.dtype.itemsize for s in array.strides]
    return _in_elements(program, buffer, shape, tuple(int(s) for s in strides))


def _in_elements(
    program: Program, buffer: Buffer, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What an array of bytes has, in the elements of four bits that they hold."""
    count = per_byte(buffer.dtype)
    if count == 1 or not shape:
        return shape, strides
    if strides[-1] != 1 and shape[-1] > 1:
        raise ShapeError(
            f"the bytes of `{buffer.name}` do not stand side by side",
            table=[Row(f"last stride of {buffer.name}", "1", str(strides[-1]))],
        ).at(fragment=program.name)
    return (*shape[:-1], shape[-1] * count), (*(s * count for s in strides[:-1]), 1)


def _dtypes(buffer: Buffer, array: Any) -> tuple[tuple[str, ...], str]:
    """The names of those that the array may have, and of the one that it has."""
    got = str(array.dtype).removeprefix("torch.")
    if is_narrow(buffer.dtype):
        return holders(buffer.dtype), got
    return (str(dtype_of(buffer.dtype)),), str(parse_dtype(got))


def crossing(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments as Triton launches with them: elements that it has no type of as bytes, floats of whole numbers."""
    narrow = {name for name, buffer in program.buffers.items() if is_narrow(buffer.dtype)}
    floats = {name for name, variable in program.scalars.items() if "float" in str(variable.dtype)}

    def crossed(name: str, given: Any) -> Any:
        if name in narrow and given is not None:
            return as_bytes(given)
        return float(given) if name in floats and isinstance(given, int) else given

    return tuple(crossed(name, given) for name, given in zip(program.order, arguments))


def _value(expression: Expression, known: Mapping[Any, int]) -> int:
    from tvm import arith
    from tvm.tirx import IntImm
    from tvm.tirx.stmt_functor import substitute

    if isinstance(expression, int):
        return expression
    values = {variable: IntImm(variable.dtype, value) for variable, value in known.items()}
    found = constant(arith.Analyzer().simplify(substitute(expression, values))) if known else constant(expression)
    if found is None:
        raise ShapeError(f"the size {expression} cannot be computed from the arguments")
    return found
