"""``tle.gpu.warp_specialize``: groups of a block's warps that run functions of their own at the same time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from triton.compiler.code_generator import flatten_values_to_ir, unflatten_ir_values
from triton.language import core
from triton.runtime.jit import JITFunction

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, RegionError, Row
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.gpu.gluon_builder import builder_here, identity
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.interpreted_partitions import Turns
from tle_raw.frontends.gpu.reused_warps import check_reused, handed, rest, taken
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain
from tle_raw.regions.interpret import interpreted_warps
from tle_raw.regions.partitions import DEFAULT, Partition, current_partition, inside, started_warps
from tle_raw.regions.stages import compiled_target, is_looked_at

_FEWEST = 2  # partitions
_WARPS = (1, 2, 3, 4, 8, 16)
_MOST_WARPS = 32  # of a block
_GROUP = 4  # Triton starts warps by groups of four
_REGISTERS = range(24, 257, 8)
_HOPPER = 90


@dataclass(frozen=True)
class _Work:
    """A function and what it is called with."""

    function: Any
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", str(self.function))


@gpu_function
def warp_specialize(
    functions_and_args: Any,
    worker_num_warps: Any,
    worker_num_regs: Any = None,
    reuse_default_warps: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """Run several functions at the same time, each on warps of its own.

    The first function is the default partition: the kernel's own ``num_warps`` run it, and what it returns is returned.
    Each other one is a worker, for which the block gets more warps. All begin when the block comes here, and the
    kernel goes on when all are done. Nothing else orders them: they hand buffers over by barriers with phases. On CPUs
    and in Triton's interpreter they take turns on one thread, at waits.
    A fragment that a partition calls has the partition's threads, barriers and shared memory for its block's.

    Parameters
    ----------
    functions_and_args : ``(function, arguments)`` for each partition; ``@triton.jit`` functions and tuples. Buffers,
        barriers, tensor descriptors, pointers, scalars and constants can be arguments; a block tensor only of the
        default partition. The launch's ``num_warps``, those of the default partition, is a multiple of 4.
    worker_num_warps : the warps of each worker: 1, 2, 3, 4, 8 or 16; constants. A worker of three is one of four of
        which the last warp takes no part in fragments.
    worker_num_regs : the registers of each worker's threads: multiples of 8 from 24 to 256; constants. The default
        partition gets what is left (``setmaxnreg``). GPUs before sm_90 and CPUs have no such budgets, and do without.
        None leaves the registers alike.
    reuse_default_warps : all functions are workers that share the launch's warps: as many numbers as functions, and
        together ``num_warps``. None returns a value, and each takes block tensors. On NVIDIA GPUs they run beside the
        launch's warps, which wait. A constant.

    Raises
    ------
    ArgumentCountError : not one number for each worker, or not the arguments of a function.
    ArgumentTypeError : a number that cannot be, a block tensor for a worker, or a worker that returns a value.
    RegionError : it stands in a partition.
    """
    works, reuses = _works(functions_and_args), _is_true("reuse_default_warps", reuse_default_warps)
    if reuses:
        works = [_Work(rest, ()), *works]
    warps = _numbers("worker_num_warps", worker_num_warps, len(works) - 1)
    registers = None if plain(worker_num_regs) is None else _numbers("worker_num_regs", worker_num_regs, len(works) - 1)
    _check_numbers(warps, registers)
    around = current_partition()
    if around is not None:
        raise RegionError(
            f"tle.gpu.warp_specialize is called in a partition, {around.name}: partitions are not divided again",
            hint="give all partitions to one warp_specialize",
        )
    looked_at = _generator is not None and is_looked_at()  # and the launch's warps are not known
    if not looked_at:
        _check_target(_generator)
        _check_threads(warps, _semantic, _generator)
    if reuses and not looked_at:
        check_reused(warps, interpreted_warps() if _generator is None else _semantic.builder.options.num_warps)
    elif not reuses:
        for number, work in enumerate(works[1:]):
            _check_arguments(number, work)
    if _generator is None:
        return _interpret(works, warps)
    if looked_at:
        return _in_turn(works, warps, _semantic, _generator)
    if reuses:
        works = [_Work(each.function, tuple(handed(each.arguments, _semantic, _generator).values)) for each in works]
    return _trace(works, warps, registers, _semantic, _generator)


# --- what is checked -----------------------------------------------------------------------------------------------


def _works(value: Any) -> list[_Work]:
    pairs = items(value)
    if pairs is None or len(pairs) < _FEWEST:
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: functions with their arguments, the default partition's and a worker's at least",
            table=[Row("functions_and_args", "[(function, (arguments)), ...]", describe_value(value))],
        )
    return [_work(number, pair) for number, pair in enumerate(pairs)]


def _work(number: int, pair: Any) -> _Work:
    found = items(pair)
    arguments = _tuple(found[1]) if found is not None and len(found) == 2 else None
    if found is None or arguments is None or not _is_function(found[0]):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a partition is a function and a tuple of its arguments",
            table=[Row(f"functions_and_args[{number}]", "(a @triton.jit function, a tuple)", describe_value(pair))],
        )
    work = _Work(found[0], arguments)
    try:
        inspect.signature(getattr(work.function, "fn", work.function)).bind(*arguments)
    except TypeError as error:
        raise ArgumentCountError(
            f"tle.gpu.warp_specialize: `{work.name}` is not called with its arguments: {error}",
            table=[Row("arguments", str(len(work.function.arg_names)), str(len(arguments)))],
        ) from None
    return work


def _tuple(value: Any) -> tuple[Any, ...] | None:
    """The values of a tuple as they are: constants stay marked as such."""
    if isinstance(value, core.tuple):
        return tuple(value.values)
    value = plain(value)
    return tuple(value) if isinstance(value, (tuple, list)) else None


def _is_function(value: Any) -> bool:
    return isinstance(value, JITFunction) or type(value).__name__ == "InterpretedFunction"


def _numbers(name: str, value: Any, count: int) -> list[int]:
    found = items(value)
    found = [plain(value)] if found is None and is_integer(plain(value)) else found
    if found is None or not all(map(is_integer, found)):
        raise ArgumentTypeError(
            f"tle.gpu.warp_specialize: {name} is known at compile time",
            table=[Row(name, "an integer for each worker", describe_value(value))],
        )
    if len(found) != count:
        raise ArgumentCountError(
            f"tle.gpu.warp_specialize: {name} has a number for each worker: each function but the first",
            table=[Row(name, f"{count} numbers", f"{len(found)}: {found}")],
        )
    return [int(number) for number in found]


def _is_true(name: str, value: Any) -> bool:
    given = plain(value)
    if not isinstance(given, (bool, int)):
        raise ArgumentTypeError(
            f"tle.gpu.warp_specialize: {name} is known at compile time",
            table=[Row(name, "True or False", describe_value(value))],
        )
    return bool(given)


def _check_numbers(warps: Sequence[int], registers: Sequence[int] | None) -> None:
    if not set(warps) <= set(_WARPS):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: Triton's partitions have a power of two of warps",
            table=[Row("worker_num_warps", "1, 2, 3, 4, 8 or 16 each", str(list(warps)))],
            hint="a worker of three is one of four for all but fragments; of others take several",
        )
    if registers is not None and not all(number in _REGISTERS for number in registers):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a budget of registers that setmaxnreg does not have",
            table=[Row("worker_num_regs", "multiples of 8 from 24 to 256", str(list(registers)))],
        )


def _check_target(generator: Any) -> None:
    if generator is not None and compiled_target() not in ("cuda", "cpu"):
        raise RegionError(
            f"tle.gpu.warp_specialize: programs of the target `{compiled_target()}` have no warps to divide",
            hint="compile the kernel for an NVIDIA GPU or for the CPU, or let Triton's interpreter run it",
        )


def _check_threads(warps: Sequence[int], semantic: Any, generator: Any) -> None:
    own = interpreted_warps() if generator is None else semantic.builder.options.num_warps
    if own % _GROUP:
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: Triton divides the warps of kernels with four of them or a multiple",
            table=[Row("num_warps", "4, 8, 16", str(own))],
            hint="of the launch: it counts the default partition's warps",
        )
    total = own + -(-sum(map(started_warps, warps)) // _GROUP) * _GROUP
    if total > _MOST_WARPS:
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a block has too few warps; those of workers are started by fours",
            table=[
                Row("num_warps and worker_num_warps", f"at most {_MOST_WARPS} together", f"{own} and {list(warps)}")
            ],
        )


def _check_arguments(number: int, work: _Work) -> None:
    for name, value in zip(work.function.arg_names, work.arguments):
        if _holds_block(value):
            raise ArgumentTypeError(
                f"tle.gpu.warp_specialize: a block tensor is spread over the kernel's own warps, and worker {number}, "
                f"`{work.name}`, has others",
                table=[Row(name, "a buffer, barrier, descriptor, pointer, scalar or constant", describe_value(value))],
                hint="store it into a buffer of tle.gpu.alloc and hand that over",
            )


def _holds_block(value: Any) -> bool:
    if isinstance(value, core.tensor):
        return bool(value.type.is_block())
    if isinstance(value, (core.tuple, tuple, list)):
        return any(map(_holds_block, value))
    if not hasattr(value, "_flatten_ir") or isinstance(value, core.constexpr):
        return False
    handles: list[Any] = []
    value._flatten_ir(handles)
    return any(str(handle.get_type()).startswith("tensor<") for handle in handles if hasattr(handle, "get_type"))


def _partition(number: int, asked: int) -> Partition:
    """A worker's partition, of which Triton may start more warps than are asked for."""
    started = started_warps(asked)
    return Partition(number, started, asked if asked != started else 0)


def _give(work: _Work, partition: Partition) -> None:
    """What belongs to one partition alone is told of it, even where the function was traced before."""
    stack = list(work.arguments)
    while stack:
        value = stack.pop()
        if isinstance(value, (core.tuple, tuple, list)):
            stack += value.values if isinstance(value, core.tuple) else value
        elif hasattr(value, "given_to"):
            value.given_to(partition)


def _value(value: Any) -> Any:
    """As Triton calls a function with it."""
    if value is None or isinstance(value, (bool, int, float, str, core.dtype, JITFunction)):
        return core.constexpr(value)
    return value


# --- what is run at once -------------------------------------------------------------------------------------------


def _interpret(works: Sequence[_Work], warps: Sequence[int]) -> Any:
    partitions = [Partition(DEFAULT, interpreted_warps())]
    partitions += [_partition(number, count) for number, count in enumerate(warps)]
    bodies = [partial(work.function, *work.arguments) for work in works]
    for work, partition in zip(works, partitions):
        _give(work, partition)
    results = Turns(partitions).run(bodies)
    for work, partition, result in zip(works[1:], partitions[1:], results[1:]):
        _check_result(work, partition, result)
    return results[0]


# --- what is written -----------------------------------------------------------------------------------------------


def _in_turn(works: Sequence[_Work], warps: Sequence[int], semantic: Any, generator: Any) -> Any:
    """One function after the other, for IR that shows what the kernel reads and writes, and when is all the same."""
    partitions = [Partition(DEFAULT, semantic.builder.options.num_warps)]
    partitions += [_partition(number, count) for number, count in enumerate(warps)]
    results = [
        _called(work, [_value(value) for value in work.arguments], partition, generator)
        for work, partition in zip(works, partitions)
    ]
    return results[0]


def _trace(
    works: Sequence[_Work], warps: Sequence[int], registers: Sequence[int] | None, semantic: Any, generator: Any
) -> Any:
    result: Any = None

    def main() -> list[Any]:
        nonlocal result
        arguments = [_value(value) for value in works[0].arguments]
        result = _called(works[0], arguments, Partition(DEFAULT, semantic.builder.options.num_warps), generator)
        return [] if _is_nothing(result) else flatten_values_to_ir([result])

    handles = _captures([value for work in works[1:] for value in work.arguments])
    workers = [
        partial(_worker, work, _partition(number, warps[number]), handles, generator)
        for number, work in enumerate(works[1:])
    ]
    results = _written(main, workers, handles, warps, registers, semantic, generator)
    return None if _is_nothing(result) else next(unflatten_ir_values(results, [result.type]))


def specialise(
    main: Callable[[], list[Any]],
    worker: Callable[[list[Any]], None],
    captured: Sequence[Any],
    warps: int,
    registers: int,
    semantic: Any,
    generator: Any,
) -> list[Any]:
    """``main`` beside one worker, both written by functions: what ``main`` gives, block tensors or scalars.

    Parameters
    ----------
    worker : is called with the ``captured`` values as the worker has them.
    warps, registers : the worker's; see ``warp_specialize``.
    """
    given: list[Any] = []
    if is_looked_at():
        with inside(Partition(DEFAULT, semantic.builder.options.num_warps)):
            given.extend(main())
        with inside(Partition(0, warps)):
            worker([_value(value) for value in captured])
        return given
    _check_target(generator)
    _check_threads([warps], semantic, generator)

    def write_main() -> list[Any]:
        with inside(Partition(DEFAULT, semantic.builder.options.num_warps)):
            given.extend(main())
        return list(flatten_values_to_ir(given))

    def write_worker(body: Any) -> None:
        with inside(Partition(0, warps)):
            worker(_as_captured(captured, handles, body))

    handles = _captures(captured)
    results = _written(write_main, [write_worker], handles, [warps], [registers], semantic, generator)
    return list(unflatten_ir_values(results, [value.type for value in given]))


def _written(
    main: Callable[[], list[Any]],
    workers: Sequence[Callable[[Any], None]],
    handles: Sequence[Any],
    warps: Sequence[int],
    registers: Sequence[int] | None,
    semantic: Any,
    generator: Any,
) -> list[Any]:
    """The operation with its partitions, which these functions write; the handles of its results."""
    with builder_here(semantic, generator.context) as g:
        block, given = _default(main, g, semantic.builder)
        made = operations.specialize(
            g, [handle.get_type() for handle in given], list(handles), [*map(started_warps, warps)]
        )
        made.get_default_region().push_back(block)
        if registers is not None and compiled_target() == "cuda" and capability_of(semantic) >= _HOPPER:
            made.set_requested_registers(list(registers))
        g.create_block_with_parent(made.get_partition_op_holder(), [])
        regions = operations.partitions(g, list(handles), len(workers))
        for number, write in enumerate(workers):
            body = g.create_block_with_parent(regions.get_region(number), [handle.get_type() for handle in handles])
            semantic.builder.restore_insertion_point(g.get_insertion_point())
            write(body)
            g.restore_insertion_point(semantic.builder.get_insertion_point())
            g.create_warp_return()
        g.set_insertion_point_after(made.get_operation())
        return [made.get_result(number) for number in range(len(given))]


def _default(main: Callable[[], list[Any]], g: Any, builder: Any) -> tuple[Any, list[Any]]:
    """The block of the default partition, and what it yields; ``g`` writes where it did before."""
    start, block = builder.get_insertion_point(), builder.new_block()
    builder.set_insertion_point_to_start(block)
    given = main()
    g.restore_insertion_point(builder.get_insertion_point())
    g.create_warp_yield(given)
    g.restore_insertion_point(start)
    return block, given


def _captures(values: Sequence[Any]) -> list[Any]:
    """What lies outside of the operation and workers use: the values' handles, each once."""
    found: dict[int, Any] = {}
    for handle in flatten_values_to_ir([_value(value) for value in values]):
        found.setdefault(identity(handle), handle)
    return list(found.values())


def _as_captured(values: Sequence[Any], captured: Sequence[Any], body: Any) -> list[Any]:
    """The values as a worker has them: by the arguments of its block, which stand for the captured handles."""
    given = [_value(value) for value in values]
    places = {identity(handle): place for place, handle in enumerate(captured)}
    handles = [body.get_argument(places[identity(handle)]) for handle in flatten_values_to_ir(given)]
    return list(unflatten_ir_values(handles, [value.type for value in given]))


def _worker(work: _Work, partition: Partition, captured: Sequence[Any], generator: Any, body: Any) -> None:
    given = _as_captured(work.arguments, captured, body)
    arguments = [taken(value, generator.semantic, generator) for value in given]
    _check_result(work, partition, _called(work, arguments, partition, generator))


def _check_result(work: _Work, partition: Partition, result: Any) -> None:
    if not _is_nothing(result):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a worker returns a value, which nobody gets",
            table=[Row(f"`{work.name}`, {partition.name}", "returns nothing", describe_value(result))],
            hint="the default partition's results are returned; a worker stores its own into a buffer",
        )


def _called(work: _Work, arguments: Sequence[Any], partition: Partition, generator: Any) -> Any:
    _give(work, partition)
    with inside(partition):
        return generator.call_JitFunction(work.function, list(arguments), kwargs={}, caller_context=partition)


def _is_nothing(result: Any) -> bool:
    return result is None or (isinstance(result, core.constexpr) and result.value is None)
