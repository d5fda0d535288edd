"""Regions on the CPU: tiles in buffers, and one call of the fragment's thread block (``tle_raw.emulation``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.emulation.element_entry import entry_parameters, is_placed
from tle_raw.errors import RegionError, Row
from tle_raw.flir.check_block import WARP, check_block
from tle_raw.flir.cpu.convert import buffer_pointers, build, mbarriers, types, waits
from tle_raw.flir.cpu.convert.buffer_access import BarrierTile
from tle_raw.flir.cpu.convert.control import own_buffer
from tle_raw.flir.cpu.convert.descriptors import DescriptorTile, is_descriptor, tensor_map
from tle_raw.flir.cpu.convert.kernel import Kernel, location_of
from tle_raw.flir.cpu.convert.region_buffers import BufferInPlace, made_in_place
from tle_raw.flir.cpu.convert.tiles import BufferTile, Elementwise
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.flir.record_regions import record_regions
from tle_raw.fragments.bound import TILE, BoundParameter
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import fragment_by_identity
from tle_raw.regions import ports
from tle_raw.regions.ports import RegionRecord, record_from_text

# tle_region_call: threads, three ids, three counts, a check, the context.
_CALL_TYPE = "!llvm.array<5 x i64>"
# What tells it which block of its cluster it is (``tle_raw/emulation/nvvm/threads.py``).
_PLACES = ("tle_team_cluster_rank", "tle_team_cluster_size")

Opened = BufferTile | BarrierTile | BufferInPlace | DescriptorTile  # what a port gives to the region


class Regions:
    """The regions of a module and their compiled fragments, by the operation that calls them."""

    def __init__(self, source: Any) -> None:
        self._calls = [op for op in _walk(source.operation) if _symbol(op) in (ports.CALL, ports.ELEMENT)]
        self.records = [
            record_from_text(op.attributes["libname"].value, location_of(op.location)) for op in self._calls
        ]
        self.compiled: Sequence[CompiledFragment] = []
        self._of: dict[Any, tuple[RegionRecord, CompiledFragment]] = {}
        self.opened: dict[Any, list[Opened]] = {}  # block -> buffers that wait for their call
        self.threads = 0  # of a thread block, whatever num_warps says; 0 where that counts

    @property
    def blocks(self) -> list[tuple[int, ...] | None]:
        """What each region was declared for."""
        return [fragment_by_identity(record.fragment).block for record in self.records]

    def set_compiled(self, compiled: Sequence[CompiledFragment]) -> None:
        """One for each record."""
        self.compiled, self._of = compiled, dict(zip(self._calls, zip(self.records, compiled)))

    def of(self, op: Operation) -> tuple[RegionRecord, CompiledFragment]:
        return self._of[op]

    def check_clusters(self, dims: Sequence[int]) -> None:
        """Fragments take a cluster's blocks for neighbours along the grid's first axis.

        Raises
        ------
        RegionError : one asks for its place in a cluster that has other axes, too.
        """
        if all(blocks == 1 for blocks in dims[1:]):
            return
        for record, compiled in zip(self.records, self.compiled):
            if any(f"@{function}(" in compiled.text for function in _PLACES):
                name = fragment_by_identity(record.fragment).name
                raise RegionError(
                    f"`{name}` asks for its place in a cluster that lies along several axes of the grid, "
                    "which CPUs do not tell",
                    table=[Row("blocks along each axis", "n, 1, 1", ", ".join(map(str, dims)))],
                    hint="hand over tle.shard_id(mesh, axis)",
                ).at(call_site=record.call_site)

    def describe(self, metadata: dict[str, Any]) -> None:
        """What the later stages link, and what a report tells."""
        if not self.records:
            return
        metadata["libraries"] = list(dict.fromkeys(str(c.path) for c in self.compiled))
        metadata["tle_raw"] = record_regions(self.records, list(self.compiled))


def _walk(operation: Operation) -> Any:
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _walk(view.operation)


def _symbol(op: Operation) -> str:
    return str(op.attributes["symbol"].value) if op.name == "tt.extern_elementwise" else ""


def convert_marker(kernel: Kernel, op: Operation, symbol: str) -> None:
    """One marker of a region; together they are the call."""
    if symbol == ports.ELEMENT:
        _element(kernel, op)
    elif symbol.startswith(ports.NAMED):
        _meet(kernel, op, waits=symbol.endswith(".wait"))
    elif symbol == ports.CALL:
        _call(kernel, op)
    elif symbol.startswith(ports.OUT):
        kernel.values[op.results[0]] = kernel.values[op.operands[0]]
    else:
        buffer = _opened(kernel, op, symbol)
        kernel.values[op.results[0]] = buffer
        kernel.regions.opened.setdefault(op.block, []).append(buffer)


def _meet(kernel: Kernel, op: Operation, waits: bool) -> None:
    """The block comes to a named barrier, whose threads its word counts."""
    tile = kernel.values[op.operands[0]]
    assert isinstance(tile, BarrierTile)
    threads = _odd_threads(kernel) or WARP * kernel.num_warps
    mbarriers.meet(kernel, op, tile.barrier, threads, waits)
    kernel.values[op.results[0]] = tile


def _opened(kernel: Kernel, op: Operation, symbol: str) -> Opened:
    """A buffer that the fragment may write: also an ``In`` tile is its own. A barrier is the kernel's."""
    if is_descriptor(op):
        return tensor_map(kernel, op)
    type_, tile = op.results[0].type, kernel.values.get(op.operands[0])
    if isinstance(tile, (BarrierTile, BufferInPlace)):
        return tile
    if symbol.startswith(ports.NEW):
        return made_in_place(kernel, op) or kernel.allocate(types.shape_of(type_), types.element_of(type_))
    return own_buffer(kernel, op.operands[0], op)


def _call(kernel: Kernel, op: Operation) -> None:
    record, compiled = kernel.regions.of(op)
    if not _odd_threads(kernel):
        _check_block(record, record.warps or kernel.num_warps)
    buffers = kernel.regions.opened.pop(op.block, [])
    if len(buffers) != len(record.bound.tiles):
        raise RegionError("the ports of a region were separated from its call by one of Triton's passes")
    if compiled.writes_global:
        buffer_pointers.given_away(kernel, op)
    plain = [types.plain(kernel.scalar(o)) for o in op.operands]
    arguments = [_argument(kernel, p, buffers, plain) for p in record.bound.crossing]
    result = op.results[0]
    kernel.may_wait = True  # for another program, in the fragment
    slot = None
    if record.bound.result is not None:
        slot = kernel.stack(str(types.in_memory(result.type)))
        arguments.append(slot)
    packed = kernel.stack(f"!llvm.array<{max(len(arguments), 1)} x ptr>")
    for number, argument in enumerate(arguments):
        build.store(argument, build.address(packed, number, "!llvm.ptr"))
    _declare(kernel, compiled.entry, ["!llvm.ptr", "!llvm.ptr"], "i32")
    build.call_outside(compiled.entry, [_region_call(kernel, op, record.warps), packed], "i32")
    if slot is not None:
        loaded = build.load(slot, types.in_memory(result.type))
        kernel.set(result, types.from_memory(loaded, result.type))
        waits.see(kernel, kernel.scalar(result))
    else:
        kernel.set(result, build.constant(0, "i32"))


def _odd_threads(kernel: Kernel) -> int:
    """Of a block whose number Triton cannot launch; 0 elsewhere, and in partitions, which have whole warps."""
    return 0 if kernel.partitions is not None else int(kernel.regions.threads)


def _check_block(record: RegionRecord, num_warps: int) -> None:
    fragment = fragment_by_identity(record.fragment)
    try:
        check_block(fragment.block, num_warps)
    except RegionError as e:
        raise e.at(fragment=record.bound.name, source=fragment.location, call_site=record.call_site) from None


def _argument(
    kernel: Kernel,
    parameter: BoundParameter,
    buffers: list[Opened],
    plain: list[Value],
) -> Value:
    """The pointer that stands for an argument."""
    if parameter.kind == TILE:
        return buffers.pop(0).pointer()
    value = plain.pop(0)
    if str(value.type) == "i1":
        value = build.cast_integer(value, "i8", signed=False)
    slot = kernel.stack(str(value.type))
    build.store(value, slot)
    return slot


def _region_call(kernel: Kernel, op: Operation, own_warps: int) -> Value:
    call = kernel.stack(_CALL_TYPE)
    threads = _odd_threads(kernel) or WARP * (own_warps or kernel.num_warps)
    check = 0
    if kernel.groups.get("cluster", 0) > 1:
        message = "a wait for blocks of the cluster that never come to its barrier"
        check = kernel.check("standstill", message, op.location, members=[])
    numbers = [build.constant(threads, "i32"), *kernel.program, *kernel.grid, build.constant(check, "i32")]
    for at, number in enumerate(numbers):
        build.store(number, build.address(call, at, "i32"))
    build.store(kernel.context, build.address(call, 4, "i64"))
    return call


def declare_element(kernel: Kernel, compiled: CompiledFragment) -> None:
    """A function of one element, for ``call_element``."""
    bound = compiled.bound
    parameters = [_mlir_type(t) for t in entry_parameters(bound, compiled.entry)]
    kernel.may_wait = kernel.may_wait or is_placed(compiled.entry)
    _declare(kernel, compiled.entry, parameters, _mlir_type(bound.host_result))


def call_element(kernel: Kernel, op: Operation, compiled: CompiledFragment, values: Sequence[Value]) -> Value:
    """Its value for one element, which loops around may wait for."""
    place = [kernel.context, *kernel.program] if is_placed(compiled.entry) else []
    found = build.call_outside(compiled.entry, [*values, *place], _mlir_type(compiled.bound.host_result))
    if waits.is_awaited(op):
        waits.see(kernel, found)
    return found


def _element(kernel: Kernel, op: Operation) -> None:
    """A function of one element, called for each."""
    compiled = kernel.regions.of(op)[1]
    declare_element(kernel, compiled)
    if compiled.writes_global:
        buffer_pointers.given_away(kernel, op)

    def apply(*operands: Any) -> Any:
        with op.location:
            return call_element(kernel, op, compiled, [types.plain(o) for o in operands])

    value = op.results[0]
    if not types.is_tile(value.type):
        kernel.set(value, apply(*(kernel.scalar(o) for o in op.operands)))
        return
    shape = types.shape_of(value.type)
    operands = [kernel.spread(o, shape) for o in op.operands]
    tile = Elementwise(shape, types.element_of(value.type), operands, apply)
    if op.attributes["pure"].value:
        kernel.set(value, tile)
    else:  # it may read memory, and runs where it stands
        kernel.values[value] = kernel.stored(tile)


_MLIR_TYPES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "!llvm.ptr"}


def _mlir_type(llvm: str) -> str:
    return _MLIR_TYPES.get(llvm, llvm)


def _declare(kernel: Kernel, name: str, parameters: Sequence[str], result: str) -> None:
    kernel.declare(name, f"!llvm.func<{result} ({', '.join(parameters)})>")
