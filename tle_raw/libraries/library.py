"""A packed library that is open in this process: its functions by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tle_raw.errors import LibraryError, SourceLocation
from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.module_hooks import call_for_modules_of
from tle_raw.fragments.overloaded import Overloaded
from tle_raw.fragments.signature import Signature
from tle_raw.identity import digest
from tle_raw.libraries.packed_adapter import PackedAdapter, block_of
from tle_raw.libraries.packed_files import PackedFunction, PackedIndex, read_index
from tle_raw.libraries.signature_text import read_signature
from tle_raw.registry import frontend

_OPEN: dict[str, Library] = {}


class Library:
    """One library: ``library.function("rms_rows")``, and what its index says."""

    def __init__(self, index: PackedIndex, module_file: str) -> None:
        self.index = index
        self._module_file = module_file
        self._adapter = PackedAdapter(index)
        self._functions: dict[str, Overloaded] = {}

    @property
    def version(self) -> str:
        """The library's own version."""
        return self.index.version

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its functions."""
        return tuple(self.index.by_name)

    def function(self, name: str) -> Overloaded:
        """The function of a name, the same object each time. Nothing of it is read before it is called.

        Raises
        ------
        AttributeError : there is none.
        """
        if name not in self._functions:
            packed = self.index.by_name.get(name)
            if packed is None:
                raise AttributeError(f"the library {self.index.title} has no function {name!r}")
            self._functions[name] = self._made(packed)
        return self._functions[name]

    def _made(self, packed: PackedFunction) -> Overloaded:
        def fragments() -> list[Fragment]:
            return [self._fragment(packed, each) for each in self.index.read_function(packed)]

        def signatures() -> list[Signature]:
            return [read_signature(packed.name, text) for text in packed.signatures]

        def accept(fragment: Fragment, bound: BoundSignature) -> None:
            _, declaration, *_ = fragment.declared
            self._adapter.check_packed(declaration.wrapped, packed.name, bound)

        several = [f"{packed.name}{text}" for text in packed.signatures] if len(packed.signatures) > 1 else []
        return Overloaded(
            packed.name,
            "\n".join([packed.doc, *([""] if packed.doc and several else []), *several]).strip(),
            self._location,
            signatures=signatures,
            make=fragments,
            key=lambda: digest("library", self.index.title, packed.name, packed.sha256),
            accept=accept,
        )

    def _fragment(self, packed: PackedFunction, overload: dict[str, Any]) -> Fragment:
        signature = read_signature(packed.name, overload["signature"])
        declaration = Declaration(
            packed.name, signature, block_of(overload), self._location, self.index.folder, wrapped=overload
        )
        return declare(self._adapter, declaration)

    @property
    def _location(self) -> SourceLocation:
        return SourceLocation(self._module_file, 0)

    def __repr__(self) -> str:
        return f"<tle_raw library {self.index.title}, {len(self.names)} functions>"


def open_library(module_file: str) -> Library:
    """The library of the package whose ``__init__.py`` this is; that file is what calls.

    Raises
    ------
    LibraryError : its index cannot be read, or the process has opened another version of it.
    """
    frontend().install()
    index = read_index(Path(module_file).absolute().parent)
    there = _OPEN.get(index.name)
    if there is None:
        there = _OPEN[index.name] = Library(index, module_file)
        call_for_modules_of(index.title, index.setup, index.teardown)
    elif there.index.digest != index.digest:
        raise LibraryError(
            f"two versions of the library {index.name} in one process: {there.index.version} from "
            f"{there.index.folder}, and {index.version} from {index.folder}",
            hint="start a new process; uninstall the one that is not meant",
        )
    return there
