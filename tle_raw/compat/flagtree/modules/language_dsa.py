"""``triton.experimental.tle.language.dsa``: TLE-Struct for DSAs, with the names that FlagTree's parameters have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tle_raw.compat.flagtree.modules import language_dsa_ascend as ascend  # noqa: F401 - looked up as `dsa.ascend`
from tle_raw.frontends.dsa import language as ours
from tle_raw.frontends.dsa.loops import NAMES, look_up_loop

# FlagTree's names for the parameters of ours.
_OPERANDS = {"input": "lhs", "other": "rhs", "result": "out"}
_RENAMED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "max", "min"), _OPERANDS),
    "to_tensor": {"memref": "buffer"},
    "extract_slice": {"ful": "full"},
    "insert_slice": {"ful": "full"},
}


def _renamed(function: Callable[..., Any], names: dict[str, str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **{names.get(name, name): value for name, value in keywords.items()})

    return called


globals().update({name: getattr(ours, name) for name in ours.__all__ if name not in (*NAMES, "ascend")})
globals().update({name: _renamed(getattr(ours, name), names) for name, names in _RENAMED.items()})

__all__ = sorted({*ours.__all__, "ascend"})


def __getattr__(name: str) -> Any:
    """The loops: see ``tle_raw.frontends.dsa.language``. What is not in this release is refused by name."""
    if name in NAMES:
        return look_up_loop()
    raise AttributeError(f"tle.dsa.{name}: this release of tle_raw has no such function")
