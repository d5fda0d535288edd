"""Reads PTX: entries, functions, calls, and which source line every instruction comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tle_raw.linker.ptx.statements import PtxStatement, statements

_BEGIN, _END = "// begin inline asm", "// end inline asm"


@dataclass(frozen=True)
class DebugLocation:
    """A source position."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``places`` is where it comes from, innermost first, out through everything inlined."""

    opcode: str
    operands: tuple[str, ...]
    line: int
    last_line: int
    function: str
    places: tuple[DebugLocation, ...]


@dataclass(frozen=True)
class PtxCall:
    """A call that is left. An indirect one has a register as ``target``."""

    target: str
    indirect: bool
    function: str
    line: int


@dataclass(frozen=True)
class Ptx:
    """What a PTX module holds. ``externs`` are ``.extern .func``; ``declared`` are others without a body."""

    entries: tuple[str, ...]
    functions: tuple[str, ...]
    declared: tuple[str, ...]
    externs: tuple[str, ...]
    instructions: tuple[Instruction, ...]

    @property
    def calls(self) -> tuple[PtxCall, ...]:
        """The calls that are left, in order."""
        return tuple(_call(i) for i in self.instructions if i.opcode.split(".")[0] == "call")


@dataclass(frozen=True)
class FileShare:
    """What one source file contributes to a module.

    ``own`` counts instructions written in the file, ``instructions`` also what was inlined into its code;
    ``excerpts`` are their first and last PTX lines; ``called_from`` are the places in other files where the
    file's code was inlined.
    """

    file: str
    own: int
    instructions: int
    excerpts: tuple[tuple[int, int], ...]
    called_from: tuple[DebugLocation, ...]


def read_ptx(ptx: str) -> Ptx:
    """Read a PTX module."""
    reader = _Reader(_files(ptx), _assemblies(ptx))
    for statement in statements(ptx):
        reader.take(statement)
    defined = {*reader.functions, *reader.entries}
    return Ptx(
        tuple(reader.entries),
        tuple(reader.functions),
        tuple(name for name in dict.fromkeys(reader.declared) if name not in defined),
        tuple(dict.fromkeys(reader.externs)),
        tuple(reader.instructions),
    )


def instructions_by_file(ptx: str | Ptx) -> tuple[FileShare, ...]:
    """The share of every source file, in order of appearance; empty when the PTX carries no line information.

    Instructions that the optimiser merged from several places carry one of them, or none.
    """
    module = read_ptx(ptx) if isinstance(ptx, str) else ptx
    files = dict.fromkeys(place.file for i in module.instructions for place in i.places)
    return tuple(_share(file, module.instructions) for file in files)


def _share(file: str, instructions: Iterable[Instruction]) -> FileShare:
    inside = [i for i in instructions if any(place.file == file for place in i.places)]
    own = sum(i.places[0].file == file for i in inside)
    callers = dict.fromkeys(place for i in inside for place in _caller(file, i))
    return FileShare(file, own, len(inside), tuple(_excerpts(inside, instructions)), tuple(callers))


def _caller(file: str, instruction: Instruction) -> Iterator[DebugLocation]:
    """The place just outside the file's outermost one."""
    outermost = max(index for index, place in enumerate(instruction.places) if place.file == file)
    yield from instruction.places[outermost + 1 : outermost + 2]


def _excerpts(inside: list[Instruction], instructions: Iterable[Instruction]) -> Iterator[tuple[int, int]]:
    """Join neighbours: a line range ends where an instruction of other origin stands."""
    wanted = {id(i) for i in inside}
    start = end = 0
    for instruction in instructions:
        if id(instruction) in wanted:
            start, end = start or instruction.line, instruction.last_line
        elif start:
            yield start, end
            start = 0
    if start:
        yield start, end


def _files(ptx: str) -> dict[str, str]:
    """``.file 3 "/x.cu"`` stands at the end of the text, after the ``.loc`` lines that use it."""
    found = (s.tokens for s in statements(ptx) if s.tokens[:1] == (".file",)) if ".file" in ptx else ()
    return {tokens[1]: tokens[2].strip('"') for tokens in found if len(tokens) > 2}


def _assemblies(ptx: str) -> dict[int, int]:
    """The lines of inline assembly, each with the line on which that begins."""
    found: dict[int, int] = {}
    begin = 0
    if _BEGIN in ptx:
        for number, line in enumerate(ptx.splitlines(), 1):
            if _END in line:
                begin = 0
            elif begin:
                found[number] = begin
            elif _BEGIN in line:
                begin = number
    return found


class _Reader:
    """Walks over statements and remembers function and source position."""

    def __init__(self, files: dict[str, str], assemblies: dict[int, int]) -> None:
        self.files, self.assemblies = files, assemblies
        self.assembly = 0  # that whose place is known
        self.entries: list[str] = []
        self.functions: list[str] = []
        self.declared: list[str] = []
        self.externs: list[str] = []
        self.instructions: list[Instruction] = []
        self.function, self.depth = "", 0
        self.places: tuple[DebugLocation, ...] = ()
        self.chains: dict[DebugLocation, tuple[DebugLocation, ...]] = {}

    def take(self, statement: PtxStatement) -> None:
        tokens = statement.tokens
        if ".entry" in tokens or ".func" in tokens:
            self._header(statement)
        elif tokens[:1] == (".loc",):
            self._location(statement)
        elif self.function and statement.closing == ";" and tokens and not tokens[0].startswith("."):
            self._instruction(statement)
        self.depth += (statement.closing == "{") - (statement.closing == "}")
        if self.depth == 0:
            self.function, self.places = "", ()

    def _header(self, statement: PtxStatement) -> None:
        name = function_name(statement.tokens)
        if statement.closing == ";":
            (self.externs if ".extern" in statement.tokens else self.declared).append(name)
            return
        (self.entries if ".entry" in statement.tokens else self.functions).append(name)
        self.function, self.chains = name, {}

    def _location(self, statement: PtxStatement) -> None:
        """``.loc 3 15 22, function_name $label, inlined_at 1 19 9``; Triton 3.6 has comments only.

        LLVM gives the second line of inline assembly the source line after that of the first, and so on: all of it is
        where its first line is.
        """
        tokens = statement.tokens
        before, self.assembly = self.assembly, self.assemblies.get(statement.line, 0)
        if self.assembly and self.assembly == before:
            return
        place = self._place(tokens[1:4])
        if place.line == 0:
            self.places = ()
            return
        callers: tuple[DebugLocation, ...] = tuple(self._comment_chain(statement.comment))
        if "inlined_at" in tokens:
            index = tokens.index("inlined_at")
            caller = self._place(tokens[index + 1 : index + 4])
            callers = self.chains.get(caller, (caller,))
        self.places = (place, *callers)
        self.chains[place] = self.places

    def _place(self, numbers: tuple[str, ...]) -> DebugLocation:
        file, line, column = (*numbers, "0", "0")[:3]
        return DebugLocation(self.files.get(file, file), _number(line), _number(column))

    def _comment_chain(self, comment: str) -> Iterator[DebugLocation]:
        """``// a.h:9:1 @[ b.cu:3:2 @[ k.py:7:1 ] ]``; names are the tails of the files' paths."""
        for part in comment.removeprefix("//").split("@[")[1:]:
            name, line, column = (*part.replace("]", "").strip().rsplit(":", 2), "", "")[:3]
            line, column = (line, column) if _number(line) else (column, "")
            yield DebugLocation(self._path(name), _number(line), _number(column))

    def _path(self, name: str) -> str:
        tails = (path for path in self.files.values() if path == name or path.endswith("/" + name))
        return next(tails, name)

    def _instruction(self, statement: PtxStatement) -> None:
        tokens = statement.tokens
        if tokens[0] == "@":  # a predicate: @%p1 or @!%p1
            tokens = tokens[3:] if tokens[1:2] == ("!",) else tokens[2:]
        if tokens:
            self.instructions.append(
                Instruction(tokens[0], tokens[1:], statement.line, statement.last_line, self.function, self.places)
            )


def function_name(tokens: tuple[str, ...]) -> str:
    """The name in ``.func (.param .b32 r) name (...)``: after the keyword and the bracketed return value."""
    index = next(i for i, token in enumerate(tokens) if token in (".entry", ".func")) + 1
    if tokens[index : index + 1] == ("(",):
        index = tokens.index(")", index) + 1
    while tokens[index : index + 1] and tokens[index].startswith("."):
        index += 1
    return tokens[index] if index < len(tokens) else ""


def _call(instruction: Instruction) -> PtxCall:
    operands = instruction.operands
    if operands[:1] == ("(",):
        operands = operands[operands.index(")") + 1 :]
    target = next((token for token in operands if token != ","), "")
    return PtxCall(target, target.startswith("%"), instruction.function, instruction.line)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
