"""Specialised warps in Triton IR: the operation, and its partitions, which functions write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from triton.compiler.code_generator import flatten_values_to_ir, unflatten_ir_values
from triton.language import core
from triton.runtime.jit import JITFunction

from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.gpu.gluon_builder import builder_here, identity
from tle_raw.frontends.gpu.partition_functions import (
    PartitionFunction,
    check_result,
    check_target,
    check_threads,
    is_nothing,
    tell_arguments,
    worker_partition,
)
from tle_raw.frontends.gpu.reused_warps import taken
from tle_raw.regions.partitions import DEFAULT, Partition, inside, started_warps
from tle_raw.regions.stages import compiled_target, is_looked_at

_HOPPER = 90


def write_in_turn(works: Sequence[PartitionFunction], warps: Sequence[int], semantic: Any, generator: Any) -> Any:
    """One function after the other, for IR that shows what the kernel reads and writes, and when is all the same."""
    partitions = [Partition(DEFAULT, semantic.builder.options.num_warps)]
    partitions += [worker_partition(number, count) for number, count in enumerate(warps)]
    results = [
        _called(work, [_value(value) for value in work.arguments], partition, generator)
        for work, partition in zip(works, partitions)
    ]
    return results[0]


def write_partitions(
    works: Sequence[PartitionFunction],
    warps: Sequence[int],
    registers: Sequence[int] | None,
    semantic: Any,
    generator: Any,
) -> Any:
    """The operation; what the default partition returns."""
    result: Any = None

    def main() -> list[Any]:
        nonlocal result
        arguments = [_value(value) for value in works[0].arguments]
        result = _called(works[0], arguments, Partition(DEFAULT, semantic.builder.options.num_warps), generator)
        return [] if is_nothing(result) else flatten_values_to_ir([result])

    handles = _captures([value for work in works[1:] for value in work.arguments])
    workers = [
        partial(_worker, work, worker_partition(number, warps[number]), handles, generator)
        for number, work in enumerate(works[1:])
    ]
    results = _written(main, workers, handles, warps, registers, semantic, generator)
    return None if is_nothing(result) else next(unflatten_ir_values(results, [result.type]))


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
    check_target(generator)
    check_threads([warps], semantic, generator)

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


def _worker(work: PartitionFunction, partition: Partition, captured: Sequence[Any], generator: Any, body: Any) -> None:
    given = _as_captured(work.arguments, captured, body)
    arguments = [taken(value, generator.semantic, generator) for value in given]
    check_result(work, partition, _called(work, arguments, partition, generator))


def _called(work: PartitionFunction, arguments: Sequence[Any], partition: Partition, generator: Any) -> Any:
    tell_arguments(work, partition)
    with inside(partition):
        return generator.call_JitFunction(work.function, list(arguments), kwargs={}, caller_context=partition)


def _value(value: Any) -> Any:
    """As Triton calls a function with it."""
    if value is None or isinstance(value, (bool, int, float, str, core.dtype, JITFunction)):
        return core.constexpr(value)
    return value
