"""This package's content, and the settings that change its code, as something that Triton mixes into a kernel's key."""

from __future__ import annotations

from triton.runtime.jit import ConstexprFunction

from tle_raw.identity import package_identity
from tle_raw.knobs import knobs


class PackageKey(ConstexprFunction):
    """A dependency of kernels whose key is the content of this package: an edited package makes new kernels.

    Triton asks for it once for each kernel of a process, before the kernel is compiled for the first time.
    """

    @property
    def cache_key(self) -> str:
        """Digest of this package's sources, and the settings with which kernels are compiled in another way."""
        settings = (knobs.disable_passes, "racecheck" * knobs.racecheck, "like-nvcc" * knobs.like_nvcc)
        return "-".join(filter(None, (package_identity(), *settings)))


def _package() -> None:
    """Triton wants a function with a source."""


PACKAGE = PackageKey(_package)
