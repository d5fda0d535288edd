"""``tle.dsa.ascend``: the memories of an Ascend core, its pipes, and what orders its cube and vector units."""

from __future__ import annotations

from enum import Enum
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.dsa.checks import check_buffer
from tle_raw.frontends.dsa.dsa_function import ascend_function
from tle_raw.frontends.dsa.kept import keep
from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.dsa.memories import keeps_operations
from tle_raw.frontends.dsa.spaces import L0A, L0B, L0C, L1, UB
from tle_raw.frontends.lite.arguments import describe_value, is_integer, plain

__all__ = [
    "L0A",
    "L0B",
    "L0C",
    "L1",
    "PIPE",
    "UB",
    "compile_hint",
    "multibuffer",
    "sub_vec_id",
    "sub_vec_num",
    "sync_block_all",
    "sync_block_set",
    "sync_block_wait",
]

SIDES = ("cube", "vector")
MODES = ("all_cube", "all_vector", "all", "all_sub_vector")
EVENTS = 16
_SUB_VECTORS = 2  # vector units of a core of the 910B family, beside its cube unit


class PIPE(Enum):
    """The queues of instructions of an Ascend core, which run beside each other."""

    PIPE_S = "PIPE_S"
    PIPE_V = "PIPE_V"
    PIPE_M = "PIPE_M"
    PIPE_MTE1 = "PIPE_MTE1"
    PIPE_MTE2 = "PIPE_MTE2"
    PIPE_MTE3 = "PIPE_MTE3"
    PIPE_FIX = "PIPE_FIX"
    PIPE_ALL = "PIPE_ALL"


@ascend_function
def sync_block_set(
    sender: Any,
    receiver: Any,
    event_id: Any,
    sender_pipe: Any = None,
    receiver_pipe: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """The cube unit tells the vector units that it has come here, or they tell it.

    Where a program is one thread of control, on CPUs and GPUs, each sees what stands before it: nothing is done there.

    Parameters
    ----------
    sender, receiver : ``"cube"`` and ``"vector"``, or the other way round.
    event_id : 0 to 15, a constant.
    sender_pipe, receiver_pipe : pipes, ``tle.dsa.ascend.PIPE.PIPE_FIX`` for one; those that move results by default.

    Raises
    ------
    ArgumentTypeError : an argument is another thing.
    """
    _sync("sync_block_set", sender, receiver, event_id, sender_pipe, receiver_pipe, _semantic, _generator)


@ascend_function
def sync_block_wait(
    sender: Any,
    receiver: Any,
    event_id: Any,
    sender_pipe: Any = None,
    receiver_pipe: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """Wait for what ``sync_block_set`` with the same arguments tells; nothing is done on CPUs and GPUs."""
    _sync("sync_block_wait", sender, receiver, event_id, sender_pipe, receiver_pipe, _semantic, _generator)


@ascend_function
def sync_block_all(mode: Any, event_id: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """All units of a kind, on all cores, wait for each other: cooperative launches alone have that on CPUs and GPUs.

    Parameters
    ----------
    mode : ``"all_cube"``, ``"all_vector"``, ``"all"`` or ``"all_sub_vector"``; the last are those of one core.
    event_id : 0 to 15, a constant.

    Raises
    ------
    ArgumentTypeError : an argument is another thing, or the target cannot let all programs wait for each other.
    """
    name = "sync_block_all"
    constants = {"mode": _one_of(name, "mode", mode, MODES), "event_id": _event(name, event_id)}
    if _generator is not None and keeps_operations():
        keep(name, constants, [], [], _semantic, _generator)
    elif constants["mode"] != "all_sub_vector":
        raise ArgumentTypeError(
            "tle.dsa.ascend.sync_block_all: programs of a grid cannot wait for all others on this target",
            table=[Row("mode", "'all_sub_vector', whose units one program stands for", repr(constants["mode"]))],
            hint="end the kernel there, and launch a second one",
        )


@ascend_function
def sub_vec_id(_semantic: Any = None, _generator: Any = None) -> core.tensor:
    """Which of a core's vector units runs this: 0 on CPUs and GPUs, where one program is all of them."""
    if _generator is not None and keeps_operations():
        result = keep("sub_vec_id", {}, [], [core.int32.to_ir(_semantic.builder)], _semantic, _generator)[0]
        return core.tensor(result, core.int32)
    return _semantic.to_tensor(0)


@ascend_function
def sub_vec_num(_semantic: Any = None, _generator: Any = None) -> core.constexpr:
    """How many vector units a core has, a constant: 1 on CPUs and GPUs, 2 for ``ascend``."""
    return core.constexpr(_SUB_VECTORS if _generator is not None and keeps_operations() else 1)


@ascend_function
def compile_hint(ptr: Any, hint_name: Any, hint_val: Any = None, _semantic: Any = None, _generator: Any = None) -> None:
    """Tell the compiler of an Ascend core something about a value; nothing elsewhere.

    Parameters
    ----------
    ptr : a block tensor, or a buffer.
    hint_name : text, such as ``"disable_bubble_up"``.
    hint_val : True, a number or a text, constant; nothing is True.

    Raises
    ------
    ArgumentTypeError : an argument is another thing.
    """
    value, name, given = plain(ptr), plain(hint_name), plain(hint_val)
    is_value = isinstance(value, (core.tensor, local_buffer))
    if not is_value or not isinstance(name, str) or not isinstance(given, (bool, int, str, type(None))):
        raise ArgumentTypeError(
            "tle.dsa.ascend.compile_hint: a value, the hint's name, and a constant",
            table=[
                Row("ptr", "a block tensor or a buffer", describe_value(value) if not is_value else "one"),
                Row("hint_name", "text", describe_value(name)),
                Row("hint_val", "True, a number or a text", describe_value(given)),
            ],
        )
    if _generator is not None and keeps_operations():
        handle = value.whole.handle if isinstance(value, local_buffer) else value.handle
        constants = {"name": name, "value": True if given is None else given}
        keep("compile_hint", constants, [handle], [], _semantic, _generator)


@ascend_function
def multibuffer(src: Any, size: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Ask for several copies of a buffer, that iterations of a loop take in turns; nothing on CPUs and GPUs.

    Parameters
    ----------
    size : how many, a constant.

    Raises
    ------
    ArgumentTypeError : no buffer, or no such number.
    """
    buffer, count = check_buffer("ascend.multibuffer", "src", src), plain(size)
    if not is_integer(count) or count < 1:
        raise ArgumentTypeError(
            "tle.dsa.ascend.multibuffer: a number of buffers", table=[Row("size", "1 or more", describe_value(size))]
        )
    if _generator is not None and keeps_operations():
        keep("multibuffer", {"size": count}, [buffer.whole.handle], [], _semantic, _generator)


def _sync(
    name: str, sender: Any, receiver: Any, event_id: Any, sender_pipe: Any, receiver_pipe: Any, s: Any, g: Any
) -> None:
    constants = {
        "sender": _one_of(name, "sender", sender, SIDES),
        "receiver": _one_of(name, "receiver", receiver, SIDES),
        "event_id": _event(name, event_id),
        "sender_pipe": _pipe(name, "sender_pipe", sender_pipe),
        "receiver_pipe": _pipe(name, "receiver_pipe", receiver_pipe),
    }
    if constants["sender"] == constants["receiver"]:
        raise ArgumentTypeError(
            f"tle.dsa.ascend.{name}: one kind of unit tells the other",
            table=[Row("receiver", "the other", repr(constants["receiver"]))],
        )
    if g is not None and keeps_operations():
        keep(name, constants, [], [], s, g)


def _one_of(function: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    value = plain(value)
    if value not in known:
        raise ArgumentTypeError(
            f"tle.dsa.ascend.{function}: {name} is one of {len(known)} words",
            table=[Row(name, " or ".join(map(repr, known)), describe_value(value))],
        )
    return str(value)


def _event(function: str, value: Any) -> int:
    value = plain(value)
    if not is_integer(value) or not 0 <= value < EVENTS:
        raise ArgumentTypeError(
            f"tle.dsa.ascend.{function}: an event is numbered at compile time",
            table=[Row("event_id", f"0 to {EVENTS - 1}", describe_value(value))],
        )
    return value


def _pipe(function: str, name: str, value: Any) -> str:
    value = plain(value)
    if value is not None and not isinstance(value, PIPE):
        raise ArgumentTypeError(
            f"tle.dsa.ascend.{function}: a pipe is one of tle.dsa.ascend.PIPE",
            table=[Row(name, "e.g. tle.dsa.ascend.PIPE.PIPE_FIX", describe_value(value))],
        )
    return value.value if value is not None else ""
