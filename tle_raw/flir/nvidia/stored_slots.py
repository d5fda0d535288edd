"""Which buffers threads store into by a view of them, a slot for one, and hand to tensor cores without a fence.

Before Triton 3.9 its passes put a fence between stores into a buffer and ``wgmma`` that reads it, but they do not look
through views: tensor cores may then miss what was stored into a slot. In partitions of warps an arrival at a barrier
brings a fence of its own (``fence_partitions``).
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.linker.mlir.generic_operation import generic_name, read_generic
from tle_raw.linker.mlir.text import find_lines

_STORE, _ALLOC, _VIEW, _ARRIVE = "ttg.local_store", "ttg.local_alloc", "ttg.memdesc_", "ttng.arrive_barrier"
_LOOPS = ("scf.for", "scf.while")
_BUFFER = "!ttg.memdesc"


class StoredSlots:
    """Asked for a buffer at a line.

    A buffer that a loop hands on has another name in each iteration: where any does, each view may be any buffer's.
    """

    def __init__(self, text: str, lines: Sequence[str], partitions: Sequence[int]) -> None:
        """``partitions`` has the number of each line's, 0 outside of all."""
        self._lines, self._partitions = lines, partitions
        self._whole: dict[str, str] = {}  # what a view is of
        self._arrivals: list[int] = []
        self._are_handed_on = False
        allocated: set[str] = set()
        stores: list[tuple[int, str]] = []
        for number in find_lines(text, *(f'"{name}' for name in (_STORE, _VIEW, _ALLOC, _ARRIVE, *_LOOPS))):
            line = lines[number]
            name = generic_name(line)
            if name == _STORE:
                stores.append((number, read_generic(line).operands[1]))
            elif name.startswith(_VIEW):
                view = read_generic(line)
                self._whole[view.results] = view.operands[0]
            elif name == _ALLOC:
                allocated.add(line.split("=", 1)[0].strip())
            elif name == _ARRIVE:
                self._arrivals.append(number)
            elif _BUFFER in line and name.startswith(_LOOPS):
                self._are_handed_on = True
        self._stores = [(number, self._name(name)) for number, name in stores if name not in allocated]
        if not any(partitions):
            self._arrivals = []  # they bring no fence

    def add_view(self, name: str, whole: str) -> None:
        """A view that is made later."""
        self._whole[name] = whole

    def wants_fence(self, number: int, name: str) -> bool:
        """Whether threads store into the buffer or a part of it by a view, and nothing fences that at a line."""
        whole = self._name(name)
        return any(
            self._partitions[store] == self._partitions[number] and not self._is_fenced(store, number)
            for store, stored in self._stores
            if stored == whole
        )

    def _is_fenced(self, store: int, number: int) -> bool:
        """Whether an arrival always stands between: behind the store, in the same block, before the line is reached."""
        behind = [each for each in self._arrivals if each > store and self._is_beside(store, each)]
        return any(each < number or number < store for each in behind)

    def _is_beside(self, store: int, arrival: int) -> bool:
        depth = _indent(self._lines[store])
        between = self._lines[store : arrival + 1]
        inside = " " * depth
        return _indent(self._lines[arrival]) == depth and all(line.startswith(inside) for line in between)

    def _name(self, name: str) -> str:
        """Of the whole buffer; "" where that is not known."""
        if self._are_handed_on:
            return ""
        while name in self._whole:
            name = self._whole[name]
        return name


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
