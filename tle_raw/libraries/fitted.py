"""Code of a library as a kernel links it: made when the library is packed, by the linker of the tle_raw that packs.

Of each piece for GPUs a package holds, beside the code as the compiler wrote it, what the linker makes of that for
Triton's LLVM, and what the linker has found out. Every tle_raw whose linker would make the same takes both as they are,
with the same settings and for a call that passes the same values; any other makes its own of the code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tle_raw.flir.pass_value import FRAGMENT_STAGE, HasPasses
from tle_raw.fragments.bound import BoundSignature
from tle_raw.identity import digest, identity_of
from tle_raw.linker.llvm.global_effects import GlobalEffects
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.prepare import LinkableModule
from tle_raw.registry import find_target

FITTED = "fitted"
# All of this package that has a part in it: releases that differ elsewhere make the same of a library's code. That
# nothing is missing here is seen to by a test, which watches the linker at work.
MAKERS = (
    "flir/nvidia/edit_fragment.py",
    "flir/pass_value.py",
    "flir/run_stage.py",
    "libraries/fitted.py",
    "linker/abi.py",
    "linker/architectures.py",
    "linker/llvm/arithmetic_assembly.py",
    "linker/llvm/functions.py",
    "linker/llvm/global_effects.py",
    "linker/llvm/host_variables.py",
    "linker/llvm/no_vectors.py",
    "linker/llvm/normalise.py",
    "linker/llvm/pack_halves.py",
    "linker/llvm/parameter_words.py",
    "linker/llvm/references.py",
    "linker/llvm/shared_memory.py",
    "linker/llvm/sizes.py",
    "linker/llvm/symbols.py",
    "linker/llvm/text.py",
    "linker/llvm/tokens.py",
    "linker/llvm/types.py",
    "linker/machine_code/demangle.py",
    "linker/mlir/pause_collector.py",
    "linker/prepare.py",
    "linker/unresolved.py",
    "targets/nvidia.py",
)


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


def fitted_to_json(older: LinkableModule, newer: LinkableModule, bound: BoundSignature) -> dict[str, Any]:
    """What stands in ``functions/<name>.json`` for the modules that Triton 3.6 and later ones link."""
    return {
        "for": _makers_here(),
        "crossing": _crossing(bound),
        "older": fitted_file(older.text),
        "newer": fitted_file(newer.text),
        "static_shared": [[v.name, v.bytes, v.align] for v in newer.static_shared],
        "uses_barrier": newer.uses_barrier,
        "instructions": newer.instructions,
        "kept_calls": list(newer.kept_calls),
        "memory": [newer.memory.reads, newer.memory.writes],
    }


def fitted_from_json(written: Mapping[str, Any], entry: str, bound: BoundSignature, older_llvm: bool) -> Fitted | None:
    """What ``fitted_to_json`` wrote, without the text; None where it was made otherwise, or for another call."""
    if written.get("for") != _makers_here() or written.get("crossing") != _crossing(bound):
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


def _crossing(bound: BoundSignature) -> list[str]:
    """The LLVM types that the kernel passes and gets, which the linker has compared with the entry's."""
    return [bound.entry_result, *bound.entry_parameters]


def _makers_here() -> str:
    """What tells whether this process would make the same of the code."""
    return _identity_of_makers(*find_target("cuda").settings())


@cache
def _identity_of_makers(*settings: object) -> str:
    target = find_target("cuda")
    pipelines = target.pipelines().values() if isinstance(target, HasPasses) else ()
    passes = [(p.name, p.run, p.for_speed) for each in pipelines for p in each if p.stage == FRAGMENT_STAGE]
    return digest(identity_of(MAKERS), passes, *settings)[:32]
