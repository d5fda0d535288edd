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
    r"(?!(?:THRUST_)?(?:CUB_)?WRAPPED_NAMESPACE\b)"
    r"(?:_?_?(?:CUB|THRUST|CCCL|LIBCUDACXX|CUDA_NO|CG|COOPERATIVE_GROUPS|GLIBCXX)_\w*|NDEBUG)\b",
    re.MULTILINE,
)
# Macros that whoever compiles gives, and that such headers ask for. Those that begin with `_` every header sees.
_GIVEN = re.compile(
    r"(?:CUB|THRUST|CCCL|LIBCUDACXX|CUDA|CUDART|CG|COOPERATIVE_GROUPS|GLIBCXX|CUTE|CUTLASS|NV)(?:_|$|=|\()|N?DEBUG\b"
)
# The namespace in which a program wants CUB, Thrust or both: it changes names, and nothing of the code.
_WRAPPED = re.compile(
    r"^[^\S\n]*#[^\S\n]*define[^\S\n]+((?:THRUST_)?(?:CUB_)?WRAPPED_NAMESPACE)\b[^\S\n]*(\w*)[^\S\n]*(?=$|//|/\*)",
    re.MULTILINE,
)
_WRAPS = re.compile(r"#[^\S\n]*define[^\S\n]+(?:THRUST_)?(?:CUB_)?WRAPPED_NAMESPACE\b")


def headers_in_front(text: str, options: Options, toolchain: Toolchain) -> str:
    """``#include`` lines in front of everything else, or nothing where the user's macros could change their meaning.

    They are those with which the text begins, and those that are read ahead of their place (``options.ahead``).
    """
    if options.forced_includes or any(map(_GIVEN.match, options.defines)):
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
    # torch's numbers come first, which are read as nobody wraps them
    own = [header for header in found if not is_large(header)] if options.wrapped else []
    lines = [*undefine_lines(options.block, options.grid), *(f"#include <{header}>" for header in own)]
    lines += (f"#define {name} {namespace}" for name, namespace in options.wrapped)
    lines += (f"#include <{header}>" for header in found if header not in own)
    lines += (f"#undef {name}" for name, _ in options.wrapped)
    return "\n".join([*lines, ""])


def wrapped_namespaces(texts: Iterable[str]) -> tuple[tuple[str, str], ...] | None:
    """The macros that wrap CUB and Thrust, each with its namespace; None where one has not the same for all texts."""
    texts = tuple(texts)
    found = dict.fromkeys(match for text in texts for match in _WRAPPED.findall(text))
    is_one = len({name for name, _ in found}) == len(found) and all(namespace for _, namespace in found)
    is_all = sum(len(_WRAPS.findall(text)) for text in texts) == sum(len(_WRAPPED.findall(text)) for text in texts)
    return tuple(found) if is_one and is_all else None


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
    texts = tuple(texts)
    if not found or any(True for _ in undefine_lines(options.block, options.grid)) or any(map(_ASKED.search, texts)):
        return ()
    if wrapped_namespaces(texts) is None:
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
