"""The switch that makes every supported version of Triton print a module in MLIR's generic form."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

# An attribute without a dialect prefix is invalid on a module, and what does not verify is printed in generic form.
SWITCH = "tle_print_generic"


def generic_text(module: Any, triton_ir: ModuleType) -> str:
    """A module of libtriton's in generic form, as its ``str`` method prints it. It is left unfit for more passes.

    Parameters
    ----------
    triton_ir : ``triton._C.libtriton.ir``, which the caller has loaded.
    """
    module.set_attr(SWITCH, triton_ir.builder(module.context).get_unit_attr())
    return _without_switch(module.str())


_SWITCHED = re.compile(rf",\s*{SWITCH}\b|\b{SWITCH}\s*,\s*|\s*\{{\s*{SWITCH}\s*\}}")


def _without_switch(text: str) -> str:
    """It stands once, in the module's attributes: the other lines need not be looked at."""
    place = text.find(SWITCH)
    if place < 0:
        return text
    begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    end = len(text) if end < 0 else end
    return text[:begin] + _SWITCHED.sub("", text[begin:end]) + text[end:]
