"""cuTile itself: imported when a fragment needs it, in a version that was tried, and if its IR is the known one."""

from __future__ import annotations

import functools
from types import ModuleType

from tle_raw.adapters.common.tested_package import TestedPackage
from tle_raw.adapters.cutile.drift import check_typed_ir

# cuTile promises that its bytecode stays, not that its typed IR does.
PACKAGE = TestedPackage("cuda-tile", "cuTile", "cutile", "1.6", "1.8")
installed_version, check_version = PACKAGE.installed_version, PACKAGE.check_version


@functools.cache
def load_cutile() -> ModuleType:
    """The package, after its typed IR was compared with what this release knows.

    Raises
    ------
    ToolchainError : it is missing, outside the range, broken, or its typed IR is another one.
    """
    found = installed_version()
    try:
        import cuda.tile
    except Exception as e:
        raise PACKAGE.broken(e) from e
    check_typed_ir(found)
    package: ModuleType = cuda.tile
    return package
