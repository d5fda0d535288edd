"""The body of a kernel as C++: loops, branches, calls, each under the line of TileLang that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from tle_raw.errors import LoweringError, SourceLocation
from tle_raw.targets.tenstorrent.emit.expressions import argument, expression
from tle_raw.targets.tenstorrent.emit.written_out import WRITTEN_OUT, write_out
from tle_raw.targets.tenstorrent.ir import Call, CircularBuffer, For, If, Let, Statement
from tle_raw.targets.tenstorrent.kernel_api import Release, operation

INDENT = "    "


@dataclass
class Body:
    """What the statements of one kernel are written with, and the source line that was named last."""

    release: Release
    buffers: Mapping[str, CircularBuffer]
    named: SourceLocation | None = field(default=None, init=False)

    def lines(self, statements: Iterable[Statement], depth: int = 1) -> Iterator[str]:
        """Lines of C++, indented.

        Raises
        ------
        LoweringError : a statement that no kernel has.
        """
        for statement in statements:
            yield from self._comment(getattr(statement, "location", None), depth)
            yield from self._statement(statement, depth)

    def _comment(self, location: SourceLocation | None, depth: int) -> Iterator[str]:
        if location is None or location == self.named:
            return
        self.named = location
        yield f"{INDENT * depth}// {source(location)}"

    def _statement(self, statement: Statement, depth: int) -> Iterator[str]:
        indent = INDENT * depth
        match statement:
            case Let(name, value):
                yield f"{indent}const uint32_t {name} = {expression(value, self.release)};"
            case For(name, start, stop, body):
                first, last = expression(start, self.release), expression(stop, self.release)
                yield f"{indent}for (uint32_t {name} = {first}; {name} < {last}; ++{name}) {{"
                yield from self.lines(body, depth + 1)
                yield f"{indent}}}"
            case If(condition, then, otherwise):
                yield f"{indent}if ({expression(condition, self.release)}) {{"
                yield from self.lines(then, depth + 1)
                if otherwise:
                    yield f"{indent}}} else {{"
                    yield from self.lines(otherwise, depth + 1)
                yield f"{indent}}}"
            case Call(name) if name in WRITTEN_OUT:
                yield from (f"{indent}{line}" for line in write_out(statement, self.buffers, self.release))
            case Call():
                yield f"{indent}{self._call(statement)};"
            case _:
                raise LoweringError(f"`{statement}` is no statement of a kernel for Tenstorrent")

    def _call(self, call: Call) -> str:
        parameters = operation(call.operation).parameters
        arguments = [
            argument(value, self.release, as_number=parameters[index : index + 1] == ("number",))
            for index, value in enumerate(call.arguments)
        ]
        return self.release.spell(call.operation, arguments, [argument(each, self.release) for each in call.template])


def source(location: SourceLocation) -> str:
    """A line of the user's program, without the folders of the machine that it was compiled on."""
    place = f"{PurePath(location.file).name}:{location.line}"
    return f"{place}: {' '.join(location.text.split())}" if location.text.strip() else place
