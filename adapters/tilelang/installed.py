"""TileLang itself: imported when a fragment needs it, and only in a version that was tried."""

from __future__ import annotations

import functools
from types import ModuleType

from tle_raw.adapters.common.tested_package import TestedPackage

# TileLang's IR changes from one version to the next.
PACKAGE = TestedPackage("tilelang", "TileLang", "tilelang", "0.1.15", "0.2")
RANGE = PACKAGE.range
installed_version, check_version = PACKAGE.installed_version, PACKAGE.check_version


@functools.cache
def load_tilelang() -> ModuleType:
    """The package; its import takes about two seconds and puts ``tvm`` on the path.

    Raises
    ------
    ToolchainError : it is missing, outside the range, or broken.
    """
    installed_version()
    try:
        import tilelang
    except Exception as e:
        raise PACKAGE.broken(e) from e
    package: ModuleType = tilelang
    return package
