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


def peek_generic(module: Any, triton_ir: ModuleType) -> str:
    """A module in generic form that stays fit for passes: "" where no tensor in it has a layout.

    Layouts have so many threads in a warp as the module says. With a false number they do not verify.
    """
    threads = module.get_int_attr(_THREADS)
    if threads is None:
        return ""
    builder = triton_ir.builder(module.context)
    module.set_attr(_THREADS, builder.get_int32_attr(_FALSE * threads))
    text = str(module.str())
    module.set_attr(_THREADS, builder.get_int32_attr(threads))
    if '"builtin.module"(' not in text:
        return ""
    head, _, tail = text.rpartition(f'"{_THREADS}" = {_FALSE * threads} ')
    return f'{head}"{_THREADS}" = {threads} {tail}'


_THREADS, _FALSE = "ttg.threads-per-warp", 3
_SWITCHED = re.compile(rf",\s*{SWITCH}\b|\b{SWITCH}\s*,\s*|\s*\{{\s*{SWITCH}\s*\}}")


def _without_switch(text: str) -> str:
    """It stands once, in the module's attributes: the other lines need not be looked at."""
    place = text.find(SWITCH)
    if place < 0:
        return text
    begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    end = len(text) if end < 0 else end
    return text[:begin] + _SWITCHED.sub("", text[begin:end]) + text[end:]
