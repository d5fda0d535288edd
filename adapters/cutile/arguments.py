"""Triton's values of one call, as arguments of a cuTile function: tiles, arrays, tuples and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.argument_types import (
    ArgumentType,
    ArrayListType,
    ArrayType,
    ConstantType,
    TileType,
    TupleType,
)
from tle_raw.adapters.cutile.dtypes import cutile_dtype, triton_name
from tle_raw.adapters.cutile.host_types import scalar_dtype
from tle_raw.adapters.cutile.parameters import FunctionParameter, item_annotations
from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.fragments.bound import CONST, POINTER, SCALAR, TILE, BoundParameter
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.parameter_types import DESCRIPTOR
from tle_raw.regions.shapes import shape_of

ARRAY = "(pointer, (sizes...), (strides...))"
MOST_DIMS = 5


@dataclass(frozen=True)
class ArrayList:
    """Of each array the pointer, then its sizes, then its strides."""

    items: tuple[tuple[Any, ...], ...]


@dataclass
class CallArguments:
    """``types`` by parameter; ``values`` of the flat parameters in order: Triton's, and plain numbers.

    ``aliases`` are groups of arrays that may overlap, ``promised`` what sizes are multiples of. ``multiples`` is that
    by the number of the flat parameter, and knows constants, too.
    """

    aliases: tuple[tuple[str, ...], ...] = ()
    promised: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    multiples: dict[int, int] = field(default_factory=dict)
    types: dict[str, ArgumentType] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)
    bound: list[BoundParameter] = field(default_factory=list)
    _memories: list[tuple[Any, str]] = field(default_factory=list)

    def add(self, parameter: FunctionParameter, value: Any, is_kernel: bool) -> None:
        """Raises
        ------
        ArgumentTypeError, ShapeError : the value is none that the parameter can take.
        """
        name, annotation = parameter.name, parameter.annotation
        self.types[name] = self._argument(parameter, name, value, annotation, is_kernel)

    def _list(self, parameter: FunctionParameter, name: str, value: Any, annotation: Any) -> ArrayListType:
        """Arrays of one dtype and rank; any two of them may be the same memory."""
        items = items_of(value)
        given = [items_of(item) or [] for item in items or ()]
        if not given or not all(map(is_array, given)):
            raise ArgumentTypeError(
                f"argument `{name}` is a list of arrays",
                table=[Row(name, f"({ARRAY}, ...)", f"{len(given)} items" if items else "no tuple")],
            )
        element = getattr(getattr(annotation, "list", None), "element", None)
        before, types = len(self.values), []
        for number, item in enumerate(given):
            types.append(
                self._array(parameter, f"{name}[{number}]", item[0], items_of(item[1]), items_of(item[2]), element)
            )
        flat, self.values = self.values[before:], self.values[:before]
        self.multiples = {place: n for place, n in self.multiples.items() if place < before}
        if len({(t.dtype, t.rank, t.index_bits) for t in types}) > 1:
            rows = [
                Row(f"item {i}", f"{types[0].dtype}, rank {types[0].rank}", f"{t.dtype}, rank {t.rank}")
                for i, t in enumerate(types)
            ]
            raise ArgumentTypeError(f"the arrays of the list `{name}` are not alike", table=rows)
        size = 1 + 2 * types[0].rank
        parts = tuple(tuple(flat[i : i + size]) for i in range(0, len(flat), size))
        self.values += [ArrayList(parts), len(parts)]
        memories = dict.fromkeys(m for type_ in types for m in type_.memories)
        return ArrayListType(replace(types[0], memories=tuple(memories)))

    def _argument(
        self, parameter: FunctionParameter, name: str, value: Any, annotation: Any, is_kernel: bool
    ) -> ArgumentType:
        value = core._unwrap_if_constexpr(value)
        if name in parameter.lists:
            return self._list(parameter, name, value, annotation)
        if is_descriptor(value):
            return self._array(parameter, name, value, items_of(value.shape), items_of(value.strides), annotation)
        items = items_of(value)
        if items is not None and is_array(items):
            return self._array(parameter, name, items[0], items_of(items[1]), items_of(items[2]), annotation)
        if items is not None:
            nodes = item_annotations(name, annotation, len(items))
            parts = [
                self._argument(parameter, f"{name}[{i}]", item, node, is_kernel)
                for i, (item, node) in enumerate(zip(items, nodes))
            ]
            return TupleType(tuple(parts))
        if isinstance(value, core.tensor):
            return self._tile(parameter, name, value, annotation)
        return self._constant(name, value, annotation, is_kernel)

    def _tile(self, parameter: FunctionParameter, name: str, value: core.tensor, annotation: Any) -> TileType:
        if getattr(annotation, "constant", False):
            raise ArgumentTypeError(
                f"argument `{name}` is a ct.Constant",
                table=[Row(name, "a constant", str(value.type))],
                hint="the value must be known at compile time: make it a tl.constexpr",
            )
        if value.type.scalar.is_ptr():
            raise ArgumentTypeError(
                f"argument `{name}` is a pointer: nothing says what shape its memory has",
                table=[Row(name, ARRAY, str(value.type))],
                hint=f"pass ({name}, (rows, columns), (row_stride, 1)), or a tensor descriptor",
            )
        dtype = _dtype(parameter, name, value.type.scalar)
        scalar = getattr(annotation, "scalar", None)
        if scalar is not None:  # ct.ScalarInt64: a smaller number is widened
            dtype = str(scalar.dtype)
        shape = shape_of(value)
        self.values.append(value)
        self.bound.append(
            BoundParameter(name, TILE if shape else SCALAR, "In", parse_dtype(value.type.scalar.name), shape)
        )
        return TileType(dtype, shape)

    def _array(
        self, parameter: FunctionParameter, name: str, pointer: Any, shape: Any, strides: Any, annotation: Any
    ) -> ArrayType:
        sizes, steps = [plain(v) for v in shape], [plain(v) for v in strides]
        if len(sizes) != len(steps) or len(sizes) > MOST_DIMS:
            raise ShapeError(
                f"the array `{name}` has {len(sizes)} sizes and {len(steps)} strides",
                table=[Row(name, f"as many, and no more than {MOST_DIMS}", f"{len(sizes)} and {len(steps)}")],
            )
        for value in (*sizes, *steps):
            _check_size(name, value)
        element = pointer.dtype if is_descriptor(pointer) else pointer.type.element_ty
        dtype = _dtype(parameter, name, element)
        array = getattr(annotation, "array", annotation if hasattr(annotation, "index_dtype") else None)
        bits = 64 if array is not None and str(array.index_dtype) == "int64" else 32
        known_shape = _known(name, "size", sizes, getattr(array, "static_shape_dims", ()))
        known_strides = _known(name, "stride", steps, getattr(array, "static_stride_dims", ()))
        self._promise(name, sizes)
        self.values += [pointer, *sizes, *steps]
        self.bound.append(BoundParameter(name, POINTER, "InOut", parse_dtype(element.name)))
        memories = (self._memory(pointer), *(f"alias{i}" for i, names in enumerate(self.aliases) if name in names))
        return ArrayType(dtype, known_shape, known_strides, memories, bits)

    def _promise(self, name: str, sizes: Sequence[Any]) -> None:
        """Note what the sizes, which follow the pointer, are multiples of."""
        promised = self.promised.get(name, (1,) * len(sizes))
        if len(promised) != len(sizes):
            raise ShapeError(
                f"multiples= is of another array than `{name}`",
                table=[Row(name, f"{len(promised)} sizes", f"{len(sizes)} sizes")],
            )
        for place, (size, multiple) in enumerate(zip(sizes, promised), start=len(self.values) + 1):
            self.multiples[place] = size if isinstance(size, int) and size > 0 else multiple

    def _memory(self, pointer: Any) -> str:
        """One name for each pointer that is passed: two arrays of one pointer are one memory."""
        for known, name in self._memories:
            if known is pointer or (getattr(known, "handle", known) is getattr(pointer, "handle", pointer)):
                return name
        self._memories.append((pointer, f"memory{len(self._memories)}"))
        return self._memories[-1][1]

    def _constant(self, name: str, value: Any, annotation: Any, is_kernel: bool) -> ArgumentType:
        """A helper's constants are Python's own; a kernel's are scalars of a type, unless it says ct.Constant."""
        if isinstance(value, core.dtype):
            value = _dtype_object(name, value)
        if isinstance(value, (bool, int)):
            self.bound.append(BoundParameter(name, CONST, "In", value=value))
        if not is_kernel or annotation.constant or not isinstance(value, (bool, int, float)):
            return ConstantType(value)
        self.values.append(value)
        scalar = getattr(annotation, "scalar", None)
        return TileType(str(scalar.dtype) if scalar is not None else scalar_dtype(value))


def items_of(value: Any) -> list[Any] | None:
    """The items of a tuple; None for anything else."""
    value = core._unwrap_if_constexpr(value)
    if isinstance(value, core.tuple):
        return list(value.values)
    return list(value) if isinstance(value, (tuple, list)) else None


def is_descriptor(value: Any) -> bool:
    """A tensor descriptor of Triton's."""
    return isinstance(value, core.tensor_descriptor_base)


def described_parameter(name: str, descriptor: Any) -> BoundParameter:
    """A tensor descriptor that a whole kernel gives beside the arguments."""
    dims = tuple(int(plain(dim)) for dim in descriptor.block_shape)
    return BoundParameter(name, TILE, "In", parse_dtype(descriptor.dtype.name), dims, buffer=DESCRIPTOR)


def is_array(items: Sequence[Any]) -> bool:
    """A pointer, sizes and strides."""
    return len(items) == 3 and _is_pointer(items[0]) and all(items_of(i) is not None for i in items[1:])


def plain(value: Any) -> Any:
    """A constant's own value; a tensor stays one."""
    return core._unwrap_if_constexpr(value)


def _is_pointer(value: Any) -> bool:
    value = plain(value)
    return isinstance(value, core.tensor) and not value.type.is_block() and value.type.is_ptr()


def _check_size(name: str, value: Any) -> None:
    is_integer = isinstance(value, core.tensor) and not value.type.is_block() and value.type.is_int()
    if not is_integer and type(value) is not int:
        got = str(value.type) if isinstance(value, core.tensor) else repr(value)
        raise ArgumentTypeError(f"the array `{name}` has a size that is no integer", table=[Row(name, ARRAY, got)])


def _dtype(parameter: FunctionParameter, name: str, element: core.dtype) -> str:
    given = parameter.dtype_of(name)
    if given is not None:
        if triton_name(given) != element.name:
            raise ArgumentTypeError(
                f"argument `{name}` cannot carry {given}",
                table=[Row(name, str(triton_name(given)), element.name)],
            )
        return given
    found = cutile_dtype(element.name)
    if found is None:
        raise ArgumentTypeError(f"cuTile has no dtype {element.name}", table=[Row(name, "cuTile's", element.name)])
    return found


def _known(name: str, what: str, values: Sequence[Any], dims: Sequence[int]) -> tuple[int | None, ...]:
    """The sizes that an annotation makes constants."""
    wanted = {d % len(values) for d in dims} if values else set()
    for dim in wanted:
        if not isinstance(values[dim], int):
            raise ArgumentTypeError(
                f"the {what} {dim} of the array `{name}` is a constant, by its annotation",
                table=[Row(f"{what} {dim}", "a constant", str(values[dim].type))],
                hint="make it a tl.constexpr",
            )
    return tuple(v if d in wanted else None for d, v in enumerate(values))


def _dtype_object(name: str, value: core.dtype) -> Any:
    import cuda.tile as ct

    found = cutile_dtype(value.name)
    if found is None:
        raise ArgumentTypeError(f"cuTile has no dtype {value.name}", table=[Row(name, "cuTile's", value.name)])
    return getattr(ct, found)
