"""The texts that a CUDA source is made of: its own, and those of the user's files that it includes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tle_raw.adapters.cpp.includes import Include, closure, includes_of
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cpp.source import decode
from tle_raw.adapters.cpp.toolchain import INCLUDE
from tle_raw.adapters.cuda.symbol import split_symbol
from tle_raw.adapters.cuda.torch_host_headers import host_headers, is_torchs, leads_to_hosts
from tle_raw.fragments.adapter import Source

TORCH = "c10/util/Half.h"  # by which its folder is found
_PYBIND11 = "pybind11"
_LIGHT_PYBIND11 = INCLUDE / "tle_raw" / _PYBIND11 / "light.h"


@dataclass(frozen=True)
class ProgramFiles:
    """The user's files that a source includes, and all texts, the source's own first: read once for a compilation."""

    paths: tuple[Path, ...]
    texts: tuple[str, ...]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        return frozenset(map(str, self.paths))

    @functools.cached_property
    def includes(self) -> tuple[tuple[Include, ...], ...]:
        """Those of each text."""
        return tuple(map(includes_of, self.texts))

    @functools.cached_property
    def takes_torch(self) -> bool:
        """Whether they include headers of an installed torch."""
        return any(map(is_torchs, self.names_of_includes)) and bool(folder_with(TORCH))

    @property
    def names_of_includes(self) -> Iterator[str]:
        """What the texts include, by the names that they give."""
        return (include.name for includes in self.includes for include in includes)

    @functools.cached_property
    def torchs_host_headers(self) -> Mapping[str, Path]:
        """Torch's headers that are for hosts alone, among those that they lead to, and what stands in for each."""
        torch = folder_with(TORCH)
        return host_headers(torch, self.names_of_includes) if torch else {}

    @functools.cached_property
    def pybind11s_headers(self) -> Mapping[str, Path]:
        """pybind11's headers, if they include one that is no file of the user's, and what stands in for each."""
        named = {name for name in self.names_of_includes if name.startswith(f"{_PYBIND11}/")}
        named = {name for name in named if not any(path.endswith(f"/{name}") for path in self.names)}
        if not named:
            return {}
        folder = folder_with(f"{_PYBIND11}/{_PYBIND11}.h")
        installed = (folder / _PYBIND11).glob("*.h") if folder else ()
        return dict.fromkeys(sorted({*named, *(f"{_PYBIND11}/{path.name}" for path in installed)}), _LIGHT_PYBIND11)

    @functools.cached_property
    def takes_torchs_host_headers(self) -> bool:
        """Whether they include headers of torch's that something stands in for."""
        torch = folder_with(TORCH)
        return leads_to_hosts(torch, self.names_of_includes) if torch else False


def files_of(source: Source) -> ProgramFiles:
    """The texts of a source, read anew where a file has changed."""
    paths = _closure_files(source)
    return ProgramFiles(paths, (source.text, *map(decoded, paths)))


def wanted_name(source: Source) -> str:
    """The function's name without its namespaces."""
    return split_symbol(source.symbol)[0].rpartition("::")[2]


def own_name(source: Source) -> str:
    """How errors name the source's own text."""
    options, _ = source.data
    return str(options.file) if options.file else ""


def decoded(path: Path) -> str:
    """A file's text; kept until the file changes."""
    status = path.stat()
    return _content(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4096)
def _content(path: Path, modified: int, size: int) -> str:
    return decode(path.read_bytes())


def _closure_files(source: Source) -> tuple[Path, ...]:
    options, folder = source.data
    dirs = options.search_dirs if options.file else (*options.search_dirs, folder)
    here = options.file.parent if options.file else folder
    return closure(source.text, here, dirs, options.forced_includes).files
