"""A module in MLIR's generic form as a tree: operations with their values, their blocks, and where values come from.

Names of values are those of their scope: blocks that stand beside each other may use one name for two values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tle_raw.errors import RegionError
from tle_raw.linker.mlir.pause_collector import collector_paused
from tle_raw.linker.mlir.text import brace_depth, matching_bracket, split_top_level

_OPERATION = re.compile(r'\s*(?:(?P<results>%[^=]*) = )?"(?P<name>[\w.]+)"\((?P<operands>[^)]*)\)\s*')
_LABEL = re.compile(r"^\s*(?P<label>\^[\w$.\-]+)(?P<arguments>\(.*\))?:")
_ARGUMENT = re.compile(r"(?:^|,)\s*(?P<name>%[\w$.\-]+)\s*:")
_SUCCESSORS = re.compile(r"^\[(?P<labels>\^[^\]]*)\]")
_LABELS = re.compile(r"\^[\w$.\-]+")


class Value:
    """A result or an argument of a block, and the operations that use it, one as often as it does."""

    __slots__ = ("_type", "definition", "name", "uses")

    def __init__(self, name: str, type_: str = "", definition: Operation | None = None) -> None:
        self.name, self._type, self.definition = name, type_, definition
        self.uses: list[Operation] = _NOTHING

    @property
    def type(self) -> str:
        """Its text. That of a result is read from its operation when it is asked for first: few are."""
        if not self._type and self.definition is not None:
            for value, type_ in zip(self.definition.results, _types(self.definition.typed), strict=True):
                value._type = type_
        return self._type

    @type.setter
    def type(self, text: str) -> None:
        self._type = text


# Of the many that have none; nobody adds to it. A list for each would keep Python's collector of cycles busy.
_NOTHING: list[Any] = []


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
    ``typed`` ends with the types of its results.
    """

    name: str
    line: int
    end: int
    parent: Block
    above: Operation | None = None
    operands: Sequence[Value] = ()
    results: Sequence[Value] = ()
    regions: Sequence[list[Block]] = ()
    successors: Sequence[str] = ()
    details: str = ""
    typed: str = ""

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
    """The operations at the top of a module's text, which is mostly one, the module. Raises as ``read_operations``."""
    return [each for each in read_operations(lines) if each.above is None]


def read_operations(lines: Sequence[str]) -> list[Operation]:
    """All operations of a module's text, in its order.

    Raises
    ------
    RegionError : the text is not of the form that this release knows.
    """
    reader, operation = _Reader(), _OPERATION.match
    with collector_paused():
        for number, line in enumerate(lines):
            if line[:1] == "#":  # an alias, as half of the lines are
                continue
            try:
                if head := operation(line):
                    reader.operation(number, line, head)
                else:
                    reader.other(number, line)
            except (ValueError, IndexError, KeyError) as error:
                raise RegionError(
                    "a module is printed in a form that this release of tle_raw does not know",
                    log=line.strip()[:400],
                    hint="report this with the Triton version; `tle-raw doctor` shows the tested range",
                ) from error
    return reader.all


class _Known(dict[str, Value]):
    """The values that are known at a place, by their names, in the order in which they became known.

    One that is asked for and not known yet is defined further down, in a block that jumps lead to.
    """

    def __missing__(self, name: str) -> Value:
        found = self[name] = Value(name)
        return found


class _Reader:
    def __init__(self) -> None:
        self.block = Block()
        self.all: list[Operation] = []
        self.open: list[tuple[Operation, Block]] = []
        self.above: Operation | None = None  # the innermost of them
        self.known = _Known()
        self.scopes: list[int] = []  # how many values were known when each began

    def other(self, number: int, line: str) -> None:
        """A line that no operation begins at."""
        text = line.strip()
        if not text or text.startswith("//"):
            return
        if label := _LABEL.match(line):
            self._begin_block(label["label"], label["arguments"] or "")
        elif text.startswith("}, {"):
            self._end_scope()
            self._begin_region(self.open[-1][0])
        elif text.startswith("})"):
            self._close(number, text)
        elif not text.startswith(("{-#", "dialect_resources", "}")) or brace_depth(line):
            raise ValueError(line)

    def _begin_region(self, operation: Operation) -> None:
        self.block, self.above = Block(), operation
        self.scopes.append(len(self.known))
        operation.regions = [*operation.regions, [self.block]]

    def _begin_block(self, label: str, arguments: str) -> None:
        region = self.open[-1][0].regions[-1]
        if not (len(region) == 1 and not region[0].label and not region[0].operations):
            region.append(Block())
        self.block = region[-1]
        self.block.label = label
        text = arguments[1:-1]
        heads = list(_ARGUMENT.finditer(text))
        for head, end in zip(heads, (*(following.start() for following in heads[1:]), len(text))):
            value, type_ = self.known[head["name"]], text[head.end() : end]
            value.type = type_.rpartition(" loc(")[0].strip() or type_.strip()
            self.block.arguments.append(value)

    def operation(self, number: int, line: str, head: re.Match[str]) -> None:
        """A line that one begins at."""
        results, name, names = head.groups()
        details, known, block = line[head.end() :].rstrip(), self.known, self.block
        if not names:
            operands: Sequence[Value] = ()
        elif "," in names:
            operands = [known[each] for each in names.replace(" ", "").split(",")]
        else:
            operands = (known[names],)
        made = Operation(name, number, number, block, self.above, operands, (), (), (), details, details)
        for value in operands:
            if value.uses is _NOTHING:
                value.uses = [made]
            else:
                value.uses.append(made)
        if results is not None:
            is_one = ":" not in results and "," not in results
            if is_one and results not in known:
                found = known[results] = Value(results, "", made)
                made.results = (found,)
            else:
                made.results = [self._defined(each, made) for each in _names(results)]
        self.all.append(made)
        block.operations.append(made)
        if details[0] == "[" and (jumps := _SUCCESSORS.match(details)):
            made.successors = _LABELS.findall(jumps["labels"])
        elif details[-1] == "{" and details.endswith("({"):
            self.open.append((made, block))
            self._begin_region(made)

    def _defined(self, name: str, operation: Operation) -> Value:
        """A result of an operation, which blocks before it may have used."""
        found = self.known[name]
        found.definition = operation
        return found

    def _end_scope(self) -> None:
        """What it has brought is forgotten."""
        known, outside = self.known, self.scopes.pop()
        while len(known) > outside:
            known.popitem()

    def _close(self, number: int, text: str) -> None:
        made, self.block = self.open.pop()
        self.above = self.open[-1][0] if self.open else None
        self._end_scope()
        made.end = number
        made.typed = text[2:]


def _names(text: str) -> Iterator[str]:
    """``%a, %b``, or ``%a:2`` for ``%a#0`` and ``%a#1``."""
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        yield from (f"{name}#{n}" for n in range(int(count))) if count else (name,)


def _types(line: str) -> Sequence[str]:
    """Of an operation's results, from what stands behind its operands."""
    rest = line[_last_arrow(line) + 2 :].strip()
    if not rest.startswith("("):
        return (rest.partition(" loc(")[0].rstrip(),)
    return [type_.strip() for type_ in split_top_level(rest[1 : matching_bracket(rest, 0)])]


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
