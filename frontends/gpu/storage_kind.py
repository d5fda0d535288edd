"""In which memory a buffer lies: ``tle.gpu.storage_kind.smem``, ``tle.gpu.smem``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.buffered_tensor import SMEM, TMEM
from tle_raw.frontends.lite.arguments import describe_value, plain


@dataclass(frozen=True)
class Scope:
    """A memory of a GPU."""

    name: str

    def __repr__(self) -> str:
        return f"tle.gpu.{self.name}"


smem = Scope(SMEM)
tmem = Scope(TMEM)


class storage_kind:
    """The memories in which ``tle.gpu.alloc`` puts buffers: shared memory and, from sm_100 on, tensor memory."""

    smem = smem
    tmem = tmem


def check_scope(function: str, value: Any) -> Scope:
    """One of the two."""
    value = plain(value)
    if not isinstance(value, Scope):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a scope is a memory of the GPU",
            table=[Row("scope", "tle.gpu.smem or tle.gpu.tmem", describe_value(value))],
        )
    return value
