"""A PrimFunc's numbers, block after block: statements in order, each for all lanes of its parallel loops at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tle_raw.adapters.tilelang.port.reference.functions import FUNCTIONS, REDUCTIONS
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated, bits_of, converted, held_as
from tle_raw.adapters.tilelang.program import Program, statements
from tle_raw.adapters.tilelang.regions import BufferRegion, is_global, is_parallel, is_region, nearness, region_of

_NOTHING = (
    "tirx.tvm_storage_sync", "tl.sync_warp", "tl.no_set_max_nreg", "tl.set_max_nreg", "tl.conflict_hint", "tl.pdl_sync",
    "tl.pdl_trigger", "tirx.assume", "tl.annotate_producer_reg_dealloc", "tl.annotate_consumer_reg_alloc",
    "tirx.ptx_commit_group", "tirx.ptx_wait_group",
)  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.fmax, "Min": np.fmin, "EQ": np.equal,
    "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "And": np.logical_and, "Or": np.logical_or, "FloorDiv": np.floor_divide, "FloorMod": np.mod, "Mod": np.fmod,
}  # fmt: skip
_UPDATES = {"add": np.add, "max": np.fmax, "min": np.fmin}


@dataclass(frozen=True)
class Evaluated:
    """The global buffers after it, by name; ``written`` says which elements were. ``is_whole``: every block ran."""

    buffers: dict[str, Any]
    written: dict[str, Any]
    is_whole: bool


def evaluate(program: Program, values: Mapping[str, Any], dims: Mapping[str, int], limit: float = 60.0) -> Evaluated:
    """Run a PrimFunc on NumPy arrays: floats as float64, by the names of its parameters; sizes that it leaves open.

    Arrays are changed in place. What ``limit`` seconds do not suffice for is left out.

    Raises
    ------
    Unevaluated : it holds what is not known here.
    """
    machine = _Machine(program, values, dims)
    end, is_whole = time.monotonic() + limit, True
    extents = [int(machine.value(axis.extent)) for axis in program.grid]
    with np.errstate(all="ignore"):
        for place in itertools.product(*(range(extent) for extent in reversed(extents))):
            if not is_whole:
                break
            machine.start_block(dict(zip((axis.variable for axis in program.grid), reversed(place))))
            machine.run(program.body)
            is_whole = time.monotonic() < end
        else:
            is_whole = True
    if not is_whole and machine.updates:
        raise Unevaluated("blocks that update the same elements, all of which take too long")
    return Evaluated(machine.named, machine.written, is_whole)


class _Machine:
    """Memory by the variable that all views of it share; variables; the parallel loops that are open."""

    def __init__(self, program: Program, values: Mapping[str, Any], dims: Mapping[str, int]) -> None:
        self.program, self.updates = program, False
        self.memory: dict[Any, Any] = {}
        self.marks: dict[Any, Any] = {}
        self.named: dict[str, Any] = {}
        self.written: dict[str, Any] = {}
        self.given: dict[Any, Any] = {v: np.int64(dims[n]) for n, v in program.dims.items() if n in dims}
        self.given |= {v: values[n] for n, v in program.scalars.items()}
        for name, buffer in program.buffers.items():
            self.memory[buffer.data] = self.named[name] = values[name]
            self.marks[buffer.data] = self.written[name] = np.zeros(values[name].shape, bool)
        self.variables: dict[Any, Any] = dict(self.given)
        self.lanes: list[tuple[Any, int]] = []
        self.masks: list[Any] = []

    def start_block(self, indices: dict[Any, int]) -> None:
        self.variables = {**self.given, **{v: np.int32(i) for v, i in indices.items()}}
        globals_ = {b.data for b in self.program.buffers.values()}
        self.memory = {data: array for data, array in self.memory.items() if data in globals_}

    # Statements

    def run(self, body: Any) -> None:
        for statement in statements(body):
            kind = type(statement).__name__
            handler = getattr(self, f"_{kind}", None)
            if handler is None:
                raise Unevaluated(f"the statement {kind}")
            handler(statement)

    def _For(self, loop: Any) -> None:
        if loop.thread_binding is not None:
            raise Unevaluated("a loop over threads")
        first, count = int(self.scalar(loop.min)), int(self.scalar(loop.extent))
        if is_parallel(loop):
            self.lanes.append((loop.loop_var, count))
            before = dict(self.variables)
            for axis, (variable, extent) in enumerate(self.lanes):
                shape = [1] * len(self.lanes)
                shape[axis] = extent
                start = first if variable.same_as(loop.loop_var) else 0
                self.variables[variable] = (np.arange(extent) + start).astype(str(variable.dtype)).reshape(shape)
            masks = self.masks
            self.masks = [np.asarray(mask)[..., None] for mask in masks]
            values = {v: np.asarray(x)[..., None] for v, x in before.items() if np.ndim(x) and not self._is_lane(v)}
            self.variables |= values
            if count:
                self.run(loop.body)
            self.variables, self.masks = before, masks
            self.lanes.pop()
            return
        for number in range(count):
            self.variables[loop.loop_var] = np.int32(first + number)
            try:
                self.run(loop.body)
            except _Break:
                break

    def _is_lane(self, variable: Any) -> bool:
        return any(lane.same_as(variable) for lane, _ in self.lanes)

    def _While(self, loop: Any) -> None:
        if self.lanes:
            raise Unevaluated("a while loop in a parallel one")
        while bool(self.value(loop.condition)):
            self.run(loop.body)

    def _IfThenElse(self, branch: Any) -> None:
        held = self.value(branch.condition)
        if np.ndim(held) == 0:
            if bool(held):
                self.run(branch.then_case)
            elif branch.else_case is not None:
                self.run(branch.else_case)
            return
        for side, body in ((held, branch.then_case), (~held, branch.else_case)):
            if body is not None:
                self.masks.append(side)
                self.run(body)
                self.masks.pop()

    def _BufferStore(self, store: Any) -> None:
        if self.lanes and _is_variable(store.buffer):
            self._assign(store.buffer, self.value(store.value))
            return
        update = self._own_update(store)
        if update is not None:
            self.update(store.buffer, store.indices, self.value(update[1]), update[0])
        else:
            self.put(store.buffer, store.indices, self.value(store.value))

    def _assign(self, buffer: Any, value: Any) -> None:
        """Each lane has a variable of its own (``T.alloc_var``), until its loop ends."""
        value = converted(value, str(buffer.dtype), "")
        if self.masks:
            value = np.where(self._masked(np.ones((), bool)), value, self._variable(buffer))
        self.variables[buffer.data] = value

    def _variable(self, buffer: Any) -> Any:
        held = self.variables.get(buffer.data)
        return self.array(buffer)[0] if held is None else held

    def _own_update(self, store: Any) -> tuple[Any, Any] | None:
        """``x[i] = x[i] + …`` where several lanes meet in one element: each of them counts."""
        operation = {"Add": np.add, "Max": np.fmax, "Min": np.fmin}.get(type(store.value).__name__)
        if operation is None or not self.lanes:
            return None
        from tvm.ir import structural_equal
        from tvm.tirx import BufferLoad

        shape = np.broadcast_shapes(*(np.shape(self.value(i)) for i in store.indices))
        if int(np.prod(shape)) == int(np.prod([extent for _, extent in self.lanes])):
            return None
        own = BufferLoad(store.buffer, store.indices)
        for mine, other in ((store.value.a, store.value.b), (store.value.b, store.value.a)):
            if structural_equal(mine, own):
                return operation, other
        return None

    def _Bind(self, bind: Any) -> None:
        self.variables[bind.var] = self.value(bind.value)

    def _AttrStmt(self, statement: Any) -> None:
        self.run(statement.body)

    def _SBlockRealize(self, realize: Any) -> None:
        self._SBlock(realize.block)

    def _SBlock(self, block: Any) -> None:
        for buffer in block.alloc_buffers:
            self.memory.pop(buffer.data, None)
        self.run(block.body)

    def _AllocBuffer(self, statement: Any) -> None:
        self.memory.pop(statement.buffer.data, None)
        if hasattr(statement, "body"):
            self.run(statement.body)

    def _DeclBuffer(self, statement: Any) -> None:
        if hasattr(statement, "body"):
            self.run(statement.body)

    def _Evaluate(self, statement: Any) -> None:
        call = statement.value
        if type(call).__name__ != "Call":
            return
        name = str(getattr(call.op, "name", call.op))
        operation = name.removeprefix("tl.tileop.").replace(".", "_")
        tile = getattr(self, f"tile_{operation}", None) if name.startswith("tl.tileop.") else None
        if tile is not None:
            if self.lanes:
                raise Unevaluated(f"{name} in a parallel loop")
            tile(call)
        elif name.startswith("tl.atomic_") and name.endswith("_elem_op"):
            self._atomic(name, call)
        elif name == "tl.reducer_update":
            target = call.args[0]
            self.update(target.buffer, target.indices, self.value(call.args[1]), self._reducer(target.buffer))
        elif name == "tl.loop_break":
            raise _Break
        elif name not in _NOTHING:
            raise Unevaluated(f"the operation {name}")

    # Tile operations

    def tile_copy(self, call: Any) -> None:
        source, target = self._of_one_size(region_of(call.args[0]), region_of(call.args[1]))
        value = self.read(source)
        self.write(target, value.reshape([n for n in value.shape if n != 1]))

    tile_async_copy = tile_copy

    def _of_one_size(self, source: BufferRegion, target: BufferRegion) -> tuple[BufferRegion, BufferRegion]:
        """Of boxes of other sizes the one nearer to the registers says how far to go, all the source at least."""
        sizes = [[int(self.scalar(extent)) for extent in box.extents] for box in (source, target)]
        walked = [[n for n in each if n != 1] for each in sizes]
        base = walked[nearness(source.buffer) < nearness(target.buffer)]
        fits = len(walked[0]) == len(walked[1]) and all(n >= size for n, size in zip(base, walked[0]))
        if np.prod(walked[0]) == np.prod(walked[1]) or not fits:
            return source, target
        far = [iter(base), iter(base)]
        extents = [tuple(n if n == 1 else next(way) for n in each) for each, way in zip(sizes, far)]
        return replace(source, extents=extents[0]), replace(target, extents=extents[1])

    def tile_transpose(self, call: Any) -> None:
        self.write(region_of(call.args[1]), np.swapaxes(self.read(region_of(call.args[0])), -1, -2), squeezed=False)

    def tile_fill(self, call: Any) -> None:
        target = region_of(call.args[0])
        sizes = [int(self.scalar(e)) for e in target.extents]
        self.write(target, np.broadcast_to(self.value(call.args[1]), sizes), squeezed=False)

    def tile_gemm(self, call: Any) -> None:
        a, b, target = self.read(region_of(call.args[0])), self.read(region_of(call.args[1])), region_of(call.args[2])
        a, b = a.reshape(a.shape[-2:]), b.reshape(b.shape[-2:])
        a = a.T if int(self.scalar(call.args[3])) else a
        b = b.T if int(self.scalar(call.args[4])) else b
        kind = np.float64 if a.dtype.kind == "f" else np.int64
        made = a.astype(kind) @ b.astype(kind)
        if not int(self.scalar(call.args[9])):
            made = made + self.read(target).reshape(made.shape)
        self.write(target, made.reshape([int(self.scalar(e)) for e in target.extents]), squeezed=False)

    def tile_reduce(self, call: Any) -> None:
        source, target = region_of(call.args[0]), region_of(call.args[1])
        combine, before = REDUCTIONS.get(str(call.args[2].value), (None, None))
        if combine is None:
            raise Unevaluated(f"a reduction of the kind {call.args[2].value}")
        value = converted(self.read(source), str(target.buffer.dtype), str(source.buffer.dtype))
        value = before(value) if before is not None else value
        made = combine.reduce(value, axis=int(self.scalar(call.args[3])))
        sizes = [int(self.scalar(e)) for e in target.extents]
        made = made.reshape(sizes)
        if not int(self.scalar(call.args[4])):
            made = combine(made, self.read(target))
        self.write(target, made, squeezed=False)

    def tile_cumsum(self, call: Any) -> None:
        self._scan(call, np.add)

    def tile_cummax(self, call: Any) -> None:
        self._scan(call, np.fmax)

    def _scan(self, call: Any, combine: Any) -> None:
        source, target = region_of(call.args[0]), region_of(call.args[1])
        axis, back = int(self.scalar(call.args[2])), bool(int(self.scalar(call.args[3])))
        value = self.read(source)
        value = np.flip(value, axis) if back else value
        made = combine.accumulate(value, axis=axis)
        self.write(target, np.flip(made, axis) if back else made, squeezed=False)

    def tile_reducer_init(self, call: Any) -> None:
        target = region_of(call.args[0])
        if len(call.args) > 1:
            first = self.value(call.args[1])
        else:
            kind, dtype = self._reducer(target.buffer), held_as(str(target.buffer.dtype))
            lowest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            first = dtype.type({np.add: 0, np.fmax: lowest[0], np.fmin: lowest[1]}[kind])
        self.array(target.buffer)[...] = first

    def tile_finalize_reducer(self, call: Any) -> None:
        if len(call.args) > 1 and is_region(call.args[1]):
            self.tile_copy(call)

    tile_finalize_reducer_v2 = tile_finalize_reducer

    def tile_atomicadd(self, call: Any) -> None:
        self._atomic_tile(call, np.add)

    def tile_atomicmax(self, call: Any) -> None:
        self._atomic_tile(call, np.fmax)

    def tile_atomicmin(self, call: Any) -> None:
        self._atomic_tile(call, np.fmin)

    def _atomic_tile(self, call: Any, combine: Any) -> None:
        if not all(is_region(a) for a in call.args[:2]):
            raise Unevaluated("an atomic update of a tile by something else than a tile")
        source, target = region_of(call.args[0]), region_of(call.args[1])
        value = self.read(source)
        self._grid_of(target, value.reshape([n for n in value.shape if n != 1]), combine)

    def _reducer(self, buffer: Any) -> Any:
        for name in ("reducer_info", "reducer_info_v2"):
            for memory, info in dict(self.program.annotations.get(name, {})).items():
                if memory.same_as(buffer.data):
                    return {"sum": np.add, "max": np.fmax, "min": np.fmin}[str(info["op"])]
        raise Unevaluated(f"`{buffer.name}`, which is no reducer")

    def _atomic(self, name: str, call: Any) -> None:
        kind = name.removeprefix("tl.atomic_").removesuffix("_elem_op")
        target = call.args[0]
        target = target.args[0] if type(target).__name__ == "Call" else target
        if kind not in _UPDATES or type(target).__name__ != "BufferLoad":
            raise Unevaluated(f"the operation {name}")
        if not self.lanes and self.program.threads and int(np.prod(self.program.threads)) != 1:
            raise Unevaluated("an atomic update by every thread")
        self.update(target.buffer, target.indices, self.value(call.args[1]), _UPDATES[kind])

    # Memory

    def array(self, buffer: Any) -> Any:
        """The memory of a buffer; a view has another shape of the same elements."""
        shape = [int(self.scalar(e)) for e in buffer.shape]
        dtype = held_as(str(buffer.dtype))
        held = self.memory.get(buffer.data)
        if held is None:
            held = self.memory[buffer.data] = np.zeros(shape, dtype)
        if list(held.shape) != shape:
            if held.size != int(np.prod(shape)) or held.dtype != dtype or not held.flags.c_contiguous:
                raise Unevaluated(f"`{buffer.name}`, a view of other memory")
            return held.reshape(shape)
        if held.dtype != dtype:
            raise Unevaluated(f"`{buffer.name}`, a view with another dtype")
        return held

    def read(self, box: Any) -> Any:
        """A box, with zeros for what lies outside of the buffer."""
        index, inside = self._box(box)
        value = self.array(box.buffer)[index]
        return np.where(inside, value, np.zeros((), value.dtype))

    def write(self, box: Any, value: Any, squeezed: bool = True) -> None:
        if squeezed:
            self._grid_of(box, value, None)
            return
        index, inside = self._box(box)
        self._set(box.buffer, index, value, inside, None)

    def _grid_of(self, box: Any, value: Any, combine: Any) -> None:
        """Dims of one element do not count."""
        index, inside = self._box(box)
        if value.size != inside.size:
            raise Unevaluated("a copy between boxes of different sizes")
        self._set(box.buffer, index, value.reshape(inside.shape), inside, combine)

    def _box(self, box: Any) -> tuple[tuple[Any, ...], Any]:
        sizes, index, inside = self.array(box.buffer).shape, [], np.ones((), bool)
        for axis, (origin, extent) in enumerate(zip(box.origin, box.extents)):
            shape = [1] * len(box.origin)
            shape[axis] = -1
            place = (int(self.scalar(origin)) + np.arange(int(self.scalar(extent)))).reshape(shape)
            held = (place >= 0) & (place < sizes[axis])
            inside = inside & held
            index.append(np.where(held, place, 0))
        return tuple(index), inside

    def _places(self, buffer: Any, indices: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        sizes, found, inside = self.array(buffer).shape, [], np.ones((), bool)
        for each, size in zip(indices, sizes):
            place = np.asarray(self.value(each)).astype(np.int64)
            held = (place >= 0) & (place < size)
            inside = inside & held
            found.append(np.where(held, place, 0))
        return tuple(found), inside

    def put(self, buffer: Any, indices: Sequence[Any], value: Any) -> None:
        index, inside = self._places(buffer, indices)
        self._set(buffer, index, value, self._masked(inside), None)

    def update(self, buffer: Any, indices: Sequence[Any], value: Any, combine: Any) -> None:
        """Every lane counts, also where several meet in one element."""
        index, inside = self._places(buffer, indices)
        shape = tuple(extent for _, extent in self.lanes)
        inside = np.broadcast_to(self._masked(inside), np.broadcast_shapes(np.shape(inside), shape))
        self._set(buffer, index, value, inside, combine)

    def _masked(self, inside: Any) -> Any:
        for mask in self.masks:
            inside = inside & mask
        return inside

    def _set(self, buffer: Any, index: tuple[Any, ...], value: Any, inside: Any, combine: Any) -> None:
        array = self.array(buffer)
        shape = np.broadcast_shapes(np.shape(value), np.shape(inside), *(np.shape(i) for i in index))
        where = np.broadcast_to(inside, shape)
        index = tuple(np.broadcast_to(i, shape)[where] for i in index)
        value = np.broadcast_to(converted(value, str(buffer.dtype), ""), shape)[where]
        if combine is None:
            array[index] = value
        else:
            combine.at(array, index, value)
            self.updates = self.updates or is_global(buffer)
        marks = self.marks.get(buffer.data)
        if marks is not None:
            marks.reshape(array.shape)[index] = True

    # Expressions

    def scalar(self, expression: Any) -> Any:
        value = self.value(expression)
        if np.ndim(value):
            raise Unevaluated(f"{expression} in a parallel loop")
        return value

    def value(self, expression: Any) -> Any:
        """A number, or one for each lane."""
        if isinstance(expression, (int, float)):
            return expression
        kind = type(expression).__name__
        if kind == "IntImm":
            return held_as(str(expression.dtype)).type(expression.value)
        if kind == "FloatImm":
            return np.float64(expression.value)
        if kind in ("Var", "SizeVar"):
            if expression not in self.variables:
                raise Unevaluated(f"the value of `{expression.name}`")
            return self.variables[expression]
        if kind == "Cast":
            return converted(self.value(expression.value), str(expression.dtype), str(expression.value.dtype))[()]
        if kind in _BINARY:
            return _BINARY[kind](self.value(expression.a), self.value(expression.b))
        if kind == "Not":
            return np.logical_not(self.value(expression.a))
        if kind == "Div":
            return self._divided(self.value(expression.a), self.value(expression.b))
        if kind == "Select":
            return self._chosen(expression.condition, expression.true_value, expression.false_value)
        if kind == "Let":
            self.variables[expression.var] = self.value(expression.value)
            return self.value(expression.body)
        if kind == "BufferLoad" and self.lanes and _is_variable(expression.buffer):
            return self._variable(expression.buffer)
        if kind == "BufferLoad":
            index, inside = self._places(expression.buffer, expression.indices)
            held = self.array(expression.buffer)[index]
            return np.where(inside, held, np.zeros((), held.dtype))[()]
        if kind == "Call":
            return self._called(expression)
        raise Unevaluated(f"the expression {kind}")

    def _divided(self, a: Any, b: Any) -> Any:
        if np.asarray(a).dtype.kind == "f":
            return np.divide(a, b)
        return np.trunc(np.divide(a, b)).astype(np.asarray(a).dtype)

    def _chosen(self, condition: Any, yes: Any, no: Any) -> Any:
        held = self.value(condition)
        if np.ndim(held) == 0:
            return self.value(yes if bool(held) else no)
        return np.where(held, self.value(yes), self.value(no))

    def _called(self, call: Any) -> Any:
        name = str(getattr(call.op, "name", call.op))
        if name == "tirx.if_then_else":
            return self._chosen(*call.args)
        if name == "tl.infinity":
            return np.float64(np.inf)
        if name == "tirx.reinterpret":
            return bits_of(self.value(call.args[0]), str(call.args[0].dtype), str(call.dtype))
        function = FUNCTIONS.get(name)
        if function is None:
            raise Unevaluated(f"the function {name}")
        found = function(*(self.value(a) for a in call.args if type(a).__name__ != "StringImm"))
        return converted(found, str(call.dtype), "")[()] if str(call.dtype) in ("float16", "bfloat16") else found


def _is_variable(buffer: Any) -> bool:
    return bool(buffer.scope() == "local.var")


class _Break(Exception):
    """``T.loop_break``."""
