"""What a function takes from around it: constants, dtypes, modules, and the objects of an MLIR binding."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Function, Intrinsic
from tle_raw.adapters.mlir.edsl.source import MISSING
from tle_raw.adapters.mlir.edsl.types import I64, INDEX, NUMBERS, Number, TileType, number, read_type
from tle_raw.adapters.mlir.edsl.values import EdslValue, StaticList, describe
from tle_raw.errors import Row, TLEError
from tle_raw.fragments.dtypes import DType


def outer_value(emit: Emitter, name: str, value: Any) -> Any:
    """The meaning of a name from outside; what cannot be a constant is an error that says so."""
    if isinstance(value, (bool, int, float, str, Number, Intrinsic, Function)) or value is None:
        return value
    if type(value) is tuple:
        return tuple(outer_value(emit, name, item) for item in value)
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return outer_value(emit, name, value.value)
    dtype = as_dtype(value)
    if dtype is not None:
        return dtype
    if binding_root(value):
        return BindingObject(value)
    if isinstance(value, ModuleType) or callable(value):
        return value
    return emit.fail(
        f"`{name}` is no constant that the mlir dialect can use",
        [Row(name, "an int, a float, a bool, a string, a dtype, or a tuple of them", type(value).__name__)],
        "make it a tuple" if isinstance(value, list) else "",
    )


def as_dtype(value: Any) -> Number | None:
    """The dtype that an object names: one of ours, or of Triton."""
    if isinstance(value, Number):
        return value
    if isinstance(value, DType):
        return number(value)
    if isinstance(value, str) and value in NUMBERS:
        return NUMBERS[value]
    if type(value).__module__.startswith("triton.") and isinstance(getattr(value, "name", None), str):
        try:
            return number(value.name)
        except TLEError:
            return None
    if isinstance(value, str):
        try:
            return number(value)
        except TLEError:
            return None
    return None


def binding_root(value: Any) -> str:
    """The package of the MLIR bindings that an object belongs to, "" for any other object."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    if not isinstance(name, str):
        name = type(value).__module__
    if name == "nanobind":  # functions in C++ do not say where they come from
        return ""
    for part in (".dialects", "._mlir_libs", ".extras", ".passmanager", ".ir"):
        root, found, rest = name.partition(part)
        if found and root and (not rest or rest[0] == ".") and not root.startswith("tle_raw"):
            return root
    return ""


# Names of operations' functions in bindings of before, which FlagTree's programs use.
_NEWER = {"nvvm.barrier0": "barrier"}


class BindingObject:
    """A module, a builder, a type or an operation of the binding that builds this module."""

    def __init__(self, object_: Any) -> None:
        self.object = object_
        self.__name__ = getattr(object_, "__name__", None) or str(object_)

    def attribute(self, emit: Emitter, name: str) -> Any:
        with _errors(emit, f"{self.__name__}.{name}"):
            found = getattr(self.object, name, MISSING)
            if found is MISSING:
                found = getattr(self.object, _NEWER.get(f"{self.__name__.rpartition('.')[2]}.{name}", ""), MISSING)
        if found is MISSING:
            near = [n for n in dir(self.object) if not n.startswith("_") and n.startswith(name[:3])]
            emit.fail(f"`{self.__name__}` has no `{name}`", hint=f"it has {', '.join(near[:4])}" if near else "")
        return wrapped(emit, found)

    def item(self, emit: Emitter, indices: tuple[Any, ...]) -> Any:
        index = indices[0] if len(indices) == 1 else indices
        with _errors(emit, self.__name__):
            return wrapped(emit, self.object[index])

    def items(self, emit: Emitter) -> Any:
        """Those of a list of the binding's, such as a block's arguments; any other object is what it is."""
        if not hasattr(self.object, "__len__") or not hasattr(self.object, "__getitem__"):
            return self
        with _errors(emit, self.__name__):
            return tuple(wrapped(emit, item) for item in self.object)

    def call(self, emit: Emitter, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        module = self.object.__module__ if isinstance(getattr(self.object, "__module__", None), str) else ""
        indexing = module.rpartition(".")[2].strip("_").removesuffix("_ops_gen") in ("memref", "vector")
        given = [unwrapped(emit, a, indexing) for a in args]
        named = {key: unwrapped(emit, a, indexing) for key, a in keywords.items()}
        with _errors(emit, self.__name__), emit.builder.location:  # type: ignore[attr-defined]
            return wrapped(emit, self._call(emit, given, named))

    def _call(self, emit: Emitter, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Some bindings infer a type that others, and FlagTree's programs, name first."""
        try:
            return self.object(*args, **keywords)
        except TypeError:
            if not args or not isinstance(args[0], emit.builder.ir.Type):  # type: ignore[attr-defined]
                raise
            return self.object(*args[1:], **keywords)

    def enter(self, emit: Emitter) -> Any:
        with _errors(emit, self.__name__):
            return wrapped(emit, self.object.__enter__())

    def exit(self, emit: Emitter) -> None:
        with _errors(emit, self.__name__):
            self.object.__exit__(None, None, None)


_END = object()


class BindingIterator:
    """``scf.for_(…)``: a loop whose body is read while the binding's generator stands inside of it."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self.generator = generator

    def items(self, emit: Emitter) -> Generator[Any, None, None]:
        try:
            while True:
                with _errors(emit, "the loop"):
                    item = next(self.generator, _END)
                if item is _END:
                    return
                yield wrapped(emit, item)
        finally:
            self.generator.close()


@contextmanager
def _errors(emit: Emitter, what: str) -> Iterator[None]:
    """What the binding raises, at the line of the call."""
    try:
        yield
    except TLEError:
        raise
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        emit.fail(f"`{what}` of the MLIR bindings fails: {text.splitlines()[0]}", hint=text.partition("\n")[2].strip())


def wrapped(emit: Emitter, made: Any) -> Any:
    """What the binding gave, as the eDSL sees it."""
    ir = emit.builder.ir  # type: ignore[attr-defined]
    if made is None or isinstance(made, (bool, int, float, str)):
        return made
    if isinstance(made, ir.Value):
        return EdslValue(made, read_type(str(made.type)))
    if isinstance(made, (ir.OpView, ir.Operation)):
        results = list(made.results)
        if len(results) == 1 and not list(made.regions):
            return wrapped(emit, results[0])
        return BindingObject(made)
    if isinstance(made, (tuple, list, ir.OpResultList)):
        items = [wrapped(emit, item) for item in made]
        return tuple(items)
    return BindingIterator(made) if isinstance(made, Generator) else BindingObject(made)


def unwrapped(emit: Emitter, given: Any, indexing: bool = False) -> Any:
    """An argument for the binding. In the lists of memref and vector integers are indices."""
    if isinstance(given, BindingObject):
        return given.object
    if isinstance(given, Number):
        return emit.builder.type(given.mlir)  # type: ignore[attr-defined]
    if isinstance(given, StaticList):
        return [_index(emit, item) if indexing else unwrapped(emit, item) for item in given]
    if isinstance(given, tuple):
        return tuple(unwrapped(emit, item, indexing) for item in given)
    if not isinstance(given, EdslValue):
        if callable(given):
            emit.mismatch(
                "this cannot be passed to the MLIR bindings", "a value, a type or a constant", describe(given)
            )
        return given
    if isinstance(given.type, TileType):
        return memref_of(emit, given)
    return given.handle


def _index(emit: Emitter, item: Any) -> Any:
    if isinstance(item, int) and not isinstance(item, bool):
        return emit.constant(item, INDEX).handle
    if isinstance(item, EdslValue) and isinstance(item.type, Number) and item.type.is_integer:
        return emit.convert(item, INDEX).handle
    return unwrapped(emit, item)


def memref_of(emit: Emitter, tile: EdslValue) -> Any:
    """A tile as a memref: its descriptor is put together, and dissolves again when memref is lowered."""
    type_ = tile.type
    assert isinstance(type_, TileType)
    rank = len(type_.dims)
    array = f"array<{rank} x i64>"
    struct = f"!llvm.struct<(ptr<3>, ptr<3>, i64, {array}, {array})>"
    builder = emit.builder
    (descriptor,) = builder.create("llvm.mlir.poison", (), (struct,))

    def put(handle: Any, *position: int) -> None:
        nonlocal descriptor
        attributes = {"position": f"array<i64: {', '.join(map(str, position))}>"}
        (descriptor,) = builder.create("llvm.insertvalue", (descriptor, handle), (struct,), attributes)

    def number_of(value: int) -> Any:
        return emit.constant(value, I64).handle

    put(tile.handle, 0)
    put(tile.handle, 1)
    put(number_of(0), 2)
    for axis, (dim, stride) in enumerate(zip(type_.dims, type_.strides)):
        put(number_of(dim), 3, axis)
        put(number_of(stride), 4, axis)
    memref = f"memref<{'x'.join(map(str, type_.dims))}x{type_.element.storage}, 3>"
    return builder.create("builtin.unrealized_conversion_cast", (descriptor,), (memref,))[0]
