"""A tile program as a module of operations on blocks: what reads and writes arrays, apart from what computes."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import Row, TLEError, UnsupportedFeatureError
from tle_raw.targets.tenstorrent import blocks, read_nests
from tle_raw.targets.tenstorrent.blocks import Choice, Each, Local, Multiply, Part, ReadBlock, Reduce, Repeat, Turn
from tle_raw.targets.tenstorrent.dtypes import check_dtype
from tle_raw.targets.tenstorrent.ir import Module, Tensor
from tle_raw.tile_program import (
    Apply,
    Box,
    Branch,
    Copy,
    Fill,
    Loop,
    Nest,
    Number,
    Product,
    Reduction,
    TileProgram,
)


def read_program(program: TileProgram) -> Module:
    """The module that the passes begin with.

    Raises
    ------
    UnsupportedFeatureError : what the dialect does not take, by name and at the user's line.
    """
    builder = Builder(program)
    body = builder.body(program.body)
    tensors = {name: builder.tensor(name) for name in program.arrays}
    extents = [extent for _, extent in program.grid] + [1] * (3 - len(program.grid))
    return Module(
        name=program.name,
        parameters=program.parameters,
        tensors=tensors,
        scalars=program.scalars,
        grid=(extents[0], extents[1], extents[2]),
        attributes={"block_indices": tuple(name for name, _ in program.grid)},
        body=body,
        locals=builder.locals,
    )


class Builder:
    """Makes the operations, and buffers for what the user did not name."""

    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self.locals: dict[str, Local] = {}
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.loops: dict[str, Any] = {}
        for array in (*program.arrays.values(), *program.buffers.values()):
            check_dtype(array.name, array.dtype)
        for buffer in program.buffers.values():
            shape = tuple(extent for extent in buffer.shape if extent != 1)
            if len(shape) > 2:
                raise UnsupportedFeatureError(
                    f"the buffer `{buffer.name}` has {len(shape)} dims",
                    table=[Row(f"dims of {buffer.name}", "at most 2", str(len(shape)))],
                )
            form = ""
            if len(shape) == 1 and len(buffer.shape) > 1:
                form = "column" if buffer.shape[-1] == 1 else "row"
            self.locals[buffer.name] = Local(buffer.name, shape, buffer.dtype, form)

    def tensor(self, name: str) -> Tensor:
        array = self.program.arrays[name]
        is_in, is_out = name in self.read, name in self.written
        direction = "inout" if is_in and is_out else "out" if is_out else "in"
        return Tensor(name, array.shape, array.dtype, "", None, None, 0, 0, direction)  # type: ignore[arg-type]

    def fresh(self, base: str, shape: tuple[int, ...], dtype: str, form: str = "") -> str:
        """A new buffer, named like another."""
        number, name = 1, f"{base}_1"
        while name in self.locals or name in self.program.arrays:
            number += 1
            name = f"{base}_{number}"
        self.locals[name] = Local(name, shape, dtype, form)
        return name

    def body(self, statements: Any) -> tuple[Any, ...]:
        """The operations of a sequence, in order."""
        found: list[Any] = []
        for statement in statements:
            try:
                found.extend(self._one(statement))
            except TLEError as e:
                raise e.at(source=statement.location) from None
        return tuple(found)

    def _one(self, statement: Any) -> list[Any]:
        if isinstance(statement, Loop):
            self.loops[statement.variable] = statement.start
            body = self.body(statement.body)
            before = [one for one in body if isinstance(one, _Before)]
            rest = tuple(one for one in body if not isinstance(one, _Before))
            loop = Repeat(statement.variable, statement.start, statement.stop, rest, statement.location)
            return [*(one.operation for one in before if one.loop == statement.variable), loop]
        if isinstance(statement, Branch):
            then, otherwise = self.body(statement.then), self.body(statement.otherwise)
            return [Choice(statement.condition, then, otherwise, statement.location)]
        return list(_MAKE[type(statement)](self, statement))

    def is_array(self, name: str) -> bool:
        return name in self.program.arrays

    def whole(self, box: Box) -> Local:
        """The buffer that a box is all of.

        Raises
        ------
        UnsupportedFeatureError : it is an array, or a part of a buffer.
        """
        if self.is_array(box.buffer):
            raise UnsupportedFeatureError(f"an operation on the array `{box.buffer}` itself", hint="copy it first")
        shape = self.program.buffers[box.buffer].shape
        starts = [isinstance(o, Number) and o.value == 0 for o in box.origin]
        if tuple(box.extents) != tuple(shape) or not all(starts):
            raise UnsupportedFeatureError(
                f"a part of the buffer `{box.buffer}`", table=[Row("box", "all of it", str(box))]
            )
        return self.locals[box.buffer]

    def copy(self, copy: Copy) -> list[Any]:
        source, target = copy.source, copy.target
        if self.is_array(source.buffer) and self.is_array(target.buffer):
            shape = tuple(extent for extent in source.extents if extent != 1)
            between = self.fresh(source.buffer, shape, self.program.arrays[source.buffer].dtype)
            return [self._from(source, self.locals[between], copy), self._to(target, self.locals[between], copy)]
        if self.is_array(source.buffer):
            return self._converted(source, self.whole(target), copy)
        if self.is_array(target.buffer):
            local = self.whole(source)
            return self._to_array(target, local, copy)
        a, b = self.whole(source), self.whole(target)
        if a.shape != b.shape:
            raise UnsupportedFeatureError(
                f"a copy of `{a.name}` into `{b.name}` of another shape",
                table=[Row("shape", str(list(a.shape)), str(list(b.shape)))],
            )
        value: Any = Part(a.name, tuple(range(len(a.shape))), a.dtype)
        return [Each(b.name, read_nests.cast(value, b.dtype), copy.location)]

    def _converted(self, source: Box, target: Local, copy: Copy) -> list[Any]:
        """Arrays are read as they are; another dtype comes by computing."""
        dtype = self.program.arrays[source.buffer].dtype
        if dtype == target.dtype:
            return [self._from(source, target, copy)]
        between = self.fresh(source.buffer, target.shape, dtype, target.form)
        value = Part(between, tuple(range(len(target.shape))), dtype)
        each = Each(target.name, read_nests.cast(value, target.dtype), copy.location)
        return [self._from(source, self.locals[between], copy), each]

    def _to_array(self, target: Box, source: Local, copy: Copy) -> list[Any]:
        dtype = self.program.arrays[target.buffer].dtype
        if dtype == source.dtype:
            return [self._to(target, source, copy)]
        between = self.fresh(target.buffer, source.shape, dtype, source.form)
        value = Part(source.name, tuple(range(len(source.shape))), source.dtype)
        each = Each(between, read_nests.cast(value, dtype), copy.location)
        return [each, self._to(target, self.locals[between], copy)]

    def dims(self, box: Box, local: Local) -> tuple[int, ...]:
        """The array's dims that a buffer has."""
        dims = tuple(dim for dim, extent in enumerate(box.extents) if extent != 1)
        if tuple(box.extents[dim] for dim in dims) != local.shape:
            raise UnsupportedFeatureError(
                f"a copy between `{box.buffer}` and `{local.name}` of another shape",
                table=[Row("extents", str(list(local.shape)), str(list(box.extents)))],
            )
        return dims

    def _from(self, source: Box, target: Local, copy: Copy) -> Any:
        self.read.add(source.buffer)
        return ReadBlock(target.name, source.buffer, source.origin, self.dims(source, target), copy.location)

    def _to(self, target: Box, source: Local, copy: Copy) -> Any:
        self.written.add(target.buffer)
        dims = self.dims(target, source)
        return blocks.WriteBlock(source.name, target.buffer, target.origin, dims, copy.location)

    def fill(self, fill: Fill) -> list[Any]:
        local = self.whole(fill.target)
        value = read_nests.elements(fill.value)
        return [Each(local.name, read_nests.cast(value, local.dtype), fill.location)]

    def nest(self, nest: Nest) -> list[Any]:
        return read_nests.read_nest(self, nest)

    def product(self, product: Product) -> list[Any]:
        found: list[Any] = []
        names = []
        for box, turned in ((product.a, product.turn_a), (product.b, False)):
            local = self._matrix(box)
            if turned:
                turn = self.fresh(local.name, local.shape[::-1], local.dtype, _other(local.form))
                found.append(Turn(turn, local.name, product.location))
                local = self.locals[turn]
            names.append(local.name)
        target = self._matrix(product.target)
        multiply = Multiply(target.name, names[0], names[1], product.turn_b, False, product.location)
        return [*self._cleared(product, target), *found, multiply]

    def _matrix(self, box: Box) -> Local:
        local = self.whole(box)
        if len(local.shape) < 2 and not local.form:
            raise UnsupportedFeatureError(f"T.gemm of `{local.name}`, which is no matrix")
        return local

    def _cleared(self, product: Product, target: Local) -> list[Any]:
        """``clear_accum`` of the first turn of a loop clears before the loop."""
        clear, zero = product.clear, Each(target.name, Number(0.0, target.dtype), product.location)
        if isinstance(clear, Number):
            return [zero] if clear.value else []
        if isinstance(clear, Apply) and clear.function == "eq":
            for name, other in (clear.arguments, clear.arguments[::-1]):
                word = getattr(name, "name", None)
                if word in self.loops and self.loops[word] == other:
                    return [_Before(word, zero)]
        raise UnsupportedFeatureError(
            f"clear_accum={clear}: known at run time only", hint="T.clear the accumulator before the loop"
        )

    def reduction(self, reduction: Reduction) -> list[Any]:
        source, target = self.whole(reduction.source), self.whole(reduction.target)
        shape = self.program.buffers[reduction.source.buffer].shape
        value: Any = Part(source.name, tuple(range(len(source.shape))), source.dtype)
        kind, location = reduction.kind, reduction.location
        found: list[Any] = []
        if kind in ("abssum", "absmax"):
            value, kind = Apply("abs", (value,), source.dtype), kind[3:]
        if kind not in ("sum", "max", "min"):
            raise UnsupportedFeatureError(f"a reduction of the kind {kind!r}")
        negative = kind == "min"
        if negative:
            value, kind = Apply("neg", (value,), source.dtype), "max"
        if shape[reduction.dim] == 1:
            made: Any = value
        else:
            if not isinstance(value, Part):
                between = self.fresh(source.name, source.shape, source.dtype, source.form)
                found.append(Each(between, value, location))
                source = self.locals[between]
            axis = None if len(source.shape) == 1 else [d for d, e in enumerate(shape) if e != 1].index(reduction.dim)
            direct = reduction.clear and not negative
            total = target.name if direct else self.fresh(target.name, target.shape, target.dtype, target.form)
            found.append(Reduce(total, source.name, kind, axis, "", location))
            if direct:
                return found
            made = Part(total, tuple(range(len(target.shape))), target.dtype)
        if negative:
            made = Apply("neg", (made,), target.dtype)
        if not reduction.clear:
            old = Part(target.name, tuple(range(len(target.shape))), target.dtype)
            word = {"sum": "add", "max": "min" if negative else "max"}[kind]
            made = Apply(word, (old, made), target.dtype)
        return [*found, Each(target.name, made, location)]


class _Before:
    """What a loop's body asks to be done before the loop."""

    def __init__(self, loop: str, operation: Any) -> None:
        self.loop, self.operation = loop, operation


def _other(form: str) -> str:
    return {"row": "column", "column": "row"}.get(form, "")


_MAKE: dict[type, Any] = {
    Copy: Builder.copy,
    Fill: Builder.fill,
    Nest: Builder.nest,
    Product: Builder.product,
    Reduction: Builder.reduction,
}
