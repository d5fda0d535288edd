"""What functions that reach other devices tell theirs in the kernel: the context, and the place of the user's call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.distributed.context_layout import PLACE_WORDS
from tle_raw.frontends.lite.arguments import describe_value
from tle_raw.regions.interpret import interpreted_call_site
from tle_raw.regions.stages import compiled_target


def place_of_call(semantic: Any, generator: Any) -> core.tuple:
    """The user's call as i64 words of ASCII, ``function:line``, for the report of a wait that came to nothing."""
    found = call_site(generator, semantic) if generator is not None else interpreted_call_site()
    name = getattr(getattr(generator, "jit_fn", None), "__name__", "")
    name = name or (Path(found.file).name if found is not None else "")
    line = f":{found.line}" if found is not None else ""
    text = (name[: 8 * PLACE_WORDS - len(line)] + line).encode("ascii", "replace").ljust(8 * PLACE_WORDS, b"\0")
    words = [int.from_bytes(text[at : at + 8], "little") for at in range(0, len(text), 8)]
    return core.tuple([semantic.scalar_constant(word, core.int64) for word in words])


def checked_context(name: str, context: Any) -> core.tensor:
    """The context that a function of the language was given; raises ArgumentTypeError for anything else.

    The type tells what carries data to other nodes: a pointer to i64 is a context of one node, and one to u64 one of
    several, by NVSHMEM.
    """
    if not (has_nodes(context) or (isinstance(context, core.tensor) and context.type == core.pointer_type(core.int64))):
        raise ArgumentTypeError(
            f"tle.{name}: devices are reached by a context, which is an argument of the kernel",
            table=[Row("context", "what tle_raw.distributed.context(...) gives", describe_value(context))],
        )
    return context


def has_nodes(context: Any) -> bool:
    """Whether it is a context of several nodes."""
    return isinstance(context, core.tensor) and context.type == core.pointer_type(core.uint64)


def calls_nvshmem(context: Any, generator: Any) -> bool:
    """Whether other nodes of this context are reached by NVSHMEM: on GPUs. Simulated nodes share memory."""
    return has_nodes(context) and generator is not None and compiled_target() == "cuda"


def scalar_integer(name: str, parameter: str, value: Any, semantic: Any) -> core.tensor:
    """An integer of the kernel, or a constant, as an i32; raises ArgumentTypeError for anything else."""
    found = value.value if isinstance(value, core.constexpr) else value
    if isinstance(found, int) and not isinstance(found, bool):
        return semantic.scalar_constant(found, core.int32)
    if isinstance(found, core.tensor) and not found.type.is_block() and found.dtype.is_int():
        return semantic.cast(found, core.int32)
    raise ArgumentTypeError(
        f"tle.{name}: {parameter} is an integer", table=[Row(parameter, "an integer", describe_value(value))]
    )
