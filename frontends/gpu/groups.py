"""``tle.gpu.async_commit_group`` and ``async_wait_group``: groups of asynchronous copies."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.checks import check_constant
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.operations import perform


@gpu_function
def async_commit_group(_semantic: Any = None, _generator: Any = None) -> None:
    """Make a group of the asynchronous copies that were issued since the last group.

    On NVIDIA GPUs it is ``cp.async.commit_group``; elsewhere a copy is done when it is issued.
    """
    perform(operations.ASYNC_COMMIT_GROUP, _semantic, _generator)


@gpu_function
def async_wait_group(pendings: Any = 0, _semantic: Any = None, _generator: Any = None) -> None:
    """Wait until at most so many of the latest groups are under way.

    On NVIDIA GPUs it is ``cp.async.wait_group``, with a barrier of the block behind it: afterwards all threads see the
    elements.

    Parameters
    ----------
    pendings : how many groups may be left; a constant. 0 waits for all.

    Raises
    ------
    ArgumentTypeError : it is no constant, or negative.
    """
    groups = check_constant("async_wait_group", "pendings", pendings)
    if groups < 0:
        raise ArgumentTypeError(
            "tle.gpu.async_wait_group: a number of groups", table=[Row("pendings", "0 or more", str(groups))]
        )
    perform(operations.ASYNC_WAIT, _semantic, _generator, groups)
