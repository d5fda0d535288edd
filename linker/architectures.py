"""The architectures of NVIDIA's GPUs by the names that CUDA has for them: ``sm_80``, ``sm_90a``, ``sm_100f``."""

from __future__ import annotations

import re

# What a ptxas of Triton's wheels compiles for: CUDA 12.8, 12.9 and 13.4 in Triton 3.6 to 3.9. clang has some more that
# are older, for which no ptxas is left.
CAPABILITIES = (
    50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121,
)  # fmt: skip
# `a`: instructions of this architecture only; `f`: of its family.
_FIRST_WITH = {"": 0, "a": 90, "f": 100}
_WRITTEN = re.compile(r"(?:cuda:|sm_?)([1-9][0-9]{1,2})([af]?)")


def read_architecture(text: str) -> tuple[int, str] | None:
    """Capability and suffix of ``cuda:90``, ``sm_90a`` or ``sm90``, or None where no tool compiles for such a GPU."""
    found = _WRITTEN.fullmatch(text)
    if found is None or int(found[1]) not in CAPABILITIES or int(found[1]) < _FIRST_WITH[found[2]]:
        return None
    return int(found[1]), found[2]


def why_no_architecture(text: str) -> str:
    """Why ``read_architecture`` knows no such GPU, for a hint; "" where it does, or the text names none."""
    if read_architecture(text) is not None or re.match(r"cuda\b|sm_?[0-9]", text) is None:
        return ""
    found = _WRITTEN.fullmatch(text)
    if found is not None and int(found[1]) in CAPABILITIES:
        return f"sm_{found[1]} has no {found[2]}: a is there from sm_90 on, f from sm_100 on"
    return f"no ptxas of Triton's compiles for it; there are {', '.join(map(str, CAPABILITIES))}"
