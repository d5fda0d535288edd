"""Spells generic text of newer MLIR as the MLIR inside an older Triton reads it, where the meaning is the same."""

from __future__ import annotations

import re

# Operations that were given fast-math flags; without any set, the older form means the same.
_FLAGLESS = re.compile(r'("llvm\.(?:fpext|fptrunc)"\([^)]*\)) <\{fastmathFlags = #llvm\.fastmath<none>\}>')


def older_spelling(text: str) -> str:
    """The same module; newer MLIR reads this form too."""
    return _FLAGLESS.sub(r"\1", text)
