"""Which of the packed codes a target gets."""

from __future__ import annotations

import re
from collections.abc import Collection

from tle_raw.target import Target, parse_target

# What only the GPUs of one architecture run, as their compute capability with an `a` says: sm_90a, sm_100a.
_ONE_ARCHITECTURE = re.compile(r"\b(wgmma|setmaxnreg|tcgen05)\b|\.multicast::cluster|nvvm\.(wgmma|setmaxnreg|tcgen05)")


def is_specific(code: str) -> bool:
    """Whether the code holds instructions that no newer GPU has to run."""
    return _ONE_ARCHITECTURE.search(code) is not None


def chosen_architecture(target: Target, packed: Collection[str], specific: Collection[str] = ()) -> str | None:
    """The packed target whose code runs on ``target``, or None.

    Its own first; for a GPU then the newest that is older, without those that ``specific`` names: their code runs on
    no other GPU. cuda:90 takes sm_90a's, or else sm_89's, sm_80's and so on; cuda:100 takes sm_90's where that holds
    nothing of sm_90a's own.
    """
    if str(target) in packed:
        return str(target)
    if target.backend != "cuda":
        return None
    older = [t for t in map(parse_target, packed) if t.backend == "cuda" and t.capability < target.capability]
    fitting = [t for t in older if str(t) not in specific]
    return str(max(fitting, key=lambda t: t.capability)) if fitting else None
