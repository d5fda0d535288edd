"""Writes the instructions of new functions."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class FunctionBody:
    """Writes instructions of a new function; values are named %v0, %v1, …"""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def value(self, instruction: str) -> str:
        """Append an instruction that gives a value; its name."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh(self, stem: str) -> str:
        """A label that no other has."""
        self.count += 1
        return f"{stem}{self.count}"

    def call(self, result: str, function: str, *arguments: str) -> str:
        """A call of a function that gives a value."""
        return self.value(f"call {result} @{function}({', '.join(arguments)})")


def truth(body: FunctionBody, value: str, kind: str = "i32") -> str:
    """An i1 that says whether an integer is not 0."""
    return body.value(f"icmp ne {kind} {value}, 0")
