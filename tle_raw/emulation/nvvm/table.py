"""The table of definitions, by patterns of the intrinsics' names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tle_raw.emulation.instructions import FunctionBody

Definition = Callable[[FunctionBody, "re.Match[str]", Sequence[str], str], "str | None"]

TABLE: list[tuple[re.Pattern[str], Definition]] = []


def intrinsic(pattern: str) -> Callable[[Definition], Definition]:
    """Registers what defines the intrinsics with such names, without ``llvm.nvvm.``."""

    def register(definition: Definition) -> Definition:
        TABLE.append((re.compile(pattern), definition))
        return definition

    return register
