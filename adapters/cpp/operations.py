"""What the tokens of an elementwise operation tell, whoever's rules it follows."""

from __future__ import annotations

from collections.abc import Sequence

# Statements after which the rest of an operation may not run.
LEAVES = frozenset(("return", "continue", "break", "goto"))
_BEFORE_A_VALUE = frozenset(("return", "case", "else", "goto"))


def is_member(texts: Sequence[str], k: int) -> bool:
    """Whether token ``k`` is a member of what stands before it, or a name of its scope."""
    return k > 0 and texts[k - 1] in (".", "->", "::")


def is_declared(texts: Sequence[str], name: str) -> bool:
    """Whether the operation has a variable of its own of that name: ``int n = …``."""
    before = [texts[k - 1] for k, text in enumerate(texts) if text == name and k]
    return any(word.isidentifier() and word not in _BEFORE_A_VALUE for word in before)
