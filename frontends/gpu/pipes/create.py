"""``tle.pipe``, and what makes its ends."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import PipeError
from tle_raw.frontends.gpu import content, operations, views
from tle_raw.frontends.gpu.alloc import BUFFERS, NAME, allocated_name
from tle_raw.frontends.gpu.barrier_value import Account, barrier, barrier_type
from tle_raw.frontends.gpu.buffered_tensor import BufferType, buffered_tensor
from tle_raw.frontends.gpu.capability import check_has_barriers
from tle_raw.frontends.gpu.checks import check_flag
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes import checks
from tle_raw.frontends.gpu.pipes.account import DEFAULT_READER, WRITER, PipeAccount
from tle_raw.frontends.gpu.pipes.loops import loops_here
from tle_raw.frontends.gpu.pipes.values import pipe_end_type, pipe_reader, pipe_type, pipe_value, pipe_writer
from tle_raw.frontends.gpu.view_rules import next_power
from tle_raw.frontends.lite.arguments import items, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.regions.stages import check_stages, number_pipe


@kernel_function
def pipe(
    *,
    capacity: Any,
    scope: Any = "cta",
    name: Any = None,
    readers: Any = None,
    one_shot: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
    **fields: Any,
) -> pipe_value:
    """A ring of slots in shared memory, which go from one writer to its readers and back.

    The writer takes a slot with ``acquire``, fills its fields and hands it over with ``commit``; each reader gets it
    with ``wait`` and gives it back with ``release``. Writer and readers are partitions of ``tle.gpu.warp_specialize``,
    or stand in one loop. How a field travels is seen from what fills it: ``tle.gpu.copy`` from a tensor descriptor is
    TMA, from pointers ``cp.async``, and all else is a store. Nobody waits for the copies but the readers.

    Parameters
    ----------
    capacity : how many slots; a constant.
    scope : only ``"cta"``: the threads of one block.
    name : for errors; else the variable's.
    readers : the names of several readers, each of which gets every slot. None for one without a name.
    one_shot : each slot is filled once, and never given back.
    fields : by name a buffer of ``tle.gpu.alloc`` whose first axis counts the slots. From here on the pipe alone
        reaches it, and what it held is gone.

    Raises
    ------
    ArgumentTypeError, ShapeError : a capacity, a name or a field that cannot be.
    SharedBufferError : a field lies in tensor memory, or its slots are no buffers of their own.
    PipeError : two fields, or two pipes, would share memory, or it stands in a loop.
    """
    ends = {"capacity": capacity, "scope": scope, "name": name, "readers": readers, "one_shot": one_shot}
    return made_pipe(ends, fields, _semantic, _generator)


def made_pipe(
    ends: dict[str, Any], fields: dict[str, Any], semantic: Any, generator: Any, *, shares: bool = False
) -> pipe_value:
    """``pipe`` by its parameters. With ``shares`` a field's buffer may be that of other pipes, too: which part of it
    each hands over, and when, is the program's business.
    """
    if generator is not None:
        check_stages(semantic.builder.options, BUFFERS)
        check_has_barriers("tle.pipe", semantic, generator)
    slots, once = checks.check_capacity(ends["capacity"]), check_flag("pipe", "one_shot", ends["one_shot"])
    checks.check_scope(ends["scope"])
    known = checks.check_readers(ends["readers"])
    called = checks.check_name(ends["name"]) or allocated_name(generator, semantic) or "pipe"
    if generator is not None and loops_here():
        raise PipeError(
            f"tle.pipe: `{called}` is made in a loop, and its barriers count on from one iteration to the next",
            hint="make it in front of the loop",
        )
    buffers = checks.check_fields(called, slots, fields, shares)
    rings = [_as_slots(buffer, semantic, generator) for buffer in buffers.values()]
    context = getattr(generator, "context", None)
    type_ = barrier_type(slots, 1, False, 0, None, Account(), context)
    full = _barriers(type_, f"{called}.full", semantic, generator)
    empty = flags = None
    if not once:
        count = len(known) or 1
        type_ = barrier_type(slots, count, True, 0, None, Account(), context)
        empty = _barriers(type_, f"{called}.empty", semantic, generator)
        flags = _flags(slots, f"{called}.closed", context, semantic, generator)
    made = pipe_type(
        slots,
        known or (DEFAULT_READER,),
        tuple(buffers),
        tuple(ring.type for ring in rings),
        full.type,
        None if empty is None else empty.type,
        None if flags is None else flags.type,
        has_names=bool(known),
        account=PipeAccount(called, number_pipe()),
    )
    return pipe_value([*rings, full, *([] if empty is None else [empty, flags])], made)


def writer(pipe: pipe_value, _semantic: Any = None, _generator: Any = None) -> pipe_writer:
    """The end that fills slots. One partition uses it, or the kernel outside of partitions."""
    return pipe_writer(pipe, pipe_end_type(pipe.type, WRITER, pipe.type.names))


def reader(
    pipe: pipe_value, name: Any = None, fields: Any = None, _semantic: Any = None, _generator: Any = None
) -> pipe_reader:
    """An end that takes what slots hold. One partition uses it, or the kernel outside of partitions.

    Parameters
    ----------
    name : which of the pipe's readers; left out where it has one.
    fields : the names of those that its slots show; all by default. It gives the whole slot back either way.

    Raises
    ------
    ArgumentTypeError : the pipe has no such reader or field.
    """
    owner = checks.check_reader(pipe.type, plain(name))
    names = checks.check_subset(pipe.type, plain(fields) if items(fields) is None else items(fields))
    return pipe_reader(pipe, pipe_end_type(pipe.type, owner, names))


def _as_slots(buffer: Any, semantic: Any, generator: Any) -> buffered_tensor:
    """The same memory, whose first axis counts slots. The kernel reaches it by the pipe alone from here on.

    A buffer of two axes may have a layout in which the rows lie in each other. Nothing is in it yet that anybody reads:
    its rows are put behind each other.
    """
    handle, type_ = buffer.handle, buffer.type
    if not type_.has_slots:
        plain_rows = type_.changed(layout=swizzled_shared_layout.make_default(len(type_.shape) - 1))
        if plain_rows.bytes != type_.bytes:
            handle, type_ = views.rows_as_slots(handle, type_, semantic, generator)
        else:
            handle, type_ = perform(operations.MEMDESC_REINTERPRET, semantic, generator, plain_rows, handle), plain_rows
    return buffered_tensor(handle, type_.changed(origin=0, storage=None))


def _barriers(type_: barrier_type, name: str, semantic: Any, generator: Any) -> barrier:
    made: barrier = type_.of(perform(operations.BARRIER_ALLOC, semantic, generator, type_, name))
    return made


def _flags(slots: int, name: str, context: Any, semantic: Any, generator: Any) -> buffered_tensor:
    """A word for each slot, 0 until the pipe is closed with it."""
    shape = (next_power(slots), 1)
    type_ = BufferType(core.int32, shape, shape, shape, swizzled_shared_layout.make_default(2), context=context)
    handle = perform(operations.LOCAL_ALLOC, semantic, generator, type_)
    if generator is not None:
        handle.set_attr(NAME, semantic.builder.get_string_attr(name))
    content.store(buffered_tensor(handle, type_), 0, _semantic=semantic, _generator=generator)
    handle, type_ = views.rows_as_slots(handle, type_, semantic, generator)
    return buffered_tensor(handle, type_)
