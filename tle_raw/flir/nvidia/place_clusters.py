"""What blocks of a cluster and of a grid do with each other becomes instructions, once Triton's passes are done.

* Each function of ``tle_raw/regions/clusters.py`` becomes inline assembly (``cluster_assembly``).
* No block reaches another one's shared memory before that has begun, and none leaves before the others are done with
  its own: where the kernel has no barrier of the cluster in such a place, one is put there.
* What other blocks reach has its memory from the kernel's beginning to its end.
* Beside specialised warps, which take no part in the kernel's own barriers, all warps of the block come to the
  cluster's: as partitions of a ``ttg.warp_specialize`` that does nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from tle_raw.errors import MeshError, RegionError, Row, SharedBufferError
from tle_raw.flir.nvidia.arrive_by_warps import LANES
from tle_raw.flir.nvidia.barrier_walk import BEFORE
from tle_raw.flir.nvidia.cluster_arrivals import ArrivalsByWarps
from tle_raw.flir.nvidia.cluster_assembly import ARRIVED, BEGUN, WAITED, Assembly, assembly_of, own_address
from tle_raw.flir.nvidia.cluster_barriers import missing_barriers
from tle_raw.flir.nvidia.insertions import FENCE_TEXT
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.order_pointers import live_throughout
from tle_raw.flir.nvidia.partitions import PARTITIONS, SPECIALIZE, warps_of_workers
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import follow_buffers, is_map
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import OPERATION, location_of, unescape
from tle_raw.regions import clusters
from tle_raw.regions.cluster_launch import ClusterLaunch, cluster_dims
from tle_raw.regions.clusters import CLUSTER, DIMS, FAR, GRID, METADATA, read_record

_YIELD, _RETURN = '"ttg.warp_yield"() : () -> ()', '"ttg.warp_return"() : () -> ()'
_RETURNS = '"tt.return"'
_COUNT, _INIT = "count", "ttng.init_barrier"
_MOST_WARPS = 16  # of a partition
_WITHOUT_MEMORY = "arith.", "ttg.memdesc_", "tti.experimental_memdesc_to_i"  # they compute values and addresses
_GROUP = 4  # warps that Triton starts together


@dataclass(frozen=True)
class Placed:
    """The module's text, what it wants of its launch, and what is left to do in its LLVM IR.

    ``has_remote`` says that blocks access each other's memory by pointers, ``waits_for_others`` that barriers with
    phases order that.
    """

    text: str
    launch: ClusterLaunch
    found: int
    has_remote: bool
    has_multicast: bool
    waits_for_others: bool


def describe_launch(metadata: dict[str, Any], launch: ClusterLaunch) -> None:
    """What ``tle_raw/targets/check_launch.py`` reads, and the driver, in a kernel's metadata."""
    metadata[METADATA] = launch.described()
    metadata[DIMS] = cluster_dims(metadata[METADATA])
    if launch.meets:
        metadata["launch_cooperative_grid"] = True


def place_clusters(text: str, spelling: Spelling, *, by_warps: bool, by_threads: bool = False) -> Placed:
    """TritonGPU text in generic form with the instructions.

    Parameters
    ----------
    by_warps : warps may arrive at other blocks' barriers by themselves.
    by_threads : there each of their threads does, for racecheck: see ``arrive_by_warps``.

    Raises
    ------
    MeshError : two sizes of clusters. RegionError : a function of these that is not inlined; a barrier of a part of a
        cluster beside specialised warps.
    """
    return _Placing(text.splitlines(), spelling, by_warps, by_threads).placed()


class _Placing:
    def __init__(self, lines: Sequence[str], spelling: Spelling, by_warps: bool, by_threads: bool):
        self.lines, self.spelling, self.edits, self.launch = lines, spelling, LineEdits(lines), ClusterLaunch()
        self.pointers = follow_buffers(lines)
        self.calls = [each for each in self.pointers.walk() if each.name == OPERATION and _is_ours(each)]
        self.parsed = {each: read_generic(lines[each.line]) for each in self.calls}
        self.workers = self._workers()
        self.scales = ArrivalsByWarps(self.pointers, self.parsed) if by_warps else None
        self.by_threads = by_threads
        self.inits = any(each.name == _INIT for each in self.pointers.walk())
        self.met = 0
        self.has_remote = self._are_pointed_into()

    def placed(self) -> Placed:
        self._check_inlined()
        for line in missing_barriers(self.pointers):
            begins = not self.lines[line].lstrip().startswith(_RETURNS)
            for each in self._met(location_of(self.lines[line]), begins):
                self.edits.before.setdefault(line, []).append(each)
        for call in self.calls:
            self._place(call)
        if self.scales is not None:
            for init, scale in self.scales.inits.items():
                more = scale * LANES if self.by_threads else scale
                self.edits.replace(init.line, [_scaled(self.lines[init.line], more)])
        self._keep_alive()
        if self.launch.cluster and self.spelling.address_type == "i32":
            self._tell_apart()
        symbols = {self._symbol(call) for call in self.calls}
        return Placed(
            self.edits.text(),
            self.launch,
            len(self.calls),
            self.has_remote,
            clusters.MULTICAST in symbols,
            self.has_remote and clusters.SIGNAL in symbols,
        )

    def _are_pointed_into(self) -> bool:
        """Whether mapped addresses are used for more than arrivals and copies of the engine."""
        maps = [call for call in self.calls if self._symbol(call) == clusters.MAP]
        return any(use not in self.parsed for each in maps for result in each.results for use in result.uses)

    def _symbol(self, call: Operation) -> str:
        return unescape(self.parsed[call].property("symbol"))

    def _place(self, call: Operation) -> None:
        operation, symbol = self.parsed[call], self._symbol(call)
        record = read_record(unescape(operation.property("libname")))
        self._note(call, symbol, record)
        if symbol == clusters.PROGRAM:
            self.edits.replace(call.line, [str(operation._replace(name="arith.bitcast", properties=""))])
            return
        scale = 0
        if symbol == clusters.SIGNAL and self.scales is not None:
            scale = self.scales.counted_as(call, record["warps"])
        is_first = self.inits and call.above is not None and call.above.name == "tt.func"
        orders = self.has_remote
        assembly = assembly_of(
            symbol, record, inits=is_first, by_warps=scale, by_threads=self.by_threads, orders=orders
        )
        if symbol in (clusters.ARRIVE, clusters.WAIT) and self.workers:
            self.edits.replace(call.line, self._by_all_warps(assembly, location_of(self.lines[call.line])))
            return
        if symbol == clusters.COPY and not self._follows_a_copy(call):
            self.edits.insert(call.line, BEFORE, FENCE_TEXT)
            self.edits.insert(call.line, BEFORE, self.spelling.barrier)
        if symbol == clusters.GRID_BARRIER or (symbol == clusters.SIGNAL and not scale):
            self.edits.insert(call.line, BEFORE, self.spelling.barrier)
        self.edits.replace(call.line, [str(_inline(operation, assembly))])
        if symbol == clusters.GRID_BARRIER:
            self.edits.insert(call.line, "after", self.spelling.barrier)

    def _follows_a_copy(self, call: Operation) -> bool:
        """Whether nothing is done between a copy and this one, before which all threads have met and fenced."""
        before = list(takewhile(lambda each: each is not call, call.parent.operations))
        for each in reversed(before):
            if each in self.parsed and self._symbol(each) not in clusters.PURE:
                return self._symbol(each) == clusters.COPY
            if each not in self.parsed and not each.name.startswith(_WITHOUT_MEMORY):
                return False
        return False

    def _note(self, call: Operation, symbol: str, record: dict[str, Any]) -> None:
        """What a function says of the launch; what it cannot be given is refused."""
        if record.get(FAR) and not self.pointers.of(call.operands[0]):
            raise SharedBufferError(
                "tle.remote: a pointer points into no buffer",
                table=[Row("x", "pointers of tle.gpu.local_ptr", "pointers into global memory")],
                hint="of GPUs name the context: tle.remote(pointer, peer, context)",
            ).at(call_site=self._site(call))
        try:
            self.launch.note(symbol, record)
        except MeshError as error:
            raise error.at(call_site=self._site(call)) from None
        if symbol == clusters.MEET and self.workers:
            raise RegionError(
                "a part of a cluster meets in a kernel with specialised warps, which take no part",
                hint="let the whole cluster meet",
            ).at(call_site=self._site(call))

    def _site(self, operation: Operation) -> Any:
        return Locations(list(self.lines)).source_location(location_of(self.lines[operation.line]))

    def _check_inlined(self) -> None:
        kernels = [each for each in self.pointers.walk() if each.name == "tt.func"]
        if len(kernels) > 1:
            raise RegionError(
                "a kernel of clusters calls a function that is not inlined",
                hint="remove noinline=True, or a return from the middle of a function called in a loop or a branch",
            ).at(call_site=self._site(self.calls[0]))

    # --- barriers of the cluster --------------------------------------------------------------------------------

    def _workers(self) -> list[int]:
        """The warps beside the kernel's own: those of the largest division, as Triton starts them."""
        divided = [
            sum(warps_of_workers(self.lines[each.line])) for each in self.pointers.walk() if each.name == SPECIALIZE
        ]
        left, found = -(-max(divided, default=0) // _GROUP) * _GROUP, list[int]()
        while left:
            found.append(min(_MOST_WARPS, 1 << (left.bit_length() - 1)))
            left -= found[-1]
        return found

    def _met(self, location: str, begins: bool) -> list[str]:
        """All blocks of the cluster meet. At the beginning they tell each other of their barriers; of what else they
        wrote only where pointers lead into other blocks.
        """
        fence = "fence.mbarrier_init.release.cluster; " if self.inits else ""
        arrived = BEGUN if begins and not self.has_remote else ARRIVED
        assembly = Assembly(f"{fence}{arrived} {WAITED} mov.u32 $0, 0;", "=r")
        if self.workers:
            return self._by_all_warps(assembly, location)
        return [self._alone(assembly, location)]

    def _by_all_warps(self, assembly: Assembly, location: str) -> list[str]:
        """Some instructions by the kernel's own warps and by all others of the block."""
        sizes = ", ".join(map(str, self.workers))
        made = [f'"{SPECIALIZE}"() <{{partitionNumWarps = array<i32: {sizes}>}}> ({{']
        made += [self._alone(assembly, location), _YIELD + location, "}, {"]
        made.append(f'"{PARTITIONS}"() ({{')
        for number in range(len(self.workers)):
            made += [*(["}, {"] if number else []), self._alone(assembly, location), _RETURN + location]
        return [*made, f"}}) : () -> (){location}", f"}}) : () -> (){location}"]

    def _alone(self, assembly: Assembly, location: str) -> str:
        """Instructions without operands."""
        self.met += 1
        return _without_operands(self.met, assembly, location)

    # --- memory -------------------------------------------------------------------------------------------------

    def _keep_alive(self) -> None:
        reached: set[Value] = set()
        for call in self.calls:
            if self._symbol(call) in (clusters.MAP, clusters.MEET, clusters.COPY):
                for operand in call.operands:
                    reached |= self.pointers.of(operand)
        for buffer in sorted(reached, key=lambda each: each.definition.line if each.definition else -1):
            if buffer.definition is not None and not self._is_freed(buffer):
                live_throughout(buffer.definition, self.edits)
        for call in self.calls:
            if self._symbol(call) == clusters.MEET:
                self._initialise_first(call)

    def _initialise_first(self, call: Operation) -> None:
        """The barriers at which a part of the cluster meets are made first of all, also those of a loop."""
        (root,) = self.pointers.of(call.operands[0])
        function = next(each for each in call.ancestors() if each.name == "tt.func")
        first = function.regions[0][0].operations[0]
        for init in [each for each in root.uses if each.name == _INIT and each is not first]:
            line = self.lines[init.line]
            self.edits.replace(init.line, [])
            self.edits.before.setdefault(first.line, []).append(line)

    def _tell_apart(self) -> None:
        """From Triton 3.7 on an address says where in a block's memory it is, not in whose: in this block's."""
        for operation in self.pointers.walk():
            if operation.name != self.spelling.address or _is_only_mapped(operation):
                continue
            told = read_generic(self.lines[operation.line])
            within = f"%tle_within_{operation.line}"
            here = _inline(told, own_address())._replace(operands=(within,), types=told.result_types)
            self.edits.replace(operation.line, [str(told._replace(results=within)), str(here)])

    def _is_freed(self, buffer: Value) -> bool:
        """Where a pass before this one has said how long it lives."""
        return any(use.name == "ttg.local_dealloc" for use in buffer.uses)


def _is_only_mapped(address: Operation) -> bool:
    """Whether an address is only made into those of other blocks."""
    uses = [use for result in address.results for use in result.uses]
    wide = [use for use in uses if use.name == "arith.extui"]
    used = [use for each in wide for result in each.results for use in result.uses]
    return len(wide) == len(uses) and all(map(is_map, used))


def _is_ours(operation: Operation) -> bool:
    return f'symbol = "{CLUSTER}' in operation.details or f'symbol = "{GRID}' in operation.details


def _scaled(line: str, scale: int) -> str:
    operation = read_generic(line)
    count = int(operation.property(_COUNT).partition(":")[0])
    return line.replace(f"{_COUNT} = {count} : i32", f"{_COUNT} = {count * scale} : i32", 1)


def _inline(operation: GenericOperation, assembly: Assembly) -> GenericOperation:
    return operation._replace(name="tt.elementwise_inline_asm", properties=_properties(assembly))


def _properties(assembly: Assembly) -> str:
    pure = "true" if assembly.pure else "false"
    return (
        f"asm_string = {json.dumps(assembly.text)}, constraints = {json.dumps(assembly.constraints)}, "
        f"packed_element = 1 : i32, pure = {pure}"
    )


def _without_operands(number: int, assembly: Assembly, location: str) -> str:
    properties = _properties(assembly._replace(constraints="=r"))
    return f'%tle_met_{number} = "tt.elementwise_inline_asm"() <{{{properties}}}> : () -> i32{location}'
