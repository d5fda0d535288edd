"""Tells Triton how many registers a thread may have at the start, where a region's warps hand registers to each other.

ptxas ignores setmaxnreg in a kernel whose registers are not known when it starts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tle_raw.errors import RegionError, Row
from tle_raw.fragments.compiled import CompiledFragment

_MODULE = re.compile(r"^(?P<head>module attributes \{)", re.MULTILINE)
_ATTRIBUTE = "ttg.maxnreg"


def limit_registers(text: str, fragments: Sequence[CompiledFragment], options: Any) -> str:
    """The module's text with the limit that its fragments need; unchanged where none needs one.

    Raises
    ------
    RegionError : the launch has a ``maxnreg=`` of its own, and it is another one.
    """
    asking = {f.register_limit: f for f in fragments if f.register_limit}
    if not asking:
        return text
    limit, fragment = min(asking.items())
    own = getattr(options, "maxnreg", None)
    if own is not None and own != limit:
        raise RegionError(
            "the region's warps hand registers to each other, which needs a limit of its own",
            table=[Row("maxnreg", str(limit), str(own))],
            hint="leave maxnreg= out of the launch",
        ).at(fragment=fragment.name)
    return _MODULE.sub(rf"\g<head>{_ATTRIBUTE} = {limit} : i32, ", text, count=1)
