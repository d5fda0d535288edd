"""Names for TIR's variables and buffers, which may share theirs: each gets one of its own."""

from __future__ import annotations

from typing import Any


class Names:
    """Gives names, and the values of variables that are bound to expressions."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self.buffers: dict[str, Any] = {}
        self.bound: dict[Any, Any] = {}

    def variable(self, variable: Any) -> str:
        """The name of a loop's variable, a block index or a scalar."""
        return self._name(variable, str(variable.name))

    def buffer(self, buffer: Any) -> str:
        """The name of the memory behind a buffer: two views of one share it."""
        name = self._name(buffer.data, str(buffer.name))
        self.buffers.setdefault(name, buffer)
        return name

    def _name(self, key: Any, wanted: str) -> str:
        if key not in self._names:
            name, number = wanted, 1
            while name in self._taken:
                number += 1
                name = f"{wanted}_{number}"
            self._taken.add(name)
            self._names[key] = name
        return self._names[key]
