"""``libraries=``: files of device functions that a fragment calls, and their link with what its compiler made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tle_raw.errors import DialectError, FragmentSourceError
from tle_raw.fragments.adapter import Adapter, CompilerOutput, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.options import absolute_path, wrong_type
from tle_raw.identity import digest
from tle_raw.linker.device_code import optimise_for_device
from tle_raw.linker.inputs.kept_texts import KeepsTexts
from tle_raw.linker.inputs.library import LinkLibrary, open_library
from tle_raw.linker.link_libraries import link_libraries
from tle_raw.target import Target
from tle_raw.targets.device_code import find_device_code

if TYPE_CHECKING:
    from tle_raw.store import Store


@runtime_checkable
class GivesLibrary(Protocol):
    """An object that stands for a library: an installed package of intrinsics, say."""

    name: str
    digest: str  # of its content for every architecture: a part of the fragment's cache key

    def library_for(self, arch: str) -> Path | bytes:
        """The library's file, or its content, for a GPU such as ``sm_90a``; raise a TLEError where it has none."""


@runtime_checkable
class HasHostVariables(Protocol):
    """A library whose host part looks variables up in each kernel that holds its code."""

    host_variables: tuple[str, ...]


@dataclass(frozen=True)
class GivenLibrary:
    """A library as a fragment was given it. ``path`` is None where an object gives it; ``digest`` is of its content.

    ``host_variables`` keep their names in kernels that hold its code, whether that reads them or not.
    """

    name: str
    digest: str
    path: Path | None
    data: Callable[[str], bytes]
    host_variables: tuple[str, ...] = ()


def as_given(libraries: object) -> tuple[Any, ...]:
    """What a user wrote after ``libraries=``; one library need not stand in a list.

    Raises
    ------
    DialectError : it is no library, and no list of any.
    """
    if isinstance(libraries, (str, bytes, os.PathLike, GivesLibrary)):
        return (libraries,)
    if not isinstance(libraries, Iterable):
        raise wrong_type("libraries", "a list of paths, or of objects that give a library", libraries)
    return tuple(libraries)


def given_libraries(libraries: Sequence[Any], folder: Path) -> tuple[GivenLibrary, ...]:
    """The libraries, with digests of their content as it is now; a relative path starts at ``folder``.

    Raises
    ------
    FragmentSourceError : a file cannot be read. DialectError : something is no library.
    """
    return tuple(_given(library, folder) for library in libraries)


def _given(library: Any, folder: Path) -> GivenLibrary:
    if isinstance(library, bytes):
        return GivenLibrary("a library in memory", digest(library), None, lambda arch: library)
    if isinstance(library, GivesLibrary) and not isinstance(library, os.PathLike):
        variables = library.host_variables if isinstance(library, HasHostVariables) else ()
        return GivenLibrary(
            library.name, library.digest, None, lambda arch: _content(library.library_for(arch)), variables
        )
    if not isinstance(library, (str, os.PathLike)):
        raise DialectError(
            f"libraries= takes paths, and objects that give a library, not {type(library).__name__}",
            hint="an object needs name, digest and library_for(arch)",
        )
    path = absolute_path("libraries", library, folder)
    known = _stamped_digest(path)

    def read(arch: str) -> bytes:
        data = _content(path)
        if digest(data) != known:
            raise FragmentSourceError(f"the library {path} changed while the kernel was compiled", hint="run it again")
        return data

    return GivenLibrary(path.name, known, path, read)


def library_files(libraries: Sequence[GivenLibrary]) -> tuple[Path, ...]:
    """The files among them."""
    return tuple(library.path for library in libraries if library.path is not None)


def opened(
    libraries: Sequence[GivenLibrary], arch: str, timeout: float, kept: KeepsTexts | None = None
) -> tuple[LinkLibrary, ...]:
    """The libraries for one GPU, as the linker takes them.

    Raises
    ------
    FragmentSourceError : a file is gone, or has changed. LinkError : one is none that can be linked.
    """
    return tuple(
        replace(library, host_variables=each.host_variables)
        for each in libraries
        for library in open_library(each.name, each.data(arch), arch, timeout, kept)
    )


def compile_with_libraries(
    adapter: Adapter, source: Source, bound: BoundSignature, target: Target, libraries: Sequence[GivenLibrary]
) -> CompilerOutput:
    """What the adapter's compiler makes, linked with what it calls of the libraries.

    Raises
    ------
    AbiError : a library defines a function of another type than the source declares.
    DuplicateSymbolError, LinkError, FragmentSourceError : the libraries do not go together, are damaged, or gone.
    """
    from tle_raw.knobs import knobs

    wanted = find_device_code(target)
    usable = opened(libraries, wanted.arch if wanted else "sm_80", knobs.compile_timeout, kept_cuts())
    output = adapter.compile(replace(source, libraries=usable), bound, target)
    joined = link_libraries(output.text, usable, [output.entry])
    text = joined.module.text
    if wanted is not None and wanted.is_emulated and joined.taken and find_spec("llvmlite"):
        text = optimise_for_device(text, output.entry, wanted.arch)  # as the adapter's own code is
    return replace(
        output,
        text=text,
        linked=tuple((each.name, each.library) for each in joined.taken),
        host_variables=(*output.host_variables, *(name for library in libraries for name in library.host_variables)),
    )


def kept_cuts() -> KeepsTexts | None:
    """Where cuts of large libraries are kept: the package's own cache, unless that is switched off."""
    from tle_raw.fragments.kept import kept_if_wanted

    store = kept_if_wanted()
    return _Stored(store) if store else None


@dataclass(frozen=True)
class _Stored:
    """The cuts of large libraries in the package's own cache."""

    store: Store

    def load_text(self, key: str) -> str | None:
        entry = self.store.load(key)
        return entry.text if entry else None

    def save_text(self, key: str, text: str) -> None:
        with self.store.lock(key):
            self.store.save(key, text, {"name": "a library's cut", "created": time.time()})


def _content(library: Path | bytes) -> bytes:
    if isinstance(library, bytes):
        return library
    try:
        return library.read_bytes()
    except OSError as error:
        raise FragmentSourceError(f"the library {library} cannot be read: {error.strerror}") from None


def _stamped_digest(path: Path) -> str:
    try:
        status = path.stat()
    except OSError as error:
        raise FragmentSourceError(f"the library {path} cannot be read: {error.strerror}") from None
    return _digest(path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=256)
def _digest(path: Path, *stamp: int) -> str:
    """Of a file as it was at that time: large ones are not read twice."""
    return digest(_content(path))
