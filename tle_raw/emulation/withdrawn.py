"""Operations of a warp without a mask: GPUs of compute capability 7.0 and later have none, nor has the team."""

from __future__ import annotations

import re

_FORM = re.compile(r"(?P<root>shfl|vote)\.(?P<mode>up|down|bfly|idx|all|any|uni|ballot)\b(?!\.sync)")
_FUNCTIONS = {
    "up": ("__shfl_up", "value, delta"),
    "down": ("__shfl_down", "value, delta"),
    "bfly": ("__shfl_xor", "value, mask"),
    "idx": ("__shfl", "value, lane"),
    "all": ("__all", "predicate"),
    "any": ("__any", "predicate"),
    "uni": ("vote.uni", "predicate"),
    "ballot": ("__ballot", "predicate"),
}


def withdrawn(instruction: str) -> tuple[str, str] | None:
    """What to say of ``shfl.down.f32`` or ``vote.ballot.b32``, and what to write instead; None for all else."""
    found = _FORM.match(instruction)
    if found is None:
        return None
    function, arguments = _FUNCTIONS[found["mode"]]
    return (
        f"`{function}` has no mask, and GPUs have had no such operation since compute capability 7.0",
        f"write `{function}_sync(0xffffffff, {arguments})` where all lanes of the warp take part",
    )
