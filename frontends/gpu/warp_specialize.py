"""``tle.gpu.warp_specialize``: groups of a block's warps that run functions of their own at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tle_raw.errors import RegionError
from tle_raw.frontends.gpu.checks import check_flag
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.interpreted_partitions import Turns
from tle_raw.frontends.gpu.partition_functions import (
    PartitionFunction,
    check_arguments,
    check_numbers,
    check_result,
    check_target,
    check_threads,
    read_functions,
    read_numbers,
    tell_arguments,
    worker_partition,
)
from tle_raw.frontends.gpu.reused_warps import check_reused, handed, rest
from tle_raw.frontends.gpu.write_partitions import write_in_turn, write_partitions
from tle_raw.frontends.lite.arguments import plain
from tle_raw.regions.interpret import interpreted_warps
from tle_raw.regions.partitions import DEFAULT, Partition, current_partition
from tle_raw.regions.stages import is_looked_at


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
    works = read_functions(functions_and_args)
    reuses = check_flag("warp_specialize", "reuse_default_warps", reuse_default_warps)
    if reuses:
        works = [PartitionFunction(rest, ()), *works]
    warps = read_numbers("worker_num_warps", worker_num_warps, len(works) - 1)
    registers = (
        None if plain(worker_num_regs) is None else read_numbers("worker_num_regs", worker_num_regs, len(works) - 1)
    )
    check_numbers(warps, registers)
    around = current_partition()
    if around is not None:
        raise RegionError(
            f"tle.gpu.warp_specialize is called in a partition, {around.name}: partitions are not divided again",
            hint="give all partitions to one warp_specialize",
        )
    looked_at = _generator is not None and is_looked_at()  # and the launch's warps are not known
    if not looked_at:
        check_target(_generator)
        check_threads(warps, _semantic, _generator)
    if reuses and not looked_at:
        check_reused(warps, interpreted_warps() if _generator is None else _semantic.builder.options.num_warps)
    elif not reuses:
        for number, work in enumerate(works[1:]):
            check_arguments(number, work)
    if _generator is None:
        return _interpret(works, warps)
    if looked_at:
        return write_in_turn(works, warps, _semantic, _generator)
    if reuses:
        works = [
            PartitionFunction(each.function, tuple(handed(each.arguments, _semantic, _generator).values))
            for each in works
        ]
    return write_partitions(works, warps, registers, _semantic, _generator)


def _interpret(works: Sequence[PartitionFunction], warps: Sequence[int]) -> Any:
    partitions = [Partition(DEFAULT, interpreted_warps())]
    partitions += [worker_partition(number, count) for number, count in enumerate(warps)]
    bodies = [partial(work.function, *work.arguments) for work in works]
    for work, partition in zip(works, partitions):
        tell_arguments(work, partition)
    results = Turns(partitions).run(bodies)
    for work, partition, result in zip(works[1:], partitions[1:], results[1:]):
        check_result(work, partition, result)
    return results[0]
