"""A program's texts without the branches of ``#if`` that are surely not read: what large headers are asked for with."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from tle_raw.adapters.cpp.dead_branches import changed_macros, undefined_macros, without_dead_branches
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.host_files import ProgramFiles
from tle_raw.adapters.cuda.torch_host_headers import is_torchs
from tle_raw.fragments.adapter import Source

_FLAG_DEFINES = re.compile(r"-[DU]\s*(\w+)")
# Libraries whose macros are known by how they begin.
_KNOWN_FOLDERS = ("crt/", "sys/", "bits/", "pybind11/", "tle_raw/")


def live_texts(source: Source, files: ProgramFiles) -> tuple[str, ...]:
    """The texts of the source and its files, with empty lines in the place of dead branches."""
    options, _ = source.data
    given = (define.partition("=")[0].partition("(")[0] for define in options.defines)
    told = _FLAG_DEFINES.findall(" ".join(options.flags))
    return _live(files.texts, frozenset(given), frozenset(told), _knows_headers(files))


@functools.lru_cache(maxsize=8)
def _live(texts: tuple[str, ...], given: frozenset[str], told: frozenset[str], knows_headers: bool) -> tuple[str, ...]:
    changed = changed_macros(texts) | told
    defined = given - changed
    undefined = undefined_macros(texts, changed | given) if knows_headers else frozenset[str]()
    return tuple(without_dead_branches(text, changed | given, defined, undefined) for text in texts)


def _knows_headers(files: ProgramFiles) -> bool:
    """Whether no header but those of known libraries could define a macro of the program's."""
    toolchain = find_toolchain()
    roots = [toolchain.toolkit.root / "include", *((toolchain.cccl,) if toolchain.cccl else ())]
    ends = frozenset("/".join(path.parts[-n:]) for path in files.paths for n in range(1, len(path.parts)))
    return all(name in ends or _is_known(name, roots) for name in set(files.names_of_includes))


def _is_known(name: str, roots: list[Path]) -> bool:
    if "/" not in name and name:  # C's, C++'s, CUDA's
        return True
    return is_torchs(name) or name.startswith(_KNOWN_FOLDERS) or any((root / name).is_file() for root in roots)
