"""Operations as lines of Triton IR in generic form, for the loops of executors: each with a name of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tle_raw.linker.mlir.generic_operation import GenericOperation

TRUE, ZERO, ONE, SLOTS = "%tle_true", "%tle_zero", "%tle_one", "%tle_slots"  # constants that each executor has
EQUAL, LESS, MORE, AT_LEAST = 0, 2, 4, 5  # predicates of arith.cmpi
_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.\-]+(?:#\d+)?')
_ADD = "overflowFlags = #arith.overflow<none>"
Named = tuple[str, str]  # a value's name, and its type


@dataclass
class ExecutorText:
    """Writes operations of one loop; they have its place in the kernel's source."""

    prefix: str
    location: str
    count: int = 0

    def name(self) -> str:
        """One that no other value has."""
        self.count += 1
        return f"{self.prefix}_v{self.count}"

    def line(self, operation: GenericOperation) -> str:
        """An operation as a line."""
        return f"{operation}{self.location}"

    def make(
        self,
        name: str,
        operation: str,
        operands: Sequence[Named],
        kind: str,
        properties: str = "",
        attributes: str = "",
    ) -> str:
        """An operation that gives a value of a type."""
        names, types = tuple(each for each, _ in operands), tuple(each for _, each in operands)
        return self.line(GenericOperation(operation, names, types, (kind,), name, properties, attributes))

    def do(self, operation: str, operands: Sequence[Named], properties: str = "") -> str:
        """An operation that gives none."""
        names, types = tuple(each for each, _ in operands), tuple(each for _, each in operands)
        return self.line(GenericOperation(operation, names, types, properties=properties))

    def constant(self, name: str, value: str, kind: str) -> str:
        """A constant of this name."""
        return self.make(name, "arith.constant", [], kind, f"value = {value}")

    def number(self, made: list[str], value: int) -> str:
        """A constant i32."""
        name = self.name()
        made.append(self.constant(name, f"{value} : i32", "i32"))
        return name

    def binary(self, made: list[str], operation: str, one: str, other: str) -> str:
        """Of two i32 a third."""
        name = self.name()
        more = _ADD if operation == "arith.addi" else ""
        made.append(self.make(name, operation, [(one, "i32"), (other, "i32")], "i32", more))
        return name

    def compare(self, made: list[str], predicate: int, one: str, other: str) -> str:
        """Of two i32 a truth value."""
        name = self.name()
        operands = [(one, "i32"), (other, "i32")]
        made.append(self.make(name, "arith.cmpi", operands, "i1", f"predicate = {predicate} : i64"))
        return name

    def select(self, made: list[str], condition: str, one: str, other: str) -> str:
        """One of two i32."""
        name = self.name()
        made.append(self.make(name, "arith.select", [(condition, "i1"), (one, "i32"), (other, "i32")], "i32"))
        return name

    def constants(self, slots: int) -> list[str]:
        """The constants that each executor has."""
        numbers = ((ZERO, 0), (ONE, 1), (SLOTS, slots))
        return [
            self.constant(TRUE, "true", "i1"),
            *(self.constant(name, f"{value} : i32", "i32") for name, value in numbers),
        ]


def results(name: str, count: int) -> tuple[str, list[str]]:
    """What stands left of an operation with so many results, and their names."""
    if not count:
        return "", []
    if count == 1:
        return f"{name} = ", [name]
    return f"{name}:{count} = ", [f"{name}#{number}" for number in range(count)]


def listed(types: Sequence[str]) -> str:
    """Result types behind an arrow."""
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


def renamed(lines: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Lines in which values have other names; of several results of one operation all have."""

    def rename(found: re.Match[str]) -> str:
        text = found[0]
        if text in names:
            return names[text]
        base, mark, number = text.partition("#")
        return f"{names[base]}{mark}{number}" if base in names else text

    return [_NAMES.sub(rename, line) for line in lines]
