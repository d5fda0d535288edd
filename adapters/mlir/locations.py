"""Locations: the line of the text that an operation came from, and the user's file instead of a temporary one."""

from __future__ import annotations

import json
import re
from typing import Any

from tle_raw.errors import SourceLocation

# What the parsers call the text: the bindings say "-", libtriton reads a file of this name in a temporary folder.
FILE = "module.mlir"
_OWN = re.compile(rf'"(?:-|[^"\n]*/tle_raw-[^"/\n]*/{re.escape(FILE)})":(\d+):(\d+)')


def location_of(operation: Any) -> SourceLocation | None:
    """The first place that the operation's location names, counted in the text that was parsed."""
    match = _OWN.search(str(operation.location))
    return SourceLocation("", int(match[1]), int(match[2])) if match else None


def with_users_lines(text: str, location: SourceLocation) -> str:
    """The same module, whose locations name the file and the lines of the text that starts at ``location``."""
    file = json.dumps(location.file, ensure_ascii=False)
    return _OWN.sub(lambda match: f"{file}:{int(match[1]) + location.line - 1}:{match[2]}", text)
