"""``tle.pipe`` as FlagTree has it: pipes may share a buffer."""

from __future__ import annotations

from typing import Any

from tle_raw.frontends.gpu.pipes.create import made_pipe
from tle_raw.frontends.gpu.pipes.values import pipe_value
from tle_raw.frontends.lite.kernel_function import kernel_function


def _pipe(
    *,
    capacity: Any,
    scope: Any = "cta",
    name: Any = None,
    readers: Any = None,
    one_shot: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
    **fields: Any,
) -> pipe_value:
    """``tle.pipe``, whose fields may be buffers of other pipes: which part each of them hands over, and when, is the
    program's business. Its errors are those of ``tle_raw.language.pipe``.
    """
    ends = {"capacity": capacity, "scope": scope, "name": name, "readers": readers, "one_shot": one_shot}
    return made_pipe(ends, fields, _semantic, _generator, shares=True)


pipe = kernel_function(_pipe, "pipe")
