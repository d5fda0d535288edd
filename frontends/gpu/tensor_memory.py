"""Products into tensor memory, as ``tle.gpu.wgmma`` makes them for a buffer there, and the wait for them."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.buffered_tensor import TMEM
from tle_raw.frontends.gpu.checks import is_buffer
from tle_raw.frontends.gpu.operations import perform
from tle_raw.regions.stages import compiled_target

_OPERANDS = ("fp16", "bf16", "fp8e4nv", "fp8e5")


def multiply_into(left: Any, right: Any, accumulator: Any, semantic: Any, generator: Any) -> Any:
    """Begin ``left @ right`` and add it to what the buffer holds; the buffer.

    Raises
    ------
    SharedBufferError : it does not lie in tensor memory.
    ShapeError, ArgumentTypeError : shapes or dtypes do not go together.
    """
    _check(left, right, accumulator)
    if generator is None or compiled_target() != "cuda":
        traced = {"_semantic": semantic, "_generator": generator}
        x, y, held = (content.load(buffer, **traced) for buffer in (left, right, accumulator))
        content.store(accumulator, core.dot(x, y, held, out_dtype=core.float32, _semantic=semantic), **traced)
        return accumulator
    perform(operations.FENCE, semantic, generator)  # what was stored into the operands is seen by the tensor core
    perform(operations.TMEM_MMA, semantic, generator, left.handle, right.handle, accumulator.handle)
    return accumulator


def wait_for_products(accumulator: Any, semantic: Any, generator: Any) -> Any:
    """Wait for all products that were begun; the buffer."""
    if accumulator.type.space != TMEM:
        raise SharedBufferError(
            "tle.gpu.wgmma_wait waits for products in tensor memory, or in registers",
            table=[Row("acc", "a buffer in tensor memory, or a block tensor", str(accumulator))],
        )
    if generator is None or compiled_target() != "cuda":
        return accumulator
    own = accumulator.storage.barrier
    if own is None:
        raise SharedBufferError(
            "tle.gpu.wgmma_wait: the accumulator comes out of a loop or a function, so that its barrier is not known",
            table=[Row("acc", "the buffer that tle.gpu.alloc gave", str(accumulator))],
            hint="wait in the function that allocates it; a loop need not carry it",
        )
    perform(operations.BARRIER_INIT, semantic, generator, own)
    perform(operations.FENCE, semantic, generator)  # the barrier is made before the tensor core arrives at it
    perform(operations.TMEM_COMMIT, semantic, generator, own)
    first = semantic.to_tensor(0)
    perform(operations.BARRIER_WAIT, semantic, generator, own, first.handle)
    perform(operations.BARRIER_INVALIDATE, semantic, generator, own)
    return accumulator


def _check(left: Any, right: Any, accumulator: Any) -> None:
    if accumulator.type.space != TMEM or not is_buffer(left):
        raise SharedBufferError(
            "tle.gpu.wgmma adds a product of two buffers to one in tensor memory",
            table=[
                Row("acc", "a buffer in tensor memory", str(accumulator.type.space)),
                Row("a", "a buffer in shared memory", "a buffer" if is_buffer(left) else "a block tensor"),
            ],
        )
    shape = (left.type.shape[0], right.type.shape[1])
    if tuple(accumulator.type.shape) != shape:
        raise ShapeError(
            "tle.gpu.wgmma: the accumulator has another shape than the product",
            table=[Row("acc", str(list(shape)), str(list(accumulator.type.shape)))],
        )
    if left.dtype.name not in _OPERANDS or accumulator.dtype != core.float32:
        raise ArgumentTypeError(
            "tle.gpu.wgmma adds products of 16-bit and 8-bit floats to f32 in tensor memory",
            table=[
                Row("a, b", " or ".join(_OPERANDS), left.dtype.name),
                Row("acc", "fp32", accumulator.dtype.name),
            ],
        )
