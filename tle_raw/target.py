"""A target: what a fragment is compiled for, written ``cuda:90`` or ``cpu``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle_raw.errors import DialectError


@dataclass(frozen=True)
class Target:
    """``backend`` is ``cuda`` or ``cpu``; ``capability`` is 90 for sm_90, 0 where it has no meaning."""

    backend: str
    capability: int = 0

    def __str__(self) -> str:
        return f"{self.backend}:{self.capability}" if self.capability else self.backend

    @property
    def arch(self) -> str:
        """The architecture with its feature suffix, as Triton's own ``sm_90a``."""
        return f"sm_{self.capability}{'a' if self.capability >= 90 else ''}"


_GPU = re.compile(r"(?:cuda:|sm_?)(\d{2,3})a?")
TARGETS = "cpu, or cuda: with a compute capability, such as cuda:80, cuda:90, cuda:100 (or sm_90)"


def target_name(value: object) -> str:
    """A text that names a target."""
    if not isinstance(value, str):
        raise ValueError
    if value != "cpu" and not _GPU.fullmatch(value):
        raise ValueError
    return value


# What an error of the knob says was expected.
target_name.__doc__ = TARGETS


def parse_target(text: str | Target) -> Target:
    """Read ``cuda:90``, ``sm_90`` or ``cpu``.

    Raises
    ------
    DialectError : the text names no target.
    """
    if isinstance(text, Target):
        return text
    match = _GPU.fullmatch(text) if isinstance(text, str) else None
    if match:
        return Target("cuda", int(match[1]))
    if isinstance(text, str) and re.fullmatch(r"[a-z_]\w*", text):
        return Target(text)  # an adapter says whether it compiles for it
    raise DialectError(f"unknown target {text!r}", hint=f"a target is {TARGETS}")
