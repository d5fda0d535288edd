"""Memory that two executors of a loop touch, of which one writes it.

Global memory is told apart by the pointers and descriptors that kernels get as arguments, or make before the loop.
Pointers that were loaded, or computed from integers, are not followed. Shared buffers are told apart by their
allocations; barriers may guard them: of executors that both wait for barriers nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tle_raw.linker.mlir.generic_tree import Operation, Value

_READS = (
    *("tt.load", "tt.descriptor_load", "tt.descriptor_gather", "ttg.async_copy_global_to_local"),
    *("ttng.async_tma_copy_global_to_local", "ttg.local_load"),
)
_BUFFER = "!ttg.memdesc<"
_ADDRESSES = ("!tt.ptr<", "!tt.tensordesc<", _BUFFER)
_TMA = "ttng.async_tma_copy_global_to_local"
_WRITTEN = {"ttg.async_copy_global_to_local": 1, "ttg.local_store": 1}  # the number of the operand
_BARRIER = "1xi64,"  # in a buffer's type
_NO_ACCESSES = ("ttng.init_barrier", "ttng.inval_barrier", "ttng.wait_barrier", "ttng.arrive_barrier")
_WAITS = ("ttng.wait_barrier", 'symbol = "tle.named.wait"')
# What passes a pointer, a descriptor or a buffer on.
_PASS = (
    *("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast"),
    *("arith.select", "tt.make_tensor_descriptor", "ttg.memdesc_"),
)
_ALLOCATION, _FOR = "ttg.local_alloc", "scf.for"


def check_memory(
    operations: Sequence[Operation], owners: Sequence[int | None], initial: Mapping[Value, Value]
) -> tuple[int, int, str] | None:
    """Two operations of different executors that touch the same memory, by their places, and its name.

    Parameters
    ----------
    initial : what the variables of loops are at first.
    """
    touched: dict[Value, dict[tuple[int, bool], int]] = {}  # who reads or writes what, and where first
    for place, (operation, owner) in enumerate(zip(operations, owners)):
        if owner is not None:
            for root, writes in _accesses(operation, initial):
                touched.setdefault(root, {}).setdefault((owner, writes), place)
    waits = {owner for operation, owner in zip(operations, owners) if owner is not None and _waits(operation)}
    for root, accesses in touched.items():
        is_buffer, name = root.type.startswith(_BUFFER), root.name.removeprefix("%")
        for (writer, writes), place in accesses.items():
            for (other, _), there in accesses.items():
                if writes and other != writer and not (is_buffer and {writer, other} <= waits):
                    what = f"the buffer `{name}`" if is_buffer else f"the memory of `{name}`"
                    return min(place, there), max(place, there), what
    return None


def initial_values(operations: Sequence[Operation]) -> dict[Value, Value]:
    """What the variables of all loops are at first."""
    loops = (each for top in operations for each in top.walk() if each.name == _FOR)
    return {
        variable: value
        for loop in loops
        for variable, value in zip(loop.regions[0][0].arguments[1:], loop.operands[3:])
    }


def _accesses(operation: Operation, initial: Mapping[Value, Value]) -> Iterator[tuple[Value, bool]]:
    for each in operation.walk():
        if each.regions or each.name in _NO_ACCESSES or each.name.startswith(_PASS):
            continue
        for number, value in enumerate(each.operands):
            if not _is_address(value.type) or (_BARRIER in value.type and value.type.startswith(_BUFFER)):
                continue
            is_written = each.name not in _READS or _WRITTEN.get(each.name) == number
            if each.name == _TMA:
                is_written = value.type.startswith(_BUFFER)
            for root in _roots(value, initial):
                yield root, is_written


def _is_address(type_: str) -> bool:
    return type_.removeprefix("tensor<").lstrip("0123456789x").startswith(_ADDRESSES)


def _roots(value: Value, initial: Mapping[Value, Value]) -> set[Value]:
    """The arguments and allocations that an address comes from."""
    found: set[Value] = set()
    seen: set[Value] = set()
    stack = [value]
    while stack:
        each = stack.pop()
        made = each.definition
        if each in seen:
            continue
        seen.add(each)
        if each in initial:
            stack.append(initial[each])
        elif made is None or made.name == _ALLOCATION:
            found.add(each)
        elif made.name.startswith(_PASS):
            stack += [operand for operand in made.operands if _is_address(operand.type)]
        elif made.name == _FOR:
            stack.append(made.operands[3 + made.results.index(each)])
    return found


def _waits(operation: Operation) -> bool:
    return any(each.name == _WAITS[0] or _WAITS[1] in each.details for each in operation.walk())
