"""``triton.experimental.tle.language.dsa.ascend``: the memories and pipes of an Ascend core."""

from typing import Any

from tle_raw.frontends.dsa import ascend as ours

globals().update({name: getattr(ours, name) for name in ours.__all__})

__all__ = list(ours.__all__)


def __getattr__(name: str) -> Any:
    """What is not in this release is refused by name."""
    raise AttributeError(f"tle.dsa.ascend.{name}: this release of tle_raw has no such function")
