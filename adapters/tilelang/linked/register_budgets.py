"""Registers that warps hand to each other: TileLang's numbers, fitted to the block that Triton launches.

A kernel's registers are divided evenly among its threads at the launch. Warps that only load then give theirs up, and
warps that compute take them (PTX's setmaxnreg). Triton's block is a power of two: idle warps may stand beside
TileLang's own, and what the region took must be given back before Triton's code goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

GIVE, TAKE = "warpgroup_reg_dealloc", "warpgroup_reg_alloc"
FILE, STEP, FEWEST, MOST = 65536, 8, 24, 240  # registers of a multiprocessor; setmaxnreg's granularity and limits
_GROUP = 128  # threads that change their number together
_FREE = 255  # what a thread may have anyway
# A product of 64 rows by 128 threads, as TileLang's text calls it: its columns are the second number.
_PRODUCT = re.compile(r"\bwgmma_\w+<[^;]*?\b64, (\d+), \d+,")
_BESIDE = 26  # registers beside the accumulators, by what ptxas says when it refuses


@dataclass(frozen=True)
class Budgets:
    """``launch`` is every thread's share at the launch, ``fitted`` TileLang's numbers as they fit."""

    launch: int
    fitted: dict[int, int]


def fit_budgets(gives: Sequence[int], takes: Sequence[int], threads: int, block: int) -> Budgets | None:
    """The budgets of ``threads`` threads in a block of ``block``; None where they gain nothing or have no known form.

    Parameters
    ----------
    gives, takes : TileLang's numbers in its text; each of ``gives`` belongs to one group of 128 threads, and the other
        groups take.
    """
    launch = min(FILE // block // STEP * STEP, MOST)
    groups = threads // _GROUP
    takers = groups - len(gives)
    if not takes or FILE // block >= _FREE or threads % _GROUP or takers < 1:
        return None
    kept = {number: max(FEWEST, min(number, launch)) for number in gives}
    left = FILE - _GROUP * sum(kept[number] for number in gives) - (block - threads) * FEWEST
    share = min(MOST, left // (takers * _GROUP) // STEP * STEP)
    return Budgets(launch, kept | {number: max(launch, min(number, share)) for number in takes})


def needed_by_products(text: str) -> int:
    """The registers that a thread must have at the launch for ptxas to compile the products of a text.

    It counts by what the kernel starts with, whatever the warps take later.
    """
    columns = [int(found) for found in _PRODUCT.findall(text)]
    return max(columns) // 2 + _BESIDE if columns else 0
