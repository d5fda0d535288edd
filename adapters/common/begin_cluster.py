"""The first thing that a block of a launch in clusters does on the CPU: it meets the others of its cluster.

On GPUs Triton's option ``num_ctas`` makes the clusters. The CPU's launch makes them of what the kernel says.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.regions.clusters import ARRIVE, WAIT, record_text
from tle_raw.regions.stages import check_stages, compiled_target

CPU = "cpu"


@core.builtin  # type: ignore[untyped-decorator]
def begin_cluster(blocks: Any, _semantic: Any = None) -> None:
    """Wait for the other blocks of a cluster to have begun; nothing on GPUs."""
    check_stages(_semantic.builder.options, "blocks of a cluster")
    if compiled_target() != CPU:
        return
    builder, record = _semantic.builder, record_text(cluster=int(core._unwrap_if_constexpr(blocks)))
    for symbol in (ARRIVE, WAIT):
        builder.create_extern_elementwise(record, "", symbol, [builder.get_int32(0)], core.int32.to_ir(builder), False)
