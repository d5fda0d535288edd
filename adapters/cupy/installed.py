"""CuPy itself: its version, and the folder of its headers. Nothing here imports it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from tle_raw.adapters.common.tested_package import TestedPackage
from tle_raw.linker.tools.wheels import package_folder

# A wheel is called after the CUDA release that it was built for: cupy-cuda12x, cupy-cuda13x.
PACKAGE = TestedPackage("cupy", "CuPy", "cupy", "13.6", "15")
_VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)['"]""", re.MULTILINE)


def check_version() -> None:
    """For an object of CuPy's, which is then imported.

    Raises
    ------
    ToolchainError : the version was never tried.
    """
    PACKAGE.check_version(str(sys.modules["cupy"].__version__))


def version() -> str:
    """The installed version, or "": its headers are known by it."""
    folder = package_folder("cupy")
    found = _VERSION.search((folder / "_version.py").read_text()) if folder else None
    return found[1] if found else ""


def headers() -> Sequence[str]:
    """Where ``<cupy/complex.cuh>`` is; nothing where CuPy is not installed."""
    folder = package_folder("cupy")
    found = folder / "_core" / "include" if folder else None
    return [str(found)] if found and found.is_dir() else []
