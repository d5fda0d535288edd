"""Finds a place for memory that a fragment allocates: the stack of its thread, or static shared memory."""

from __future__ import annotations

import math
import re
from typing import Any

from tle_raw.adapters.mlir.bindings import Binding
from tle_raw.adapters.mlir.build_index import IndexBuilder
from tle_raw.adapters.mlir.locations import location_of
from tle_raw.adapters.mlir.memory_roots import memory_space, nested, root
from tle_raw.errors import Context, UnsupportedFeatureError

STACK_BYTES = 16 * 1024  # of one thread, for all that it allocates: more is memory that a block has only once
SHARED_SPACE = 3
_ENDS = frozenset(("scf.yield", "scf.condition", "cf.br", "cf.cond_br", "func.return"))


def place_memory(module: Any, binding: Binding) -> None:
    """Memory space 3 becomes static shared variables, the rest a thread's stack, claimed once on entry.

    Raises
    ------
    UnsupportedFeatureError : a dynamic size, another memory space, too much, or memory that outlives its loop.
    """
    for function in list(module.body.operations):
        _check_heap(function)
        for operation in _named(function, "memref.dealloc"):
            _drop(operation)
        allocations = _named(function, "memref.alloc", "memref.alloca")
        used = sum(_place(operation, function.operation, module, binding) for operation in allocations)
        if used > STACK_BYTES:
            raise _refused("the function allocates", f"{used} bytes for each thread, more than {STACK_BYTES}")
    for operation in module.body.operations:
        _check_global(operation.operation)


def _named(function: Any, *names: str) -> list[Any]:
    return [operation for operation in nested(function) if operation.name in names]


def _check_heap(function: Any) -> None:
    for operation in _named(function, "memref.realloc"):
        raise _refused("memref.realloc", "a region has no heap", operation)


def _place(operation: Any, function: Any, module: Any, binding: Binding) -> int:
    """The stack bytes that it takes."""
    type_ = operation.results[0].type
    name = f"{operation.name} : {type_}"
    if not type_.has_static_shape or len(operation.operands):
        raise _refused(name, "its size is known at run time only", operation)
    space = memory_space(type_)
    if _outlives(operation, function):
        raise _refused(name, "it stands in a loop or a branch and is handed out of it", operation)
    if space == SHARED_SPACE:
        _share(operation, type_, module, binding)
        return 0
    if space not in (0, 5):
        raise _refused(name, f"memory space {type_.memory_space} is not a thread's", operation)
    if operation.name == "memref.alloc" or operation.parent.operation != function:
        _to_entry(operation, function, binding)
    return _bytes(type_)


def _refused(what: str, why: str, operation: Any = None) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{what}: {why}",
        hint="allocate a static size, in memory space 3 for what the block shares",
        context=Context(source=location_of(operation) if operation is not None else None),
    )


def _outlives(operation: Any, function: Any) -> bool:
    if operation.parent.operation == function:
        return False
    return any(use.owner.operation.name in _ENDS for use in operation.results[0].uses)


def _share(operation: Any, type_: Any, module: Any, binding: Binding) -> None:
    """A static shared variable; all threads get the same one."""
    ir = binding.ir
    if "strided" in str(type_) or "affine_map" in str(type_):
        raise _refused(f"{operation.name} : {type_}", "shared memory is row-major", operation)
    taken = {op.operation.attributes["sym_name"].value for op in module.body.operations}
    name = next(n for n in (f"tle_raw_shared_{i}" for i in range(len(taken) + 1)) if n not in taken)
    i64 = ir.IntegerType.get_signless(64)
    alignment = operation.attributes["alignment"].value if "alignment" in operation.attributes else 16
    build = IndexBuilder(binding, before=next(iter(module.body.operations)).operation)
    build.make(
        "memref.global",
        [],
        [],
        {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "type": ir.TypeAttr.get(type_),
            "initial_value": ir.UnitAttr.get(),
            "alignment": ir.IntegerAttr.get(i64, max(alignment, 16)),
        },
    )
    address = IndexBuilder(binding, before=operation).make(
        "memref.get_global", [], [type_], {"name": ir.FlatSymbolRefAttr.get(name)}
    )
    operation.results[0].replace_all_uses_with(address)
    operation.erase()


def _to_entry(operation: Any, function: Any, binding: Binding) -> None:
    """Claimed once, on entry: a claim in a loop would grow the stack with each turn."""
    first = next(iter(function.regions[0].blocks[0].operations)).operation
    sizes = binding.ir.DenseI32ArrayAttr.get([0, 0])
    attributes = {"operandSegmentSizes": sizes}
    if "alignment" in operation.attributes:
        attributes["alignment"] = operation.attributes["alignment"]
    new = IndexBuilder(binding, before=first).make("memref.alloca", [], [operation.results[0].type], attributes)
    operation.results[0].replace_all_uses_with(new)
    operation.erase()


def _drop(operation: Any) -> None:
    owner = root(operation.operands[0]).owner
    if not hasattr(owner, "name") or owner.name not in ("memref.alloc", "memref.alloca"):
        raise _refused("memref.dealloc", "the memory is not the fragment's own", operation)
    operation.erase()


def _bytes(type_: Any) -> int:
    elements: int = math.prod(type_.shape)
    return elements * max(_bits(str(type_.element_type)), 8) // 8


def _bits(element: str) -> int:
    """Bits of an element type, of a vector's too."""
    if element in ("index",) or element.startswith("!llvm.ptr"):
        return 64
    sizes = [int(size) for size in re.findall(r"(\d+)x", element)]
    width = re.search(r"(?:bf|f|[su]?i)(\d+)", element)
    return math.prod(sizes) * int(width[1] if width else 64)


def _check_global(operation: Any) -> None:
    if operation.name == "memref.global" and "3>" in str(operation.attributes["type"]):
        initial = operation.attributes.get("initial_value")
        if initial is None or "dense" in str(initial):
            raise _refused("memref.global in memory space 3", "shared memory has no initial value", operation)
