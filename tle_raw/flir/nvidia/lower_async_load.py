"""Which copies into shared memory are ``cp.async``: those in which each thread copies four bytes at least in a row.

Two forms become one or the other here, on the layouts of the conversion:

* ``ttg.async_copy_global_to_local``, which ``tle.gpu.copy`` writes, stays or becomes a load and a store;
* ``tt.load`` that ``tle.load`` asks to start early, ``tt.latency``, and that no loop holds, becomes a copy, a wait
  before the value is used or memory may be written, and a load from the buffer, or stays a load.

How many bytes lie in a row is what Triton's own analysis says. It is asked by a module in which the copy in question is
the only access to memory, with what its addresses are computed by, through Triton's pass that chooses layouts for
accesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tle_raw.flir.early_loads import EARLY
from tle_raw.flir.nvidia.backward_slice import KernelLines
from tle_raw.flir.nvidia.blocked_layout import layout_of, read_tensor
from tle_raw.flir.nvidia.buffer_types import BufferType, layout_aliases, read_buffer_type
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.structure import lines_in_loops
from tle_raw.linker.mlir.text import brace_depth, value_names

COPY, LOAD = "ttg.async_copy_global_to_local", "tt.load"
_CALL = "tt.call"
FEWEST_BYTES = 4
_PROBE = "tle.probe"
_ACCESSES = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", COPY)
# What writes no memory that others see.
_HARMLESS = ("arith.", "math.", "tt.load", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.make_range")
_SIZES = re.compile(r"sizePerThread = \[([\d, ]+)\]")
_ORDER = re.compile(r"order = \[([\d, ]+)\]")
_SEGMENTS = re.compile(r"operandSegmentSizes = array<i32: ([\d, ]+)>")
_FUNCTION, _SYMBOL = '"tt.func"(', re.compile(r'sym_name = "([^"]*)"')
Coalesce = Callable[[str], Sequence[str]]


def lower_async_load(text: str, coalesce: Coalesce) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many copies and noted loads there were.

    Parameters
    ----------
    coalesce : of a module's text whose functions hold a load each, the types of their pointers after Triton's pass of
        this name.
    """
    if COPY not in text and EARLY not in text:
        return text, 0
    lines = text.splitlines()
    early, kernel = early_loads(lines), KernelLines(lines)
    found = {
        number: read_generic(line)
        for number, line in enumerate(lines)
        if number in early or (COPY in line and generic_name(line) == COPY)
    }
    aliases = layout_aliases(lines)
    buffers = {number: _buffer(lines, number, operation, aliases) for number, operation in found.items()}
    asked = [number for number, buffer in buffers.items() if buffer is not None and _must_ask(buffer)]
    layouts = dict(zip(asked, _access_layouts(kernel, {number: found[number] for number in asked}, coalesce)))
    made: dict[int, list[str]] = {}
    before: dict[int, list[str]] = {}
    for number, operation in found.items():
        is_in_a_row = _in_a_row(buffers[number], layouts.get(number, ""))
        if operation.name != COPY:
            made[number], wait = _early_load(number, operation, is_in_a_row)
            before.setdefault(_needed(lines, number, operation.results), []).extend(wait)
        elif not is_in_a_row:
            made[number] = _load_and_store(operation, number)
    written = (
        part for number, line in enumerate(lines) for part in (*before.get(number, ()), *made.get(number, [line]))
    )
    return ("\n".join(written) if made else text), len(found)


def early_loads(lines: Sequence[str]) -> set[int]:
    """The lines of loads that are to start early and that no loop holds: those in loops are Triton's pipeliner's."""
    noted = {number for number, line in enumerate(lines) if EARLY in line and "tt.load" in line}
    return noted - lines_in_loops(list(lines)) if noted else noted


def _needed(lines: Sequence[str], number: int, name: str) -> int:
    """The line of the same block before which a value must be there: it is used, or memory may be written."""
    depth, latest = 0, number + 1
    for index in range(number + 1, len(lines)):
        line = lines[index]
        if depth == 0:
            latest = index
        operation = generic_name(line)
        if name in value_names(line) or depth or not operation.startswith(_HARMLESS) or "({" in line:
            return latest
        depth += brace_depth(line)
    return latest


def _buffer(
    lines: Sequence[str], number: int, operation: GenericOperation, aliases: dict[str, str]
) -> BufferType | None:
    """The one that a copy fills, or that a load would go through; None where it cannot."""
    if operation.name == COPY:
        return read_buffer_type(operation.types[1], aliases)
    dims, element = read_tensor(operation.result_types[0])
    return BufferType(dims, element, "") if _other_is_zero(lines, number, operation) else None


def _must_ask(buffer: BufferType) -> bool:
    return not buffer.is_padded and buffer.element_bytes < FEWEST_BYTES


def _in_a_row(buffer: BufferType | None, layout: str) -> bool:
    """Whether each thread has four bytes in a row, in global memory and in the buffer."""
    if buffer is None or buffer.is_padded:  # which Triton's lowering of cp.async does not take
        return False
    if not _must_ask(buffer):
        return True
    # The elements of a thread by axis, and the order of the axes.
    sizes, order = _numbers(_SIZES.search(layout)), _numbers(_ORDER.search(layout))
    if not order or order[0] != buffer.order[0]:
        return False
    return sizes[order[0]] * buffer.element_bytes >= FEWEST_BYTES and buffer.together * buffer.element_bytes >= (
        FEWEST_BYTES
    )


def _access_layouts(
    kernel: KernelLines, operations: Mapping[int, GenericOperation], coalesce: Coalesce
) -> Iterator[str]:
    """The layouts of loads from the same addresses as some operations load from, each by itself."""
    modules = [_probe(kernel, number, operation) for number, operation in operations.items()]
    if any(_CALL in line for module in modules for line in module):
        types = [type_ for module in modules for type_ in coalesce("\n".join(module))]
    else:
        types = list(coalesce(_together(modules))) if modules else []
    return map(layout_of, types)


def _together(modules: Sequence[Sequence[str]]) -> str:
    """A module with the functions of several of one kernel, which have one function each."""
    opened = next(number for number, line in enumerate(modules[0]) if _FUNCTION in line)
    made = list(modules[0][:opened])
    for number, module in enumerate(modules):
        made.append(_SYMBOL.sub(rf'sym_name = "\g<1>_{number}"', module[opened], count=1))
        made += module[opened + 1 : -1]
    return "\n".join([*made, modules[0][-1]])


def _probe(kernel: KernelLines, number: int, operation: GenericOperation) -> list[str]:
    """A module with what the addresses of an operation are computed by, and a load from them.

    A mask counts too: where the addresses are chosen by it, Triton takes for rows only what it selects as a whole.
    """
    pointers, type_ = operation.operands[0], operation.types[0]
    probe = []
    if _mask(operation):
        condition = f"({_mask(operation)}, {pointers}, {pointers})"
        types = f"({_mask_type(operation)}, {type_}, {type_}) -> {type_}"
        probe = [f'%tle_chosen = "arith.select"{condition} : {types}']
        pointers = "%tle_chosen"
    probe.append(f"%tle_probe = tt.load {pointers} : {type_}")
    part = list(kernel.slice(number, filter(None, (operation.operands[0], _mask(operation)))))
    before = [made for index, line in part if index < number for made in _silent(line)]
    behind = [made for index, line in part if index >= number for made in _silent(line)]
    return [*before, *probe, *behind]


def _silent(line: str) -> list[str]:
    """A line of which no access to memory is left: Triton gives accesses that belong together one layout."""
    if generic_name(line) not in _ACCESSES or "({" in line:
        return [line]
    operation = read_generic(line)
    if not operation.results or operation.name == COPY:
        return []
    empty = f'{{libname = "", libpath = "", pure = false, symbol = "{_PROBE}.other"}}'
    operands, types = ", ".join(operation.operands), ", ".join(operation.types)
    result = operation.result_types[0]
    return [f"{operation.results} = tt.extern_elementwise {operands} {empty} : ({types}) -> {result}"]


def _numbers(found: re.Match[str] | None) -> list[int]:
    return [int(number) for number in found[1].split(",")] if found else []


def _segments(operation: GenericOperation) -> list[int]:
    return _numbers(_SEGMENTS.search(operation.properties))


def _mask(operation: GenericOperation) -> str:
    """The mask's name, or "". It stands behind the pointers, and of a copy behind the buffer."""
    place = 2 if operation.name == COPY else 1
    return operation.operands[place] if len(operation.operands) > place and _segments(operation)[place] else ""


def _mask_type(operation: GenericOperation) -> str:
    return operation.types[2 if operation.name == COPY else 1]


def _load_and_store(operation: GenericOperation, number: int) -> list[str]:
    """In place of a copy. What the mask leaves out is 0."""
    pointers, buffer = operation.operands[:2]
    pointer_type, buffer_type = operation.types[:2]
    element = read_tensor(pointer_type)[1].removeprefix("!tt.ptr<").split(">")[0].split(",")[0]
    dims = "x".join(map(str, read_tensor(pointer_type)[0]))
    tensor = f"tensor<{dims}x{element}, {layout_of(pointer_type)}>"
    value, zero, indent, loc = f"%tle_copied_{number}", f"%tle_zero_{number}", operation.indent, operation.location
    masked, lines = "", []
    if _mask(operation):
        nothing = "0.000000e+00" if element.startswith(("f", "bf")) else "0"
        lines.append(f"{indent}{zero} = arith.constant dense<{nothing}> : {tensor}{loc}")
        masked = f", {_mask(operation)}, {zero}"
    return [
        *lines,
        f"{indent}{value} = tt.load {pointers}{masked} : {pointer_type}{loc}",
        f"{indent}ttg.local_store {value}, {buffer} : {tensor} -> {buffer_type}{loc}",
    ]


def _early_load(number: int, operation: GenericOperation, is_in_a_row: bool) -> tuple[list[str], list[str]]:
    """A load by way of a buffer, where it may be, else a load: what stands in its place, and before the first use."""
    type_, result = operation.types[0], operation.result_types[0]
    dims, element = read_tensor(result)
    order = tuple(reversed(range(len(dims))))
    if not is_in_a_row:
        return [str(operation.without_attribute(EARLY))], []
    layout = f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = {list(order)}}}>"
    inner = f"{'x'.join(map(str, dims))}x{element}, {layout}, #ttg.shared_memory, mutable"
    memory, indent, loc = f"%tle_loaded_{number}", operation.indent, operation.location
    mask = f" mask {_mask(operation)}" if _mask(operation) else ""
    started = [
        f"{indent}{memory} = ttg.local_alloc : () -> !ttg.memdesc<{inner}>{loc}",
        f"{indent}{memory}_copy = ttg.async_copy_global_to_local {operation.operands[0]}, {memory}{mask} : "
        f"{type_} -> <{inner}>{loc}",
        f"{indent}{memory}_group = ttg.async_commit_group{loc}",
    ]
    ended = [
        f"{indent}{memory}_wait = ttg.async_wait {{num = 0 : i32}}{loc}",
        f"{indent}{operation.results} = ttg.local_load {memory} : !ttg.memdesc<{inner}> -> {result}{loc}",
    ]
    return started, ended


def _other_is_zero(lines: Sequence[str], number: int, operation: GenericOperation) -> bool:
    """What is left out must be 0: ``cp.async`` writes nothing else."""
    if len(operation.operands) < 3:
        return True
    name = operation.operands[2]
    for line in reversed(lines[:number]):
        if line.lstrip().startswith(f"{name} = "):
            return "arith.constant" in line and re.search(r"dense<(0|0\.0+e\+00|false)>", line) is not None
    return False
