"""The headers with which CUDA text begins, as far as they can be read once for all its compilations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from tle_raw.adapters.cpp.block_indices import undefine_lines
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.toolchain import INCLUDE, Toolchain

_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\S\n]*pragma[^\S\n]+once\b[^\n]*)*", re.DOTALL)
_INCLUDE = re.compile(r"#[^\S\n]*include[^\S\n]*<([^>\n]+)>[^\S\n]*(?=\n|//|/\*|\Z)")
# Only where the precompiled file is worth its room: these take the compiler a second or more. They can be read twice.
_LARGE = re.compile(r"(?:cub|cuda|thrust|cute|cutlass)/|cooperative_groups|mma\.h$")

_AHEAD = re.compile(r"(?:cub|cuda|thrust)/")
_WHOLE_CUB = "cub/cub.cuh"
# Definitions of macros that such headers ask for; programs have `THRUST_CHECK(call)` and the like of their own.
_ASKED = re.compile(
    r"^[^\S\n]*#[^\S\n]*(?:define|undef)[^\S\n]+"
    r"(?!(?:CUB|THRUST)_(?:CHECK|CATCH|CALL|TRY)\b)"
    r"(?:_?_?(?:CUB|THRUST|CCCL|LIBCUDACXX|CUDA_NO|CG|COOPERATIVE_GROUPS|GLIBCXX)_\w*|NDEBUG)\b",
    re.MULTILINE,
)


def headers_in_front(text: str, options: Options, toolchain: Toolchain) -> str:
    """``#include`` lines in front of everything else, or nothing where the user's macros could change their meaning.

    They are those with which the text begins, and those that are read ahead of their place (``options.ahead``).
    """
    if options.forced_includes or any(not define.startswith("_") for define in options.defines):
        return ""
    found, position = [], _SKIPPED.match(text).end()  # type: ignore[union-attr]
    while (include := _INCLUDE.match(text, position)) and _is_found(include[1], options, toolchain):
        found.append(include[1])
        position = _SKIPPED.match(text, include.end()).end()  # type: ignore[union-attr]
    if not any(_LARGE.match(header) for header in found):
        found = []
    found = list(dict.fromkeys((*found, *options.ahead)))
    if not found:
        return ""
    lines = [*undefine_lines(options.block, options.grid), *(f"#include <{header}>" for header in found)]
    return "\n".join([*lines, ""])


def is_large(name: str) -> bool:
    """Whether a header of that name may be read ahead of its place."""
    return bool(_AHEAD.match(name))


def headers_to_read_ahead(
    includes: Iterable[str], texts: Iterable[str], options: Options, toolchain: Toolchain, folder: Path
) -> tuple[str, ...]:
    """Large headers of the toolchain that the texts include anywhere, and that can be read before all of them.

    They are the same wherever they are read, as long as no macro that they ask for is defined in between.
    """
    own = (folder, *options.search_dirs)
    found = sorted({name for name in includes if is_large(name) and _is_toolchains(name, own, toolchain)})
    if not found or any(True for _ in undefine_lines(options.block, options.grid)) or any(map(_ASKED.search, texts)):
        return ()
    return tuple(name for name in found if _WHOLE_CUB not in found or name == _WHOLE_CUB or not name.startswith("cub/"))


def _is_found(name: str, options: Options, toolchain: Toolchain) -> bool:
    """Whether the headers' own command line finds it: not in the folders of the program."""
    if "/" not in name and "." not in name:
        return True  # C++'s own
    roots = [toolchain.toolkit.root / "include", INCLUDE, Path("/usr/include"), *options.flag_dirs]
    roots += [folder for folder in (toolchain.cccl, toolchain.resource_dir) if folder]
    roots += [Path(option) for option in toolchain.host.options if os.path.isabs(option)]
    return any((root / name).is_file() for root in roots)


def _is_toolchains(name: str, own: Iterable[Path], toolchain: Toolchain) -> bool:
    if any((folder / name).exists() for folder in own):
        return False
    roots = (toolchain.toolkit.root / "include", *((toolchain.cccl,) if toolchain.cccl else ()))
    return any((root / name).is_file() for root in roots)
