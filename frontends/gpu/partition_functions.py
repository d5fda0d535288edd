"""The functions of ``tle.gpu.warp_specialize``, their arguments, warps and registers: read, and checked."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core
from triton.runtime.jit import JITFunction

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, RegionError, Row
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain
from tle_raw.regions.interpret import interpreted_warps
from tle_raw.regions.partitions import Partition, started_warps
from tle_raw.regions.stages import compiled_target

_FEWEST = 2  # partitions
_WARPS = (1, 2, 3, 4, 8, 16)
_MOST_WARPS = 32  # of a block
_GROUP = 4  # Triton starts warps by groups of four
_REGISTERS = range(24, 257, 8)


@dataclass(frozen=True)
class PartitionFunction:
    """A function and what it is called with."""

    function: Any
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", str(self.function))


def read_functions(value: Any) -> list[PartitionFunction]:
    """``functions_and_args``: the default partition's, and the workers'."""
    pairs = items(value)
    if pairs is None or len(pairs) < _FEWEST:
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: functions with their arguments, the default partition's and a worker's at least",
            table=[Row("functions_and_args", "[(function, (arguments)), ...]", describe_value(value))],
        )
    return [_read_function(number, pair) for number, pair in enumerate(pairs)]


def _read_function(number: int, pair: Any) -> PartitionFunction:
    found = items(pair)
    arguments = _tuple(found[1]) if found is not None and len(found) == 2 else None
    if found is None or arguments is None or not _is_function(found[0]):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a partition is a function and a tuple of its arguments",
            table=[Row(f"functions_and_args[{number}]", "(a @triton.jit function, a tuple)", describe_value(pair))],
        )
    work = PartitionFunction(found[0], arguments)
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


def read_numbers(name: str, value: Any, count: int) -> list[int]:
    """So many constants; one may stand alone for a list of one."""
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


def check_numbers(warps: Sequence[int], registers: Sequence[int] | None) -> None:
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


def check_target(generator: Any) -> None:
    if generator is not None and compiled_target() not in ("cuda", "cpu"):
        raise RegionError(
            f"tle.gpu.warp_specialize: programs of the target `{compiled_target()}` have no warps to divide",
            hint="compile the kernel for an NVIDIA GPU or for the CPU, or let Triton's interpreter run it",
        )


def check_threads(warps: Sequence[int], semantic: Any, generator: Any) -> None:
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


def check_arguments(number: int, work: PartitionFunction) -> None:
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


def worker_partition(number: int, asked: int) -> Partition:
    """A worker's partition, of which Triton may start more warps than are asked for."""
    started = started_warps(asked)
    return Partition(number, started, asked if asked != started else 0)


def tell_arguments(work: PartitionFunction, partition: Partition) -> None:
    """What belongs to one partition alone is told of it, even where the function was traced before."""
    stack = list(work.arguments)
    while stack:
        value = stack.pop()
        if isinstance(value, (core.tuple, tuple, list)):
            stack += value.values if isinstance(value, core.tuple) else value
        elif hasattr(value, "given_to"):
            value.given_to(partition)


def check_result(work: PartitionFunction, partition: Partition, result: Any) -> None:
    if not is_nothing(result):
        raise ArgumentTypeError(
            "tle.gpu.warp_specialize: a worker returns a value, which nobody gets",
            table=[Row(f"`{work.name}`, {partition.name}", "returns nothing", describe_value(result))],
            hint="the default partition's results are returned; a worker stores its own into a buffer",
        )


def is_nothing(result: Any) -> bool:
    return result is None or (isinstance(result, core.constexpr) and result.value is None)
