"""From one inline PTX statement to one function in LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tle_raw.emulation.ptx import (  # noqa: F401  (registers)
    arithmetic,
    conversions,
    copies,
    matrices,
    mbarrier,
    memory,
    threads,
)
from tle_raw.emulation.ptx.function import TABLE, PtxFunction, UnknownInstruction
from tle_raw.emulation.ptx.operands import OperandError, into_register, out_of_register, result_types
from tle_raw.emulation.ptx.parse import InlineStatement, PtxSyntaxError, decoded, statements

__all__ = ["UnknownInstruction", "instructions", "repeats_itself", "translate"]

# Registers that constraint letters stand for.
_LETTERS = {"h": "i16", "r": "i32", "l": "i64", "f": "float", "d": "double", "q": "i128", "b": "i1", "c": "i8"}


def translate(name: str, text: str, constraints: str, types: Sequence[str], result: str) -> str:
    """The definition of ``@name(<types>, i32 %site)`` for an asm string, as LLVM IR has it.

    Raises
    ------
    UnknownInstruction : an instruction, a register or a constraint that has no meaning on the host.
    """
    function = PtxFunction()
    try:
        outputs = _operands(function, constraints, types)
        _number_places(function)
        function.repeats = repeats_itself(text)
        for statement in _statements_of(text):
            _write(function, statement)
        end = _return(function, outputs, result)
    except PtxSyntaxError as error:
        raise UnknownInstruction(str(error).split()[0] if str(error).split() else text) from None
    except OperandError as error:
        raise UnknownInstruction(_first_instruction(text), str(error)) from None
    parameters = ", ".join([f"{kind} %a{i}" for i, kind in enumerate(types)] + ["i32 %site"])
    lines = [*function.head.lines, *function.body.lines, *end]
    return "\n".join([f"define internal {result} @{name}({parameters}) alwaysinline {{", *lines, "}"])


def _statements_of(text: str) -> Iterator[InlineStatement]:
    """The statements of an asm string, in order.

    Raises
    ------
    PtxSyntaxError : a statement is not understood, where it stands.
    """
    return statements(_plain(decoded(text)))


def instructions(text: str) -> Iterator[InlineStatement]:
    """Those of its statements that do something; see there."""
    return (s for s in _statements_of(text) if s.kind == "instruction")


def repeats_itself(text: str) -> bool:
    """Whether a branch of an asm string may lead back to what stands before it, as far as it is understood."""
    labels = set()
    with suppress(PtxSyntaxError):
        for statement in _statements_of(text):
            if statement.kind == "label":
                labels.add(statement.opcode)
            elif statement.parts[0] == "bra" and not labels.isdisjoint(statement.operands):
                return True
    return False


def _first_instruction(text: str) -> str:
    return next((s.opcode for s in instructions(text)), text.strip())


def _plain(text: str) -> str:
    text = re.sub(r"\$\{(\d+)(?::\w*)?\}", r"$\1", text).replace("${:uid}", "uid")
    return re.sub(r"\$(\d+)", r"%$\1", text.replace("$$", "$"))


def _operands(function: PtxFunction, constraints: str, types: Sequence[str]) -> list[str]:
    """Variables %$0, %$1, … for the operands; the names of the outputs."""
    parts = [part for part in constraints.split(",") if part and not part.startswith("~")]
    outputs = [part for part in parts if part.startswith("=")]
    for index, part in enumerate(parts):
        letter = part.lstrip("=&+")
        if letter.isdecimal():  # an input that shares an output's register
            tied = function.variables[f"%${letter}"]
            function.variables[f"%${index}"] = tied
        elif letter in _LETTERS:
            function.variable(f"%${index}", _LETTERS[letter])
        elif letter in ("n", "i"):
            function.variable(f"%${index}", types[index - len(outputs)])
        else:
            raise UnknownInstruction(f'the constraint "{part}"')
    for index, kind in enumerate(types):
        address, register = function.variables[f"%${index + len(outputs)}"]
        value, kind = into_register(function.head, f"%a{index}", kind, register)
        function.head.do(f"store {kind} {value}, ptr {address}")
    return [f"%${i}" for i in range(len(outputs))]


def _number_places(function: PtxFunction) -> None:
    """The carry flag; it lives in every text that uses it."""
    function.variable("%carry", "i1")
    function.head.do(f"store i1 false, ptr {function.variables['%carry'][0]}")


def _write(function: PtxFunction, statement: InlineStatement) -> None:
    body = function.body
    if statement.kind == "open":
        return function.open()
    if statement.kind == "close":
        return function.close()
    if statement.kind == "registers":
        from tle_raw.emulation.ptx.function import llvm_type

        for name in statement.operands:
            function.variable(name, llvm_type(statement.opcode.lstrip(".")))
        return None
    if statement.kind == "label":
        block = function.block(statement.opcode)
        body.do(f"br label %{block}")
        return body.label(block)
    try:
        return _guarded(function, statement)
    except UnknownInstruction as error:
        about = "" if str(error) == statement.opcode else str(error)
        raise UnknownInstruction(statement.opcode, about) from None
    except (IndexError, ValueError, KeyError):
        raise UnknownInstruction(statement.opcode) from None


def _guarded(function: PtxFunction, statement: InlineStatement) -> None:
    body = function.body
    if not statement.guard:
        return _instruction(function, statement)
    condition = function.get(("!" if statement.negated else "") + statement.guard, "i1")
    then, after = body.fresh("then"), body.fresh("after")
    body.do(f"br i1 {condition}, label %{then}, label %{after}")
    body.label(then)
    _instruction(function, statement)
    if not body.lines[-1].lstrip().startswith(("br ", "unreachable")) or body.lines[-1].endswith(":"):
        body.do(f"br label %{after}")
    return body.label(after)


def _instruction(function: PtxFunction, statement: InlineStatement) -> None:
    parts = statement.parts
    writer = TABLE.get(parts[0])
    if writer is None:
        raise UnknownInstruction(statement.opcode)
    writer(function, statement, parts[1:])
    if parts[0] == "bra":  # what follows is reached by labels only
        function.body.label(function.body.fresh("after")) if not statement.guard else None


def _return(function: PtxFunction, outputs: Sequence[str], result: str) -> list[str]:
    body = type(function.body)(count=function.body.count)
    if result == "void":
        return ["  ret void"]
    values = []
    for name, wanted in zip(outputs, result_types(result)):
        address, register = function.variables[name]
        value = body.value(f"load {register}, ptr {address}")
        values.append((out_of_register(body, value, register, wanted), wanted))
    if not result.startswith("{"):
        return [*body.lines, f"  ret {result} {values[0][0]}"]
    whole = "poison"
    for index, (value, kind) in enumerate(values):
        whole = body.value(f"insertvalue {result} {whole}, {kind} {value}, {index}")
    return [*body.lines, f"  ret {result} {whole}"]
