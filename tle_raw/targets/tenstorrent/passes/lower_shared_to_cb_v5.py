"""Stage C, first: shared memory and fragments become circular buffers, still without any protocol.

Each buffer gets one kernel that fills it and one that empties it: a value that two kernels read, or that two fill, is
copied by the compute kernel. Masks and the reductions' tile of ones join them. Leaves ``tt.dst_bits``: as soon as one
buffer has 32 bits an element, registers have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent.blocks import BY_READER, Each, Known, Local, Part, WriteBlock, defined, renamed, used
from tle_raw.targets.tenstorrent.dtypes import FORMATS, WIDE
from tle_raw.targets.tenstorrent.formats import TILE_BYTES
from tle_raw.targets.tenstorrent.ir import CircularBuffer, Module, Role, walk
from tle_raw.targets.tenstorrent.lifetimes import find_lifetimes
from tle_raw.targets.tenstorrent.options import OLDER, Options
from tle_raw.targets.tenstorrent.padding import Padding
from tle_raw.targets.tenstorrent.webs import numbered, rewritten
from tle_raw.tile_program import Number


def lower_shared_to_cb_v5(module: Module, options: Options) -> Module:
    """The module with ``circular_buffers``."""
    padding = Padding(module, spreads=options.api != OLDER)
    body = padding.run()
    module = replace(module, locals=padding.locals)
    loop = body[0]
    inside = _defined_before(module, loop.body)
    module, inside = _one_maker(module, inside)
    module, inside = _one_reader(module, inside)
    body = numbered((*padding.constants, replace(loop, body=inside)))
    buffers = {name: _buffer(module, name, body) for name in module.locals if _is_used(name, body)}
    locals_ = {name: local for name, local in module.locals.items() if name in buffers}
    wide = any(buffer.data_format in WIDE for buffer in buffers.values())
    attributes = {**module.attributes, "tt.dst_bits": 32 if wide else 16}
    return replace(module, body=body, circular_buffers=buffers, locals=locals_, attributes=attributes)


def _is_used(name: str, body: tuple[Any, ...]) -> bool:
    return any(name in (defined(s), *used(s)) for s in walk(body))


def _defined_before(module: Module, body: tuple[Any, ...]) -> tuple[Any, ...]:
    """A buffer that a loop fills and that is read behind the loop holds something before it."""
    missing = sorted(find_lifetimes(numbered(body)).undefined)
    made = {defined(s): s for s in walk(body)}
    for name in missing:
        if isinstance(made[name], BY_READER):
            raise UnsupportedFeatureError(
                f"`{name}` is read from memory inside a loop, and used behind it", hint="copy it into a fragment"
            ).at(source=made[name].location)
    fills = [Each(name, Number(0.0, module.locals[name].dtype)) for name in missing]
    start = sum(isinstance(s, Known) for s in body)
    return (*body[:start], *fills, *body[start:])


def _fresh(locals_: dict[str, Local], like: Local, ending: str) -> str:
    name, number = f"{like.name}_{ending}", 1
    while name in locals_:
        number += 1
        name = f"{like.name}_{ending}{number}"
    locals_[name] = replace(like, name=name)
    return name


def _copy(source: str, target: str, local: Local, location: Any) -> Each:
    return Each(target, Part(source, tuple(range(len(local.shape))), local.dtype), location)


def _one_maker(module: Module, body: tuple[Any, ...]) -> tuple[Module, tuple[Any, ...]]:
    """What the reader brings into a buffer that is also computed comes by a buffer of its own."""
    locals_ = dict(module.locals)
    computed = {defined(s) for s in walk(body) if not isinstance(s, BY_READER)}

    def change(statement: Any) -> tuple[Any, ...]:
        if not isinstance(statement, BY_READER) or statement.target not in computed:
            return (statement,)
        local = locals_[statement.target]
        name = _fresh(locals_, local, "in")
        return (replace(statement, target=name), _copy(name, local.name, local, statement.location))

    body = rewritten(body, change)
    return replace(module, locals=locals_), body


def _one_reader(module: Module, body: tuple[Any, ...]) -> tuple[Module, tuple[Any, ...]]:
    """What the writer takes of a buffer that is computed with comes by a buffer of its own."""
    locals_ = dict(module.locals)
    computing = {name for s in walk(body) if not isinstance(s, WriteBlock) for name in used(s)}

    def change(statement: Any) -> tuple[Any, ...]:
        if not isinstance(statement, WriteBlock) or statement.source not in computing:
            return (statement,)
        local = locals_[statement.source]
        name = _fresh(locals_, local, "out")
        copy = _copy(local.name, name, local, statement.location)
        return (copy, renamed(statement, {local.name: name}))

    body = rewritten(body, change)
    return replace(module, locals=locals_), body


def _buffer(module: Module, name: str, body: tuple[Any, ...]) -> CircularBuffer:
    local = module.locals[name]
    makers = [s for s in walk(body) if defined(s) == name]
    takers = [s for s in walk(body) if name in used(s)]
    producer: Role = "reader" if isinstance(makers[0], BY_READER) else "compute"
    consumer: Role = "writer" if takers and isinstance(takers[0], WriteBlock) else "compute"
    format_ = _format(module, name, makers, takers)
    constant = any(s is makers[0] for s in body)
    in_place = any(name in used(s) for s in makers)
    held = 1 if constant else 2 if producer != consumer or in_place else 1
    return CircularBuffer(name, -1, format_, TILE_BYTES[format_], held * local.tiles, local.tiles, producer, consumer)


def _format(module: Module, name: str, makers: list[Any], takers: list[Any]) -> str:
    """A tensor's, where pages are moved as they are."""
    for statement in (*makers, *takers):
        tensor = getattr(statement, "tensor", None)
        if tensor is not None:
            return module.tensors[tensor].data_format
    return FORMATS[module.locals[name].dtype]
