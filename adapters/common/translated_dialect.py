"""A dialect that is another one under other rules: its declarations are translated, the other reads and compiles them.

The other is found in the registry: no adapter imports a second one, and whoever replaces it replaces it for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.adapter import BaseAdapter, CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.registry import find_adapter
from tle_raw.target import Target


class TranslatedDialect:
    """The methods of an adapter, by those of the dialect ``base``. A subclass says what its options mean there."""

    name: str
    base: str
    _found: BaseAdapter | None = None

    def translated(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a declaration as the base takes them.

        Raises
        ------
        DialectError : an option has no counterpart, or a wrong value.
        """
        raise NotImplementedError

    def read(self, declaration: Declaration) -> Source:
        """As the base reads it; the source keeps this dialect's name."""
        found = self._base().read(replace(declaration, options=self.translated(declaration.options)))
        return replace(found, dialect=self.name)

    def files(self, source: Source) -> tuple[Path, ...]:
        """The files that the source reads, as the base's adapter names them."""
        return self._base().files(source)

    def compiler_identity(self) -> str:
        """Which compiler the base would run."""
        return self._base().compiler_identity()

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Device code of the translated source, by the base's adapter; its errors are the base's."""
        return self._base().compile(source, bound, target)

    def as_launched_kernel(self, declaration: Declaration, source: Source, options: Mapping[str, Any]) -> Any:
        """The source as a kernel of its own, with the options of ``as_kernel``."""
        return self._base().as_launched_kernel_of(self, declaration, source, options)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function that an author has to write, in the base's language."""
        return self._base().prototype(source, signature)

    def _base(self) -> BaseAdapter:
        """The base's adapter of this moment: a process may register another at any time."""
        found = find_adapter(self.base)
        if found is not self._found:  # the check takes as long as finding a kernel in Triton's cache
            if not isinstance(found, BaseAdapter):
                raise DialectError(
                    f"the dialect {self.name!r} is built on {self.base!r}, and the adapter {type(found).__name__} "
                    "carries none"
                )
            self._found = found
        assert self._found is not None
        return self._found
