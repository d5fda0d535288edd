"""A fragment's source as it was last read, with the digest of all that can change its code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tle_raw.errors import FragmentSourceError, TLEError
from tle_raw.fragments.adapter import Adapter, Declaration, Source
from tle_raw.fragments.compilation import compiler_identity
from tle_raw.fragments.file_stamps import FileStamps
from tle_raw.fragments.libraries import GivenLibrary, given_libraries, library_files
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.unfinished_keys import reset_unfinished_keys
from tle_raw.identity import digest, package_identity
from tle_raw.knobs import knobs
from tle_raw.thread_lock import ThreadLock

MOST_READ = 5


class ReadSource(NamedTuple):
    """What one key stands for: ``files`` are the user's, ``compiler`` is the compiler's identity."""

    source: Source
    files: tuple[Path, ...]
    compiler: str
    libraries: Sequence[GivenLibrary]


class KeyedSource:
    """What ``declaration`` names, read anew when a file changes.

    Parameters
    ----------
    more : what else goes into the key.

    Raises
    ------
    FragmentSourceError, DialectError : the source cannot be read, or the declaration is wrong.
    """

    def __init__(self, adapter: Adapter, declaration: Declaration, more: tuple[object, ...]) -> None:
        self._adapter, self._declaration, self._more = adapter, declaration, more
        self.source: Source = adapter.read(declaration)
        self.libraries = given_libraries(declaration.libraries, declaration.folder)
        self._compiler = ""
        self._stamps = FileStamps(())
        self._stamped_files: tuple[Path, ...] = ()
        self._key: str | None = None
        self._disabled = ""  # knobs.disable_passes when the key was made
        self._has_given_key = False
        self._lock = ThreadLock(self._reset_key)

    @property
    def signature(self) -> Signature | None:
        """The user's, or else what the source tells; None where each call tells it."""
        return self._declaration.signature or self.source.signature

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's files that the source reads."""
        return self._adapter.files(self.source)

    def key(self) -> str:
        """The digest; made where there is none."""
        with self._lock:
            self._has_given_key = True
            self._key = self._key or self._compute_key()
            return self._key

    def read(self) -> ReadSource:
        """What the key stands for."""
        with self._lock:
            self.key()
            return ReadSource(self.source, self._stamped_files, self._compiler, self.libraries)

    @property
    def has_key(self) -> bool:
        return self._key is not None

    def is_stale(self) -> bool:
        """Whether a file looks different from when the key was made."""
        return self._stamps.are_stale()

    def had_passes_disabled(self, names: str) -> bool:
        """Whether ``knobs.disable_passes`` was ``names`` when the key was made."""
        return self._disabled == names

    def is_current(self, disabled: str) -> bool:
        """Whether there is a key, made with these passes disabled and of files that look as they did."""
        return self._key is not None and self._disabled == disabled and not self._stamps.are_stale()

    def refresh(self) -> bool:
        """Make the key anew if a file or the disabled passes changed since it was made; True when it changed.

        Raises
        ------
        FragmentSourceError : a file cannot be read any more; there is no key then until it can.
        """
        with self._lock:
            if not self._has_given_key:
                return False
            if self.is_current(knobs.disable_passes):
                return False
            old, self._key = self._key, None
            self._key = self._compute_key()
            return self._key != old

    def _reset_key(self) -> None:
        """In a child that was forked while it was computed: some of what was read may be of a moment later."""
        self._key = None
        reset_unfinished_keys()

    def _compute_key(self) -> str:
        try:
            self._disabled = knobs.disable_passes
            self._read()
            self._compiler = compiler_identity(self._adapter)
        except TLEError as e:
            e.at(fragment=self._declaration.name, source=e.context.source or self._declaration.location)
            raise
        return digest(
            package_identity(),
            self._compiler,
            self.source.dialect,
            self.source.symbol,
            self.source.text,
            self.source.settings,
            self.signature,
            *self._more,
            self._disabled,
            *sorted(self._stamps.digests),
            *(library.digest for library in self.libraries),
        )

    def _read(self) -> None:
        """Read the source, and stamp its files; again where somebody writes them between the two."""
        for _ in range(MOST_READ):
            self.source = self._adapter.read(self._declaration)
            self._stamped_files = self.files
            self.libraries = given_libraries(self._declaration.libraries, self._declaration.folder)
            self._stamps = FileStamps((*self._stamped_files, *library_files(self.libraries)))
            if not self._stamps.are_young or self._adapter.read(self._declaration).text == self.source.text:
                return
        raise FragmentSourceError("the source changes while it is read", hint="run it again when it is written")
