"""This package's content as something that Triton mixes into a kernel's key."""

from __future__ import annotations

from triton.runtime.jit import ConstexprFunction

from tle_raw.identity import package_identity


class PackageKey(ConstexprFunction):
    """A dependency of kernels whose key is the content of this package: an edited package makes new kernels."""

    @property
    def cache_key(self) -> str:
        """Digest of this package's sources."""
        return package_identity()


def _package() -> None:
    """Triton wants a function with a source."""


PACKAGE = PackageKey(_package)
