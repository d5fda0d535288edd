"""Stage C, third: the graph of a block's work. Leaves ``tt.tile_dfg``: nodes, edges, buffer_roles, releases.

A node is an operation, an edge a buffer from the one that fills it to one that reads it. ``releases`` says behind
which operation a buffer's value has been read for the last time: stage D gives its pages back there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.blocks import BY_READER, WriteBlock, defined, used
from tle_raw.targets.tenstorrent.ir import Module, Role, walk
from tle_raw.targets.tenstorrent.lifetimes import find_lifetimes
from tle_raw.targets.tenstorrent.options import Options


def build_tile_dfg_tt(module: Module, options: Options) -> Module:
    """The module with its graph."""
    operations = [s for s in walk(module.body) if getattr(s, "node", -1) >= 0]
    makers: dict[str, list[int]] = {}
    for statement in operations:
        if defined(statement) is not None:
            makers.setdefault(str(defined(statement)), []).append(statement.node)
    nodes = [
        {"id": s.node, "kind": type(s).__name__, "kernel": role_of(s), "buffer": defined(s) or (used(s) or ("",))[0]}
        for s in operations
    ]
    edges = [
        {"from": maker, "to": s.node, "buffer": name} for s in operations for name in used(s) for maker in makers[name]
    ]
    roles = {name: f"{buffer.producer} to {buffer.consumer}" for name, buffer in module.circular_buffers.items()}
    graph = {"nodes": nodes, "edges": edges, "buffer_roles": roles, "releases": find_lifetimes(module.body)}
    return replace(module, attributes={**module.attributes, "tt.tile_dfg": graph})


def role_of(statement: Any) -> Role:
    """The kernel that does an operation."""
    if isinstance(statement, BY_READER):
        return "reader"
    return "writer" if isinstance(statement, WriteBlock) else "compute"
