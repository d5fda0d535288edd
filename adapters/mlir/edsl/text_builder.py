"""Builds a module as text, with nothing but Python: light objects for operations, printed in MLIR's generic form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager


class Ssa:
    """One SSA value; it is numbered when it is printed."""

    __slots__ = ("name", "type")

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.name = ""


class Block:
    __slots__ = ("arguments", "name", "operations")

    def __init__(self, types: Sequence[str]) -> None:
        self.arguments = [Ssa(type_) for type_ in types]
        self.operations: list[BuiltOperation] = []
        self.name = ""


class BuiltOperation:
    __slots__ = ("attributes", "location", "name", "operands", "regions", "results", "successors")

    def __init__(
        self,
        name: str,
        operands: Sequence[Ssa],
        results: list[Ssa],
        attributes: Mapping[str, str] | None,
        regions: Sequence[list[Block]],
        successors: Sequence[Block],
        location: tuple[str, int, int],
    ) -> None:
        self.name = name
        self.operands = operands
        self.results = results
        self.attributes = attributes
        self.regions = regions
        self.successors = successors
        self.location = location


class TextBuilder:
    """A :class:`Builder` for modules that libtriton alone can read."""

    route = "libtriton"

    def __init__(self) -> None:
        self._top = Block(())
        self.current = self._top
        self._location = ("", 0, 0)

    def locate(self, location: tuple[str, int, int]) -> None:
        self._location = location

    def region(self) -> list[Block]:
        return []

    def block(self, region: list[Block], types: Sequence[str] = ()) -> Block:
        block = Block(types)
        region.append(block)
        return block

    def arguments(self, block: Block) -> list[Ssa]:
        return block.arguments

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        before, self.current = self.current, block
        try:
            yield
        finally:
            self.current = before

    def move_to(self, block: Block) -> None:
        self.current = block

    @contextmanager
    def at_start(self, block: Block) -> Iterator[None]:
        first = Block(())
        with self.inside(first):
            yield
        block.operations[:0] = first.operations

    def at_top(self) -> AbstractContextManager[None]:
        return self.inside(self._top)

    def create(
        self,
        name: str,
        operands: Sequence[Ssa] = (),
        results: Sequence[str] = (),
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[list[Block]] = (),
        successors: Sequence[Block] = (),
    ) -> list[Ssa]:
        made = [Ssa(type_) for type_ in results]
        self.current.operations.append(
            BuiltOperation(name, operands, made, attributes, regions, successors, self._location)
        )
        return made

    def text(self) -> str:
        return _Printer().module(self._top)


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values = self.blocks = 0
        self.locations: dict[tuple[str, int, int], str] = {}

    def module(self, top: Block) -> str:
        self.lines.append('"builtin.module"() ({')
        for operation in top.operations:
            self.operation(operation, "  ")
        self.lines.append("}) : () -> ()")
        return "\n".join([*self.lines, *self._location_lines(), ""])

    def _location_lines(self) -> Iterator[str]:
        for (file, line, column), name in self.locations.items():
            yield f"{name} = loc({quoted(file)}:{line}:{column})"

    def operation(self, operation: BuiltOperation, indent: str) -> None:
        for result in operation.results:
            result.name = f"%{self.values}"
            self.values += 1
        results = ", ".join([r.name for r in operation.results])
        start = f"{indent}{results} = " if results else indent
        operands = ", ".join([o.name for o in operation.operands])
        head = f'{start}"{operation.name}"({operands})'
        if operation.successors:
            head += f"[{', '.join(self.block_name(b) for b in operation.successors)}]"
        if operation.attributes:
            head += f" <{{{', '.join([f'{key} = {value}' for key, value in operation.attributes.items()])}}}>"
        if operation.regions:
            self.lines.append(f"{head} ({{")
            for number, region in enumerate(operation.regions):
                if number:
                    self.lines.append(f"{indent}}}, {{")
                self.region(region, indent)
            head = f"{indent}}})"
        types = ", ".join([o.type for o in operation.operands])
        result_types = [r.type for r in operation.results]
        given = result_types[0] if len(result_types) == 1 else f"({', '.join(result_types)})"
        self.lines.append(f"{head} : ({types}) -> {given} loc({self.location(operation.location)})")

    def region(self, region: list[Block], indent: str) -> None:
        for number, block in enumerate(region):
            arguments = []
            for argument in block.arguments:
                argument.name = f"%{self.values}"
                self.values += 1
                arguments.append(f"{argument.name}: {argument.type}")
            if number or arguments:
                shown = f"({', '.join(arguments)})" if arguments else ""
                self.lines.append(f"{indent}{self.block_name(block)}{shown}:")
            for operation in block.operations:
                self.operation(operation, indent + "  ")

    def block_name(self, block: Block) -> str:
        if not block.name:
            block.name = f"^bb{self.blocks}"
            self.blocks += 1
        return block.name

    def location(self, location: tuple[str, int, int]) -> str:
        name = self.locations.get(location)
        if name is None:
            name = self.locations[location] = f"#loc{len(self.locations)}"
        return name


def quoted(text: str) -> str:
    """A string of MLIR."""
    shown = (
        chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}" for byte in text.encode("utf-8")
    )
    return f'"{"".join(shown)}"'
