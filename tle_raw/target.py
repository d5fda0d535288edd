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


TARGETS = "cpu, or cuda: with a compute capability, such as cuda:80, cuda:90, cuda:100 (or sm_90)"
_OTHER = re.compile(r"(?!sm_?[0-9]|cuda$)[a-z_][a-z0-9_]*")


def target_name(value: object) -> str:
    """A text that names a target."""
    if not isinstance(value, str):
        raise ValueError
    if value != "cpu" and _capability(value) is None:
        raise ValueError
    return value


# What an error of the knob says was expected.
target_name.__doc__ = TARGETS


def parse_target(text: str | Target) -> Target:
    """Read ``cuda:90``, ``sm_90`` or ``cpu``.

    Raises
    ------
    DialectError : the text names no target, or a GPU that no compiler knows.
    """
    if isinstance(text, Target):
        return text
    if isinstance(text, str):
        capability = _capability(text)
        if capability is not None:
            return Target("cuda", capability)
        if _OTHER.fullmatch(text):
            return Target(text)  # an adapter says whether it compiles for it
    from tle_raw.linker.architectures import why_no_architecture

    why = why_no_architecture(text) if isinstance(text, str) else ""
    raise DialectError(f"unknown target {text!r}", hint=why or f"a target is {TARGETS}")


def _capability(text: str) -> int | None:
    """That of a GPU; None where the text names none, or asks for what only a family of GPUs has."""
    from tle_raw.linker.architectures import read_architecture  # Triton imports this module, and rarely asks

    read = read_architecture(text)
    return None if read is None or read[1] == "f" else read[0]
