"""Which programs get a warp that only copies, and products in the background: those whose form says what may overlap.

Such a program has one ``T.Pipelined`` loop. In its body tiles of the PrimFunc's arrays are copied into shared buffers,
which products (``T.gemm``) alone read. The copies become the work of one warp, which runs ahead by as many tiles as
the loop has stages, and a product runs in the background until somebody needs its result.

How far a product may run into the next turn of the loop depends on who waits for it (``Meeting``).

What cannot be proven is not planned: ``find_plan`` says why, and the program is traced as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

from tle_raw.adapters.tilelang.program import Program, is_call, statements
from tle_raw.adapters.tilelang.read_signature import written_memory
from tle_raw.adapters.tilelang.regions import BufferRegion, constant, is_global, is_parallel, region_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Node
from tle_raw.adapters.tilelang.traced.effects import Walk, holds
from tle_raw.adapters.tilelang.traced.types import padded

COPIES, GEMM = ("tl.tileop.copy", "tl.tileop.async_copy"), "tl.tileop.gemm"
A, B, C, TURN_A, TURN_B, CLEAR = 0, 1, 2, 3, 4, 9  # the operands of tl.tileop.gemm
_DTYPES = ("float16", "bfloat16")
_SHARED_BYTES = 227 * 1024 - 2048  # of a block, less what barriers and reductions take
_ROWS, _COLUMNS, _DEPTH = 64, 8, 16  # multiples of which tensor cores take
_MOST_ROWS = 256  # of one copy
_SWIZZLE = "threadblock_swizzle_pattern"  # advice, which Triton does not take
_GROUP = 128  # threads that multiply together
_WIDE, _MOST_THREADS = 256, 512


class Meeting(Enum):
    """How the last product of a turn meets the first ones of the next."""

    NONE = "it is waited for in its own turn"
    SUM = "it is the only one, and adds to a sum that the loop does not read: the next one begins behind it"
    BEFORE = "it is put off, and begins in front of the first ones of the next turn"
    BEHIND = "it is put off, and begins behind them: what is computed from their results overlaps with it"


class Unfit(Exception):
    """The program has not the form; the message says what stands in the way."""


@dataclass(frozen=True)
class Load:
    """A copy of a tile from an array of the PrimFunc into a shared buffer.

    The array is seen as a matrix: the dims before ``split`` are its rows, the others its columns. ``descriptor`` is the
    parameter that describes it to the copy engine.
    """

    call: Any
    source: BufferRegion
    target: Buffer
    array: str
    split: int
    descriptor: str

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns."""
        return _size(self.target.shape[0]), _size(self.target.shape[1])

    @property
    def bytes(self) -> int:
        """Of one tile."""
        return prod(self.tile) * 2


@dataclass(frozen=True)
class Plan:
    """What is done with a program.

    Attributes
    ----------
    loop, body : the pipelined loop, and its statements in order.
    slots : how many tiles of each copy there are at a time.
    ring, resident : the loop's copies; those before the loop.
    meeting : how the last product of the body meets those of the next turn, where there is one.
    head : how many statements of the next turn the product that is put off runs beside, up to the first products.
    pays : whether it is known to: not where several blocks share a multiprocessor, and overlap without it.
    """

    loop: Any
    body: tuple[Any, ...]
    slots: int
    ring: tuple[Load, ...]
    resident: tuple[Load, ...]
    meeting: Meeting
    head: int
    pays: bool

    @property
    def loads(self) -> tuple[Load, ...]:
        """All copies, in order."""
        return (*self.resident, *self.ring)

    def reads_last(self, call: Any, load: Load) -> bool:
        """Whether a product is the last one of a turn that reads the tile of a copy."""
        readers = [s.value for s in self.body if _is_product(s) and _multiplies(s.value, load.target.data)]
        return bool(readers) and bool(readers[-1].same_as(call))

    def is_load(self, call: Any) -> bool:
        """Whether a copy is one that the other warp makes."""
        return any(load.call.same_as(call) for load in self.loads)


def find_plan(program: Program) -> Plan:
    """What can be done with a program none of whose tiles come from a caller.

    Raises
    ------
    Unfit : nothing.
    """
    top = list(_flat(program.body))
    places = [n for n, s in enumerate(top) if _stages(s)]
    if len(places) != 1:
        raise Unfit(f"{len(places) or 'no'} pipelined loops stand in its body, not one")
    threads = prod(program.threads) if program.threads else _GROUP
    if threads % _GROUP or threads & (threads - 1) or threads > _MOST_THREADS:
        raise Unfit(f"its {threads} threads are no groups of {_GROUP}")
    before, loop = top[: places[0]], top[places[0]]
    body = list(_flat(loop.body))
    products = [s.value for s in body if _is_product(s)]
    if not products or len(products) != sum(is_call(node, GEMM) for node in _nodes(program.body)):
        raise Unfit("products stand elsewhere than in the body of its pipelined loop")
    loads = _Loads(program, products)
    resident = [loads.of(s) for s in before if _is_copy_in(s) and loads.readers(region_of(s.value.args[1]).buffer)]
    ring = [loads.of(s) for s in body if _is_copy_in(s)]
    _check_reads(body, ring)
    for call in products:
        _check_product(call, [load.target for load in (*resident, *ring)])
    slots = _stages(loop)
    taken = sum(load.bytes for load in resident) + slots * sum(load.bytes for load in ring)
    if taken > _SHARED_BYTES:
        raise Unfit(f"its tiles take {taken} bytes of shared memory, of {_SHARED_BYTES}")
    meeting, head = _meeting(body, [load.target.data for load in ring], slots, threads)
    pays = threads >= _WIDE or 2 * taken > _SHARED_BYTES
    return Plan(loop, tuple(body), slots, tuple(ring), tuple(resident), meeting, head, pays)


def has_pipelined_products(program: Program) -> bool:
    """Whether a pipelined loop holds a product."""
    return any(
        _stages(node) and any(is_call(inner, GEMM) for inner in _nodes(node.body))
        for node in _nodes(program.body)
        if type(node).__name__ == "For"
    )


# --- statements ----------------------------------------------------------------------------------------------------


def _flat(node: Any) -> Iterator[Any]:
    """The statements that run one after the other, through blocks that allocate nothing."""
    kind = type(node).__name__
    if kind == "SeqStmt":
        for inner in statements(node):
            yield from _flat(inner)
    elif kind == "SBlockRealize":
        yield from _flat(node.block)
    elif _is_transparent(node):
        yield from _flat(node.body)
    else:
        yield node


def _is_transparent(node: Any) -> bool:
    if type(node).__name__ == "SBlock":
        return not node.alloc_buffers
    return type(node).__name__ == "AttrStmt" and str(node.attr_key) == _SWIZZLE


def _stages(statement: Node) -> int:
    """Of a pipelined loop; 0 of any other statement."""
    if type(statement).__name__ != "For" or is_parallel(statement) or "num_stages" not in statement.annotations:
        return 0
    return constant(statement.annotations["num_stages"]) or 0


def _is_product(statement: Node) -> bool:
    return type(statement).__name__ == "Evaluate" and is_call(statement.value, GEMM)


def _multiplies(call: Any, memory: Any) -> bool:
    return any(region_of(call.args[which]).buffer.data.same_as(memory) for which in (A, B))


def _is_copy_in(statement: Node) -> bool:
    """A copy from a global buffer into a shared one."""
    if type(statement).__name__ != "Evaluate" or not any(is_call(statement.value, name) for name in COPIES):
        return False
    source, target = (region_of(argument).buffer for argument in statement.value.args[:2])
    return is_global(source) and str(target.scope()).startswith("shared")


def is_straight(statement: Node) -> bool:
    """Whether all of a statement is computed, and once: no loop in order, and no branch."""
    branches = ("IfThenElse", "While", "SBlock")
    return not any(
        type(node).__name__ in branches or (type(node).__name__ == "For" and not is_parallel(node))
        for node in _nodes(statement)
    )


def _nodes(root: Any) -> list[Any]:
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    if not isinstance(root, int):
        post_order_visit(root, found.append)
    return found


# --- copies --------------------------------------------------------------------------------------------------------


class _Loads:
    """Reads copies. ``products`` are all that read shared buffers in the form that is wanted."""

    def __init__(self, program: Program, products: Sequence[Any]) -> None:
        self._program, self._products = program, products
        self._written = written_memory(program.body)
        self._accesses = [n for n in _nodes(program.body) if type(n).__name__ in ("BufferLoad", "BufferStore")]
        self._safe = program.annotations.get("safe_value_map", {})
        self._count = 0

    def readers(self, buffer: Buffer) -> int:
        """How many operands of products are the whole buffer."""
        operands = [region_of(call.args[which]) for call in self._products for which in (A, B)]
        return sum(box.buffer.data.same_as(buffer.data) and _is_whole(box) for box in operands)

    def of(self, statement: Any) -> Load:
        source, target = (region_of(argument) for argument in statement.value.args[:2])
        name = str(target.buffer.name)
        if str(target.buffer.dtype) not in _DTYPES or len(target.buffer.shape) != 2 or not _is_whole(target):
            raise Unfit(f"`{name}` is filled in another way than by whole tiles of two dims and sixteen bits")
        tile = [_size(extent) for extent in target.buffer.shape]
        if any(n != padded(n) for n in tile) or tile[0] > _MOST_ROWS or tile[0] < _COLUMNS or tile[1] < _DEPTH:
            raise Unfit(f"the copy engine takes no tile of {tile[0]} by {tile[1]}, as `{name}` has it")
        if sum(access.buffer.data.same_as(target.buffer.data) for access in self._accesses) != 1 + self.readers(
            target.buffer
        ):
            raise Unfit(f"`{name}` is used by something else than products")
        self._count += 1
        array, split = self._array(source, tile)
        return Load(statement.value, source, target.buffer, array, split, f"{array}_tile_{self._count}")

    def _array(self, box: BufferRegion, tile: Sequence[int]) -> tuple[str, int]:
        """The parameter whose array it is, and how many dims of it are rows."""
        buffer = box.buffer
        name = next((n for n, b in self._program.buffers.items() if b.same_as(buffer)), None)
        if name is None or holds(self._written, buffer.data) or buffer.data in self._safe:
            raise Unfit(f"`{buffer.name}` is no array that is only read")
        if str(buffer.dtype) not in _DTYPES or not _is_compact(buffer):
            raise Unfit(f"the rows of `{name}` do not lie behind each other")
        if any(type(node).__name__ in ("BufferLoad", "Call") for origin in box.origin for node in _nodes(origin)):
            raise Unfit(f"where a tile of `{name}` begins is read from memory")
        walked = [d for d, extent in enumerate(box.extents) if constant(extent) != 1]
        if len(walked) != 2 or walked[1] != len(buffer.shape) - 1 or [constant(box.extents[d]) for d in walked] != tile:
            raise Unfit(f"the tiles of `{name}` are no rows of its innermost dim")
        return name, walked[0] + 1


def _size(extent: Any) -> int:
    found = constant(extent)
    if found is None:
        raise Unfit(f"a buffer has the size {extent}, which is no constant")
    return found


def _is_whole(box: BufferRegion) -> bool:
    return all(constant(o) == 0 for o in box.origin) and [constant(e) for e in box.extents] == [
        constant(s) for s in box.buffer.shape
    ]


def _is_compact(buffer: Buffer) -> bool:
    from tvm import arith

    analyzer, expected = arith.Analyzer(), 1
    for stride, extent in reversed(list(zip(buffer.strides, buffer.shape))):
        if not analyzer.can_prove_equal(stride, expected):
            return False
        expected = expected * extent
    return True


def _check_reads(body: Sequence[Any], ring: Sequence[Load]) -> None:
    """All that comes from global memory in the loop are its copies: other loads would not be fetched ahead."""
    for statement in body:
        if _is_copy_in(statement) and any(load.call.same_as(statement.value) for load in ring):
            continue
        for node in _nodes(statement):
            if type(node).__name__ == "BufferLoad" and is_global(node.buffer):
                raise Unfit(f"`{node.buffer.name}` is touched in the pipelined loop by something else than a copy")


# --- products ------------------------------------------------------------------------------------------------------


def _check_product(call: Any, filled: Sequence[Buffer]) -> None:
    a, b, c = (region_of(call.args[which]) for which in (A, B, C))
    memory = [buffer.data for buffer in filled]
    if not all(map(_is_whole, (a, b, c))) or any(len(box.extents) != 2 for box in (a, b, c)):
        raise Unfit("a product of parts of buffers")
    if not holds(memory, b.buffer.data):
        raise Unfit(f"`{b.buffer.name}` is multiplied with, and is no copy from global memory")
    if not holds(memory, a.buffer.data) and constant(call.args[TURN_A]):
        raise Unfit(f"`{a.buffer.name}` is turned in registers")
    if str(a.buffer.dtype) not in _DTYPES or a.buffer.dtype != b.buffer.dtype or str(c.buffer.dtype) != "float32":
        raise Unfit(f"a product of {a.buffer.dtype} and {b.buffer.dtype} in {c.buffer.dtype}")
    rows, columns = (_size(extent) for extent in c.buffer.shape)
    sizes = [*(_size(extent) for box in (a, b) for extent in box.buffer.shape), rows, columns]
    if rows % _ROWS or columns % _COLUMNS or any(n != padded(n) or n < _COLUMNS for n in sizes):
        raise Unfit(f"a product of {rows} by {columns} elements, which is none of the tensor cores'")


def _meeting(body: Sequence[Any], ring: Sequence[Any], slots: int, threads: int) -> tuple[Meeting, int]:
    """How the last product meets those of the next turn, and beside how many statements it runs there."""
    last = body[-1]
    if not _is_product(last):
        return Meeting.NONE, 0
    a, b, c = (region_of(last.value.args[which]).buffer.data for which in (A, B, C))
    products = [s for s in body if _is_product(s)]
    others = Walk({}).block(body[:-1]).effects
    if len(products) == 1:
        is_sum = (
            holds(ring, a) and not holds((*others.written, *others.seen), c) and constant(last.value.args[CLEAR]) == 0
        )
        return (Meeting.SUM if is_sum else Meeting.NONE), 0
    head, shares = 0, False
    for number, statement in enumerate(body[:-1]):
        effects = Walk({}).block([statement]).effects
        if holds((*effects.written, *effects.seen), c) or (holds(effects.written, a) and not holds(ring, a)):
            break
        if _is_product(statement):
            head = number + 1
            shares |= any(holds(ring, memory) and _multiplies(statement.value, memory) for memory in (a, b))
        elif head:
            break
    if not head:
        return Meeting.NONE, 0
    rows = min(_size(region_of(product.value.args[C]).buffer.shape[0]) for product in products)
    if rows * 2 >= threads:  # each warp has rows of its own: all results lie in the same way
        return Meeting.BEFORE, head
    # In front of the others it would be brought into their layout; behind them it holds tiles that they share too long.
    return (Meeting.NONE, 0) if shares and slots < 3 else (Meeting.BEHIND, head)
