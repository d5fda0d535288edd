"""Warp functions of before Volta get their mask, and the user is told of it once for each line."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from tle_raw.adapters.cuda.explain import Attempt
from tle_raw.adapters.cuda.symbol import location_of
from tle_raw.errors import WarpMaskWarning
from tle_raw.linker.llvm.add_masks import add_masks, describe
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.ptx.unmasked import find_unmasked


def masked_text(text: str, attempt: Attempt, is_users: Callable[[str], bool]) -> tuple[str, list[str]]:
    """The LLVM IR with masks, and the warnings. A ``WarpMaskWarning`` names the lines."""
    if not find_unmasked(text):
        return text, []
    module, masked = add_masks(read_module(text))
    if not masked:
        return text, []
    function = attempt.callee.function
    home = location_of(function) if function else attempt.source.location
    sites = Sites(module, home, is_users)
    told = [f"{sites.source_location(m.location) or home}: warning: {describe(m)}" for m in masked]
    told = list(dict.fromkeys(told))
    warnings.warn(WarpMaskWarning("\n".join(told)), stacklevel=2)
    return module.text, told
