"""Put shared memory, barriers and the linked function's call in place of the port markers."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.flir.nvidia.place_buffers import Placement, SharedBuffer
from tle_raw.flir.nvidia.read_ports import Port, Region
from tle_raw.fragments.bound import TILE
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.mlir.text import split_top_level

# A row of the memory that a fragment asks for beside its tiles: swizzled layouts start at multiples of it.
ROW = 1024

# A note on a call, in its libname, for the pass that inserts the barriers: what they order, and where they stand.
NOTE = "tle.barrier"
# Of a buffer of the kernel's own: it is used here, and not given back.
LIVES = "tle.lives"
TILES, MEMORY = "tiles", "memory"

# Shared addresses begin with the block's number in its cluster, which Triton's own operation leaves out: what it gives
# is memory of the first block, and accesses of another block end in an illegal instruction.
_OF_THIS_BLOCK = (
    'tt.elementwise_inline_asm "{ .reg .b32 rank; mov.u32 rank, %cluster_ctarank; '
    'mapa.shared::cluster.u32 $0, $1, rank; }" {constraints = "=r,r", packed_element = 1 : i32, pure = true}'
)


@dataclass(frozen=True)
class Spelling:
    """How one Triton version spells what the ports become."""

    barrier: str  # of shared memory; in generic form, so that passes read it that come after
    memory_barrier: str
    address: str
    address_type: str


def spelling_of(version: tuple[int, int]) -> Spelling:
    """3.7 renamed the block barrier and narrowed the address operation."""
    if version >= (3, 7):
        barrier = '"ttg.barrier"() <{addrSpace = 1 : i32}> : () -> ()'
        return Spelling(barrier, "ttg.barrier all", "tti.experimental_memdesc_to_i32", "i32")
    return Spelling('"gpu.barrier"() : () -> ()', "gpu.barrier", "tti.experimental_memdesc_to_i64", "i64")


def replace_ports(
    lines: list[str],
    regions: list[Region],
    placements: list[Placement],
    compiled: list[CompiledFragment],
    spelling: Spelling,
    has_fence: bool,
    has_stages: bool,
    ctas: int = 1,
) -> str:
    """The module's text with every region in its final form.

    ``has_fence`` says that the GPU accesses shared memory by asynchronous proxies too: from sm_90 on. ``has_stages``
    says that loops run groups in stages: regions among them too, in branches. ``ctas`` blocks are a cluster.
    """
    replaced: dict[int, list[str]] = {}
    for number, (region, placement, fragment) in enumerate(zip(regions, placements, compiled)):
        writer = _Writer(number, region, placement, fragment, spelling, has_fence, has_stages, ctas)
        if region.is_element:
            replaced[region.call.line] = writer.element()
            continue
        for port in region.opened:
            replaced[port.line] = writer.open(port)
        replaced[region.call.line] = [*writer.scratch(), *writer.call(), *writer.release_scratch()]
        for port in region.closed:
            replaced[port.line] = writer.close(port)
        replaced |= {line: [] for line in placement.stores}
        last = region.closed[-1].line if region.closed else region.call.line
        replaced[last] = [*replaced[last], *writer.release()]
    return "\n".join(text for number, line in enumerate(lines) for text in replaced.get(number, [line]))


@dataclass(frozen=True)
class _Writer:
    number: int
    region: Region
    placement: Placement
    fragment: CompiledFragment
    spelling: Spelling
    has_fence: bool
    has_stages: bool
    ctas: int

    def open(self, port: Port) -> list[str]:
        """Allocate, fill, take the address. The marker's own result is not used any more."""
        operation = port.operation
        if port.parameter in self.placement.descriptors:
            return self._indented(self._descriptor_lines(port.parameter, operation.location))
        buffer = self.placement.buffers[port.parameter]
        if buffer.type:
            return self._indented(
                self._address_lines(self._address_of(port.parameter), buffer, buffer.type, operation.location)
            )
        if port.parameter not in self.placement.fresh:
            return []
        tensor, memdesc = operation.result_type, shared_type(operation.result_type)
        value, loc = operation.operands[0], operation.location
        if self.region.opens_new(port):
            lines = [f"{buffer.name} = ttg.local_alloc : () -> {memdesc}{loc}"]
        elif self.region.writes(port) or self.has_stages:
            # Not an initialised allocation: the software pipeliner would let the region write into its own buffer, and
            # older ones take it for an operand of a product.
            lines = [
                f"{buffer.name} = ttg.local_alloc : () -> {memdesc}{loc}",
                f"ttg.local_store {value}, {buffer.name} : {tensor} -> {memdesc}{loc}",
            ]
        else:
            lines = [f"{buffer.name} = ttg.local_alloc {value} : ({tensor}) -> {memdesc}{loc}"]
        return self._indented([*lines, *self._address(buffer, memdesc, loc)])

    def _descriptor_lines(self, parameter: int, loc: str) -> list[str]:
        """The address of the tensor map. Triton's types have no pointer that is one, LLVM's have."""
        descriptor, address = self.placement.descriptors[parameter], self._address_of(parameter)
        map_ = f"{address}_map"
        return [
            f"{map_} = builtin.unrealized_conversion_cast {descriptor.name} : {descriptor.type} to !llvm.ptr{loc}",
            f"{address} = llvm.ptrtoint {map_} : !llvm.ptr to i64{loc}",
        ]

    def scratch(self) -> list[str]:
        """The memory that the fragment asked for; Triton's allocator finds it a place and counts it."""
        if not self.fragment.dynamic_shared:
            return []
        buffer, memdesc, loc = self._scratch, scratch_type(self.fragment.dynamic_shared, self.ctas), self._location
        alloc = f"{buffer.name} = ttg.local_alloc {{alignment = {ROW} : i32}} : () -> {memdesc}{loc}"
        return self._indented([alloc, *self._address(buffer, memdesc, loc)])

    def release_scratch(self) -> list[str]:
        if not self.fragment.dynamic_shared:
            return []
        memdesc = scratch_type(self.fragment.dynamic_shared, self.ctas)
        return self._indented([f"ttg.local_dealloc {self._scratch.name} : {memdesc}{self._location}"])

    @property
    def _scratch(self) -> SharedBuffer:
        return SharedBuffer(f"%tle_buffer_{self.number}_scratch", "", self.number)

    @property
    def _location(self) -> str:
        return self.region.call.operation.location

    def _address(self, buffer: SharedBuffer, memdesc: str, loc: str) -> list[str]:
        return self._address_lines(_address_name(buffer), buffer, memdesc, loc)

    def _address_of(self, parameter: int) -> str:
        if parameter in self.placement.descriptors:
            return f"%tle_address_{self.number}_{parameter}"
        buffer = self.placement.buffers[parameter]
        return f"%tle_address_{self.number}_{parameter}" if buffer.type else _address_name(buffer)

    def _address_lines(self, address: str, buffer: SharedBuffer, memdesc: str, loc: str) -> list[str]:
        wide = self.spelling.address_type == "i64"
        target = f"{address}_wide" if wide else address
        lines = [f"{target} = {self.spelling.address} {buffer.name} : {memdesc}{loc}"]
        if self.ctas > 1:
            first = f"{target}_in_first"
            lines = [
                f"{first} = {self.spelling.address} {buffer.name} : {memdesc}{loc}",
                f"{target} = {_OF_THIS_BLOCK} {first} : i32 -> i32{loc}",
            ]
        return [*lines, f"{address} = arith.trunci {target} : i64 to i32{loc}"] if wide else lines

    def call(self) -> list[str]:
        """The call, with a note of the barriers that it needs.

        They are put in after Triton's own stage, because the software pipeliner leaves every loop alone that holds a
        barrier; in a loop that must stay as it is they are put in now.
        """
        operation = self.region.call.operation
        plain = iter(zip(operation.operands, operation.types))
        operands = [
            (self._address_of(i), "i64" if p.is_descriptor else "i32") if p.kind == TILE else next(plain)
            for i, p in enumerate(self.region.record.bound.parameters)
            if p.kind != "const"
        ] or [next(plain)]
        if self.fragment.dynamic_shared:
            operands.append((_address_name(self._scratch), "i32"))
        sides = [side for side in ("before", "after") if getattr(self.placement, side)]
        if not self.placement.pinned:
            word = TILES if self.placement.for_tiles else MEMORY
            return self._indented([self._extern(operands, ".".join((NOTE, word, *sides)) if sides else "")])
        barrier = self.spelling.barrier if self.placement.for_tiles else self.spelling.memory_barrier
        barrier += operation.location
        before, after = ([barrier] if side in sides else [] for side in ("before", "after"))
        return self._indented([*self._fence_before(), *before, self._extern(operands), *self._fence(), *after])

    def _fence_before(self) -> list[str]:
        """What the kernel wrote into its buffers is over for copies that a region begins in the background."""
        if self.placement.descriptors and self.has_fence:  # it may copy out of a buffer that it only reads
            return [self._fence_line]
        begins = any(parameter.is_barrier for parameter in self.region.record.bound.parameters)
        return self._fence() if begins and self._writes_buffers else []

    @property
    def _fence_line(self) -> str:
        return f"ttng.fence_async_shared {{bCluster = false}}{self._location}"

    def _fence(self) -> list[str]:
        """What a region writes into the kernel's own buffers may be read by TMA and tensor cores of sm_90 and later."""
        return [self._fence_line] if self._writes_buffers and self.has_fence else []

    @property
    def _writes_buffers(self) -> bool:
        """Whether the region writes buffers of the kernel's own; barriers are none."""
        parameters = self.region.record.bound.parameters
        known = self.placement.buffers
        opened = [p for p in self.region.opened if p.parameter in known and not parameters[p.parameter].is_barrier]
        return any(self.region.writes(p) and self.placement.buffers[p.parameter].type for p in opened)

    def close(self, port: Port) -> list[str]:
        operation, buffer = port.operation, self.placement.buffers[port.parameter]
        if buffer.type:
            return []
        memdesc = shared_type(operation.result_type)
        load = f"{operation.result} = ttg.local_load {buffer.name} : {memdesc} -> {operation.result_type}"
        return self._indented([load + operation.location])

    def release(self) -> list[str]:
        """Keep the buffers alive until here: an address in a register is no use that Triton's allocator sees."""
        types = {
            self.placement.buffers[p.parameter].name: shared_type(p.operation.result_type)
            for p in self.region.opened
            if p.parameter in self.placement.buffers
        }
        own = {b.name: b for b in self.placement.buffers.values() if b.type}
        types |= {b.name: b.type for b in own.values()}
        dies, loc = [b for b in self.placement.dies if not b.type], self._location
        return self._indented(
            [f"ttg.local_dealloc {b.name} : {types[b.name]}{loc}" for b in dies]
            + [f"ttg.local_dealloc {b.name} {{{LIVES}}} : {types[b.name]}{loc}" for b in own.values()]
        )

    def element(self) -> list[str]:
        operation = self.region.call.operation
        return self._indented([self._extern(list(zip(operation.operands, operation.types)))])

    def _extern(self, operands: list[tuple[str, str]], note: str = "") -> str:
        operation = self.region.call.operation
        values, types = (", ".join(column) for column in zip(*operands))
        pure = dict(operation.attributes)["pure"]
        attributes = f'{{libname = "{note}", libpath = "", pure = {pure}, symbol = "{self.fragment.entry}"}}'
        return (
            f"{operation.result} = tt.extern_elementwise {values} {attributes} : "
            f"({types}) -> {operation.result_type}{operation.location}"
        )

    def _indented(self, lines: list[str]) -> list[str]:
        return [self.region.call.operation.indent + line for line in lines]


def _address_name(buffer: SharedBuffer) -> str:
    return buffer.name.replace("buffer", "address")


def scratch_type(size: int, ctas: int = 1) -> str:
    """Shared memory of at least so many bytes, in rows: the number of rows alone need be no power of two.

    Each of the ``ctas`` blocks of a cluster has its own: none of the layout's directions goes from one to the next.
    """
    blocks = f", CGALayout = [{', '.join(['[0]'] * (ctas.bit_length() - 1))}]" if ctas > 1 else ""
    layout = f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]{blocks}}}>"
    return f"!ttg.memdesc<{-(-size // ROW)}x{ROW}xi8, {layout}, #ttg.shared_memory, mutable>"


def shared_type(tensor: str) -> str:
    """Row-major, unswizzled shared memory of a tensor type: ``tensor<64x32xf32, #layout>`` to its memdesc."""
    inside = split_top_level(tensor[len("tensor<") : -1])[0].strip()
    rank = len(inside.split("x")) - 1
    order = ", ".join(str(i) for i in reversed(range(rank)))
    layout = f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [{order}]}}>"
    return f"!ttg.memdesc<{inside}, {layout}, #ttg.shared_memory, mutable>"
