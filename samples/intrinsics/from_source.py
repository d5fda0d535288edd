"""The functions of the library, compiled where they are used: for sizes that are not packed, and for work on them.

    from from_source import primitives
    inclusive_sum = primitives.inclusive_sum
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tle_raw.fragments.overloaded import Overloaded
from tle_raw.identity import digest
from tle_raw.libraries.packing.declared import declared
from tle_raw.libraries.packing.manifest import Function
from tle_raw.libraries.packing.read_manifest import read_manifest

MANIFEST = Path(__file__).with_name("library.toml")


class FromSource:
    """``primitives.topk`` is the function of that name in the manifest; it takes every size."""

    def __init__(self, manifest: Path) -> None:
        self.functions = {function.name: function for function in read_manifest(manifest).functions}

    @cache  # noqa: B019  (there is one, and it lives as long as the process)
    def __getattr__(self, name: str) -> Overloaded:
        if name not in self.functions:
            raise AttributeError(f"{MANIFEST.name} has no function {name!r}")
        return _overloaded(self.functions[name])


def _overloaded(function: Function) -> Overloaded:
    fragments = [declared(function, overload) for overload in function.overloads]
    return Overloaded(
        function.name,
        function.doc,
        function.location,
        signatures=lambda: [overload.signature for overload in function.overloads],
        make=lambda: fragments,
        key=lambda: digest(*(fragment.cache_key for fragment in fragments)),
    )


primitives = FromSource(MANIFEST)
