"""The order of accesses by pointers into buffers where it is decided before Triton's passes run.

``order_pointers`` prints the module behind Triton's stage, reads it, and has it parsed again: a fifth of all that is
done for a small kernel. Where Triton's passes add nothing that touches buffers, the same barriers, marks and lifetimes
can stand in the Triton IR: barriers and hidden accesses have effects, and nothing is moved over them. Then only the
hidden accesses are left, and each is put behind its function in the module itself (``show_in_place``).

That is a kernel whose buffers are reached by pointers alone and cleared as a whole, without products, descriptors,
asynchronous copies, clusters, partitions and regions. A barrier within a loop would keep Triton's software pipeliner
away from it: where that may have something to do, the order is decided behind it, as in all other kernels.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from triton._C.libtriton import gluon_ir, ir, passes

from tle_raw.flir.nvidia.barrier_walk import Barrier
from tle_raw.flir.nvidia.hide_accesses import ACCESS, COPIED, LIE, RepeatedAccessError, as_neighbours, hidden_access
from tle_raw.flir.nvidia.leave_loops import has_one_stage
from tle_raw.flir.nvidia.open_crossings import is_tensor
from tle_raw.flir.nvidia.order_pointers import order_edits
from tle_raw.flir.nvidia.pointer_order import decide_order
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import ALLOC, LOADS, SharedPointers
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.generic_tree import Operation
from tle_raw.linker.mlir.text import OPERATION

_BLACKWELL = 100
# What a kernel that is ordered here may do with buffers, beside accesses by pointers.
_PLAIN = (ALLOC, "ttg.local_store", "ttg.local_dealloc", "ttg.memdesc_", "ttg.barrier")
_ELSEWHERE = ("ttg.", "ttng.", "tt.dot", "tt.descriptor", OPERATION)
_STORE, _RMW, _CAS = "tt.store", "tt.atomic_rmw", "tt.atomic_cas"
_OPERANDS = {_STORE: (2, 3), _RMW: (3,), _CAS: (3,)}  # of those that the builder makes
_NUMBER = re.compile(r"(\w+) = (\d+) :")


class Ordered(NamedTuple):
    """Triton IR in generic form with its accesses hidden and in order, and how many there are."""

    text: str
    accesses: int


def order_in_front(
    lines: list[str], pointers: SharedPointers, spelling: Spelling, capability: int, *, used_too: bool
) -> Ordered | None:
    """The kernel of these lines of Triton IR in generic form in order, or None where that is decided behind.

    Parameters
    ----------
    used_too : hide atomic operations whose results are used: see ``hide_accesses``.
    """
    accesses = list(pointers.accesses())
    if capability >= _BLACKWELL or not accesses or not all(map(_is_plain, pointers.beginning(*_ELSEWHERE))):
        return None
    if not all(_is_made(each, lines) for each in accesses if each.name not in LOADS):
        return None
    barriers = decide_order(pointers)
    if any(_keeps_pipeliner_away(barrier, pointers, lines) for barrier in barriers):
        return None
    edits = order_edits(lines, pointers, barriers, spelling, capability)
    for number, access in enumerate(accesses):
        *addresses, made = edits.instead[access.line]
        parts = read_generic(made)
        if access.name in LOADS or not is_tensor(parts.types[0]):
            continue
        is_used = any(result.uses for result in access.results)
        if used_too or not is_used:
            edits.replace(access.line, [*addresses, hidden_access(parts, number, once=is_used)])
        elif addresses:  # their definition is not in these lines
            return None
        else:
            edits.replace(access.line, as_neighbours(parts, access, number, lines))
    return Ordered(edits.text(), len(accesses))


def _is_plain(operation: Operation) -> bool:
    return operation.name.startswith(_PLAIN) and not (operation.name == ALLOC and operation.operands)


def _is_made(access: Operation, lines: list[str]) -> bool:
    """Whether a hidden access can be made again by Triton's builder, which knows no attributes beside its own."""
    takes = len(access.operands) in _OPERANDS.get(access.name, ())
    return takes and not read_generic(lines[access.line]).attributes


def _keeps_pipeliner_away(barrier: Barrier, pointers: SharedPointers, lines: list[str]) -> bool:
    """Whether one is within a loop that loads from global memory, which the pipeliner may run ahead."""
    at = barrier[0]
    around = [each for each in pointers.named("scf.for") if each.line < at < each.end]
    if not around or has_one_stage(lines[around[-1].end]):
        return False
    return any(each.name in LOADS and each.operands[0] not in pointers.buffers for each in around[-1].walk())


def show_in_place(module: Any) -> None:
    """Put the accesses behind the functions that they are hidden in, and leave those out.

    Raises
    ------
    RepeatedAccessError : one was hidden that should not have been.
    """
    hidden: list[tuple[Any, list[Any]]] = []

    def see(operation: Any) -> None:
        name = operation.get_name()
        if name == OPERATION and operation.get_str_attr("symbol") == ACCESS:
            hidden.append((operation, json.loads(operation.get_str_attr("libname"))))
        elif name in COPIED and operation.get_str_attr(LIE) is not None:
            _set_apart(operation.get_result(0), module.context)

    module.walk(see)
    once = [(record[-1], operation.get_block().id()) for operation, record in hidden if record[-1] >= 0]
    if len(set(once)) < len(once):
        raise RepeatedAccessError
    builder = gluon_ir.GluonOpBuilder(module.context)
    for operation, (name, properties, _, _) in hidden:
        result = operation.get_result(0)
        builder.set_insertion_point_after(operation)
        builder.set_loc(result.get_loc())
        operands = [operation.get_operand(n) for n in range(operation.get_num_operands())]
        made = _made(builder, name, operands, {key: int(value) for key, value in _NUMBER.findall(properties)})
        if made is not None:
            result.replace_all_uses_with(made)
        result.set_attr("pure", builder.get_bool_attr(True))  # and unused: the next pass leaves it out
    manager = ir.pass_manager(module.context)
    passes.common.add_cse(manager)
    manager.run(module, "tle_raw_show_accesses")


def _set_apart(pointers: Any, context: Any) -> None:
    """What was said of them to ``hide_accesses``'s end is not true."""
    rank = str(pointers.get_type()).partition("!tt.ptr")[0].count("x")
    for attribute in ("tt.contiguity", "tt.divisibility"):
        pointers.set_attr(attribute, ir.make_attr([1] * rank, context))


def _made(builder: Any, name: str, operands: list[Any], numbers: dict[str, int]) -> Any:
    """The access itself, with the marks that ``order_pointers`` gives."""
    if name == _STORE:
        create = builder.create_masked_store if len(operands) == 3 else builder.create_store
        create(*operands, *_kept(builder))
        return None
    order = ir.MEM_SEMANTIC(numbers["sem"]), ir.MEM_SYNC_SCOPE(numbers["scope"])
    if name == _CAS:
        return builder.create_atomic_cas(*operands, *order)
    return builder.create_atomic_rmw(ir.ATOMIC_OP(numbers["atomic_rmw_op"]), *operands, *order)


def _kept(builder: Any) -> tuple[Any, ...]:
    """A store's cache modifier and eviction policy: from Triton 3.9 on they are one attribute."""
    if hasattr(builder, "get_cache_policy"):
        return (builder.get_cache_policy("cs", "evict_last"),)
    return ir.CACHE_MODIFIER.CS, ir.EVICTION_POLICY.EVICT_LAST
