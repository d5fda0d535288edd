"""Pipes for TRITON_INTERPRET=1, run by test_interpreter in a process of their own."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.frontends.gpu import pipe_numbers as numbers
from tests.interpreting import run_chosen
from tests.support import cause_of
from tle_raw.errors import PipeError, SharedBufferError

# Triton 3.6's interpreter cannot count to a run-time number with NumPy 2.4.
COUNTS = not triton.__version__.startswith("3.6")
ROWS = (0, 1, 2, 3, 7) if COUNTS else ()


def test_rows_in_one_loop():
    for n in ROWS:
        for how in ("copy", "store", "point"):
            numbers.check(numbers.one_loop("cpu", how, 3, n, 16, cut=5))


def test_cursors_and_readers_in_turn():
    for n in ROWS:
        numbers.check(numbers.by_cursor("cpu", 3, n, 16))
        numbers.check(numbers.two_readers_in_turn("cpu", 2, n, 16))
        numbers.check(numbers.two_readers_in_turn("cpu", 8, n, 16))
        numbers.check(numbers.by_pointers("cpu", 2, n + 1, 16))
        numbers.check(numbers.one_behind("cpu", 2, n, 16))


def test_slots_that_are_filled_once():
    numbers.check(numbers.once("cpu", 3, 16))
    numbers.check(numbers.once_across("cpu", 3, 1, 16))


def test_copies_by_descriptors():
    for n in ROWS:
        numbers.check(numbers.tiles_by_descriptor("cpu", 2, n, 8, 16))
        numbers.check(numbers.mixed("cpu", 3, n, 2, 8, 16))


def test_products_across_partitions():
    for k in ROWS:
        for ahead in (0, 1):
            numbers.check(numbers.gemm("cpu", k, 2, ahead, 1, (64, 32, 32)))
        for how in ("copy", "store", "both"):
            numbers.check(numbers.gemm_by_pointers("cpu", k, 2, 1, how, 32))


def test_two_readers_and_a_closed_end():
    for n in ROWS:
        for how in ("copy", "store", "point"):
            numbers.check(numbers.rows_to_two("cpu", how, 2, n, (1, 2), 16))


@triton.jit
def _one_behind_the_other(x, o, N: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, 16)
    p = tle.pipe(capacity=S, name="rows", x=tle.gpu.alloc([S, 16], tl.float32))
    writer, reader = p.writer(), p.reader()
    for k in range(N):
        slot = writer.acquire(k)
        slot.x.store(tl.load(x + k * 16 + i))
        writer.commit(k)
    for k in range(N):
        tl.store(o + k * 16 + i, reader.wait(k).slot.x.load())
        reader.release(k)


def _failure(kernel, *arguments):
    try:
        kernel[(1,)](*arguments)
    except Exception as error:
        return cause_of(error)
    raise AssertionError("no error")


def test_a_standstill_in_one_partition_is_an_error():
    x, o = torch.randn(4 * 16), torch.zeros(4 * 16)
    _one_behind_the_other[(1,)](x, o, 4, 4)
    assert torch.equal(o, x)
    found = _failure(_one_behind_the_other, x, o, 4, 3)
    assert isinstance(found, PipeError) and "`rows` came to a standstill" in str(found), found
    assert "interpreted_pipes.py" in str(found)


@triton.jit
def _take(reader, o):
    slot = reader.wait(0).slot
    tl.store(o, tl.max(slot.x.load(), 0))


@triton.jit
def _fill(writer):
    for k in tl.static_range(3):
        slot = writer.acquire(k)
        slot.x.store(1.0)
        writer.commit(k)


@triton.jit
def _never_released(o):
    p = tle.pipe(capacity=2, x=tle.gpu.alloc([2, 16], tl.float32))
    tle.gpu.warp_specialize([(_take, (p.reader(), o)), (_fill, (p.writer(),))], [1])


def test_a_reader_that_gives_nothing_back_leaves_its_writer_waiting():
    found = _failure(_never_released, torch.zeros(1))
    assert isinstance(found, SharedBufferError) and "worker 0" in str(found) and "_fill" not in str(found), found
    assert "interpreted_pipes.py" in str(found)


@triton.jit
def _behind_its_end(o):
    p = tle.pipe(capacity=1, name="rows", x=tle.gpu.alloc([1, 16], tl.float32))
    writer, reader = p.writer(), p.reader()
    slot = writer.acquire(0)
    slot.x.store(1.0)
    writer.commit(0)
    ready = reader.wait(0)
    reader.release(0)
    tl.store(o, tl.max(ready.slot.x.load(), 0))


def test_a_slot_behind_its_end_is_refused():
    found = _failure(_behind_its_end, torch.zeros(1))
    assert isinstance(found, PipeError) and "behind its release" in str(found), found


if __name__ == "__main__":
    run_chosen(globals())
