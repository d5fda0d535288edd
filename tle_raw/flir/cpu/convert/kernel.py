"""The kernel that is being converted: values of Triton's IR and what became of them."""

from __future__ import annotations

import copy
import linecache
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import LoweringError, SourceLocation, TLEError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, scalars, tiles, types
from tle_raw.flir.cpu.convert.plan import ConversionPlan
from tle_raw.flir.cpu.convert.tiles import BufferTile, ScalarBody, TileValue
from tle_raw.flir.cpu.mlir_values import Block, Operation, Type, Value

Conversion = Callable[["Kernel", Any], None]
CONVERSIONS: dict[str, Conversion] = {}
ELEMENTWISE, BEFORE_REACH = "any scalar operation", "what reaches another block first"
_HERE = Path(__file__).resolve().parents[3]
# The files of this package, whose functions kernels call; a checkout has its front ends beside it.
_PACKAGE = tuple(f"{path}/" for path in (_HERE, (_HERE / "frontends").resolve()))
SHORT, LONG = 8, 64  # elements: below the first, a last dimension is joined with others until the second is reached


def converts(*names: str) -> Callable[[Conversion], Conversion]:
    """Register ``function(kernel, op)`` as the conversion of these operations."""

    def register(function: Conversion) -> Conversion:
        CONVERSIONS.update(dict.fromkeys(names, function))
        return function

    return register


class Kernel:
    """One kernel on its way to the Linalg form.

    ``entry`` is the new function's first block, where buffers are made; ``program`` and ``grid`` are the ids and counts
    of programs, ``context`` the worker's context. ``checks`` lists what the kernel may report at run time.
    """

    def __init__(
        self,
        entry: Any,
        plan: ConversionPlan,
        program: Sequence[Value],
        grid: Sequence[Value],
        context: Value,
        *,
        debug: bool,
    ) -> None:
        self.entry, self.plan, self.debug = entry, plan, debug
        self.program, self.grid, self.context = program, grid, context
        self.values: dict[Any, Any] = {}
        self.checks: list[dict[str, Any]] = []
        self.regions: Any = None  # the module's regions of fragments
        self.num_warps = 4  # what a fragment's thread block is made of
        self.functions: dict[str, Any] = {}  # of Triton's module, by name: what calls may name
        self.awaiting: dict[BufferTile, TileValue] = {}  # what the next reduction stores
        self.carried: dict[Any, Any] = {}  # block of a loop -> what it carries
        self.turns: list[Any] = []  # of the loops around that may wait for another program
        self.may_wait = False  # whether any of the kernel's loops does
        self.helpers: set[str] = set()  # texts of functions that it calls
        self.partitions: Any = None  # in partitions of specialised warps the record of their turns
        self.workers = 0  # how many functions of workers were made
        self.first_reach: Operation | None = None  # before it the blocks of a cluster meet
        self.watches = False  # whether accesses are written down, to find races
        self.groups: dict[str, int] = {}  # of programs that run together: what the launch must know, see groups
        self.local_allocations: list[Operation] = []  # in memories of a DSA, see local_memories
        self.copy_counts: Any = None  # of asynchronous copies, see buffer_checks
        self.guard: Any = None  # of a kernel that points into buffers: checks accesses by pointers, see buffer_pointers
        self._declared: set[str] = set()
        self.assemblies: dict[Operation, Any] = {}  # what became of each inline assembly, see inline_assembly
        self.libraries: list[str] = []  # files of functions that it calls, beside its regions'
        self._strings: dict[str, str] = {}
        self._domains: dict[tuple[int, ...], Value] = {}

    def in_function(self, entry: Any, program: Sequence[Value], grid: Sequence[Value], context: Value) -> Kernel:
        """The same kernel, as another of its functions is written: what was said of the kernel is shared."""
        other = copy.copy(self)
        other.entry, other.program, other.grid, other.context = entry, program, grid, context
        other.values, other.awaiting, other.carried, other.turns = {}, {}, {}, []
        other.copy_counts = other.guard = None
        other._domains = {}
        return other

    # --- values ---------------------------------------------------------------------------------------------------

    def scalar(self, value: Value) -> Any:
        """What a scalar became: a value, or an ``Address``."""
        return self.values[value]

    def tile(self, value: Value) -> TileValue:
        """What a tensor became; a scalar where Triton allows both is a tile of no dimensions."""
        found = self.values[value]
        return found if isinstance(found, TileValue) else tiles.Splat((), value.type, types.plain(found))

    def spread(self, value: Value, shape: Sequence[int]) -> TileValue:
        """An operand as a tile of that shape; operations on tiles take scalars beside them."""
        return (
            self.tile(value)
            if types.is_tile(value.type)
            else tiles.Splat(shape, value.type, types.plain(self.scalar(value)))
        )

    def set(self, value: Value, became: Any) -> None:
        """Remember what a value became; a tile that the plan wants stored is stored now."""
        if isinstance(became, TileValue) and value in self.plan.stored:
            became = self._awaiting(became) if value in self.plan.reduced else self.stored(became)
        self.values[value] = became

    def _awaiting(self, tile: TileValue) -> BufferTile:
        """A buffer that the reduction which comes next fills with the tile, in its own pass."""
        if isinstance(tile, BufferTile):
            return tile
        buffer = self.allocate(tile.shape, tile.element)
        self.awaiting[buffer] = tile
        return buffer

    # --- buffers --------------------------------------------------------------------------------------------------

    def allocate(self, shape: Sequence[int], element: Type) -> BufferTile:
        """A new buffer, at the top of the function."""
        flat = len(shape) >= tiles.FLAT_RANK
        dims = "".join(f"{size}x" for size in ((math.prod(shape),) if flat else shape))
        type_ = build.type_of(f"memref<{dims}{types.in_memory(element)}>")
        with mlir().InsertionPoint.at_block_begin(self.entry):
            memref = build.value("memref.alloca", [], type_, {"operandSegmentSizes": _no_operands(2)})
        return BufferTile(shape, element, memref)

    def stack(self, type_: str) -> Value:
        """Room on the stack, made once at the top of the function."""
        ir = mlir()
        with ir.InsertionPoint.at_block_begin(self.entry):
            attributes = {
                "elem_type": ir.TypeAttr.get(build.type_of(type_)),
                "alignment": build.attribute("16 : i64"),
            }
            return build.value("llvm.alloca", [build.constant(1, "i64")], "!llvm.ptr", attributes)

    def stored(self, tile: TileValue) -> BufferTile:
        """The tile in a buffer of its own, or the one it already has."""
        if isinstance(tile, BufferTile):
            return tile
        buffer = self.allocate(tile.shape, tile.element)
        self.fill(buffer, tile)
        return buffer

    def fill(self, buffer: BufferTile, tile: TileValue) -> None:
        """Compute a tile into a buffer. Reading the buffer itself is fine at the same index."""

        def element(body: ScalarBody, index: tiles.Index) -> list[Value]:
            return [types.to_memory(body.element(tile, index))]

        self.for_each(buffer.shape, element, [buffer])

    def for_each(
        self,
        shape: Sequence[int],
        function: Callable[[ScalarBody, tiles.Index], Sequence[Value] | None],
        into: Sequence[BufferTile] = (),
        instead: dict[TileValue, TileValue] | None = None,
    ) -> None:
        """One ``linalg.generic``: ``function`` writes the body for one index and returns what goes ``into`` buffers."""
        ir = mlir()
        domain = _domain_of(tuple(shape))
        direct = domain == tuple(shape) and len(shape) < tiles.FLAT_RANK
        outs = [b.memref for b in into] if direct else []
        operands = outs or [self._domain(domain)]
        rank = len(domain)
        identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
        attributes = {
            "indexing_maps": ir.ArrayAttr.get([identity] * len(operands)),
            "iterator_types": ir.ArrayAttr.get([build.attribute("#linalg.iterator_type<parallel>")] * rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, len(outs)] if outs else [1, 0]),
        }
        generic = build.create("linalg.generic", operands, (), attributes, regions=1)
        element_types = [ir.MemRefType(o.type).element_type for o in operands]
        with build.block(generic.regions[0], element_types):
            at = [
                tiles.register(build.value("linalg.index", [], "index", {"dim": build.attribute(f"{d} : i64")}), size)
                for d, size in enumerate(domain)
            ]
            index = tuple(at) if domain == tuple(shape) else tiles.reshape(tuple(at), domain, shape)
            results = function(ScalarBody(instead), index) or []
            if not outs:
                for buffer, value in zip(into, results):
                    buffer.store(value, index)
            build.create("linalg.yield", results if outs else [])

    def _domain(self, shape: tuple[int, ...]) -> Value:
        """An unread buffer that tells a generic without results its shape."""
        if shape not in self._domains:
            dims = "".join(f"{size}x" for size in shape)
            with mlir().InsertionPoint.at_block_begin(self.entry):
                self._domains[shape] = build.value(
                    "memref.alloca", [], f"memref<{dims}i1>", {"operandSegmentSizes": _no_operands(2)}
                )
        return self._domains[shape]

    # --- operations -----------------------------------------------------------------------------------------------

    def convert_block(self, block: Block) -> None:
        """Convert all operations of a block but its terminator."""
        operations = list(block.operations)
        for view in operations[:-1]:
            self.convert(view.operation)

    def convert(self, op: Operation) -> None:
        """Convert one operation.

        Raises
        ------
        LoweringError : there is no conversion for it; the error carries the kernel's line.
        """
        with op.location:
            try:
                if self.first_reach is not None and op == self.first_reach:
                    CONVERSIONS[BEFORE_REACH](self, op)
                conversion = CONVERSIONS.get(op.name)
                if conversion is None and scalars.is_scalar_operation(op.name):
                    conversion = CONVERSIONS[ELEMENTWISE]
                if conversion is None:
                    raise LoweringError(f"the operation `{op.name}` has no lowering for CPUs")
                conversion(self, op)
            except TLEError as e:
                e.at(call_site=location_of(op.location))
                raise

    def callee(self, op: Operation) -> Any:
        """The body of the function that an operation calls."""
        name = mlir().FlatSymbolRefAttr(op.attributes["callee"]).value
        return self.functions[name].regions[0].blocks[0]

    def string(self, text: str) -> str:
        """A constant string of the module; returns its symbol."""
        ir = mlir()
        if text not in self._strings:
            name = f"tle.string.{len(self._strings)}"
            data = text.encode() + b"\0"
            with ir.InsertionPoint.at_block_begin(self.entry.owner.operation.parent.regions[0].blocks[0]):
                build.create(
                    "llvm.mlir.global",
                    attributes={
                        "global_type": ir.TypeAttr.get(build.type_of(f"!llvm.array<{len(data)} x i8>")),
                        "sym_name": ir.StringAttr.get(name),
                        "linkage": build.attribute("#llvm.linkage<private>"),
                        "value": ir.StringAttr.get(data),
                        "constant": ir.UnitAttr.get(),
                        "addr_space": build.attribute("0 : i32"),
                    },
                    regions=1,
                )
            self._strings[text] = name
        return self._strings[text]

    def declare(self, name: str, type_: str) -> None:
        """Declare a function that is linked later: the host's, or a fragment's."""
        ir = mlir()
        if name in self._declared:
            return
        self._declared.add(name)
        with ir.InsertionPoint.at_block_begin(self.entry.owner.operation.parent.regions[0].blocks[0]):
            build.create(
                "llvm.func",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "function_type": ir.TypeAttr.get(build.type_of(type_)),
                    "linkage": build.attribute("#llvm.linkage<external>"),
                    "CConv": build.attribute("#llvm.cconv<ccc>"),
                    "visibility_": build.attribute("0 : i64"),
                },
                regions=1,
            )

    def check(self, kind: str, message: str, location: Any, **more: Any) -> int:
        """Register a check; returns the status code that says that it failed."""
        where = location_of(location)
        self.checks.append(
            {"kind": kind, "message": message, "file": where.file, "line": where.line, "column": where.column, **more}
        )
        return len(self.checks)


def _domain_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The loops over a shape: many small dimensions are taken together, for vectors need one that is long."""
    if len(shape) < tiles.FLAT_RANK and shape[-1] >= SHORT:
        return shape
    if len(shape) <= 2 and math.prod(shape[:-1]) < SHORT:
        return shape
    inner, rest = 1, list(shape)
    while rest and inner < LONG:
        inner *= rest.pop()
    outer = math.prod(rest)
    return (inner,) if outer == 1 else (outer, inner)


def location_of(location: Any) -> SourceLocation:
    """The user's line of a location: of an inlined call, the innermost line outside of Triton's files and these."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)', str(location))
    if not found:
        return SourceLocation("<kernel>", 0)
    own = [f for f in found if "/triton/language/" not in f[0] and not f[0].startswith(_PACKAGE)] or found
    file, line, column = own[0][0], int(own[0][1]), int(own[0][2])
    return SourceLocation(file, line, column, linecache.getline(file, line).rstrip())


def _no_operands(count: int) -> Any:
    return mlir().DenseI32ArrayAttr.get([0] * count)
