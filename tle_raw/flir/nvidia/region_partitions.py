"""Regions in partitions of specialised warps: whose warps run each, and its fragment's code for those warps.

The fragment of such a region gets an entry of its own for each partition that calls it, and a copy of its code in which
the partition's threads are the whole block (``linker/llvm/own_threads.py``). Where a partition's threads begin is
Triton's to say, once its stage is done: it puts warps that do nothing between partitions. What a kernel with partitions
does outside of them, its own warps do alone, like their partition.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tle_raw.errors import RegionError, Row, TLEError
from tle_raw.flir.check_block import WARP, check_block
from tle_raw.flir.nvidia.place_named_barriers import NUMBERS, placed_numbers
from tle_raw.flir.nvidia.read_ports import Region, RegionPlace
from tle_raw.fragments.compilation import derived
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import fragment_by_identity
from tle_raw.linker.llvm.barrier_numbers import barrier_numbers
from tle_raw.linker.llvm.own_threads import OwnThreads, check_partition, depends_on_threads, for_partition
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.mlir.structure import nests, read_structure
from tle_raw.linker.mlir.text import OPERATION

_SPECIALIZE = re.compile(r"(?:= |^\s*)ttg\.warp_specialize\(")
_WORKER = re.compile(r"^\s*partition(\d+)\(.*\) num_warps\((\d+)\)")
_FIRST = re.compile(r"warpGroupStartIds = array<i32: ([\d, ]+)>")
_OWN = 0  # the barrier of the kernel's own warps; 1 is the one at which workers begin and end
_WORKERS = 2  # that of the first worker


@dataclass(frozen=True)
class _Worker:
    """The lines of a worker's partition in TritonGPU text; ``first`` is its first warp where that is known."""

    begin: int
    end: int
    place: RegionPlace
    first: int


def region_places(lines: list[str], regions: Sequence[Region], num_warps: int) -> list[RegionPlace]:
    """For each region, whose warps run it."""
    workers = list(_workers(lines))
    places = [_place(workers, region.call.line, num_warps) for region in regions]
    return [replace(place, num_warps=_own(each) or place.num_warps) for each, place in zip(regions, places)]


def enter_partitions(
    regions: Sequence[Region], places: Sequence[RegionPlace], compiled: Sequence[CompiledFragment]
) -> list[CompiledFragment]:
    """The compiled fragments with entries of their own where their code depends on the threads.

    Raises
    ------
    RegionError : code that cannot be a partition's.
    """
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [_entered(*each, numbers) for each in zip(regions, places, compiled)]


def fit_partitions(
    text: str, num_warps: int, regions: Sequence[Region], compiled: Sequence[CompiledFragment]
) -> list[CompiledFragment]:
    """The compiled fragments with the code for their threads, of those that have entries of their own.

    Parameters
    ----------
    text : finished TritonGPU text, in which each worker's first warp is known.
    num_warps : the kernel's own.

    Raises
    ------
    RegionError : the kernel's fragments name more barriers than a block has, or Triton has given a worker less warps
        than its fragment was written for.
    """
    lines = text.splitlines()
    workers = list(_workers(lines))
    threads: dict[str, _Worker | None] = {}
    for fragment in compiled:
        if _original(fragment) != fragment.entry and fragment.entry not in threads:
            threads[fragment.entry] = _only_worker(lines, workers, fragment)
    own_warps = {fragment.entry: _own(region) for region, fragment in zip(regions, compiled)}
    for region, fragment in zip(regions, compiled):
        _check_warps(region, fragment, threads.get(fragment.entry))
    numbers = _barriers(workers, threads, compiled, placed_numbers(text), own_warps)
    made: dict[str, CompiledFragment] = {}
    for fragment in compiled:
        if fragment.entry in threads and fragment.entry not in made:
            worker = threads[fragment.entry]
            named, all_warps = (
                numbers[worker.place if worker else None],
                worker.place.num_warps if worker else num_warps,
            )
            own = OwnThreads(
                WARP * worker.first if worker else 0,
                WARP * (own_warps[fragment.entry] or all_warps),
                named.get(0, _WORKERS + worker.place.worker if worker else _OWN),
                named,
                are_all=not own_warps[fragment.entry],
            )
            module = for_partition(read_module(fragment.text), _original(fragment), fragment.entry, own)
            made[fragment.entry] = derived(fragment, module.text)
    return [made.get(fragment.entry, fragment) for fragment in compiled]


# --- where regions stand -------------------------------------------------------------------------------------------


def _workers(lines: list[str]) -> Iterator[_Worker]:
    if not any(map(_SPECIALIZE.search, lines)):
        return
    kernel_number, first, at = -1, list[int](), -1
    for nest in nests(read_structure(lines)):
        found = _WORKER.match(nest.text)
        if found is None:
            continue
        opened = max(number for number in range(nest.begin) if _SPECIALIZE.search(lines[number]))
        if opened != at:
            known = _FIRST.search(lines[opened])
            first = [int(number) for number in known[1].split(",")] if known else []
            kernel_number, at = kernel_number + 1, opened
        worker = int(found[1])
        place = RegionPlace(kernel_number, worker, int(found[2]))
        yield _Worker(nest.begin, nest.end, place, first[worker] if worker < len(first) else -1)


def _place(workers: Sequence[_Worker], line: int, num_warps: int) -> RegionPlace:
    return next((w.place for w in workers if w.begin < line < w.end), RegionPlace(-1, -1, num_warps))


def _only_worker(lines: Sequence[str], workers: Sequence[_Worker], fragment: CompiledFragment) -> _Worker | None:
    """The worker that calls an entry; None for the kernel's own warps. All copies of a loop's body have the same."""
    symbol = f'symbol = "{fragment.entry}"'
    calls = [number for number, line in enumerate(lines) if symbol in line and OPERATION in line]
    found = {next((w for w in workers if w.begin < number < w.end), None) for number in calls}
    alike = {(w.place.worker, w.place.num_warps, w.first) if w else None for w in found}
    if len(alike) > 1:
        raise RegionError(
            "a region was moved to other warps by one of Triton's passes", hint="report this with the kernel"
        ).at(fragment=fragment.name)
    return next(iter(found), None)


def _check_warps(region: Region, fragment: CompiledFragment, worker: _Worker | None) -> None:
    """From sm_100 on Triton runs a worker with fewer warps than asked for, where its tensors are small."""
    if worker is None:
        return
    declared, own = fragment_by_identity(region.record.fragment), _own(region)
    try:
        for block in (declared.block, fragment.block):
            check_block(block, own or worker.place.num_warps, worker.place.name)
        if own > worker.place.num_warps:
            raise RegionError(
                "Triton runs the worker with fewer warps than asked for, as its tensors are small",
                table=[Row(f"warps of {worker.place.name}", f"{own} for its fragments", str(worker.place.num_warps))],
                hint="ask for a power of two of warps: then a fragment's blockDim.x says how many there are",
            )
    except RegionError as error:
        raise error.at(fragment=fragment.name, source=declared.location, call_site=region.record.call_site) from None


# --- entries and barriers ------------------------------------------------------------------------------------------


def _own(region: Region) -> int:
    """The warps that run a region, where they are not all of its partition; else 0."""
    return 0 if region.is_element else region.record.warps


_SUFFIX = re.compile(r"_at\d+$")


def _original(fragment: CompiledFragment) -> str:
    return _SUFFIX.sub("", fragment.entry)


def _entered(
    region: Region, place: RegionPlace, fragment: CompiledFragment, numbers: Mapping[RegionPlace, int]
) -> CompiledFragment:
    module = read_module(fragment.text)
    try:
        if fragment.register_limit:
            raise RegionError(
                "the fragment's warps hand registers to each other, and in a partition the kernel does",
                hint="say worker_num_regs= of warp_specialize",
            )
        check_partition(module, fragment.entry, WARP * place.num_warps)
    except TLEError as error:
        location = fragment_by_identity(region.record.fragment).location
        raise error.at(fragment=fragment.name, source=location, call_site=region.record.call_site) from None
    if not depends_on_threads(module) and not _own(region):
        return fragment
    return replace(fragment, entry=f"{fragment.entry}_at{numbers[place]}")


def _barriers(
    workers: Sequence[_Worker],
    threads: Mapping[str, _Worker | None],
    compiled: Sequence[CompiledFragment],
    kernels: Collection[int],
    own_warps: Mapping[str, int],
) -> dict[RegionPlace | None, dict[int, int]]:
    """For each place, the block's barriers instead of those that its fragments name.

    The highest that are free: Triton takes one for the kernel's own warps, one at which workers begin and end, and one
    for each worker; ``kernels`` are those of the kernel's named barriers. Where not all warps of a partition run its
    fragments, ``__syncthreads`` has one, too: at Triton's own all meet.
    """
    used = _WORKERS + 1 + max((worker.place.worker for worker in workers), default=-1)
    free = [number for number in reversed(range(used, NUMBERS)) if number not in kernels]
    left = len(free)
    found: dict[RegionPlace | None, dict[int, int]] = {w.place if w else None: {} for w in threads.values()}
    asked = 0
    for fragment in {f.entry: f for f in compiled if f.entry in threads}.values():
        worker, module = threads[fragment.entry], read_module(fragment.text)
        own = found[worker.place if worker else None]
        reached = reachable(references(module), [_original(fragment)])
        for number in sorted(barrier_numbers(module, reached) - (set() if own_warps[fragment.entry] else {0})):
            if number not in own:
                asked += 1
                own[number] = free.pop(0) if free else -1
    if asked > left:
        raise RegionError(
            "the fragments of this kernel's partitions name more barriers than a block has",
            table=[Row("barriers of fragments", f"at most {left}", str(asked))],
            hint="each partition has barriers of its own; use __syncthreads, or barriers with phases",
        )
    return found
