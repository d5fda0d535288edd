"""``T.Parallel``: stores of elements as operations on whole blocks."""

from __future__ import annotations

from typing import Any, Protocol

from tle_raw.errors import Row, TLEError, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.blocks import (
    COLUMN,
    ROW,
    Choose,
    Each,
    Local,
    Part,
    ReadBlock,
    Turn,
    WriteBlock,
    map_expression,
)
from tle_raw.targets.tenstorrent.integers import difference, linear, substituted, summed
from tle_raw.tile_program import Apply, Load, Name, Nest, Number, Store, TileProgram

_LANES = (ROW, COLUMN)


class Builder(Protocol):
    """What makes the operations around a nest, and knows its buffers: ``read_program.Builder``.

    ``read`` and ``written`` are the arrays that were met so far.
    """

    program: TileProgram
    locals: dict[str, Local]
    read: set[str]
    written: set[str]

    def is_array(self, name: str) -> bool: ...

    def fresh(self, base: str, shape: tuple[int, ...], dtype: str, form: str = "") -> str: ...


def cast(value: Any, dtype: str) -> Any:
    """The value in a dtype; between floats the width is that of the registers, and the packer rounds."""
    if isinstance(value, Number):
        return Number(value.value, dtype)
    if value.dtype == dtype or (_is_float(value.dtype) and _is_float(dtype)):
        return value
    return Apply("cast", (value,), dtype)


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def read_nest(builder: Builder, nest: Nest) -> list[Any]:
    """One operation for each store, with those that bring arrays' elements before them."""
    found: list[Any] = []
    for store in nest.stores:
        try:
            found.extend(_Store(builder, nest, store).operations())
        except TLEError as e:
            raise e.at(source=store.location) from None
    return found


def elements(value: Any) -> Any:
    """An expression without buffers, its constants put together.

    Raises
    ------
    UnsupportedFeatureError : it reads a buffer, or an index.
    """

    def change(expression: Any) -> Any:
        if isinstance(expression, Load) or (isinstance(expression, Name) and expression.dtype.startswith("int")):
            raise UnsupportedFeatureError(f"`{expression}` as the value of all elements")
        return _folded(expression) if isinstance(expression, Apply) else expression

    return map_expression(value, change)


class _Store:
    """One store of a nest: its axes are the lanes of the target, in the order of its dims."""

    def __init__(self, builder: Builder, nest: Nest, store: Store) -> None:
        self.builder, self.store, self.location = builder, store, store.location or nest.location
        self.extents = dict(nest.variables)
        self.ones = {name for name, extent in nest.variables if extent == 1}
        self.before: list[Any] = []
        self.order = [lane for lane in map(self._lane, map(self._plain, store.indices)) if lane is not None]
        missing = [name for name, extent in nest.variables if extent != 1 and name not in self.order]
        if missing:
            raise UnsupportedFeatureError(
                f"every `{missing[0]}` stores into the same elements of `{store.buffer}`", hint="T.reduce_sum reduces"
            )
        if len(self.order) > 2 or len(set(self.order)) < len(self.order):
            raise UnsupportedFeatureError(f"a T.Parallel over {len(self.order)} dims of `{store.buffer}`")
        self.axes = {name: axis for axis, name in enumerate(self.order)}

    def _plain(self, index: Any) -> Any:
        """An index without lanes that have one value only."""
        return substituted(index, lambda name: Number(0) if name.name in self.ones else name)

    def _lane(self, index: Any) -> str | None:
        """The one lane that an index follows, step by step."""
        terms = linear(index)
        lanes = [term.name for term in terms if isinstance(term, Name) and term.name in self.extents]
        hidden = [n for t in terms if t is not None and not isinstance(t, Name) for n in _names(t) if n in self.extents]
        if not lanes and not hidden:
            return None
        if hidden or len(lanes) > 1 or terms[next(t for t in terms if getattr(t, "name", "") == lanes[0])] != 1:
            raise UnsupportedFeatureError(
                f"the index `{index}`",
                table=[Row("index", "one T.Parallel variable, plus what is the same for all", str(index))],
            )
        return lanes[0]

    def operations(self) -> list[Any]:
        builder, store = self.builder, self.store
        shape = tuple(self.extents[name] for name in self.order)
        guards = [guard for guard in store.guards if not self._is_bound(guard, store.buffer, store.indices)]
        value = self.value(store.value)
        is_array = builder.is_array(store.buffer)
        if is_array:
            dtype = builder.program.arrays[store.buffer].dtype
            name = builder.fresh(store.buffer, shape, dtype)
        else:
            local = builder.locals[store.buffer]
            self._check_whole(local.shape, shape, store)
            name, dtype = local.name, local.dtype
        value = cast(value, dtype)
        for guard in guards:
            if is_array:
                raise UnsupportedFeatureError(
                    f"a store into `{store.buffer}` that the condition {guard} leaves out in part",
                    hint="compute the elements that stay, and store all",
                )
            value = self._select(guard, value, Part(name, tuple(range(len(shape))), dtype))
        each = Each(name, value, self.location)
        if not is_array:
            return [*self.before, each]
        builder.written.add(store.buffer)
        origin = tuple(self._origin(index) for index in store.indices)
        dims = tuple(dim for dim, index in enumerate(store.indices) if self._lane(self._plain(index)) is not None)
        return [*self.before, each, WriteBlock(name, store.buffer, origin, dims, self.location)]

    def _check_whole(self, shape: tuple[int, ...], given: tuple[int, ...], store: Store) -> None:
        origins = [linear(self._origin(index)) for index in store.indices]
        if shape != given or any(origins):
            raise UnsupportedFeatureError(
                f"a store into a part of `{store.buffer}`",
                table=[Row("elements", str(list(shape)), str(list(given)))],
                hint="store all elements, with T.if_then_else for those that keep their value",
            )

    def _origin(self, index: Any) -> Any:
        """An index where all lanes are zero."""
        terms = {t: c for t, c in linear(self._plain(index)).items() if getattr(t, "name", None) not in self.extents}
        return summed(terms)

    def value(self, expression: Any) -> Any:
        """An expression of elements, of parts of buffers."""
        if isinstance(expression, Load):
            return self._load(expression)
        if isinstance(expression, Name):
            if expression.name in self.extents:
                raise UnsupportedFeatureError(
                    f"`{expression}` as a number of the elements' dtype", hint="conditions may"
                )
            if expression.name in self.builder.program.scalars:
                return expression
            raise UnsupportedFeatureError(f"the index `{expression}` as a number of the elements' dtype")
        if not isinstance(expression, Apply):
            return expression
        if expression.function == "select":
            condition, yes, no = expression.arguments
            kept = self._padded_read(condition, yes, no)
            return kept if kept is not None else self._select(condition, self.value(yes), self.value(no))
        arguments = tuple(self.value(argument) for argument in expression.arguments)
        if expression.function == "cast":
            return cast(arguments[0], expression.dtype)
        return _folded(Apply(expression.function, arguments, expression.dtype))

    def _select(self, condition: Any, yes: Any, no: Any) -> Any:
        if any(_loads(condition)):
            return Apply("select", (self.value(condition), yes, no), yes.dtype)
        condition = self._placed(condition)
        shape = tuple(self.extents[name] for name in self.order)
        dtype = yes.dtype if _is_float(yes.dtype) else "float32"
        axes = tuple(range(len(shape)))
        if isinstance(yes, Number) and isinstance(no, Number) and _is_float(yes.dtype):
            name = self.builder.fresh(f"{self.store.buffer}_mask", shape, yes.dtype)
            self.before.append(Choose(name, condition, float(yes.value), float(no.value), self.location))
            return Part(name, axes, yes.dtype)
        name = self.builder.fresh(f"{self.store.buffer}_mask", shape, dtype)
        self.before.append(Choose(name, condition, 1.0, 0.0, self.location))
        return Apply("select", (Part(name, axes, dtype), yes, no), yes.dtype)

    def _placed(self, condition: Any) -> Any:
        names = {name: _LANES[axis] for name, axis in self.axes.items()}
        return substituted(self._plain(condition), lambda name: Name(names.get(name.name, name.name), name.dtype))

    def _load(self, load: Load) -> Any:
        builder = self.builder
        lanes = [self._lane(self._plain(index)) for index in load.indices]
        order = [lane for lane in lanes if lane is not None]
        axes = tuple(self.axes[lane] for lane in order)
        if builder.is_array(load.buffer):
            shape = tuple(self.extents[lane] for lane in order)
            name = builder.fresh(load.buffer, shape, load.dtype)
            builder.read.add(load.buffer)
            origin = tuple(self._origin(index) for index in load.indices)
            dims = tuple(dim for dim, lane in enumerate(lanes) if lane is not None)
            self.before.append(ReadBlock(name, load.buffer, origin, dims, self.location))
        else:
            name = builder.locals[load.buffer].name
            self._check_all_of(load, order)
        if axes == (1, 0):
            source = builder.locals[name]
            turned = builder.fresh(name, source.shape[::-1], source.dtype)
            self.before.append(Turn(turned, name, self.location))
            name, axes = turned, (0, 1)
        return Part(name, axes, load.dtype)

    def _check_all_of(self, load: Load, order: list[str]) -> None:
        shape = self.builder.locals[load.buffer].shape
        origins = [linear(self._origin(index)) for index in load.indices]
        if shape != tuple(self.extents[lane] for lane in order) or any(origins):
            raise UnsupportedFeatureError(
                f"`{load}` reads a part of the buffer",
                table=[Row("elements", str(list(shape)), f"by {', '.join(order) or 'one index'}")],
            )

    def _padded_read(self, condition: Any, yes: Any, no: Any) -> Any:
        """``if inside then A[...] else 0``: what lies beyond an array reads as zero anyway."""
        if not (isinstance(yes, Load) and self.builder.is_array(yes.buffer)):
            return None
        if not (isinstance(no, Number) and no.value == 0 and self._is_bound(condition, yes.buffer, yes.indices)):
            return None
        return self._load(yes)

    def _is_bound(self, condition: Any, buffer: str, indices: tuple[Any, ...]) -> bool:
        """Whether a condition says no more than that the indices lie inside the array."""
        if not self.builder.is_array(buffer):
            return False
        if isinstance(condition, Apply) and condition.function == "and":
            return all(self._is_bound(part, buffer, indices) for part in condition.arguments)
        if not (isinstance(condition, Apply) and condition.function in ("lt", "le", "gt", "ge")):
            return False
        a, b = condition.arguments
        if condition.function in ("gt", "ge"):
            a, b = b, a
        terms = difference(a, b)  # below zero, or with zero for le and ge
        if condition.function in ("le", "ge"):
            terms = difference(summed(terms), Number(1))
        shape = self.builder.program.arrays[buffer].shape
        limits = [difference(index, Number(extent)) for index, extent in zip(indices, shape)]
        starts = [difference(Number(-1), index) for index in indices]
        return terms in limits or terms in starts


def _loads(expression: Any) -> list[Load]:
    if isinstance(expression, Load):
        return [expression]
    return [load for argument in getattr(expression, "arguments", ()) for load in _loads(argument)]


def _names(expression: Any) -> set[str]:
    if isinstance(expression, Name):
        return {expression.name}
    return {name for argument in getattr(expression, "arguments", ()) for name in _names(argument)}


def _folded(value: Apply) -> Any:
    """Constants among themselves: ``-1 * infinity``."""
    numbers = [argument.value for argument in value.arguments if isinstance(argument, Number)]
    if len(numbers) == len(value.arguments) == 2 and value.function in ("add", "sub", "mul"):
        a, b = numbers
        made = {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[value.function]()
        return Number(made, value.dtype)
    return value
