"""Where in the user's kernel a call stands."""

from __future__ import annotations

import linecache
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.linker.mlir.locations import first_location


def call_site(generator: Any, semantic: Any) -> SourceLocation | None:
    """File and line of the call that is being traced."""
    node = getattr(generator, "cur_node", None)
    if node is None:  # from Triton 3.7 on fragments are not told the generator: the builder knows the call's line
        return first_location(str(semantic.builder.get_loc())) if semantic is not None else None
    line = generator.begin_line + node.lineno
    text = linecache.getline(generator.file_name, line).rstrip()
    return SourceLocation(generator.file_name, line, 0, text)
