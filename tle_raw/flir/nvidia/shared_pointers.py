"""Which values of a module point into shared buffers, and into which: read from Triton's IR in generic form.

``tle.gpu.local_ptr`` makes pointers that look like any other to Triton: they come from a buffer's address. Here they
are followed through arithmetic, branches, loops and calls of functions. A pointer is into shared memory or it is not,
whatever way the kernel takes: one that may be either is refused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import attrgetter

from tle_raw.errors import Row, SharedBufferError, SourceLocation
from tle_raw.linker.mlir.generic_tree import Block, Operation, Value, read_operations
from tle_raw.linker.mlir.locations import Locations
from tle_raw.regions.clusters import MAP

ADDRESS = "tti.experimental_memdesc_to_i"  # and its width, which differs between versions
ALLOC = "ttg.local_alloc"
LOADS = ("tt.load",)
STORES = ("tt.store",)
ATOMICS = ("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_store")
ACCESSES = (*LOADS, *STORES, *ATOMICS)
_BUFFER, _POINTER = "!ttg.memdesc<", "!tt.ptr<"
# What a pointer is made of is no pointer any more.
_ENDS = (*ACCESSES, "arith.cmp", "tt.extern_elementwise", "tt.call", "tt.print", "tt.assert", "ttg.local_load")
_GLOBAL_ONLY = ("ttg.async_copy_global_to_local", "tt.extern_elementwise", "tt.make_tensor_descriptor")
_FUNCTION = "tt.extern_elementwise"
_MAPS = f'symbol = "{MAP}"'
_SYMBOL = re.compile(r'sym_name = "([^"]*)"')
_CALLEE = re.compile(r'callee = @(?:"([^"]*)"|([\w$.\-]+))')
Buffers = frozenset[Value]
_line = attrgetter("line")
_Pair = tuple[int, Value, Value]  # where an operation says that the second value may be the first


@dataclass
class SharedPointers:
    """A module, and of each of its values the buffers into which it points or of which it is a view."""

    operations: list[Operation]  # all of them, in the text's order
    buffers: dict[Value, Buffers] = field(default_factory=dict)
    remote: set[Value] = field(default_factory=set)  # those into buffers of other blocks of the cluster

    def walk(self) -> Sequence[Operation]:
        """All operations."""
        return self.operations

    def named(self, *names: str) -> list[Operation]:
        """The operations of these names, in the text's order."""
        return _in_order([self._by_name[name] for name in names if name in self._by_name])

    def beginning(self, *prefixes: str) -> list[Operation]:
        """The operations whose names begin so, in the text's order."""
        return _in_order([each for name, each in self._by_name.items() if name.startswith(prefixes)])

    @cached_property
    def _by_name(self) -> dict[str, list[Operation]]:
        """A module is gone through once for all that is asked for: its operations have few names."""
        found: defaultdict[str, list[Operation]] = defaultdict(list)
        for operation in self.operations:
            found[operation.name].append(operation)
        return dict(found)

    def accesses(self) -> Iterator[Operation]:
        """Loads, stores and atomics by pointers into buffers."""
        return (each for each in self.named(*ACCESSES) if each.operands[0] in self.buffers)

    def of(self, value: Value) -> Buffers:
        """The allocations that a value points into; none where it does not point into shared memory."""
        return self.buffers.get(value, frozenset())


def _in_order(groups: list[list[Operation]]) -> list[Operation]:
    if len(groups) == 1:
        return groups[0]
    return sorted((each for group in groups for each in group), key=_line)


def read_pointers(lines: Sequence[str], operations: list[Operation] | None = None) -> SharedPointers:
    """Read a module in generic form, or take all its operations where they have been read.

    Raises
    ------
    SharedBufferError : a pointer may be one into shared memory and one into global memory, or is given to what takes
        pointers into global memory alone.
    """
    found, flow = _followed(read_operations(lines) if operations is None else operations)
    _check_pointers(found, flow, lines)
    _check_uses(found, lines)
    return found


def follow_buffers(lines: Sequence[str]) -> SharedPointers:
    """The same of a module whose accesses by pointers are hidden: what they are given is not checked."""
    return _followed(read_operations(lines))[0]


def _followed(operations: list[Operation]) -> tuple[SharedPointers, list[_Pair]]:
    found = SharedPointers(operations)
    flow = [(operation.line, *pair) for operation, pair in _control_flow(found)]
    passed: dict[Value, list[Value]] = {}
    for _, source, target in flow:
        passed.setdefault(source, []).append(target)
    allocated = [each.results[0] for each in found.named(ALLOC) if each.results]
    found.buffers.update((each, frozenset((each,))) for each in allocated)
    pending = allocated
    while pending:
        source = pending.pop()
        given = found.buffers[source]
        for target in (*passed.get(source, ()), *_made_of(source)):
            if not given <= found.of(target):
                found.buffers[target] = given | found.of(target)
                pending.append(target)
    far = [each.results[0] for each in found.named(_FUNCTION) if is_map(each)]
    while far:
        source = far.pop()
        if source not in found.remote:
            found.remote.add(source)
            far += [*passed.get(source, ()), *_made_of(source)]
    return found, flow


def _control_flow(found: SharedPointers) -> Iterator[tuple[Operation, tuple[Value, Value]]]:
    """Pairs of values: the second may be the first. And the operation that says so."""
    functions: dict[str, Operation] | None = None
    for operation in found.walk():
        pairs: Iterable[tuple[Value, Value]] = ()
        if operation.name == "tt.call":
            functions = functions or {function_name(each): each for each in found.named("tt.func")}
            pairs = _through_call(operation, functions)
        elif operation.regions:
            pairs = _through_regions(operation)
        elif operation.successors:
            pairs = _through_jumps(operation)
        for pair in pairs:
            yield operation, pair


def _made_of(value: Value) -> Iterator[Value]:
    """What is computed with a value and may point to where it points."""
    for operation in value.uses:
        if _computes(operation) and value in _pointing(operation):
            yield from _results(operation)


def is_map(operation: Operation) -> bool:
    """Whether it makes of an address the one of the same in another block's shared memory."""
    return operation.name == _FUNCTION and _MAPS in operation.details


def _computes(operation: Operation) -> bool:
    if is_map(operation):
        return True
    is_control = operation.regions or operation.successors or operation.name == ALLOC
    return not is_control and not operation.name.startswith(_ENDS)


def _pointing(operation: Operation) -> Sequence[Value]:
    """The operands that its results may point with."""
    if operation.name == "tt.addptr" or is_map(operation):
        return operation.operands[:1]
    return operation.operands[1:] if operation.name == "arith.select" else operation.operands


def _results(operation: Operation) -> Iterator[Value]:
    return (result for result in operation.results if not _is_float(result.type))  # which is no address


@lru_cache(maxsize=256)
def _is_float(type_: str) -> bool:
    """Whether a scalar, or the elements of a tensor, are floats."""
    inside = type_.removeprefix("tensor<").rstrip(">") if type_.startswith("tensor<") else type_
    return "f" in inside.lstrip("0123456789x")[:2]


def _through_call(call: Operation, functions: dict[str, Operation]) -> Iterator[tuple[Value, Value]]:
    function = functions.get(called_function(call))
    if function is None or not function.regions:
        return
    yield from zip(call.operands, function.regions[0][0].arguments)
    for block in function.regions[0]:
        yield from zip(_ending(block, "tt.return"), call.results)


def function_name(function: Operation) -> str:
    """The symbol of a ``tt.func``."""
    found = _SYMBOL.search(function.details)
    return found[1] if found else ""


def called_function(call: Operation) -> str:
    """The symbol that a ``tt.call`` names."""
    found = _CALLEE.search(call.details)
    return (found[1] or found[2]) if found else ""


def _through_regions(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """Loops carry values, branches give them, partitions capture them."""
    regions, results = operation.regions, operation.results
    if operation.name == "scf.for":
        body = regions[0][0]
        yielded, inits, carried = _ending(body, "scf.yield"), operation.operands[3:], body.arguments[1:]
        for sources in (inits, yielded):
            yield from zip(sources, carried)
            yield from zip(sources, results)
    elif operation.name == "scf.while":
        before, after = regions[0][0], regions[1][0]
        passed = _ending(before, "scf.condition")[1:]
        for sources in (operation.operands, _ending(after, "scf.yield")):
            yield from zip(sources, before.arguments)
        yield from zip(passed, after.arguments)
        yield from zip(passed, results)
    elif operation.name.startswith("ttg.warp_specialize"):
        for region in regions:
            yield from zip(_captured(operation), region[0].arguments)
            yield from zip(_ending(region[0], "ttg.warp_yield"), results)
    elif operation.name in ("scf.if", "scf.execute_region"):
        for region in regions:
            for block in region:
                yield from zip(_ending(block, "scf.yield"), results)


def _captured(operation: Operation) -> Sequence[Value]:
    """What partitions are given: by themselves, or, as in Triton 3.6, by the operation around them."""
    if operation.operands or not operation.name.endswith(".partitions") or operation.above is None:
        return operation.operands
    return operation.above.operands


def _ending(block: Block, name: str) -> Sequence[Value]:
    """What the operation of this name at the end of a block is given."""
    last = block.operations[-1] if block.operations else None
    return last.operands if last is not None and last.name == name else []


def _through_jumps(jump: Operation) -> Iterator[tuple[Value, Value]]:
    """Each label gets its share of the operands, in order: behind the condition, where there is one."""
    above = jump.above
    assert above is not None
    blocks = {block.label: block for region in above.regions for block in region}
    given = jump.operands[1:] if jump.name == "cf.cond_br" else jump.operands
    for label in jump.successors:
        arguments = blocks[label].arguments
        yield from zip(given, arguments)
        given = given[len(arguments) :]


def _check_pointers(found: SharedPointers, flow: Sequence[_Pair], lines: Sequence[str]) -> None:
    """A pointer into a buffer comes from such pointers alone."""
    computed = {value.definition for value in found.buffers if value.definition is not None}
    made = (
        (operation.line, source, target)
        for operation in computed
        if _computes(operation)
        for target in _results(operation)
        for source in _pointing(operation)
    )
    for _, source, target in sorted((*flow, *made), key=lambda pair: pair[0]):
        if target not in found.buffers or source in found.buffers or _POINTER not in target.type:
            continue
        if _POINTER not in source.type or (source.definition is not None and source.definition.name == "ub.poison"):
            continue
        raise SharedBufferError(
            "a pointer may be one of tle.gpu.local_ptr and one into global memory: they are accessed by different "
            "instructions",
            table=[Row("pointer", "of one kind on all ways through the kernel", "one of two kinds")],
            hint="load from both, and choose between what was loaded",
        ).at(call_site=_site(source.definition or target.definition, lines))


def _check_uses(found: SharedPointers, lines: Sequence[str]) -> None:
    """Copies, descriptors and linked functions take pointers into global memory."""
    for operation in found.named(*_GLOBAL_ONLY):
        if any(_POINTER in operand.type and operand in found.buffers for operand in operation.operands):
            raise SharedBufferError(
                "a pointer of tle.gpu.local_ptr is for tl.load, tl.store and atomics",
                table=[Row("pointer", "into global memory", "into a shared buffer")],
                hint="copy from a buffer to a buffer by tl.load and tl.store; pass a fragment the buffer itself",
            ).at(call_site=_site(operation, lines))


def _site(operation: Operation | None, lines: Sequence[str]) -> SourceLocation | None:
    if operation is None:
        return None
    line = lines[operation.end]
    start = line.rfind(" loc(")
    return None if start < 0 else Locations(list(lines)).source_location(line[start + 1 :])
