"""The methods of a pipe's readers."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import PipeError, Row
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes import ring
from tle_raw.frontends.gpu.pipes.account import DEFAULT_READER, Window, block_of, site_of
from tle_raw.frontends.gpu.pipes.cursor import Place, place_of
from tle_raw.frontends.gpu.pipes.deadlock import check_first_wait
from tle_raw.frontends.gpu.pipes.loops import is_rehearsed
from tle_raw.frontends.gpu.pipes.values import pipe_reader, pipe_slot, pipe_wait_result
from tle_raw.frontends.gpu.pipes.writer import check_once
from tle_raw.frontends.gpu.products_under_way import is_under_way


def wait(reader: pipe_reader, iter: Any, _semantic: Any = None, _generator: Any = None) -> pipe_wait_result:
    """Wait until a slot was committed, or the pipe closed with it.

    Parameters
    ----------
    iter : the number that the writer acquired the slot with: a constant, a scalar, or a cursor.

    Raises
    ------
    ArgumentTypeError : no such number.
    PipeError : another partition is this reader, or it comes behind a writer that waits for it.
    """
    place = place_of("wait", reader.pipe.type.capacity, iter, _semantic, _generator)
    check_once("wait", reader, place)
    pipe, account = reader.pipe, reader.pipe.type.account
    account.claim(reader.type.owner)
    if _generator is None or pipe.one_shot:
        account.waited.add(reader.type.owner)
    else:
        check_first_wait(account, pipe.type.capacity, reader.type.owner)
    ring.wait(ring.barrier_at(pipe.full, place, _semantic, _generator), place, _semantic, _generator)
    window = Window(
        account,
        reader.type.owner,
        place.iteration,
        block_of(_semantic, _generator),
        site_of(_semantic, _generator),
    )
    account.open(window)
    buffers = pipe.buffers
    fields = [ring.field_at(buffers[name], name, place, window, _semantic, _generator) for name in reader.type.names]
    return pipe_wait_result(pipe_slot(reader.type.names, fields), _is_closed(reader, place, _semantic, _generator))


def release(reader: pipe_reader, iter: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Give a slot back: all that the partition read of it is read. With ``one_shot`` it is never filled again.

    Parameters
    ----------
    iter : of the slot, which may be one of an earlier ``wait``.

    Raises
    ------
    PipeError : this reader has waited for no slot at all, or a product in the background may still read this one.
    """
    place = place_of("release", reader.pipe.type.capacity, iter, _semantic, _generator)
    check_once("release", reader, place)
    pipe, account = reader.pipe, reader.pipe.type.account
    account.claim(reader.type.owner)
    if reader.type.owner not in account.waited:
        whose = "" if reader.type.owner == DEFAULT_READER else f" `{reader.type.owner}`"
        raise PipeError(
            f"tle.pipe.release: reader{whose} of `{account.name}` has waited for no slot in front of it",
            table=[Row("in front of release", "reader.wait(iter)", "none")],
        )
    ended = [each for each in account.windows if each.owner == reader.type.owner and each.iteration == place.iteration]
    rehearsed = is_rehearsed(_generator)
    for window in ended if not rehearsed else ():
        _check_products(window)
    if not pipe.one_shot:
        empty = ring.barrier_at(pipe.empty, place, _semantic, _generator)
        perform(operations.BARRIER_ARRIVE, _semantic, _generator, empty.handle, 1)
    for window in ended:
        account.close(window, "release", site_of(_semantic, _generator), rehearsed)


def _check_products(window: Window) -> None:
    if is_under_way(window.product):
        raise PipeError(
            f"tle.pipe.release: a slot of `{window.pipe.name}` is given back while a product may still read it",
            table=[Row("in front of release", "tle.gpu.wgmma_wait that leaves fewer under way", "none")],
            hint="release the slot of the product before: wgmma_wait(1, acc), then reader.release(i - 1)",
        )


def _is_closed(reader: pipe_reader, place: Place, semantic: Any, generator: Any) -> core.tensor:
    """Read at once, while the slot is the reader's. Triton takes it out where nobody asks."""
    pipe = reader.pipe
    if pipe.one_shot:
        return semantic.not_equal(semantic.to_tensor(0), semantic.to_tensor(0))
    handle, flag = ring.flag_at(pipe.flags, place, semantic, generator)
    loaded = perform(operations.LOCAL_LOAD, semantic, generator, flag, handle)
    value = semantic.unsplat(core.tensor(loaded, core.block_type(core.int32, list(flag.shape))))
    return semantic.not_equal(value, semantic.to_tensor(0))
