"""Makes a fragment of a declaration."""

from __future__ import annotations

from tle_raw.errors import TLEError
from tle_raw.fragments.adapter import Adapter, Declaration
from tle_raw.fragments.fragment import Fragment, add_declared
from tle_raw.fragments.options import wrong_type
from tle_raw.registry import frontend


def declare(adapter: Adapter, declaration: Declaration, inline: bool = True, ordered: bool = True) -> Fragment:
    """Make a fragment; what goes wrong names it and its stub's line."""
    frontend().install()
    try:
        if not isinstance(ordered, bool):
            raise wrong_type("ordered", "True or False", ordered)
        made = Fragment(adapter, declaration, inline=inline, ordered=ordered)
        add_declared(made)
        return made
    except TLEError as e:
        e.at(fragment=declaration.name, source=e.context.source or declaration.location)
        raise
