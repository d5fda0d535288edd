"""From a cuTile function and the types of its arguments to typed IR: by cuTile's own front end and passes, with no GPU.

Its parameters are flat: an array is a pointer, then its shape, then its strides. What its passes give is structured:
no early return is left, a ``break`` only in loops without a range, and every memory access has its token.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tle_raw.adapters.cutile.argument_types import ArgumentType, ArrayListType, ArrayType, ConstantType, TupleType
from tle_raw.adapters.cutile.installed import load_cutile
from tle_raw.adapters.cutile.ir_types import Block, Variable
from tle_raw.adapters.cutile.locations import refused
from tle_raw.errors import TLEError

END = "end_of_fragment"


@dataclass(frozen=True)
class TypedFunction:
    """``block`` is cuTile's own, and ends with the operation END, whose ``outputs`` are the flat results.

    ``result`` is cuTile's variable of what the function returns, by which tuples are put together again. ``arrays`` are
    the flat parameters of each array, by its path among the arguments, such as ``pair[0]``.
    """

    block: Block
    parameters: tuple[Any, ...]
    result: Any
    arrays: Mapping[str, tuple[Any, ...]]


def type_function(function: FunctionType, arguments: Mapping[str, ArgumentType]) -> TypedFunction:
    """Run the front end and the passes.

    Raises
    ------
    CompilationFailed : cuTile refuses the function for these arguments; at its own line.
    """
    load_cutile()
    try:
        return _type_function(function, arguments)
    except TLEError:
        raise
    except Exception as e:  # TileError and its kin, and what static_eval's expressions raise
        raise refused(e) from e


def _type_function(function: FunctionType, arguments: Mapping[str, ArgumentType]) -> TypedFunction:
    from cuda.tile._bytecode.version import BytecodeVersion
    from cuda.tile._compile import _TileTypingHooks
    from cuda.tile._coroutine_util import run_coroutine
    from cuda.tile._exception import Loc
    from cuda.tile._ir import ir
    from cuda.tile._ir.ops import tile_impl_registry
    from cuda.tile._ir.type import NONE
    from cuda.tile._passes.hir2ir import call_function

    location = Loc.unknown()
    context = ir.IRContext(
        log_ir_on_error=False, tileiras_version=BytecodeVersion.V_13_4, typing_hooks=_TileTypingHooks()
    )
    flat: list[tuple[tuple[Any, ...], Any]] = []
    arrays: dict[str, tuple[Any, ...]] = {}
    with ir.Builder(context, location) as builder, tile_impl_registry.as_current():
        variables = [context.make_var(name, location) for name in arguments]
        for (path, argument), variable in zip(arguments.items(), variables):
            flat += _define(variable, argument, path, arrays)
        result = run_coroutine(call_function(function, *variables))
        outputs = () if result.get_type() is NONE else tuple(result.flatten_aggregate())
        builder.add_operation_variadic(_end_operation(), (), {"outputs": outputs})
    block = ir.Block(context, location)
    block.params = tuple(v for group, _ in flat for v in group)
    block.extend(builder.ops)
    _run_passes(block, [(group, constraint) for group, constraint in flat if constraint is not None])
    return TypedFunction(block, block.params, result, arrays)


def _define(
    variable: Variable, argument: ArgumentType, path: str, arrays: dict[str, tuple[Any, ...]]
) -> list[tuple[tuple[Any, ...], Any]]:
    """Give a parameter its type; the flat variables that it consists of, and what cuTile's analysis knows of them.

    Those of ``arrays`` are entered there by their path.
    """
    import cuda.tile as ct
    from cuda.tile._ir.aggregate_support import flatten_block_parameters
    from cuda.tile._ir.core_ops import build_tuple, loosely_typed_const
    from cuda.tile._ir.type import ListTy, TileTy
    from cuda.tile.compilation import ListConstraint, ScalarConstraint

    context = variable.ctx
    if isinstance(argument, ConstantType):
        loosely_typed_const(argument.value, result_var=variable)
        return []
    if isinstance(argument, TupleType):
        items = [context.make_var(f"{variable.name}_{i}", variable.loc) for i in range(len(argument.items))]
        flat = [
            group
            for i, (item, type_) in enumerate(zip(items, argument.items))
            for group in _define(item, type_, f"{path}[{i}]", arrays)
        ]
        build_tuple(items, result_var=variable)
        return flat
    if isinstance(argument, ArrayType):
        variable.set_type(_array_type(argument, context))
        constraint = _array_constraint(argument)
    elif isinstance(argument, ArrayListType):
        variable.set_type(ListTy(_array_type(argument.item, context)))
        constraint = ListConstraint(_array_constraint(argument.item), alias_groups=(), elements_may_alias=True)
    else:
        dtype = getattr(ct, argument.dtype)
        variable.set_type(TileTy(dtype, argument.shape))
        constraint = ScalarConstraint(dtype)
    [group] = flatten_block_parameters([variable])
    if isinstance(argument, ArrayType):
        arrays[path] = tuple(group)
    return [(group, constraint)]


def _array_type(argument: ArrayType, context: Any) -> Any:
    import cuda.tile as ct
    from cuda.tile._ir.type import ArrayTy

    return ArrayTy(
        getattr(ct, argument.dtype),
        shape=argument.known_shape,
        strides=argument.known_strides,
        typing_hooks=context.typing_hooks,
        index_dtype=ct.int64 if argument.index_bits == 64 else ct.int32,
    )


def _array_constraint(argument: ArrayType) -> Any:
    """Arrays do not overlap unless they are known to be of one memory; the caller sees to it, as in cuTile."""
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint

    return ArrayConstraint(
        getattr(ct, argument.dtype),
        argument.rank,
        index_dtype=ct.int64 if argument.index_bits == 64 else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=argument.memories,
        may_alias_internally=False,
    )


@functools.cache
def _end_operation() -> Any:
    """The terminator of a function. cuTile's own end of a branch is taken for dead code at the top."""
    from cuda.tile._ir import ir

    @dataclass(eq=False)
    class EndOfFragment(ir.Operation, opcode=END, terminator=True):  # type: ignore[call-arg, misc]
        outputs: tuple[Any, ...] = ir.operand()

        @property
        def has_observable_effect(self) -> bool:
            return True

    return EndOfFragment


def _run_passes(block: Block, constraints: Sequence[Any]) -> None:
    """cuTile's own pipeline, but for what only its bytecode needs, and for its motion of loop invariants: Triton has
    one, and cuTile's (1.7.0) moves a loop out of the loop whose index is in its bounds.
    """
    from cuda.tile._passes.dataflow_analysis import dataflow_analysis
    from cuda.tile._passes.dce import dead_code_elimination_pass
    from cuda.tile._passes.eliminate_assign_ops import eliminate_assign_ops
    from cuda.tile._passes.for_loop_break import lower_for_with_break
    from cuda.tile._passes.loop_split import split_loops
    from cuda.tile._passes.rewrite_patterns import rewrite_patterns
    from cuda.tile._passes.token_order import token_order_pass

    eliminate_assign_ops(block)
    _lower_returns(block)
    lower_for_with_break(block)
    dead_code_elimination_pass(block)
    token_order_pass(block, dataflow_analysis(block, constraints))
    rewrite_patterns(block)  # contracts a * b + c
    split_loops(block)
    dead_code_elimination_pass(block)


def _lower_returns(block: Block) -> None:
    """From 1.7 on a ``return`` may stand in a loop over a range; 1.6 refuses one there by itself."""
    try:
        from cuda.tile._passes.for_loop_return import lower_for_with_return
    except ImportError:
        return
    lower_for_with_return(block)
