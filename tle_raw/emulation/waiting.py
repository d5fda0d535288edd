"""Loops that wait for another thread or program: the scheduler is asked before each access that they may repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.emulation.debug_checks import accesses, typed
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.sizes import Sizes, sizes_of
from tle_raw.linker.llvm.text import Edit, Module

_WAITING = re.compile(
    r"^(?P<indent>[ \t]+)(?:%\S+ = )?(?P<kind>load|store|cmpxchg|atomicrmw) (?P<how>volatile|atomic)?[^\n]*$",
    re.MULTILINE,
)


def let_others_run(module: Module, sites: Sites) -> Module:
    """The module with ``tle_team_spin`` before its atomic accesses; lanes meet before volatile ones: ``lockstep``."""
    sizes = sizes_of(module)
    return module.edited(
        edit
        for entity in module.of_kind("define")
        for number, match in enumerate(_WAITING.finditer(module.text, entity.body, entity.end))
        for edit in _edits(match, number, sizes, sites)
    )


def _edits(match: re.Match[str], number: int, sizes: Sizes, sites: Sites) -> Iterator[Edit]:
    kind, how = match["kind"], match["how"]
    if kind in ("load", "store") and (how != "atomic" or kind == "store"):
        return
    location = re.search(r"!dbg (!\d+)", match[0])
    site = sites.number(location[1] if location else "")
    _, pointer, _ = next(accesses(kind, match[0], sizes))
    space, value = typed(pointer)
    cast = ""
    if space != "ptr":
        value, cast = f"%tle.polled.{number}", f"%tle.polled.{number} = addrspacecast {space} {value} to ptr\n"
    call = f"call void @tle_team_spin(ptr {value}, i32 {site})\n"
    yield Edit(match.start(), match.start(), "".join(match["indent"] + line for line in (cast, call) if line))
