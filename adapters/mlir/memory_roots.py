"""Tells which memory an operation writes: the thread's own, or memory that the threads of a block share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PRIVATE, SHARED = "private", "shared"
_ALLOCATIONS = frozenset(("memref.alloc", "memref.alloca"))
# Other names for the memory of their first operand.
_VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "assume_alignment", "cast", "collapse_shape", "expand_shape", "memory_space_cast", "reinterpret_cast",
        "reshape", "subview", "transpose", "view",
    )
)  # fmt: skip
# Where an operation that writes has its memory.
_WRITES = {
    "affine.store": 1, "affine.vector_store": 1, "memref.atomic_rmw": 1, "memref.copy": 1,
    "memref.generic_atomic_rmw": 0, "memref.store": 1, "vector.compressstore": 0, "vector.maskedstore": 0,
    "vector.scatter": 0, "vector.store": 1, "vector.transfer_write": 1,
}  # fmt: skip
_PURE_DIALECTS = frozenset(("arith", "math", "index", "ub", "complex", "affine", "scf", "builtin", "vector"))
_PURE = frozenset(("memref.load", "memref.dim", "memref.extract_strided_metadata", "memref.get_global", "memref.rank"))


def root(value: Any) -> Any:
    """The value that a chain of views starts from."""
    while True:
        owner = value.owner
        if not hasattr(owner, "name") or owner.name not in _VIEWS:
            return value
        value = owner.operands[0]


def kind(value: Any) -> str:
    """PRIVATE for what a thread allocates in its own memory, else SHARED: parameters, globals, memory space 3."""
    owner = root(value).owner
    if not hasattr(owner, "name") or owner.name not in _ALLOCATIONS:
        return SHARED
    return SHARED if memory_space(root(value).type) else PRIVATE


def memory_space(type_: Any) -> int:
    """The number of a memref's memory space, 0 for none; -1 for one that is no number."""
    space = type_.memory_space
    if space is None:
        return 0
    text = str(space).partition(" ")[0]
    return int(text) if text.isdecimal() else -1


def written(operation: Any) -> set[str]:
    """What kinds of memory an operation and those inside it write; what it allocates itself does not count."""
    return {kind(value) if value is not None else SHARED for value in _written_values(operation)}


def nested(operation: Any) -> Iterator[Any]:
    """The operation and all those inside it, outermost first."""
    yield operation.operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from nested(inner.operation)


def _written_values(operation: Any) -> Iterator[Any]:
    for inner in nested(operation):
        for value in _targets(inner):
            if value is None or not _is_inside(root(value).owner, operation):
                yield value


def _targets(operation: Any) -> Iterator[Any]:
    """Memory that one operation writes; None stands for memory that is not known."""
    name = operation.name
    dialect = name.partition(".")[0]
    if name in _WRITES:
        target = operation.operands[_WRITES[name]]
        if "memref" in str(target.type).partition("<")[0]:
            yield target
    elif dialect == "linalg":
        yield from _outputs(operation)
    elif not (dialect in _PURE_DIALECTS or name in _PURE or name in _ALLOCATIONS or name in _VIEWS):
        yield None


def _outputs(operation: Any) -> Iterator[Any]:
    """The ``outs`` of a linalg operation; its body's yield and index write nothing."""
    if "operandSegmentSizes" in operation.attributes:
        inputs = next(iter(operation.attributes["operandSegmentSizes"]))
        yield from list(operation.operands)[int(inputs) :]


def _is_inside(owner: Any, operation: Any) -> bool:
    """Whether a value is made within an operation; a block's arguments belong to the operation around it."""
    current = owner if hasattr(owner, "name") else owner.owner
    while current is not None:
        if current.operation == operation.operation:
            return True
        current = current.operation.parent
    return False
