"""What was learnt of a source's host code, kept beside the fragments: the next process does not learn it again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tle_raw.adapters.cpp.installed_headers import package_folders_of_headers
from tle_raw.adapters.cpp.mends import Mend
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.fragments.kept import kept_if_wanted
from tle_raw.identity import digest, package_identity


@dataclass(frozen=True)
class Plan:
    """What is compiled of a source.

    Attributes
    ----------
    is_whole : the whole text. headers : files of the user's whose host code is left out, too.
    folders : of installed packages. missing : headers that are passed over. handles : types declared in their place.
    is_light : torch's host headers are replaced by its numbers (``tle_raw/torch``).
    is_python_light : pybind11's headers are replaced by its names (``tle_raw/pybind11``).
    has_classes : torch's host classes have their members, beside its numbers.
    declared : names of torch's that its classes' header does not have, declared in front.
    is_deferred : what host functions call is not looked at.
    with_members : whether member functions of the host's are compiled.
    includes : headers whose names the text takes for granted.
    mends : what nvcc takes and clang does not; of the source's own text under its file's name, or none.
    tells_version : a text that asks for nvcc's version is told one.
    is_lean : parts of large headers that the text does not name are left out.
    reads_ahead : large headers of the toolchain are precompiled, wherever they are included.
    standard : of C++, where the text needs a later one than others; empty for the usual.
    kept : the host's names that are declared all the same, since what is compiled says them.
    namespaces : those of headers that are passed over or replaced, as ``using namespace`` names them.
    is_extension : the macros of torch's own builds of extensions, which leave out CUDA's operators of 16-bit floats.
    """

    is_whole: bool = False
    headers: frozenset[str] = frozenset()
    folders: tuple[Path, ...] = ()
    missing: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()
    is_light: bool = True
    is_python_light: bool = True
    has_classes: bool = False
    declared: tuple[str, ...] = ()
    is_deferred: bool = False
    with_members: bool = True
    includes: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    tells_version: bool = True
    is_lean: bool = True
    reads_ahead: bool = True
    standard: str = ""
    is_extension: bool = False
    kept: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The plan as text; ``read`` is its inverse."""
        values = {
            **asdict(self),
            "headers": sorted(self.headers),
            "folders": [str(folder) for folder in self.folders],
        }
        return json.dumps(values)

    @classmethod
    def read(cls, text: str) -> Plan | None:
        """The plan that ``to_json`` wrote; None for any other text."""
        try:
            values = json.loads(text)
            lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
            return cls(
                **{
                    **values,
                    **lists,
                    "headers": frozenset(values["headers"]),
                    "folders": tuple(map(Path, values["folders"])),
                    "mends": tuple(Mend(**mend) for mend in values["mends"]),
                }
            )
        except (ValueError, KeyError, TypeError):
            return None


def kept_plan(key: str, texts: Sequence[str]) -> Plan | None:
    """What an earlier process learnt of these texts."""
    store = kept_if_wanted()
    kept = store.load(_name(key, texts)) if store else None
    return Plan.read(kept.text) if kept else None


def keep_plan(key: str, texts: Sequence[str], plan: Plan) -> None:
    """Keep what was learnt, and led to code."""
    store = kept_if_wanted()
    if store:
        store.save(_name(key, texts), plan.to_json(), {"name": "what is compiled of a CUDA file"})


def _name(key: str, texts: Sequence[str]) -> str:
    """Everything that a plan was learnt from has a part in its name."""
    found = digest(
        package_identity(), find_toolchain().identity(), key, *texts, *map(str, package_folders_of_headers())
    )
    return f"{found[:40]}-host"
