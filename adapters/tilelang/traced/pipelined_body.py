"""The statements of programs with a pipelined loop, in order, and what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tle_raw.adapters.tilelang.program import Program, is_call, statements
from tle_raw.adapters.tilelang.regions import BufferRegion, constant, is_global, is_parallel, region_of
from tle_raw.adapters.tilelang.tir_types import Node

COPIES, GEMM = ("tl.tileop.copy", "tl.tileop.async_copy"), "tl.tileop.gemm"
A, B, C, TURN_A, TURN_B, CLEAR = 0, 1, 2, 3, 4, 9  # the operands of tl.tileop.gemm
_SWIZZLE = "threadblock_swizzle_pattern"  # advice, which Triton does not take
_BRANCHES = ("IfThenElse", "While", "SBlock")


class Unfit(Exception):
    """A program has not the form that gets a warp of its own for copies; the message says what stands in the way."""


def flat(node: Any) -> Iterator[Any]:
    """The statements that run one after the other, through blocks that allocate nothing."""
    kind = type(node).__name__
    if kind == "SeqStmt":
        for inner in statements(node):
            yield from flat(inner)
    elif kind == "SBlockRealize":
        yield from flat(node.block)
    elif _is_transparent(node):
        yield from flat(node.body)
    else:
        yield node


def _is_transparent(node: Any) -> bool:
    if type(node).__name__ == "SBlock":
        return not node.alloc_buffers
    return type(node).__name__ == "AttrStmt" and str(node.attr_key) == _SWIZZLE


def stages(statement: Node) -> int:
    """Of a pipelined loop; 0 of any other statement."""
    if type(statement).__name__ != "For" or is_parallel(statement) or "num_stages" not in statement.annotations:
        return 0
    return constant(statement.annotations["num_stages"]) or 0


def has_pipelined_products(program: Program) -> bool:
    """Whether a pipelined loop holds a product."""
    loops = [node for node in nodes(program.body) if stages(node)]
    return any(is_call(node, GEMM) for loop in loops for node in nodes(loop.body))


def is_product(statement: Node) -> bool:
    """Whether a statement is ``T.gemm``."""
    return type(statement).__name__ == "Evaluate" and is_call(statement.value, GEMM)


def multiplies(call: Any, memory: Any) -> bool:
    """Whether a product reads a memory as an operand."""
    return any(region_of(call.args[which]).buffer.data.same_as(memory) for which in (A, B))


def is_copy_in(statement: Node) -> bool:
    """Whether a statement copies from a global buffer into a shared one."""
    if type(statement).__name__ != "Evaluate" or not any(is_call(statement.value, name) for name in COPIES):
        return False
    source, target = (region_of(argument).buffer for argument in statement.value.args[:2])
    return is_global(source) and str(target.scope()).startswith("shared")


def is_straight(statement: Node) -> bool:
    """Whether all of a statement is computed, and once: no loop in order, and no branch."""
    return not any(
        type(node).__name__ in _BRANCHES or (type(node).__name__ == "For" and not is_parallel(node))
        for node in nodes(statement)
    )


def nodes(root: Any) -> list[Any]:
    """All nodes of a statement or an expression."""
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    if not isinstance(root, int):
        post_order_visit(root, found.append)
    return found


def is_whole(box: BufferRegion) -> bool:
    """Whether a box is all of its buffer."""
    sizes = [constant(s) for s in box.buffer.shape]
    return all(constant(o) == 0 for o in box.origin) and [constant(e) for e in box.extents] == sizes


def size_of(extent: Any) -> int:
    """A constant.

    Raises
    ------
    Unfit : it is none.
    """
    found = constant(extent)
    if found is None:
        raise Unfit(f"a buffer has the size {extent}, which is no constant")
    return found
