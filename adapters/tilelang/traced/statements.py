"""TIR's statements, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.locations import location_of
from tle_raw.adapters.tilelang.program import is_call
from tle_raw.adapters.tilelang.program import statements as flat
from tle_raw.adapters.tilelang.regions import constant, is_parallel
from tle_raw.adapters.tilelang.tir_types import Expression, Node
from tle_raw.adapters.tilelang.traced import access, loops, reducers, threads
from tle_raw.adapters.tilelang.traced.functions import FUNCTIONS
from tle_raw.adapters.tilelang.traced.look_behind import look_behind
from tle_raw.adapters.tilelang.traced.operations import OPERATIONS
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.errors import TLEError, UntraceableError

# Advice on layouts, blocks and registers: Triton decides these.
_ADVICE = ("threadblock_swizzle_pattern", "pragma_", "tl.", "kWarpSpecializationScope_no")
# Block tensors are in step by themselves; only global memory that is written and read again needs a barrier.
_BARRIERS = ("tirx.tvm_storage_sync", "tl.sync_warp")
# What tells TileLang's compiler something.
_NOTHING = (
    "tl.no_set_max_nreg",
    "tl.set_max_nreg",
    "tl.annotate_producer_reg_dealloc",
    "tl.annotate_consumer_reg_alloc",
    "tl.conflict_hint",
    "tl.pdl_sync",
    "tl.pdl_trigger",
    "tirx.assume",
)


def run(tracer: Tracer, sequence: Sequence[Any]) -> None:
    """Trace statements one after the other; each knows which come later."""
    for number, statement in enumerate(sequence):
        with tracer.before(sequence[number + 1 :]):
            _run_one(tracer, statement)


def run_body(tracer: Tracer, body: Any) -> None:
    tracer.entered.add(body)
    run(tracer, list(flat(body)))


def _run_one(tracer: Tracer, statement: Node) -> None:
    kind = type(statement).__name__
    handler = _KINDS.get(kind)
    tracer.location = location_of(statement) or tracer.location
    try:
        if handler is None:
            raise tracer.fail(f"the statement {kind}")
        handler(tracer, statement)
    except UntraceableError as e:
        tracer.meet(e)
        look_behind(tracer, statement)
    except TLEError:
        raise
    except Exception as e:  # Triton's own refusal of an operation: a shape or a dtype that it does not have
        words = f"Triton refuses what stands here: {e or type(e).__name__}"
        refused = UntraceableError(words)
        refused.at(source=tracer.location)
        refused.__cause__ = e
        tracer.meet(refused)
        look_behind(tracer, statement)


def _for(tracer: Tracer, loop: Node) -> None:
    if loop.thread_binding is not None:
        raise tracer.fail(f"a loop that is bound to {loop.thread_binding.thread_tag}")
    if is_parallel(loop):
        loops.parallel(tracer, loop)
    else:
        loops.serial(tracer, loop)


def _if(tracer: Tracer, statement: Node) -> None:
    condition = tracer.simplify(statement.condition)
    known = constant(condition)
    if known is not None:
        if known:
            run_body(tracer, statement.then_case)
        elif statement.else_case is not None:
            run_body(tracer, statement.else_case)
        return
    if not tracer.lanes.extents and _by_threads(tracer, statement, condition):
        return
    held = tracer.evaluate(condition)
    if held.type.is_block() or tracer.lanes.extents:
        _in_lanes(tracer, statement, held)
    else:
        loops.branch(tracer, statement, held)


def _by_threads(tracer: Tracer, statement: Node, condition: Expression) -> bool:
    """A branch that only the thread's index decides: each side is run by so many threads."""
    from tvm.tirx import Not

    count = threads.takers(tracer, condition)
    if count is None:
        return False
    sides = (condition, count, statement.then_case), (Not(condition), tracer.active - count, statement.else_case)
    for held, number, body in sides:
        if body is None or number == 0:
            continue
        if number == tracer.active:
            run_body(tracer, body)
        else:
            with threads.some_threads(tracer, held, number, body):
                run_body(tracer, body)
    return True


def _in_lanes(tracer: Tracer, statement: Node, held: core.tensor) -> None:
    """Inside parallel loops both sides run, each in its own lanes."""
    with tracer.guarded(held):
        run_body(tracer, statement.then_case)
    if statement.else_case is not None:
        with tracer.guarded(tracer.semantic.xor_(held, tracer.number(True, core.int1))):
            run_body(tracer, statement.else_case)


def _store(tracer: Tracer, statement: Node) -> None:
    if getattr(statement, "predicate", None) is not None:
        raise tracer.fail("a store with a predicate of its own")
    if reducers.updates(tracer, statement):
        reducers.update_by_store(tracer, statement)
        return
    access.store(tracer, statement.buffer, statement.indices, tracer.evaluate(statement.value))


def _bind(tracer: Tracer, statement: Node) -> None:
    """``x = …``: an expression of indices stays one, so that addresses are understood; else a value."""
    from tvm.tirx.stmt_functor import post_order_visit

    if is_call(statement.value, "tl.launch_thread_idx"):
        return  # using it is what fails
    kinds: set[str] = set()
    post_order_visit(statement.value, lambda node: kinds.add(type(node).__name__))
    integers = str(statement.var.dtype).startswith(("int", "uint", "bool"))
    if integers and not kinds & {"BufferLoad", "Call"}:
        tracer.expressions[statement.var] = tracer.simplify(statement.value)
        return
    tracer.expressions.pop(statement.var, None)
    try:
        tracer.scalars[statement.var] = tracer.evaluate(statement.value)
    except UntraceableError:
        # Its uses are no obstacles of their own.
        tracer.scalars[statement.var] = tracer.number(0, tracer.dtype(statement.var.dtype))
        raise


def _evaluate(tracer: Tracer, statement: Node) -> None:
    value = statement.value
    if type(value).__name__ != "Call":
        return
    name = str(getattr(value.op, "name", value.op))
    if name in OPERATIONS:
        OPERATIONS[name](tracer, value)
    elif name in FUNCTIONS:
        tracer.evaluate(value)
    elif name in _BARRIERS:
        if tracer.reads_again:
            tracer.semantic.debug_barrier()
    elif name not in _NOTHING:
        raise tracer.fail(f"the operation {name}", hint=_hint(name))


def _hint(name: str) -> str:
    words = ("mbarrier", "tma", "tcgen05", "wgmma", "ptx", "cluster", "ldmatrix", "call_extern", "warpgroup")
    return "it belongs to one kind of hardware: the linked route takes it" if any(w in name for w in words) else ""


def _attribute(tracer: Tracer, statement: Node) -> None:
    if not str(statement.attr_key).startswith(_ADVICE):
        raise tracer.fail(f"the attribute {statement.attr_key}")
    run_body(tracer, statement.body)


def _block(tracer: Tracer, realize: Any) -> None:
    block = realize.block if type(realize).__name__ == "SBlockRealize" else realize
    for buffer in block.alloc_buffers:
        tracer.homes[buffer.data] = buffer
    run_body(tracer, block.body)


def _allocate(tracer: Tracer, statement: Node) -> None:
    tracer.homes.setdefault(statement.buffer.data, statement.buffer)
    if hasattr(statement, "body"):
        run_body(tracer, statement.body)


_KINDS: dict[str, Callable[[Tracer, Any], None]] = {
    "For": _for,
    "While": lambda tracer, loop: loops.repeat(tracer, loop),
    "IfThenElse": _if,
    "BufferStore": _store,
    "Bind": _bind,
    "Evaluate": _evaluate,
    "AttrStmt": _attribute,
    "SBlock": _block,
    "SBlockRealize": _block,
    "AllocBuffer": _allocate,
    "DeclBuffer": _allocate,
}
