"""Barriers of the kernel in eDSL code: what ``tle_raw/barrier.h`` gives to C++, as functions of ``tle_raw.mlir``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.text_builder import quoted
from tle_raw.adapters.mlir.edsl.types import I32, I64, BarrierType, PointerType, TileType
from tle_raw.adapters.mlir.edsl.values import EdslValue
from tle_raw.errors import Row

_HOPPER = 90


@Intrinsic
def barrier_wait(emit: Emitter, bar: Any, use: Any) -> None:
    """Wait for the phase of this use of a barrier of the kernel: use 0 is the first, as in ``tle.gpu.barrier_wait``."""
    given = barrier_of(emit, "barrier_wait", bar)
    parity = _parity(emit, given, use)
    test = "try_wait.parity.shared::cta" if is_hopper(emit) else "test_wait.parity.shared"
    lines = (
        ".reg .pred complete;",
        "again:",
        f"mbarrier.{test}.b64 complete, [$0], $1;",
        "@complete bra done;",
        "bra again;",
        "done:",
    )
    write_asm(emit, "{ " + " ".join(lines) + " }", "r,r", (shared_address(emit, given), parity))


@Intrinsic
def barrier_arrive(emit: Emitter, bar: Any, count: int = 1) -> None:
    """Arrive at a barrier of the kernel, as so many arrivals: each thread that comes here does."""
    given = barrier_of(emit, "barrier_arrive", bar)
    check_arrives(emit, given)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        emit.mismatch("the number of arrivals is a positive constant", "1 or more", count, "count")
    address = shared_address(emit, given)
    if is_hopper(emit):
        write_asm(emit, f"mbarrier.arrive.shared::cta.b64 _, [$0], {count};", "r", (address,))
        return
    for _ in range(count):  # more than one at a time need sm_90
        write_asm(emit, "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }", "r", (address,))


@Intrinsic
def barrier_expect(emit: Emitter, bar: Any, size: Any) -> None:
    """One arrival at a barrier of the kernel, and the announcement of so many bytes, which copies bring."""
    given = barrier_of(emit, "barrier_expect", bar)
    check_arrives(emit, given)
    check_counts_bytes(emit, "barrier_expect")
    bytes_ = emit.convert(emit.integer(size, "the number of bytes"), I32)
    write_asm(
        emit, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", (shared_address(emit, given), bytes_)
    )


@Intrinsic
def barrier_copy(emit: Emitter, bar: Any, target: Any, source: Any, size: Any) -> None:
    """Copy so many bytes from global into shared memory, in the background, counted by a barrier of the kernel.

    ``barrier_expect`` announces them. Bytes and both addresses are multiples of 16.
    """
    given = barrier_of(emit, "barrier_copy", bar)
    check_arrives(emit, given)
    check_counts_bytes(emit, "barrier_copy")
    if not isinstance(target, EdslValue) or not isinstance(target.type, TileType):
        emit.mismatch("a copy in the background goes into shared memory", "a tile", target, "target")
    memory.check_writable(emit, target)
    if not isinstance(source, EdslValue) or not isinstance(source.type, PointerType) or source.type.space != 1:
        emit.mismatch("a copy in the background comes from global memory", "a pointer", source, "source")
    bytes_ = emit.convert(emit.integer(size, "the number of bytes"), I32)
    place = emit.op("llvm.ptrtoint", (source,), I64)
    text = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"
    write_asm(emit, text, "r,l,r,r", (shared_address(emit, target), place, bytes_, shared_address(emit, given)))


@Intrinsic
def barrier_arrive_after_copies(emit: Emitter, bar: Any) -> None:
    """One arrival that comes when all ``cp.async`` which the calling thread has issued are done."""
    given = barrier_of(emit, "barrier_arrive_after_copies", bar)
    check_arrives(emit, given)
    write_asm(emit, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r", (shared_address(emit, given),))


@Intrinsic
def fence_async(emit: Emitter) -> None:
    """What the calling thread wrote into shared memory is seen by copies in the background that follow."""
    if is_hopper(emit):
        write_asm(emit, "fence.proxy.async.shared::cta;", "", ())


def barrier_of(emit: Emitter, function: str, value: Any) -> EdslValue:
    """A parameter that is a barrier."""
    if not isinstance(value, EdslValue) or not isinstance(value.type, BarrierType):
        emit.mismatch(f"{function} takes a barrier of the kernel", "a parameter that is a Barrier", value, "bar")
    return value


def check_arrives(emit: Emitter, given: EdslValue) -> None:
    """The function may do more than wait."""
    assert isinstance(given.type, BarrierType)
    if not given.type.writable:
        emit.fail("this barrier is In: it may be waited for only", [Row("effect", "InOut", "In")], "declare it Barrier")


def check_counts_bytes(emit: Emitter, function: str) -> None:
    """The target's barriers count the bytes of copies."""
    if emit.target.backend == "cuda" and emit.target.capability < _HOPPER:
        emit.fail(
            f"{function}: a barrier counts the bytes of copies from sm_90 on",
            [Row("target", "sm_90 or later", emit.target.arch)],
            "copy by cp.async, and arrive by barrier_arrive_after_copies",
        )


def is_hopper(emit: Emitter) -> bool:
    """Whether it is a GPU of sm_90 or later."""
    return emit.target.backend == "cuda" and emit.target.capability >= _HOPPER


def _parity(emit: Emitter, given: EdslValue, use: Any) -> EdslValue:
    """Of the phase that a use waits for; the use before the first one passes where the barrier is ready at first."""
    assert isinstance(given.type, BarrierType)
    number = emit.convert(emit.integer(use, "the use of a barrier"), I32)
    counted = emit.op("arith.addi", (number, emit.constant(given.type.first, I32)), I32)
    return emit.op("arith.andi", (counted, emit.constant(1, I32)), I32)


def shared_address(emit: Emitter, shared: EdslValue) -> EdslValue:
    """In shared memory, as PTX takes it."""
    return emit.op("llvm.ptrtoint", (shared,), I32)


def write_asm(emit: Emitter, text: str, constraints: str, operands: Sequence[EdslValue]) -> None:
    attributes = {
        "asm_string": quoted(text),
        "constraints": quoted(",".join(filter(None, (constraints, "~{memory}")))),
        "has_side_effects": "unit",
    }
    emit.do("llvm.inline_asm", operands, attributes)
