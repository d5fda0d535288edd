"""Named barriers of the kernel: ``bar.sync`` and ``bar.arrive`` with a number and a count of threads.

A front end writes a wait or an arrival as a load of the barrier's word and a marker that takes it, as it writes a
region's barrier (``tle_raw/frontends/gpu/named_barriers.py``). The marker leads to the allocation and the slot by SSA
values alone; each slot gets a number here. A slot that is used in this way alone needs no mbarrier: its initialisation
goes.

Of the block's sixteen barriers 0 is everybody's. Triton takes 1 and one more for each partition where warps are
specialised, and fragments take what their code says. The kernel's numbers are the highest of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tle_raw.errors import RegionError, Row
from tle_raw.flir.nvidia.barrier_slots import CONVERT, INDEX, INIT, LOAD, BarrierText, Slot, users
from tle_raw.flir.nvidia.partitions import SPECIALIZE, warps_of_workers
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.llvm.barrier_numbers import UNKNOWN, barrier_numbers
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.mlir.text import find_lines, indent_of, location_of, operation_name, read_operation, value_names
from tle_raw.regions.ports import NAMED

NUMBERS = 16
_WARP = 32
_COUNTED = ("ttng.wait_barrier", "ttng.arrive_barrier", "ttng.barrier_expect", "ttng.async_tma_copy_global_to_local")
_ADDRESS = ("tti.experimental_memdesc_to_i32", "tti.experimental_memdesc_to_i64")
_SPLAT = "tt.splat"
_MARKED = f'symbol = "{NAMED}.'
_PARTITION = re.compile(r"^\s*partition(\d+)\(", re.MULTILINE)  # in Triton's own form
_GENERIC = f'"{SPECIALIZE}"('
_WRITTEN = re.compile(r'tt\.elementwise_inline_asm "bar\.(?:sync|arrive) (\d+), \d+; ')


@dataclass(frozen=True)
class _Use:
    """A wait or an arrival: its line, which barrier, and the threads that take part."""

    line: int
    slot: Slot
    waits: bool
    threads: int


def holds_named(text: str) -> bool:
    """Whether a module's text holds any."""
    return _MARKED in text


def placed_numbers(text: str) -> set[int]:
    """Of the named barriers of a kernel with partitions, once they are placed."""
    return {int(number) for number in _WRITTEN.findall(text)}


def place_named_barriers(
    lines: Sequence[str], compiled: Sequence[CompiledFragment], threads: int, *, located: bool
) -> tuple[str, int]:
    """The module's text with the instructions in place of the markers, and how many there are.

    Parameters
    ----------
    threads : of the block, where no warps are specialised.
    located : Triton's parser takes ``nvvm.barrier`` as it is printed. That of 3.7 takes neither a location behind it
        nor an operation in generic form.

    Raises
    ------
    ArgumentTypeError : a barrier is used two ways, it is not known which it is, the block has too few barriers, or a
        count is none of the block's.
    """
    text = BarrierText(lines)
    uses = list(_uses(text))
    _check_kinds(text, {use.slot for use in uses})
    has_partitions = SPECIALIZE in text.joined
    write = _assembly if has_partitions else partial(_instruction, located=located)
    if not has_partitions:
        _check_counts(text, uses, threads)
    numbers = _allot(text, list(dict.fromkeys(use.slot for use in uses)), compiled)
    made = list(lines)
    for use in uses:
        made[use.line] = write(lines[use.line], use, numbers[use.slot])
    for number in _unused(text, set(numbers)):
        made[number] = ""
    return "\n".join(line for line in made if line), len(uses)


def _uses(text: BarrierText) -> Iterator[_Use]:
    for number in find_lines(text.joined, _MARKED):
        operation = read_operation(text.lines[number])
        word = text.definition(operation.operands[0], number)
        while word >= 0 and operation_name(text.lines[word]) == CONVERT:
            word = text.definition(value_names(text.lines[word])[1], word)
        if word < 0 or operation_name(text.lines[word]) != LOAD:
            raise RegionError("a named barrier was lost in one of Triton's passes", hint="report this with the kernel")
        slot = text.slot(value_names(text.lines[word])[1], word)
        if slot is None:
            raise text.failed(
                number,
                "which barrier this is must be known at compile time: a named barrier has a number in the code",
                Row("bar", "a barrier, or barriers[i] with a constant", "one that is chosen at run time"),
                hint="barriers with phases, barrier_wait(bar, phaseIdx), may be chosen at run time",
            )
        what = operation.attribute("symbol").rpartition(".")[2]
        yield _Use(number, slot, what == "wait", int(operation.attribute("libname")))


def _check_kinds(text: BarrierText, named: set[Slot]) -> None:
    """None of them is an mbarrier elsewhere."""
    for number in find_lines(text.joined, *_COUNTED, *_ADDRESS):
        kind = operation_name(line := text.lines[number])
        if kind not in _COUNTED and not (kind in _ADDRESS and _leads_into_region(text.lines, number)):
            continue
        for name in value_names(line)[1 if kind in _ADDRESS else 0 :]:
            if text.slot(name, number) in named:
                raise text.failed(
                    number,
                    "a barrier is used two ways: with phases here, and without elsewhere",
                    Row("bar", "phaseIdx at each use, or at none", "both"),
                    hint="allocate one barrier for each",
                )


def _leads_into_region(lines: Sequence[str], number: int) -> bool:
    """Whether an address goes to a call. Those that rode along with markers end in a splat."""
    return any(operation_name(lines[user]) != _SPLAT for user in users(lines, number))


def _check_counts(text: BarrierText, uses: Sequence[_Use], threads: int) -> None:
    for use in uses:
        if use.threads % threads:
            raise text.failed(
                use.line,
                "a named barrier is complete when so many threads have come, and the whole block comes at a time",
                Row("arrive_count", f"a multiple of the block's {threads} threads", str(use.threads)),
            )


def _allot(text: BarrierText, slots: Sequence[Slot], compiled: Sequence[CompiledFragment]) -> dict[Slot, int]:
    taken = {0}
    workers = [len(warps_of_workers(text.lines[n])) for n in find_lines(text.joined, _GENERIC)]
    workers += [int(number) + 1 for number in _PARTITION.findall(text.joined)]
    if workers:
        taken |= set(range(1, max(workers) + 2))
    for fragment in compiled:
        taken |= barrier_numbers(read_module(fragment.text))
    if UNKNOWN in taken and slots:
        raise text.failed(
            slots[0][0],
            "a region of this kernel chooses its barriers at run time, so that none is left for the kernel's own",
            hint="give the region constants, or use barriers with phases",
        )
    free = [number for number in reversed(range(NUMBERS)) if number not in taken]
    if len(slots) > len(free):
        raise text.failed(
            slots[len(free)][0],
            "a block has too few named barriers",
            Row("named barriers", f"at most {len(free)}, beside those of Triton and of regions", str(len(slots))),
        )
    return dict(zip(slots, free))


def _instruction(line: str, use: _Use, number: int, *, located: bool) -> str:
    indent, location = indent_of(line), location_of(line)
    name = "nvvm.barrier" if use.waits else "nvvm.barrier.arrive"
    number_name, threads_name = f"%tle_number_{use.line}", f"%tle_threads_{use.line}"
    barrier = f"{name} id = {number_name} number_of_threads = {threads_name}"
    if use.waits and not located:
        sizes = "operandSegmentSizes = array<i32: 1, 1, 0>"
        barrier = f'"{name}"({number_name}, {threads_name}) <{{{sizes}}}> : (i32, i32) -> ()'
    return "\n".join(
        (
            f"{indent}{number_name} = arith.constant {number} : i32{location}",
            f"{indent}{threads_name} = arith.constant {use.threads} : i32{location}",
            f"{indent}{barrier}{location}",
        )
    )


def _assembly(line: str, use: _Use, number: int) -> str:
    """The same in kernels with partitions, where Triton 3.9 takes ``nvvm.barrier`` for the partition's own."""
    indent, location = indent_of(line), location_of(line)
    name = "bar.sync" if use.waits else "bar.arrive"
    attributes = '{constraints = "=r", packed_element = 1 : i32, pure = false}'
    text = f"{name} {number}, {use.threads}; mov.u32 $0, 0;"
    return f'{indent}%tle_named_{use.line} = tt.elementwise_inline_asm "{text}" {attributes} -> i32{location}'


def _unused(text: BarrierText, named: set[Slot]) -> Iterator[int]:
    """The lines that make mbarriers of named ones, and of allocations that hold nothing else."""
    whole = {alloc for alloc in {alloc for alloc, _ in named} if not _is_counted(text, alloc)}
    for number in find_lines(text.joined, INIT):
        if operation_name(line := text.lines[number]) == INIT:
            slot = text.slot(value_names(line)[0], number)
            if slot is not None and (slot in named or slot[0] in whole):
                yield number


def _is_counted(text: BarrierText, alloc: int) -> bool:
    """Whether any barrier of an allocation may be used with phases."""
    waiting = [alloc]
    while waiting:
        for number in users(text.lines, waiting.pop()):
            kind = operation_name(text.lines[number])
            if kind == INDEX:
                waiting.append(number)
            elif kind not in (INIT, LOAD) and not (kind in _ADDRESS and not _leads_into_region(text.lines, number)):
                return True
    return False
