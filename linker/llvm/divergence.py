"""Which values of a kernel may differ from thread to thread of a block, phis behind branches included.

It answers for speed alone: what is read at an address that all threads share counts as shared, though another block
may write there between two threads' loads.
"""

from __future__ import annotations

from collections import defaultdict

from tle_raw.linker.llvm.control_flow import Block, names_in, result_of
from tle_raw.linker.llvm.dominance import Dominators, reversed_edges
from tle_raw.linker.llvm.uniform import is_computed_alike

_END = "the end of all"  # no block's name


def divergent_values(blocks: list[Block]) -> set[str]:
    """The names of such values; ``blocks`` are those of a kernel's body, the first one first."""
    users = defaultdict[str, list[tuple[str, Block]]](list)
    found, open_ = set[str](), list[str]()
    phis = {block.name: [name for line in block.phis if (name := result_of(line))] for block in blocks}
    for block in blocks:
        for line in block.lines:
            name = result_of(line)
            for used in names_in(line)[1 if name else 0 :]:
                users[used].append((line, block))
            if name and " = phi " not in line and not is_computed_alike(line):
                open_.append(name)
    following = {block.name: list(dict.fromkeys(block.targets)) for block in blocks}
    after = Dominators(_END, reversed_edges(following, _END))
    while open_:
        name = open_.pop()
        if name in found:
            continue
        found.add(name)
        for line, block in users[name]:
            if result := result_of(line):
                open_.append(result)
            elif len(following[block.name]) > 1:
                for met in _before_they_meet(block.name, following, after):
                    open_ += phis[met]
    return found


def _before_they_meet(divided: str, following: dict[str, list[str]], after: Dominators) -> set[str]:
    """The blocks that threads pass apart after a branch, and that in which they are together again."""
    meeting = after.parent.get(divided)
    found, open_ = set[str](), [*following[divided]]
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_ += following[name] if name != meeting else ()
    return found
