"""FlagTree's names that are not here: public ones are refused where they are looked up, private ones where called.

Its tests import functions of its own at their head, beside what they test; so the other tests of such a file run.
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import TLEError


class NotHereError(TLEError, NotImplementedError):
    """A function within FlagTree, that its programs do not need."""


def look_up(module: str, name: str) -> Any:
    """What a module of FlagTree's has under a name that nothing here has.

    Raises
    ------
    AttributeError : it is no private function.
    """
    full = f"{module}.{name}"
    if name.startswith("__") or not name.startswith("_"):
        raise AttributeError(f"{full}: this release of tle_raw has no such name")

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotHereError(f"{full} is a function within FlagTree, which tle_raw does not have")

    refuse.__name__ = name
    return refuse
