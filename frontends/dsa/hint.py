"""``tle.dsa.hint``: promises about what stands in a block."""

from __future__ import annotations

import threading
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.with_function import with_function

_STATE = threading.local()


class Promise:
    """One block while it is traced or interpreted."""

    def __init__(self, given: dict[str, bool]) -> None:
        self.given = given

    def __enter__(self) -> None:
        _promises().append(self.given)

    def __exit__(self, *raised: object) -> None:
        _promises().pop()


def promised(name: str) -> bool:
    """Whether a block around says so; the innermost that speaks of it counts."""
    said = [given[name] for given in _promises() if name in given]
    return said[-1] if said else False


def _promises() -> list[dict[str, bool]]:
    if not hasattr(_STATE, "promises"):
        _STATE.promises = []
    promises: list[dict[str, bool]] = _STATE.promises
    return promises


def _hint(inter_no_alias: Any = False, _semantic: Any = None, _generator: Any = None) -> Promise:
    """A promise about all copies of a block: ``with tle.dsa.hint(inter_no_alias=True):``.

    Parameters
    ----------
    inter_no_alias : as for ``tle.dsa.copy``; a constant.

    Raises
    ------
    ArgumentTypeError : it is no constant.
    """
    value = plain(inter_no_alias)
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            "tle.dsa.hint: a promise is given at compile time",
            table=[Row("inter_no_alias", "True or False", describe_value(value))],
        )
    return Promise({"inter_no_alias": value})


hint = with_function(_hint, "dsa.hint")
