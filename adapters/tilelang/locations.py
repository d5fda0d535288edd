"""The user's line of a TIR statement: TileLang's frontend writes it into the statement's span."""

from __future__ import annotations

import linecache
from pathlib import Path

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.tir_types import Node
from tle_raw.errors import SourceLocation


def location_of(statement: Node) -> SourceLocation | None:
    """None for what TileLang made itself: a macro of its own, a node of the launch."""
    tilelang = load_tilelang()
    span = tilelang.ir.get_stmt_span(statement)
    if span is None:
        return None
    file, line = span.source_name.name, span.line
    if str(Path(file).resolve()).startswith(str(Path(str(tilelang.__file__)).resolve().parent)):
        return None
    return SourceLocation(file, line, 0, linecache.getline(file, line).rstrip())
