"""The definition of one intrinsic."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.nvvm import (  # noqa: F401  (registers)
    barriers,
    floats,
    integers,
    matrices,
    memory,
    threads,
    warps,
)
from tle_raw.emulation.nvvm.table import TABLE

PREFIX = "llvm.nvvm."
# Intrinsics that take the number of the place that uses them as one more argument.
SITED = re.compile(
    r"(barrier|bar\.|shfl|vote|match|redux|activemask|elect|mbarrier|read\.ptx\.sreg\.lanemask|cp\.async|nanosleep|"
    r"ld[gu]\.global|atomic|mapa|wmma)"
)


def define(name: str, types: Sequence[str], result: str) -> FunctionBody | None:
    """The body of the function that stands for ``llvm.nvvm.<name>``; None for what has no meaning on the host.

    Parameters are %a0, %a1, …, and %site for those that take one.
    """
    for pattern, definition in TABLE:
        match = pattern.fullmatch(name)
        if match:
            body = FunctionBody()
            value = definition(body, match, types, result)
            if value is None and result != "void":
                return None
            body.do("ret void" if result == "void" else f"ret {result} {value}")
            return body
    return None


def is_sited(name: str) -> bool:
    return SITED.match(name) is not None
