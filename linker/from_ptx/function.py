"""One PTX function as a definition in LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tle_raw.errors import AbiError, Row
from tle_raw.linker.from_ptx.assembly import passes_carry, write_assembly
from tle_raw.linker.from_ptx.body import Body, Register
from tle_raw.linker.from_ptx.instructions import write_natively
from tle_raw.linker.from_ptx.operands import PtxInstruction, read_instruction
from tle_raw.linker.from_ptx.read_module import (
    PtxFunctionText,
    PtxModule,
    PtxParameter,
    read_parameter,
    read_variable,
    split,
    understood,
    unreadable,
)
from tle_raw.linker.llvm.functions import FunctionType
from tle_raw.linker.llvm.text import encode_name
from tle_raw.linker.ptx.statements import PtxStatement

# What is no pointer has its bits for a size.
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8, "ptr addrspace(1)": 8}
# Compilers pass 32 bits for them.
_SMALL = ("i1", "i8", "i16", "half", "bfloat")
# The CUDA runtime's functions, by the types that other compilers declare them with.
KNOWN = {
    "vprintf": FunctionType("i32", ("ptr", "ptr")),
    "__assertfail": FunctionType("void", ("ptr", "ptr", "i32", "ptr", "i64")),
    "malloc": FunctionType("ptr", ("i64",)),
    "free": FunctionType("void", ("ptr",)),
}
_Scope: TypeAlias = tuple[dict[str, Register], dict[str, tuple[str, int]]]
_COUNTED = re.compile(r"(.*?)<(\d+)>")
_IGNORED = (".loc", ".file", ".pragma", ".callprototype", ".maxntid", ".reqntid", ".minnctapersm", ".noreturn")


def plain_type(function: PtxFunctionText) -> FunctionType:
    """The function's type by its sizes: PTX does not tell a pointer from a number."""
    result = _plain(function.result) if function.result else "void"
    return FunctionType(result, tuple(map(_plain, function.parameters)))


def _plain(parameter: PtxParameter) -> str:
    return f"[{parameter.bytes} x i8]" if parameter.is_array else f"i{parameter.bytes * 8}"


def bytes_of(type_: str) -> int:
    """The bytes that a value of an LLVM type takes as a parameter; 0 where it is none that PTX passes alone."""
    if type_ == "i1":
        return 1
    return int(type_[1:]) // 8 if re.fullmatch(r"i\d+", type_) else _BYTES.get(type_, 0)


def check_type(function: PtxFunctionText, wanted: FunctionType) -> None:
    """A type that callers use must have the sizes of the function's own parameters.

    Raises
    ------
    AbiError : one differs; the table has all.
    """
    found = [p.bytes for p in function.parameters]
    rows = [Row("parameters", str(len(wanted.parameters)), str(len(found)))]
    for index, (type_, size) in enumerate(zip(wanted.parameters, found)):
        same = fits(type_, size)
        rows.append(Row(f"parameter {index + 1}", type_, type_ if same else f"{size} bytes"))
    own = function.result.bytes if function.result else 0
    same = wanted.result == "void" if not own else wanted.result != "void" and fits(wanted.result, own)
    rows.append(Row("result", wanted.result, wanted.result if same else f"{own} bytes" if own else "void"))
    if any(row.differs for row in rows):
        raise AbiError(
            f"the PTX function `{function.name}` does not take what its caller passes",
            table=tuple(rows),
            hint="change the signature or the function, so that both name the same sizes",
        )


def fits(type_: str, size: int) -> bool:
    """Whether a value of an LLVM type crosses as so many bytes."""
    return bytes_of(type_) == size or (type_ in _SMALL and size == 4)


def write_function(
    module: PtxModule, function: PtxFunctionText, types: Mapping[str, FunctionType]
) -> tuple[str, Body, frozenset[str]]:
    """The definition, the body that gathered what it uses, and the functions that it calls.

    ``types`` gives functions, this one among them, the types by which they are called.
    """
    writer = _Writer(module, function, types)
    return writer.text(), writer.body, frozenset(writer.called)


def _labels(body: Sequence[PtxStatement]) -> dict[int, set[str]]:
    """The labels of each pair of braces, which are counted as they open; 0 is the function's own."""
    found: dict[int, set[str]] = {}
    opened, within = 0, [0]
    for statement in body:
        if statement.closing == "{":
            opened += 1
            within.append(opened)
        elif statement.closing == "}":
            within.pop()
        elif statement.closing == ":":
            found.setdefault(within[-1], set()).add(statement.tokens[0])
    return found


class _Writer:
    def __init__(self, module: PtxModule, function: PtxFunctionText, types: Mapping[str, FunctionType]) -> None:
        self.module, self.function, self.types = module, function, types
        self.variables = dict(module.variables)
        self.body = Body(self.variables, module.functions)
        self.scopes: list[_Scope] = []
        self.labels = _labels(function.body or ())
        self.opened, self.within = 0, [0]
        self.called: dict[str, None] = {}
        self.carried: list[PtxInstruction] = []
        self.type = types.get(function.name) or plain_type(function)

    def text(self) -> str:
        body, function = self.body, self.function
        given = []
        for index, (parameter, type_) in enumerate(zip(function.parameters, self.type.parameters)):
            slot = self._memory(parameter)
            given.append(f"{type_} %arg.{index}")
            self._store(type_, f"%arg.{index}", slot, parameter.bytes)
            body.parameters[parameter.name] = (slot, parameter.bytes)
        if function.result:
            body.parameters[function.result.name] = (self._memory(function.result), function.result.bytes)
        for statement in function.body or ():
            with understood(statement):
                self._statement(statement)
        self._flush()
        if body.is_open:
            self._return()
        name = encode_name("@", function.name)
        head = f"define {self.type.result} {name}({', '.join(given)}) convergent nounwind {{"
        registers = (f"  {slot} = alloca i{bits}" for slot, bits in body.slots.items())
        return "\n".join([head, *registers, *body.head, *body.lines, "}", ""])

    def _memory(self, parameter: PtxParameter) -> str:
        slot = self.body.fresh("param")
        size = max(parameter.bytes, 8)
        self.body.head.append(f"  {slot} = alloca [{size} x i8], align {max(parameter.align, 8)}")
        return slot

    def _statement(self, statement: PtxStatement) -> None:
        tokens = statement.tokens
        if statement.closing == "{":
            self.scopes.append((dict(self.body.registers), dict(self.body.parameters)))
            self.opened += 1
            self.within.append(self.opened)
        elif statement.closing == "}":
            self._flush()
            self.body.registers, self.body.parameters = self.scopes.pop()
            self.within.pop()
        elif statement.closing == ":":
            self._flush()
            self.body.label(self._block(tokens[0], statement.line))
        elif tokens and tokens[0] == ".reg":
            self._registers(tokens)
        elif tokens and tokens[0] == ".param":
            parameter = read_parameter(tokens, statement.line)
            self.body.parameters[parameter.name] = (self._memory(parameter), parameter.bytes)
        elif tokens and tokens[0].startswith(".") and tokens[0] not in _IGNORED:
            self._variable(statement)
        elif tokens and not tokens[0].startswith("."):
            self._instruction(read_instruction(statement))

    def _registers(self, tokens: Sequence[str]) -> None:
        type_ = next(token[1:] for token in tokens[1:] if token.startswith(".") and not token.startswith(".v"))
        names = tokens[list(tokens).index(f".{type_}") + 1 :]
        for part in split(names):
            counted = _COUNTED.fullmatch("".join(part))
            if counted:
                for number in range(int(counted[2])):
                    self.body.declare(f"{counted[1]}{number}", type_)
            else:
                self.body.declare("".join(part), type_)

    def _variable(self, statement: PtxStatement) -> None:
        variable = read_variable(statement)
        if variable.space == "local":
            slot = self.body.fresh("local")
            size = max(1, variable.count) * max(8, int(re.sub(r"\D", "", variable.type) or 8)) // 8
            self.body.head.append(f"  {slot} = alloca [{size} x i8], align {variable.align}")
            self.body.locals_[variable.name] = slot
        else:
            self.variables[variable.name] = variable

    def _block(self, label: str, line: int) -> str:
        """The block of a label: of the innermost braces that have one of that name."""
        for scope in reversed(self.within):
            if label in self.labels.get(scope, ()):
                return f"%L{scope}.{label}"
        raise unreadable(line, f"a branch to `{label}`, which is nowhere")

    def _instruction(self, instruction: PtxInstruction) -> None:
        if passes_carry(instruction) and not instruction.guard:
            self.carried.append(instruction)
            return
        self._flush()
        body = self.body
        if instruction.guard and instruction.parts[0] == "bra":
            after = body.fresh("next")
            condition = body.get((instruction.guard,), 1, instruction.line)
            target = self._block("".join(instruction.operands[0]), instruction.line)
            taken = (after, target) if instruction.negated else (target, after)
            body.end(f"br i1 {condition}, label {taken[0]}, label {taken[1]}")
            body.label(after)
            return
        if not instruction.guard:
            self._plain(instruction)
            return
        then, after = body.fresh("then"), body.fresh("after")
        condition = body.get((instruction.guard,), 1, instruction.line)
        taken = (after, then) if instruction.negated else (then, after)
        body.end(f"br i1 {condition}, label {taken[0]}, label {taken[1]}")
        body.label(then)
        self._plain(instruction)
        body.label(after)

    def _plain(self, instruction: PtxInstruction) -> None:
        name = instruction.parts[0]
        if name == "bra":
            self.body.end(f"br label {self._block(''.join(instruction.operands[0]), instruction.line)}")
        elif name == "ret":
            self._return()
        elif name == "call":
            self._call(instruction)
        elif name == "brx":
            raise unreadable(instruction.line, "a branch through a table (brx.idx)")
        elif not write_natively(self.body, instruction):
            write_assembly(self.body, [instruction])

    def _flush(self) -> None:
        if self.carried:
            write_assembly(self.body, self.carried)
            self.carried = []

    def _return(self) -> None:
        body, result = self.body, self.function.result
        if result is None:
            body.end("ret void")
            return
        slot, _ = body.parameters[result.name]
        body.end(f"ret {self.type.result} {self._load(self.type.result, slot)}")

    def _call(self, instruction: PtxInstruction) -> None:
        operands, body = list(instruction.operands), self.body
        results = split(operands.pop(0)[1:-1]) if operands[0][:1] == ("(",) else []
        name = "".join(operands.pop(0))
        if name in body.registers or len(operands) > 1:
            raise unreadable(instruction.line, f"a call through a register: `{instruction.text}`")
        arguments = split(operands[0][1:-1]) if operands else []
        callee = self.module.functions.get(name)
        if callee is None:
            raise unreadable(instruction.line, f"`{name}` is not declared")
        type_ = self.types.get(name) or KNOWN.get(name) or plain_type(callee)
        self.called[name] = None
        passed = []
        for argument, kind in zip(arguments, type_.parameters):
            passed.append(f"{kind} {self._load(kind, body.parameters[''.join(argument)][0])}")
        call = f"call {type_.result} {encode_name('@', name)}({', '.join(passed)}) convergent"
        if type_.result == "void" or not results:
            body.do(call)
        else:
            slot, size = body.parameters["".join(results[0])]
            self._store(type_.result, body.value(call), slot, size)

    def _store(self, type_: str, value: str, slot: str, size: int) -> None:
        """As a parameter: a small integer fills the bytes that PTX has for it."""
        if type_ in _SMALL and (type_ == "i1" or bytes_of(type_) < size):
            if type_ in ("half", "bfloat"):
                value, type_ = self.body.value(f"bitcast {type_} {value} to i16"), "i16"
            value, type_ = self.body.value(f"zext {type_} {value} to i{size * 8}"), f"i{size * 8}"
        self.body.do(f"store {type_} {value}, ptr {slot}, align 8")

    def _load(self, type_: str, slot: str) -> str:
        if type_ == "i1":
            return self.body.value(f"trunc i8 {self.body.value(f'load i8, ptr {slot}, align 8')} to i1")
        return self.body.value(f"load {type_}, ptr {slot}, align 8")
