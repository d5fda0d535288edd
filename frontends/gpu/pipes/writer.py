"""The methods of a pipe's writer."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import PipeError, Row, SharedBufferError
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.interpreted_partitions import current_turns
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes import ring
from tle_raw.frontends.gpu.pipes.account import WRITER, Window, block_of, site_of
from tle_raw.frontends.gpu.pipes.cursor import Place, made_cursor, pipe_cursor, place_of
from tle_raw.frontends.gpu.pipes.deadlock import note_acquire
from tle_raw.frontends.gpu.pipes.loops import is_rehearsed
from tle_raw.frontends.gpu.pipes.transports import publish
from tle_raw.frontends.gpu.pipes.values import pipe_slot, pipe_writer


def acquire(writer: pipe_writer, iter: Any, _semantic: Any = None, _generator: Any = None) -> pipe_slot:
    """A slot to fill, when all readers have given it back.

    Parameters
    ----------
    iter : the number of the slot's use: a constant, a scalar, or a cursor. The slot is ``iter % capacity``.

    Raises
    ------
    ArgumentTypeError : no such number.
    PipeError : another partition writes, or a slot of a pipe with ``one_shot`` is filled again.
    """
    place = _place("acquire", writer, iter, _semantic, _generator)
    pipe, account = writer.pipe, writer.pipe.type.account
    account.claim(WRITER)
    window = Window(account, WRITER, place.iteration, block_of(_semantic, _generator), site_of(_semantic, _generator))
    if not pipe.one_shot:
        if _generator is not None:
            note_acquire(account, place.iteration, _semantic, _generator)
        _wait_until_empty(writer, place, _semantic, _generator)
    window.full = ring.barrier_at(pipe.full, place, _semantic, _generator)
    account.open(window)
    fields = [
        ring.field_at(buffers, name, place, window, _semantic, _generator) for name, buffers in pipe.buffers.items()
    ]
    return pipe_slot(writer.type.names, fields)


def commit(writer: pipe_writer, iter: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Hand a slot over: what was written between ``acquire`` and here is there for the readers.

    Copies that were begun in between need no wait: the readers' does it.

    Parameters
    ----------
    iter : as for ``acquire``, which stands in the same block of the kernel.

    Raises
    ------
    PipeError : no slot was acquired there for this iteration.
    """
    place = _place("commit", writer, iter, _semantic, _generator)
    account = writer.pipe.type.account
    account.claim(WRITER)
    window = account.find(WRITER, place.iteration, block_of(_semantic, _generator))
    if window is None:
        raise PipeError(
            f"tle.pipe.commit: no slot of `{account.name}` was acquired here for this iteration",
            table=[Row("in front of commit", "writer.acquire(iter) in the same block of the kernel", "none")],
            hint="acquire, the copies and commit stand together: in one function, loop and branch",
        )
    publish(window, _semantic, _generator)
    account.close(window, "commit", site_of(_semantic, _generator), is_rehearsed(_generator))


def close(writer: pipe_writer, iter: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Say that nothing follows: the readers' ``wait`` for this iteration gives ``is_closed``.

    It takes a slot as ``acquire`` does, and hands it over.

    Parameters
    ----------
    iter : the iteration behind the last that was committed.

    Raises
    ------
    PipeError : the pipe is one with ``one_shot``.
    """
    account = writer.pipe.type.account
    if writer.pipe.one_shot:
        raise PipeError(
            f"tle.pipe.close: `{account.name}` has one_shot=True: its slots are filled once, and nothing follows anyway"
        )
    place = _place("close", writer, iter, _semantic, _generator)
    account.claim(WRITER)
    if _generator is not None:
        note_acquire(account, place.iteration, _semantic, _generator)
    _wait_until_empty(writer, place, _semantic, _generator)
    handle, flag = ring.flag_at(writer.pipe.flags, place, _semantic, _generator)
    one = _semantic.full(list(flag.shape), 1, core.int32)
    perform(operations.LOCAL_STORE, _semantic, _generator, handle, one.handle)
    full = ring.barrier_at(writer.pipe.full, place, _semantic, _generator)
    perform(operations.BARRIER_ARRIVE, _semantic, _generator, full.handle, 1)


def cursor(end: Any, start_iter: Any = 0, _semantic: Any = None, _generator: Any = None) -> pipe_cursor:
    """A cursor that stands at an iteration; ``cursor.advance()`` gives the next one, without a division.

    All methods of the pipe's ends take it in place of a number, and loops carry it.
    """
    place = place_of("cursor", end.pipe.type.capacity, start_iter, _semantic, _generator)
    return made_cursor(end.pipe.type.capacity, place, _semantic)


def _place(function: str, writer: pipe_writer, iteration: Any, semantic: Any, generator: Any) -> Place:
    place = place_of(function, writer.pipe.type.capacity, iteration, semantic, generator)
    check_once(function, writer, place)
    return place


def check_once(function: str, end: Any, place: Place) -> None:
    """Raise a PipeError where a pipe with ``one_shot`` would begin its second round."""
    if end.pipe.one_shot and isinstance(place.iteration, int) and place.iteration >= end.pipe.type.capacity:
        raise PipeError(
            f"tle.pipe.{function}: each slot of `{end.pipe.type.account.name}` is filled once, with one_shot=True",
            table=[Row("iter", f"0 to {end.pipe.type.capacity - 1}", str(place.iteration))],
        )


def _wait_until_empty(writer: pipe_writer, place: Place, semantic: Any, generator: Any) -> None:
    empty = ring.barrier_at(writer.pipe.empty, place, semantic, generator)
    try:
        ring.wait(empty, place, semantic, generator)
    except SharedBufferError:  # in Triton's interpreter
        if current_turns() is not None:
            raise
        account = writer.pipe.type.account
        raise PipeError(
            f"tle.pipe: `{account.name}` came to a standstill: its writer waits for a slot that the readers, behind it "
            "in the same partition, have not given back",
            table=[Row("slots", f"at most {writer.pipe.type.capacity} at once, the capacity", "all in use")],
        ) from None
