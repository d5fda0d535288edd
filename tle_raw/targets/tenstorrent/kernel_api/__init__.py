"""The vendor's kernel API, one table a release: how each operation of the final IR is spelled, and where it stands."""

from __future__ import annotations

from tle_raw.errors import Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.kernel_api import release_0_70_1, release_0_81_1
from tle_raw.targets.tenstorrent.kernel_api.operations import OPERATIONS, Operation, Unit, operation
from tle_raw.targets.tenstorrent.kernel_api.release import Release

RELEASES: dict[str, Release] = {each.name: each for each in (release_0_81_1.RELEASE, release_0_70_1.RELEASE)}
DEFAULT = release_0_81_1.RELEASE


def release(name: str = "") -> Release:
    """The table of a release of Metalium; the newest known when nothing is asked for.

    Raises
    ------
    UnsupportedFeatureError : there is no table of that release.
    """
    if not name:
        return DEFAULT
    if name not in RELEASES:
        raise UnsupportedFeatureError(
            "unknown release of the Tenstorrent kernel API", table=[Row("release", ", ".join(RELEASES), name)]
        )
    return RELEASES[name]


__all__ = ["DEFAULT", "OPERATIONS", "RELEASES", "Operation", "Release", "Unit", "operation", "release"]
