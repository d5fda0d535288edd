"""The headers with which CUDA text begins, as far as they can be read once for all its compilations."""

from __future__ import annotations

import re

from tle_raw.adapters.cpp.block_indices import undefine_lines
from tle_raw.adapters.cpp.options import Options

_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\S\n]*pragma[^\S\n]+once\b[^\n]*)*", re.DOTALL)
_INCLUDE = re.compile(r"#[^\S\n]*include[^\S\n]*<([^>\n]+)>[^\S\n]*(?=\n|//|/\*|\Z)")
# Only where the precompiled file is worth its room: these take the compiler a second or more. They can be read twice.
_LARGE = re.compile(r"(?:cub|cuda|thrust|cute|cutlass)/|cooperative_groups|mma\.h$")


def headers_in_front(text: str, options: Options) -> str:
    """``#include`` lines in front of everything else, or nothing where the user's macros could change their meaning."""
    if options.forced_includes or any(not define.startswith("_") for define in options.defines):
        return ""
    found, position = [], _SKIPPED.match(text).end()  # type: ignore[union-attr]
    while include := _INCLUDE.match(text, position):
        found.append(include[1])
        position = _SKIPPED.match(text, include.end()).end()  # type: ignore[union-attr]
    if not any(_LARGE.match(header) for header in found):
        return ""
    lines = [*undefine_lines(options.block, options.grid), *(f"#include <{header}>" for header in found)]
    return "\n".join([*lines, ""])
