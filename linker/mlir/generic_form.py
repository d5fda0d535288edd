"""The switch that makes every supported version of Triton print a module in MLIR's generic form."""

from __future__ import annotations

import re

# An attribute without a dialect prefix is invalid on a module, and what does not verify is printed in generic form.
SWITCH = "tle_print_generic"


def without_switch(text: str) -> str:
    """The printed module without the attribute."""
    return re.sub(rf",\s*{SWITCH}\b|\b{SWITCH}\s*,\s*|\s*\{{\s*{SWITCH}\s*\}}", "", text)
