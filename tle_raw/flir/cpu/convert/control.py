"""Loops, branches and calls.

Scalars are carried as values, tiles in buffers, walking tiles by their displacement, shared buffers by their address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.convert import build, lazy, types, waits
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.memory import pending_loads
from tle_raw.flir.cpu.convert.shared_buffers import carried_parts, carried_types, check_alike, from_parts
from tle_raw.flir.cpu.convert.tiles import BufferTile, Elementwise, ScalarBody, Shared, Splat, TileValue, leaves_read
from tle_raw.flir.cpu.mlir_values import Operation, Value


class Walk:
    """A carried tile that each iteration moves by the same amount everywhere: pointers and offsets, mostly.

    ``steps`` are the tiles that the loop adds, one after the other.
    """

    def __init__(self, argument: Value, steps: Sequence[Any]) -> None:
        self.argument, self.steps = argument, steps
        element = types.element_of(argument.type)
        self.is_pointer = types.is_pointer(element)
        self.type = build.type_of("i64") if self.is_pointer else element

    @classmethod
    def of(cls, argument: Value, yielded: Value) -> Walk | None:
        """The walk of a loop's argument, when what is yielded is the argument plus uniform amounts."""
        steps = []
        while yielded != argument:
            op = lazy.definition(yielded)
            if op is None or op.name not in ("arith.addi", "tt.addptr") or op.block != argument.owner:
                return None
            whole, step = op.operands
            if op.name == "arith.addi" and lazy.is_uniform(whole):
                whole, step = step, whole
            if not lazy.is_uniform(step):
                return None
            steps.append(step)
            yielded = whole
        return cls(argument, steps) if steps else None

    def tile(self, start: TileValue, displacement: Any) -> TileValue:
        """The tile after the loop has moved it by ``displacement``."""
        moved = Splat(start.shape, self.type, displacement)
        if self.is_pointer:
            return Elementwise(start.shape, start.element, [start, moved], lambda a, d: a.advanced(d))
        return Elementwise(start.shape, start.element, [start, moved], lambda a, d: build.binary("addi", a, d))

    def advance(self, kernel: Kernel, displacement: Any) -> Any:
        """The displacement of the next iteration."""
        for step in self.steps:
            tile = kernel.tile(step)
            amount = ScalarBody().element(tile, (0,) * len(tile.shape))
            displacement = build.binary("addi", displacement, build.cast_integer(amount, self.type))
        return displacement


class Carried:
    """The carried values of one loop: per position a scalar, a walking tile, or a buffer."""

    def __init__(
        self, kernel: Kernel, op: Operation, arguments: Sequence[Value], starts: Sequence[Any], yielded: Sequence[Value]
    ):
        self.kernel, self.arguments = kernel, list(arguments)
        self.walks: list[Walk | None] = []
        self.buffers: list[BufferTile | None] = []
        self.starts: list[TileValue | None] = []
        self.scalars: list[Any] = []  # the values that the new loop starts with
        self.likes: list[Any] = []  # what is carried as scalars, as it starts
        for argument, start, end in zip(arguments, starts, yielded):
            walk = Walk.of(argument, end) if types.is_tile(argument.type) else None
            buffer, start_tile = None, None
            if walk is not None:
                start_tile = kernel.tile(start)
                if pending_loads([start_tile]):
                    start_tile = kernel.stored(start_tile)
                self.scalars.append(build.constant(0, walk.type))
            elif types.is_tile(argument.type):
                buffer = own_buffer(kernel, start, op)
            else:
                self.scalars += carried_parts(kernel, start)
            self.likes.append(None if types.is_tile(argument.type) else kernel.values[start])
            self.walks.append(walk)
            self.buffers.append(buffer)
            self.starts.append(start_tile)
        self._keep_starts()

    def _keep_starts(self) -> None:
        """What walks start from is stored where it would be computed from a buffer that the loop writes."""
        for number, start in enumerate(self.starts):
            if start is not None and any(buffer in self.buffers for buffer in buffers_read(start)):
                self.starts[number] = self.kernel.stored(_copied(start))

    @property
    def types(self) -> list[Any]:
        return [s.type for s in self.scalars]

    def bind(self, values: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Say what ``values`` (the arguments inside, or the loop's results) are, given the new loop's scalars."""
        waiting = list(scalars)
        for value, walk, buffer, start, like in zip(values, self.walks, self.buffers, self.starts, self.likes):
            if buffer is not None:
                self.kernel.values[value] = buffer
            elif walk is not None and start is not None:
                self.kernel.values[value] = walk.tile(start, waiting.pop(0))
            else:
                self.kernel.values[value] = from_parts(like, waiting)

    def next(self, yielded: Sequence[Value], scalars: Sequence[Any]) -> list[Any]:
        """Write the buffers for the next iteration; returns the next scalars."""
        waiting, following = list(scalars), []
        moves: list[tuple[BufferTile, TileValue]] = []
        for value, walk, buffer, like in zip(yielded, self.walks, self.buffers, self.likes):
            if buffer is not None:
                moves.append((buffer, self.kernel.tile(value)))
            elif walk is not None:
                following.append(walk.advance(self.kernel, waiting.pop(0)))
            else:
                from_parts(like, waiting)
                check_alike(like, self.kernel.values[value])
                following += carried_parts(self.kernel, value)
        move_all(self.kernel, moves)
        return following


def _copied(tile: TileValue) -> TileValue:
    """The same elements; a buffer stored again becomes another buffer."""
    return Elementwise(tile.shape, tile.element, [tile], lambda x: x)


def own_buffer(kernel: Kernel, value: Value, op: Operation) -> BufferTile:
    """A buffer that holds ``value`` and that ``op`` may overwrite: the value's own when nobody else reads it."""
    tile = kernel.tile(value)
    if isinstance(tile, BufferTile) and is_last_use(kernel, value, op):
        return tile
    buffer = kernel.allocate(tile.shape, tile.element)
    kernel.fill(buffer, tile)
    return buffer


def is_last_use(kernel: Kernel, value: Value, op: Operation) -> bool:
    """Whether ``op`` alone consumes a value, once for each time that it is made."""
    owner = lazy.definition(value)
    block = owner.block if owner is not None else value.owner
    if owner is None and block.owner.operation.name == "func.func":
        return False  # the caller's buffer
    uses = [use for use in value.uses if use.owner.operation == op]
    return block == op.block and kernel.plan.sinks.get(value) == {op} and len(uses) == 1


def move_all(kernel: Kernel, moves: Sequence[tuple[BufferTile, TileValue]]) -> None:
    """Write tiles into buffers as if at once, though they may read each other's buffers."""
    moves = [(buffer, tile) for buffer, tile in moves if tile is not buffer]
    reads = [buffers_read(tile) for _, tile in moves]
    direct, late = [], []
    for number, (buffer, tile) in enumerate(moves):
        read_by_others = any(buffer in read for n, read in enumerate(reads) if n != number)
        if not read_by_others and reads[number].get(buffer, True):
            direct.append((buffer, tile))
        else:
            copied = kernel.allocate(tile.shape, tile.element)
            kernel.fill(copied, tile)
            late.append((buffer, copied))
    for buffer, tile in [*direct, *late]:
        kernel.fill(buffer, tile)


def buffers_read(tile: TileValue) -> dict[BufferTile, bool]:
    """The buffers that computing a tile reads, and whether at the element's own index only."""
    return leaves_read([tile], BufferTile, (Elementwise, Shared))


@converts("scf.for")
def for_loop(kernel: Kernel, op: Operation) -> None:
    body = op.regions[0].blocks[0]
    counter, *arguments = body.arguments
    yielded = list(body.operations)[-1].operation.operands
    bounds = [kernel.scalar(o) for o in list(op.operands)[:3]]
    carried = Carried(kernel, op, arguments, list(op.operands)[3:], yielded)
    attributes = {"unsignedCmp": op.attributes["unsignedCmp"]} if "unsignedCmp" in op.attributes else {}
    new = build.create("scf.for", [*bounds, *carried.scalars], carried.types, attributes, regions=1)
    with build.block(new.regions[0], [bounds[0].type, *carried.types]) as block:
        kernel.values[counter] = block.arguments[0]
        inside = list(block.arguments)[1:]
        carried.bind(arguments, inside)
        kernel.carried[body] = carried
        kernel.convert_block(body)
        build.create("scf.yield", carried.next(yielded, inside))
    carried.bind(op.results, new.results)


@converts("scf.if")
def branch(kernel: Kernel, op: Operation) -> None:
    condition = kernel.scalar(op.operands[0])
    _branches(kernel, op, lambda results: build.create("scf.if", [condition], results, regions=2))


@converts("scf.index_switch")
def switch(kernel: Kernel, op: Operation) -> None:
    argument = kernel.scalar(op.operands[0])
    attributes = {"cases": op.attributes["cases"]}
    count = len(op.regions)
    _branches(
        kernel, op, lambda results: build.create("scf.index_switch", [argument], results, attributes, regions=count)
    )


@converts("scf.execute_region")
def execute_region(kernel: Kernel, op: Operation) -> None:
    block = op.regions[0].blocks[0]
    kernel.convert_block(block)
    for result, value in zip(op.results, list(block.operations)[-1].operation.operands):
        kernel.set(result, kernel.values[value])


def _branches(kernel: Kernel, op: Operation, create: Any) -> None:
    """Several regions of which one runs; each writes its tiles into the same buffers."""
    buffers = {
        number: kernel.allocate(types.shape_of(r.type), types.element_of(r.type))
        for number, r in enumerate(op.results)
        if types.is_tile(r.type)
    }
    plain = [number for number in range(len(op.results)) if number not in buffers]
    likes: dict[int, Any] = {}
    new = create([type_ for n in plain for type_ in carried_types(kernel, op.results[n].type)])
    for old_region, region in zip(op.regions, new.regions):
        if not len(old_region.blocks):
            continue
        old = old_region.blocks[0]
        with build.block(region):
            kernel.convert_block(old)
            yielded = list(old.operations)[-1].operation.operands
            for number, buffer in buffers.items():
                kernel.fill(buffer, kernel.tile(yielded[number]))
            for number in plain:
                check_alike(likes.setdefault(number, kernel.values[yielded[number]]), kernel.values[yielded[number]])
            build.create("scf.yield", [part for n in plain for part in carried_parts(kernel, yielded[n])])
    for number, buffer in buffers.items():
        kernel.values[op.results[number]] = buffer
    waiting = list(new.results)
    for number in plain:
        kernel.values[op.results[number]] = from_parts(likes.get(number), waiting)


@converts("scf.while")
def while_loop(kernel: Kernel, op: Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    condition = list(before.operations)[-1].operation
    forwarded = list(condition.operands)[1:]
    carried = _WhileCarried(kernel, before.arguments, op.operands)
    passed_types = _passed_types(kernel, forwarded)
    outgoing = {
        number: kernel.allocate(types.shape_of(v.type), types.element_of(v.type))
        for number, v in enumerate(forwarded)
        if types.is_tile(v.type)
    }
    with waits.turns_of(kernel, op) as turns:
        new = build.create("scf.while", carried.scalars, passed_types, regions=2)
        likes = _fill_while(kernel, new, (before, after), carried, outgoing, turns)
    _bind_forwarded(kernel, op.results, outgoing, new.results, likes)


def _passed_types(kernel: Kernel, forwarded: Sequence[Value]) -> list[Any]:
    """Of what a loop's condition forwards as scalars."""
    return [type_ for v in forwarded if not types.is_tile(v.type) for type_ in carried_types(kernel, v.type)]


def _fill_while(
    kernel: Kernel,
    new: Any,
    blocks: tuple[Any, Any],
    carried: _WhileCarried,
    outgoing: dict[int, BufferTile],
    turns: waits.Turns | None,
) -> list[Any]:
    """Fill both blocks of a while loop; gives what the condition forwards, as it is there."""
    before, after = blocks
    condition = list(before.operations)[-1].operation
    forwarded = list(condition.operands)[1:]
    passed = [v for v in forwarded if not types.is_tile(v.type)]
    with build.block(new.regions[0], carried.types) as block:
        carried.bind(before.arguments, block.arguments)
        kernel.convert_block(before)
        for number, buffer in outgoing.items():
            kernel.fill(buffer, kernel.tile(forwarded[number]))
        goes_on = kernel.scalar(condition.operands[0])
        if turns is not None:
            goes_on = build.binary("andi", goes_on, build.negated(turns.are_over()))
        build.create("scf.condition", [goes_on, *(part for v in passed for part in carried_parts(kernel, v))])
        likes = [kernel.values[v] for v in forwarded]
    with build.block(new.regions[1], _passed_types(kernel, forwarded)) as block:
        _bind_forwarded(kernel, after.arguments, outgoing, block.arguments, likes)
        kernel.convert_block(after)
        build.create("scf.yield", carried.next(list(after.operations)[-1].operation.operands))
    return likes


class _WhileCarried:
    """The values that a while loop's condition starts from."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Value], starts: Sequence[Any]) -> None:
        self.kernel = kernel
        self.buffers: list[BufferTile | None] = []
        self.scalars: list[Any] = []
        self.likes = [kernel.values[start] for start in starts]
        for argument, start in zip(arguments, starts):
            if types.is_tile(argument.type):
                tile = kernel.tile(start)
                buffer = kernel.allocate(tile.shape, tile.element)
                kernel.fill(buffer, tile)
                self.buffers.append(buffer)
            else:
                self.buffers.append(None)
                self.scalars += carried_parts(kernel, start)

    @property
    def types(self) -> list[Any]:
        return [s.type for s in self.scalars]

    def bind(self, values: Sequence[Any], scalars: Sequence[Any]) -> None:
        waiting = list(scalars)
        for value, buffer, like in zip(values, self.buffers, self.likes):
            self.kernel.values[value] = buffer if buffer is not None else from_parts(like, waiting)

    def next(self, yielded: Sequence[Value]) -> list[Any]:
        moves = [(b, self.kernel.tile(v)) for b, v in zip(self.buffers, yielded) if b is not None]
        scalars = []
        for buffer, value, like in zip(self.buffers, yielded, self.likes):
            if buffer is None:
                check_alike(like, self.kernel.values[value])
                scalars += carried_parts(self.kernel, value)
        move_all(self.kernel, moves)
        return scalars


def _bind_forwarded(
    kernel: Kernel, values: Sequence[Any], buffers: dict[int, BufferTile], scalars: Sequence[Any], likes: Sequence[Any]
) -> None:
    waiting = list(scalars)
    for number, (value, like) in enumerate(zip(values, likes)):
        kernel.values[value] = buffers[number] if number in buffers else from_parts(like, waiting)


@converts("tt.call")
def call(kernel: Kernel, op: Operation) -> None:
    """Functions that are not inlined by Triton are inlined here: Triton has no recursion."""
    block = kernel.callee(op)
    for argument, operand in zip(block.arguments, op.operands):
        became = kernel.values[operand]
        kernel.values[argument] = kernel.stored(became) if isinstance(became, TileValue) else became
    kernel.convert_block(block)
    for result, value in zip(op.results, list(block.operations)[-1].operation.operands):
        became = kernel.values[value]
        kernel.values[result] = kernel.stored(became) if isinstance(became, TileValue) else became
