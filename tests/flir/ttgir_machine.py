"""Runs a kernel's TritonGPU on NumPy, with copies and products that take as little or as much time as may be.

A copy that is under way may arrive at once, over what is still read from its buffer, or when it is waited for at the
latest, so that what is read before is old. A product may read its operands at once or at its wait. A pipeline whose
rings are too small or whose waits leave too much under way gives wrong numbers in one of these. Threads, layouts and
barriers do not exist here.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field

import numpy as np
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.structure import Nest, read_structure
from tle_raw.linker.mlir.text import split_top_level

_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i32": np.int32, "i64": np.int64}
_MEMORY = 1 << 40  # elements between two arrays' addresses
_HEAD = re.compile(r'^\s*(?:(?P<results>%[^=]*?) = )?"(?P<name>[\w.]+)"\((?P<operands>[^()]*)\)')
_TYPE = re.compile(r"(?:tensor|memdesc)<((?:\d+x)*)(!tt\.ptr<\w+>|\w+)")
_COMPARE = {0: "eq", 1: "ne", 2: "lt", 3: "le", 4: "gt", 5: "ge", 6: "lt", 7: "le", 8: "gt", 9: "ge"}
_COMPARE_FLOATS = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "ne"}
_TWO = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "div": operator.truediv, "max": np.maximum, "min": np.minimum, "xor": operator.xor, "rem": np.fmod,
}  # fmt: skip
_SAME = ("ttg.convert_layout", "ttg.fp4_to_fp", "arith.bitcast", "tt.bitcast")
_NOTHING = ("ttg.local_dealloc", "ttng.fence_async_shared", "tt.return", "ttg.barrier", "gpu.barrier")


@dataclass
class Product:
    """A product that is under way."""

    a: np.ndarray
    b: np.ndarray
    c: object
    is_done: bool = False
    result: np.ndarray | None = None

    def finish(self) -> np.ndarray:
        if self.result is None:
            c = self.c.finish() if isinstance(self.c, Product) else self.c
            self.result = np.asarray(self.a, np.float64) @ np.asarray(self.b, np.float64) + c
        return self.result


@dataclass
class Address:
    """Where a buffer lies, for a region."""

    buffer: np.ndarray


@dataclass
class Machine:
    """One program.

    Attributes
    ----------
    arrays : the kernel's pointers, flat.
    is_late : whether what is asynchronous happens at its wait, or at once.
    """

    arrays: list[np.ndarray]
    is_late: bool
    program: tuple[int, int, int] = (0, 0, 0)
    copies: list[tuple] = field(default_factory=list)  # since the last group
    groups: list[list[tuple]] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    functions: dict[str, object] = field(default_factory=dict)  # of regions, by a part of their symbols: array -> array
    loads_ahead: int = 0  # the most groups that a wait found under way and left there

    def run(self, ttgir: str, arguments: list[object]) -> None:
        """Run the kernel of a text as Triton prints it; pointers are places in ``arrays``."""
        self.lines = _generic(ttgir).splitlines()
        [module] = [item for item in read_structure(self.lines) if isinstance(item, Nest)]
        [kernel] = [item for item in module.bodies[0] if isinstance(item, Nest)]
        given = [number * _MEMORY if kind == "p" else number for kind, number in arguments]
        self._block(kernel.bodies[0], given)

    def _block(self, items, arguments):
        """Run a block; what it yields."""
        items = list(items)
        if items and isinstance(items[0], int) and self.lines[items[0]].lstrip().startswith("^"):
            label = self.lines[items.pop(0)]
            inside = label[label.index("(") + 1 : label.rindex("):")]
            names = [part.strip().partition(":")[0] for part in split_top_level(inside)]
            self.values.update(zip(names, arguments))
        for item in items:
            line = self.lines[item if isinstance(item, int) else item.begin]
            head = _HEAD.match(line)
            if not head:
                continue
            name, results = head["name"], (head["results"] or "").split(":")[0].strip()
            operands = [self._value(part.strip()) for part in head["operands"].split(",") if part.strip()]
            if name.endswith((".yield", ".return")) and name != "tt.return":
                return operands
            given = self._nest(name, item, operands) if isinstance(item, Nest) else self._line(line, operands)
            if results:
                self.values[results] = given
        return []

    def _value(self, name):
        base, _, index = name.partition("#")
        value = self.values[base]
        return value[int(index)] if index else (value[0] if isinstance(value, list) and len(value) == 1 else value)

    def _nest(self, name, item, operands):
        if name == "scf.if":
            bodies = [body for body in item.bodies if body]
            taken = bodies[0 if operands[0] else 1] if operands[0] or len(bodies) > 1 else []
            return self._block(taken, [])
        if name == "scf.for":
            first, end, step, *carried = operands
            for number in range(int(first), int(end), int(step)):
                carried = self._block(item.bodies[0], [np.int32(number), *carried])
            return carried
        assert name == "tt.reduce", name
        closing = self.lines[item.begin] + self.lines[item.end]
        axis = int(re.search(r"axis = (\d+)", closing)[1])
        parts = np.moveaxis(np.asarray(_done(operands[0])), axis, 0)
        total = parts[0]
        for part in parts[1:]:
            [total] = self._block(item.bodies[0], [total, part])
        return total

    def _line(self, line, operands):
        op = read_generic(line)
        name, kind = op.name, op.name.partition(".")[2]
        if not name.startswith("ttng.warp_group_dot"):
            assert not any(isinstance(value, Product) and not value.is_done for value in operands), line
            operands = [_done(value) for value in operands]
        shape, element = _type(op.result_types[0]) if op.result_types else ((), "")
        dtype = _DTYPES.get(element, np.int64)
        if name in _NOTHING:
            return None
        if name == "arith.constant":
            return _constant(op.property("value"), shape, dtype)
        if name == "ub.poison":
            return np.full(shape, np.nan if element.startswith("f") else 0).astype(dtype)
        if name in _SAME:
            return operands[0]
        if name == "arith.select":
            return np.where(*operands)
        if name in ("arith.cmpi", "arith.cmpf"):
            table = _COMPARE if name == "arith.cmpi" else _COMPARE_FLOATS
            return getattr(operator, table[int(op.property("predicate").split()[0])])(*operands)
        if name == "arith.trunci" and isinstance(operands[0], Address):
            return operands[0]
        if re.match(r"arith\.(ext|trunc|sitofp|fptosi|index_cast)", name):
            return np.asarray(operands[0]).astype(dtype)
        if name in ("math.exp2", "math.exp"):
            return getattr(np, kind)(operands[0])
        if name.startswith("arith."):
            found = next((function for word, function in _TWO.items() if kind.startswith(word)), None)
            assert found is not None, name
            return np.asarray(found(*operands)).astype(dtype)
        return getattr(self, "_" + name.replace(".", "_"))(op, shape, dtype, *operands)

    # --- Triton ---------------------------------------------------------------------------------------------------

    def _tt_get_program_id(self, op, shape, dtype):
        return np.int32(self.program[int(op.property("axis").split()[0])])

    def _tt_make_range(self, op, shape, dtype):
        return np.arange(int(op.property("start").split()[0]), int(op.property("end").split()[0]), dtype=np.int32)

    def _tt_splat(self, op, shape, dtype, value):
        return np.broadcast_to(value, shape)

    _tt_broadcast = _tt_splat

    def _tt_expand_dims(self, op, shape, dtype, value):
        return np.reshape(value, shape)

    def _tt_trans(self, op, shape, dtype, value):
        return np.transpose(value, _order(op))

    def _tt_addptr(self, op, shape, dtype, pointer, offset):
        return np.asarray(pointer, np.int64) + offset

    def _tt_load(self, op, shape, dtype, pointer, mask=True, other=0):
        return self._loaded(pointer, mask, other).astype(dtype)

    def _tt_store(self, op, shape, dtype, pointer, value, mask=True):
        where = np.broadcast_to(mask, np.shape(pointer))
        array, at = self._place(np.asarray(pointer)[where]) if where.any() else (None, None)
        if array is not None:
            array[at] = np.broadcast_to(value, np.shape(pointer))[where]

    def _loaded(self, pointer, mask, other):
        where = np.broadcast_to(mask, np.shape(pointer))
        loaded = np.array(np.broadcast_to(other, np.shape(pointer)), np.float64)
        if where.any():
            array, at = self._place(np.asarray(pointer)[where])
            loaded[where] = array[at]
        return loaded

    def _place(self, pointers):
        which = int(np.ravel(pointers)[0]) // _MEMORY
        array, at = self.arrays[which], pointers - which * _MEMORY
        assert (at >= 0).all() and (at < array.size).all(), "an access beyond the array"
        return array, at

    def _tt_dot(self, op, shape, dtype, a, b, c):
        return np.asarray(a, np.float64) @ np.asarray(b, np.float64) + c

    # --- buffers --------------------------------------------------------------------------------------------------

    def _ttg_local_alloc(self, op, shape, dtype, value=np.nan):
        return np.array(np.broadcast_to(value, shape), np.float64)

    def _ttg_memdesc_index(self, op, shape, dtype, buffer, index):
        return buffer[int(index)]

    def _ttg_memdesc_trans(self, op, shape, dtype, buffer):
        return np.transpose(buffer, _order(op))

    def _ttg_memdesc_subslice(self, op, shape, dtype, buffer):
        starts = [int(n) for n in re.search(r": ([\d, ]+)>", op.property("offsets"))[1].split(",")]
        return buffer[tuple(slice(start, start + length) for start, length in zip(starts, shape))]

    def _ttg_local_load(self, op, shape, dtype, buffer, *tokens):
        with np.errstate(invalid="ignore"):  # what was never written is NaN
            return buffer.astype(dtype)

    def _ttg_local_store(self, op, shape, dtype, value, buffer):
        buffer[...] = value

    def _ttg_async_copy_global_to_local(self, op, shape, dtype, pointer, buffer, mask=True, other=0):
        copy = (buffer, self._loaded(pointer, mask, 0))
        self.copies.append(copy)
        if not self.is_late:
            _arrive(copy)

    def _ttg_async_commit_group(self, op, shape, dtype, *tokens):
        self.groups.append(self.copies)
        self.copies = []

    def _ttg_async_wait(self, op, shape, dtype, *tokens):
        left = int(op.property("num").split()[0])
        done = self.groups[: len(self.groups) - left] if left else self.groups
        self.groups = self.groups[len(done) :]
        self.loads_ahead = max(self.loads_ahead, len(self.groups))
        for copy in (copy for group in done for copy in group):
            _arrive(copy)

    # --- regions --------------------------------------------------------------------------------------------------

    def _tti_experimental_memdesc_to_i64(self, op, shape, dtype, buffer):
        return Address(buffer)

    _tti_experimental_memdesc_to_i32 = _tti_experimental_memdesc_to_i64

    def _tt_extern_elementwise(self, op, shape, dtype, address):
        [function] = [function for name, function in self.functions.items() if name in op.property("symbol")]
        address.buffer[...] = function(address.buffer.copy())
        return 0

    # --- products -------------------------------------------------------------------------------------------------

    def _ttng_warp_group_dot(self, op, shape, dtype, a, b, c, *flags):
        made = Product(a, b, c)
        if "isAsync = true" in op.properties:
            self.products.append(made)
            if not self.is_late:
                made.finish()
            return made
        made.finish()
        made.is_done = True
        return made

    def _ttng_warp_group_dot_wait(self, op, shape, dtype, *values):
        left = int(op.property("pendings").split()[0])
        done = self.products[: len(self.products) - left] if left else self.products
        self.products = self.products[len(done) :]
        for made in done:
            made.finish()
            made.is_done = True
        return list(values)


def _done(value):
    return value.finish() if isinstance(value, Product) else value


def _arrive(copy):
    buffer, values = copy
    buffer[...] = values


def _order(op):
    return [int(n) for n in re.search(r"array<i32: ([\d, ]+)>", op.property("order"))[1].split(",")]


def _type(text):
    match = _TYPE.search(text)
    if not match:
        return (), text
    return tuple(int(dim) for dim in match[1].split("x") if dim), match[2]


def _constant(text, shape, dtype):
    inside = re.search(r"dense<(.*?)>", text)
    written = (inside[1] if inside else text).split(" : ")[0]
    if written in ("true", "false"):
        return np.full(shape, written == "true")
    if written.startswith("0x"):
        bits = int(written, 16)
        number = np.array(bits, {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]).view(dtype)
    else:
        number = float(written) if "." in written or "e" in written.lower() else int(written)
    return np.full(shape, number).astype(dtype)


def _generic(ttgir):
    context = ir.context()
    ir.load_dialects(context)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(context)
    return generic_text(parse_module(ttgir, context), ir)
