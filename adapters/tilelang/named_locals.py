"""The buffer that a kernel allocates under a name that an option gives: ``buffers=[…]``, ``barriers=[…]``."""

from __future__ import annotations

from collections.abc import Collection

from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.errors import Row, SignatureError


def named_local(program: Program, option: str, name: str, scopes: Collection[str], what: str, hint: str = "") -> Buffer:
    """The one buffer of that name in one of TileLang's ``scopes``; ``what`` it is, for the error.

    Raises
    ------
    SignatureError : there is none, or there are several.
    """
    made: list[Buffer] = [buffer for buffer in program.locals if str(buffer.scope()) in scopes]
    found = [buffer for buffer in made if str(buffer.name) == name]
    if len(found) == 1:
        (buffer,) = found
        return buffer
    known = ", ".join(str(buffer.name) for buffer in made) or "none"
    raise SignatureError(
        f"{option} names `{name}`, which is no {what} of `{program.name}`",
        table=[Row(option, f"of {known}", name if not found else f"{len(found)} called {name}")],
        hint=hint,
    )
