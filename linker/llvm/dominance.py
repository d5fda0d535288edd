"""Which basic blocks of a function every way passes: on the way to a block, and on the way from it to the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Edges = Mapping[str, Sequence[str]]


class Dominators:
    """The blocks that are reached from ``root``, and for each the last block that every way to it passes."""

    def __init__(self, root: str, successors: Edges) -> None:
        order = _order(root, successors)
        self.place = {name: place for place, name in enumerate(order)}
        before: dict[str, list[str]] = {name: [] for name in order}
        for name in order:
            for target in successors.get(name, ()):
                before[target].append(name)
        self.parent = {root: root}
        changed = True
        while changed:
            changed = False
            for name in order[1:]:
                known = [one for one in before[name] if one in self.parent]
                parent = known[0]
                for other in known[1:]:
                    parent = self.common(parent, other)
                if self.parent.get(name) != parent:
                    self.parent[name], changed = parent, True

    def common(self, one: str, other: str) -> str:
        """The last block that every way to either passes."""
        while one != other:
            while self.place[one] > self.place[other]:
                one = self.parent[one]
            while self.place[other] > self.place[one]:
                other = self.parent[other]
        return one

    def dominates(self, one: str, other: str) -> bool:
        """Whether every way to ``other`` passes ``one``."""
        return other in self.place and one in self.place and self.common(one, other) == one


def reversed_edges(successors: Edges, end: str) -> dict[str, list[str]]:
    """The edges the other way round, from ``end``, a name that no block has, to all blocks that nothing follows."""
    found: dict[str, list[str]] = {end: [name for name, targets in successors.items() if not targets]}
    for name, targets in successors.items():
        for target in targets:
            found.setdefault(target, []).append(name)
    return found


def _order(root: str, successors: Edges) -> list[str]:
    """Blocks behind all that lead to them but loops: the reverse of the order in which a search leaves them."""
    left, seen = list[str](), {root}
    open_ = [(root, iter(successors.get(root, ())))]
    while open_:
        name, targets = open_[-1]
        following = next((target for target in targets if target not in seen), None)
        if following is None:
            left.append(name)
            open_.pop()
        else:
            seen.add(following)
            open_.append((following, iter(successors.get(following, ()))))
    return left[::-1]
