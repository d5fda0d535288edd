"""A module in MLIR's generic form as a tree: operations with their values, their blocks, and where values come from.

Names of values are those of their scope: blocks that stand beside each other may use one name for two values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tle_raw.errors import RegionError
from tle_raw.linker.mlir.generic_operation import HEAD
from tle_raw.linker.mlir.text import brace_depth, matching_bracket, split_top_level

_LABEL = re.compile(r"^\s*(?P<label>\^[\w$.\-]+)(?P<arguments>\(.*\))?:")
_SUCCESSORS = re.compile(r"^\[(?P<labels>\^[^\]]*)\]")
_LABELS = re.compile(r"\^[\w$.\-]+")


@dataclass(eq=False, slots=True)
class Value:
    """A result or an argument of a block."""

    name: str
    type: str = ""
    definition: Operation | None = None


@dataclass(eq=False, slots=True)
class Block:
    """The operations of a block, and the arguments that those get who come here."""

    label: str = ""
    arguments: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Operation:
    """An operation; ``line`` is the number of its first line, ``end`` of its last.

    ``successors`` are the labels of a branch, and ``details`` what stands behind its operands on the first line.
    """

    name: str
    line: int
    end: int
    parent: Block
    above: Operation | None = None
    operands: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    regions: list[list[Block]] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)
    details: str = ""

    def walk(self) -> Iterator[Operation]:
        """The operation and those inside of it, in the text's order."""
        yield self
        for region in self.regions:
            for block in region:
                for operation in block.operations:
                    if operation.regions:
                        yield from operation.walk()
                    else:
                        yield operation

    def ancestors(self) -> Iterator[Operation]:
        """What it stands in, the innermost first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above


def read_tree(lines: Sequence[str]) -> list[Operation]:
    """The operations at the top of a module's text, which is mostly one, the module.

    Raises
    ------
    RegionError : the text is not of the form that this release knows.
    """
    reader = _Reader()
    for number, line in enumerate(lines):
        try:
            reader.read(number, line)
        except (ValueError, IndexError, KeyError) as error:
            raise RegionError(
                "a module is printed in a form that this release of tle_raw does not know",
                log=line.strip()[:400],
                hint="report this with the Triton version; `tle-raw doctor` shows the tested range",
            ) from error
    return reader.top.operations


class _Reader:
    def __init__(self) -> None:
        self.top = Block()
        self.block = self.top
        self.open: list[tuple[Operation, Block]] = []
        self.scopes: list[dict[str, Value]] = [{}]

    def read(self, number: int, line: str) -> None:
        if head := HEAD.match(line):
            self._operation(number, line, head)
            return
        text = line.strip()
        if not text or text.startswith(("#", "//")):
            return
        if label := _LABEL.match(line):
            self._begin_block(label["label"], label["arguments"] or "")
        elif text.startswith("}, {"):
            self.scopes[-1] = {}
            self._begin_region()
        elif text.startswith("})"):
            self._close(number, text)
        elif not text.startswith(("{-#", "dialect_resources", "}")) or brace_depth(line):
            raise ValueError(line)

    def _begin_region(self) -> None:
        operation = self.open[-1][0]
        self.block = Block()
        operation.regions.append([self.block])

    def _begin_block(self, label: str, arguments: str) -> None:
        region = self.open[-1][0].regions[-1]
        if not (len(region) == 1 and not region[0].label and not region[0].operations):
            region.append(Block())
        self.block = region[-1]
        self.block.label = label
        for text in split_top_level(arguments[1:-1]):
            name, _, type_ = text.partition(":")
            value = self._value(name.strip())
            value.type = type_.rpartition(" loc(")[0].strip() or type_.strip()
            self.block.arguments.append(value)

    def _operation(self, number: int, line: str, head: re.Match[str]) -> None:
        end = line.index(")", head.end())  # operands are names
        details = line[end + 1 :].strip()
        above = self.open[-1][0] if self.open else None
        made = Operation(head["name"], number, number, self.block, above, details=details)
        if end > head.end():
            made.operands = [self._value(name.strip()) for name in line[head.end() : end].split(",")]
        if details.startswith("[") and (jumps := _SUCCESSORS.match(details)):
            made.successors = _LABELS.findall(jumps["labels"])
        if results := head["results"]:
            made.results = self._results(results, made)
        self.block.operations.append(made)
        if details.endswith("({"):
            self.open.append((made, self.block))
            self.scopes.append({})
            self._begin_region()
        else:
            self._give_types(made, line)

    def _close(self, number: int, text: str) -> None:
        made, self.block = self.open.pop()
        self.scopes.pop()
        made.end = number
        self._give_types(made, text[2:])

    def _results(self, text: str, operation: Operation) -> list[Value]:
        found = []
        for part in text.split(","):
            name, _, count = part.strip().partition(":")
            names = [f"{name}#{n}" for n in range(int(count))] if count else [name]
            found += [self._value(each) for each in names]
        for value in found:
            value.definition = operation
        return found

    def _give_types(self, operation: Operation, line: str) -> None:
        if not operation.results:
            return
        arrow = _last_arrow(line)
        rest = line[arrow + 2 :].strip()
        if not rest.startswith("("):
            start = rest.find(" loc(")
            (value,) = operation.results
            value.type = rest if start < 0 else rest[:start].rstrip()
            return
        types = split_top_level(rest[1 : matching_bracket(rest, 0)])
        for value, type_ in zip(operation.results, types, strict=True):
            value.type = type_.strip()

    def _value(self, name: str) -> Value:
        """By its name; one that is not known yet is defined further down, in a block that jumps lead to."""
        for scope in reversed(self.scopes):
            if (known := scope.get(name)) is not None:
                return known
        made = self.scopes[-1][name] = Value(name)
        return made


def _last_arrow(line: str) -> int:
    """Where the result types of an operation's line begin: behind the list of its operands' types."""
    if line.count("->") == 1:
        return line.index("->")
    depth, quoted, start = 0, False, -1
    for i, char in enumerate(line):
        if char == '"' and (i == 0 or line[i - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif char == "-" and line[i + 1 : i + 2] == ">":
            if depth == 0:
                start = i
        elif char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and line[i - 1] != "-"):
            depth -= 1
    if start < 0:
        raise ValueError(line)
    return start
