"""What somebody may have meant by a name that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def near_names(
    wanted: str, known: Iterable[str], most: int = 3, *, cutoff: float = 0.6, meaning: Callable[[str], object] = str
) -> list[str]:
    """The names most like the wanted one, the nearest first.

    Parameters
    ----------
    most : so many at most.
    cutoff : how like they must be: the ratio of ``difflib.SequenceMatcher``, from 0 to 1.
    meaning : what a name stands for; of several spellings of one thing the nearest is given.
    """
    names = list(dict.fromkeys(known))
    found: dict[object, str] = {}
    for name in difflib.get_close_matches(wanted, names, max(len(names), 1), cutoff):
        found.setdefault(meaning(name), name)
    return list(found.values())[:most]


def did_you_mean(wanted: str, known: Iterable[str], otherwise: str = "", *, most: int = 1, quote: str = "") -> str:
    """A hint: the nearest names, each in quotes, or else what ``otherwise`` says."""
    near = near_names(wanted, known, most)
    return f"did you mean {' or '.join(quote + name + quote for name in near)}?" if near else otherwise
