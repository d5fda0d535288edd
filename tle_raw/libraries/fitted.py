"""Code of a library as a kernel links it: made when the library is packed, for the release of tle_raw that packs.

Of each piece for GPUs a package holds, beside the code as the compiler wrote it, what the linker makes of that for
Triton's LLVM, and what the linker has found out. The same release with the same settings takes both as they are; every
other one makes its own of the code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tle_raw.identity import digest, package_identity
from tle_raw.linker.llvm.global_effects import GlobalEffects
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.prepare import LinkableModule
from tle_raw.registry import find_target

FITTED = "fitted"


@dataclass(frozen=True)
class Fitted:
    """A linkable module for one side of Triton's releases, and the file of a package that it lies in."""

    file: str
    sha256: str
    module: LinkableModule


def fitted_file(text: str) -> tuple[str, str]:
    """Path within the package and digest.

    A file is named as a store's contents are: whoever links it again sees by the name whether it still holds that.
    """
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return f"{FITTED}/{FITTED}.{sha256[:16]}.ll", sha256


def fitted_to_json(older: LinkableModule, newer: LinkableModule) -> dict[str, Any]:
    """What stands in ``functions/<name>.json`` for the modules that Triton 3.6 and later ones link."""
    return {
        "for": fitting_identity("cuda", *find_target("cuda").settings()),
        "older": fitted_file(older.text),
        "newer": fitted_file(newer.text),
        "static_shared": [[v.name, v.bytes, v.align] for v in newer.static_shared],
        "uses_barrier": newer.uses_barrier,
        "instructions": newer.instructions,
        "kept_calls": list(newer.kept_calls),
        "memory": [newer.memory.reads, newer.memory.writes],
    }


def fitted_from_json(written: Mapping[str, Any], entry: str, older_llvm: bool) -> Fitted | None:
    """What ``fitted_to_json`` wrote, without the text; None where another release or other settings made it."""
    if written.get("for") != fitting_identity("cuda", *find_target("cuda").settings()):
        return None
    module = LinkableModule(
        "",
        entry,
        tuple(SharedVariable(*each) for each in written["static_shared"]),
        written["uses_barrier"],
        written["instructions"],
        tuple(written["kept_calls"]),
        GlobalEffects(*written["memory"]),
    )
    file, sha256 = written["older" if older_llvm else "newer"]
    return Fitted(file, sha256, module)


@cache
def fitting_identity(backend: str, *settings: object) -> str:
    """What tells whether this process would make the same of the code."""
    return digest(package_identity(), backend, *settings)[:32]
