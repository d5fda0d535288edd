"""What is checked of the arguments of ``tle.pipe``."""

from __future__ import annotations

import keyword
from typing import Any

from tle_raw.errors import ArgumentTypeError, PipeError, Row, ShapeError
from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor
from tle_raw.frontends.gpu.checks import check_buffer, check_constant, check_in_shared_memory
from tle_raw.frontends.gpu.pipes.account import DEFAULT_READER
from tle_raw.frontends.gpu.pipes.values import pipe_slot, pipe_type
from tle_raw.frontends.lite.arguments import describe_value, items, plain

_RESERVED = ("fields", "readers")


def check_capacity(value: Any) -> int:
    """How many slots."""
    slots = check_constant("pipe", "capacity", value)
    if slots < 1:
        raise ArgumentTypeError("tle.pipe: a pipe has slots", table=[Row("capacity", "1 or more", str(slots))])
    return slots


def check_scope(value: Any) -> None:
    """Only the threads of a block."""
    if plain(value) != "cta":
        raise ArgumentTypeError(
            "tle.pipe: a pipe connects the threads of one block",
            table=[Row("scope", "'cta'", describe_value(value))],
        )


def check_name(value: Any) -> str:
    """What errors call the pipe; "" where the kernel does not say."""
    name = plain(value)
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError("tle.pipe: a name is a text", table=[Row("name", "a text", describe_value(name))])
    return name or ""


def check_readers(value: Any) -> tuple[str, ...]:
    """Their names; none of a pipe with one reader that has no name."""
    if plain(value) is None:
        return ()
    names = items(value)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ArgumentTypeError(
            "tle.pipe: readers have names of their own",
            table=[Row("readers", "e.g. ('left', 'right')", describe_value(value))],
        )
    for name in names:
        _check_identifier("readers", name)
    return tuple(names)


def check_fields(pipe: str, capacity: int, fields: dict[str, Any], shares: bool = False) -> dict[str, Any]:
    """The buffers of the fields, each of which is the pipe's from here on; with ``shares`` also another pipe's.

    Raises
    ------
    ArgumentTypeError, ShapeError, PipeError : as ``tle.pipe`` says.
    """
    if not fields:
        raise ArgumentTypeError(
            "tle.pipe: a slot has one field at least", table=[Row("fields", "e.g. a=tle.gpu.alloc(...)", "none")]
        )
    found = {}
    for name, value in fields.items():
        _check_identifier("fields", name)
        if hasattr(pipe_slot, name):
            raise ArgumentTypeError(
                "tle.pipe: the name of a field is one of a slot's own", table=[Row("field", "another name", name)]
            )
        if shares and isinstance(plain(value), buffered_tensor):
            plain(value).storage.taken = ""
        buffer = check_buffer("pipe", name, value)
        check_in_shared_memory("pipe", name, buffer)
        shape = buffer.type.shape
        if len(shape) < 2 or shape[0] != capacity:
            raise ShapeError(
                "tle.pipe: the first axis of a field counts the slots",
                table=[Row(f"`{name}`", f"[{capacity}, ...], two axes or more", str(list(shape)))],
            )
        found[name] = buffer
    for name, buffer in found.items():
        _take(pipe, name, buffer)
    return found


def _take(pipe: str, name: str, buffer: Any) -> None:
    storage = buffer.storage
    if storage is not buffer.type.storage or buffer.type.is_part:
        raise PipeError(
            f"tle.pipe: whose memory field `{name}` of `{pipe}` is cannot be seen here, nor what else reaches it",
            table=[Row(f"`{name}`", "a buffer of tle.gpu.alloc", "what a loop or a function gave, or a part")],
            hint="call tle.pipe in the function that allocates the buffer",
        )
    storage.check_alive("pipe")
    storage.taken = f"field `{name}` of the pipe `{pipe}`"


def check_reader(type_: pipe_type, name: Any) -> str:
    """Which of a pipe's readers."""
    if not type_.has_names and name is None:
        return DEFAULT_READER
    if not type_.has_names or name not in type_.readers:
        known = ", ".join(repr(known) for known in type_.readers)
        raise ArgumentTypeError(
            "tle.pipe.reader: the pipe has no such reader",
            table=[Row("name", known if type_.has_names else "left out: there is one", describe_value(name))],
        )
    return str(name)


def check_subset(type_: pipe_type, names: Any) -> tuple[str, ...]:
    """The fields that a reader sees."""
    if names is None:
        return type_.names
    if not isinstance(names, list) or not names or len(set(names)) != len(names) or not set(names) <= set(type_.names):
        raise ArgumentTypeError(
            "tle.pipe.reader: fields of the pipe, each once",
            table=[Row("fields", ", ".join(map(repr, type_.names)), str(names))],
        )
    return tuple(names)


def _check_identifier(what: str, name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or name in _RESERVED:
        raise ArgumentTypeError(
            "tle.pipe: fields and readers have names as variables do, without a leading _",
            table=[Row(what, f"an identifier, not {' or '.join(_RESERVED)}", repr(name))],
        )
