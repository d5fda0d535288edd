"""Which buffers threads store into by a view of them, a slot for one.

Before Triton 3.9 its passes put a fence between stores into a buffer and ``wgmma`` that reads it, but they do not look
through views: tensor cores may then miss what was stored into a slot.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.linker.mlir.generic_operation import generic_name, read_generic

_STORE, _ALLOC, _VIEW = "ttg.local_store", "ttg.local_alloc", "ttg.memdesc_"
_LOOPS = ("scf.for", "scf.while")
_BUFFER = "!ttg.memdesc"


class StoredSlots:
    """Asked for a buffer in a partition of the warps.

    A buffer that a loop hands on has another name in each iteration: where any does, each view may be any buffer's.
    """

    def __init__(self, lines: Sequence[str], partitions: Sequence[int]) -> None:
        """``partitions`` has the number of each line's."""
        self._whole: dict[str, str] = {}  # what a view is of
        self._allocated: set[str] = set()
        self._stored: set[tuple[int, str]] = set()
        self._are_handed_on = False
        stores: list[tuple[int, str]] = []
        for number, line in enumerate(lines):
            if _STORE in line and generic_name(line) == _STORE:
                stores.append((partitions[number], read_generic(line).operands[1]))
            elif _VIEW in line and generic_name(line).startswith(_VIEW):
                view = read_generic(line)
                self._whole[view.results] = view.operands[0]
            elif _ALLOC in line and generic_name(line) == _ALLOC:
                self._allocated.add(line.split("=", 1)[0].strip())
            elif _BUFFER in line and generic_name(line).startswith(_LOOPS):
                self._are_handed_on = True
        for partition, name in stores:
            if name not in self._allocated:
                self._stored.add((partition, self._name(name)))

    def add_view(self, name: str, whole: str) -> None:
        """A view that is made later."""
        self._whole[name] = whole

    def has(self, partition: int, name: str) -> bool:
        """Whether threads of the partition store into the buffer, or into a part of it, by a view."""
        return (partition, self._name(name)) in self._stored

    def _name(self, name: str) -> str:
        """Of the whole buffer; "" where that is not known."""
        if self._are_handed_on:
            return ""
        while name in self._whole:
            name = self._whole[name]
        return name
