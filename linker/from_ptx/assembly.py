"""Instructions that LLVM has no words for: they stay PTX, as one inline assembly with registers for operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tle_raw.linker.from_ptx.operands import PtxInstruction, read_address, vector
from tle_raw.linker.from_ptx.read_module import unreadable

if TYPE_CHECKING:
    from tle_raw.linker.from_ptx.body import Body

# Whose first operand is written.
_PURE = """
abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma fns isspacep lg2 lop3 mad
mad24 madc mapa max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt sub
subc szext tanh testp xor vabsdiff4 vadd4 vsub4 vmin4 vmax4 vavrg4 vset4 vabsdiff2 vadd2 vsub2 vmin2 vmax2 vavrg2 vset2
"""
# The same, and they read memory or meet other threads.
_WRITING = """
activemask atom createpolicy elect getctarank ld ldmatrix ldu match mma movmatrix multimem redux shfl vote wmma
"""
# Which write no register.
_SILENT = """
applypriority bar barrier brkpt cp discard exit fence griddepcontrol membar nanosleep nop pmevent prefetch prefetchu red
setmaxnreg st stmatrix trap
"""
PURE, WRITING, SILENT = (frozenset(names.split()) for names in (_PURE, _WRITING, _SILENT))
_SPECIAL = re.compile(r"%(?:tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock64|clock_hi|"
                      r"globaltimer\w*|lanemask_\w+|clusterid|nclusterid|cluster_\w+|is_explicit_cluster|dynamic_smem_size|"
                      r"total_smem_size|aggr_smem_size|envreg\d+|pm\d+)(?:\.[xyz])?$")  # fmt: skip
_CARRY = ("addc", "subc", "madc")


def is_special(token: str) -> bool:
    """Whether it is a register of the machine, which is read and has no declaration."""
    return _SPECIAL.match(token) is not None or token == "WARP_SZ"


def passes_carry(instruction: PtxInstruction) -> bool:
    """Whether it writes or reads the carry flag, which lives within one text only."""
    return "cc" in instruction.parts or instruction.parts[0] in _CARRY


def write_assembly(body: Body, instructions: Sequence[PtxInstruction]) -> None:
    """One inline assembly that does what the instructions do; what they know of registers stays with LLVM."""
    Assembly(body).write(instructions)


class Assembly:
    """Gathers the text, its outputs and its inputs."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.outputs: list[str] = []
        self.inputs: list[tuple[str, str]] = []  # constraint, value with its type
        self.ties: list[tuple[int, str]] = []
        self.lines: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.count = 0

    def write(self, instructions: Sequence[PtxInstruction]) -> None:
        written: list[str] = []
        for instruction in instructions:
            written += [r for r in self._destinations(instruction) if r not in written]
        self.outputs = written
        done: set[str] = set()
        for instruction in instructions:
            self._line(instruction, done)
            done |= set(self._destinations(instruction))
        self._emit(instructions)

    def _destinations(self, instruction: PtxInstruction) -> list[str]:
        name = instruction.parts[0]
        if not instruction.operands or name in SILENT or self._is_silent(instruction):
            return []
        if name in PURE | WRITING or name in ("mbarrier", "wgmma"):
            tokens = instruction.operands[0]
            return [t for t in tokens if t in self.body.registers]
        raise unreadable(instruction.line, f"the instruction `{instruction.text}` is not known here")

    @staticmethod
    def _is_silent(instruction: PtxInstruction) -> bool:
        parts = instruction.parts
        if parts[0] == "bar" and "red" in parts:
            raise unreadable(instruction.line, f"the instruction `{instruction.text}` is not known here")
        quiet = (
            "init",
            "inval",
            "expect_tx",
            "complete_tx",
            "fence",
            "commit_group",
            "wait_group",
            "store",
            "st",
            "red",
        )
        return parts[0] in ("mbarrier", "wgmma", "wmma", "multimem") and parts[1] in quiet

    def _line(self, instruction: PtxInstruction, done: set[str]) -> None:
        destinations = set(self._destinations(instruction))
        reads_result = instruction.parts[0] == "wgmma"  # which adds to what its registers hold
        shown = []
        for index, operand in enumerate(instruction.operands):
            is_destination = index == 0 and bool(destinations)
            shown.append(self._operand(operand, is_destination, reads_result, done, instruction))
        self.lines.append(f"{instruction.opcode} {', '.join(shown)};".replace(" ;", ";"))

    def _operand(
        self, operand: tuple[str, ...], is_destination: bool, reads_result: bool, done: set[str], from_: PtxInstruction
    ) -> str:
        if operand[:1] == ("[",) and "," not in operand:
            address = read_address(operand, from_.line)
            return f"[{self._address(address.base, done, from_)}+{address.offset}]".replace("+0]", "]")
        if operand[:1] == ("[",):  # [map, {x, y}]
            inside = operand[1:-1]
            first = inside.index(",")
            rest = self._operand(inside[first + 1 :], False, False, done, from_)
            return f"[{self._address(inside[0], done, from_)}, {rest}]"
        if operand[:1] == ("{",):
            inside_ = [self._operand(each, is_destination, reads_result, done, from_) for each in vector(operand)]
            return f"{{{', '.join(inside_)}}}"
        return "".join(self._token(t, is_destination, reads_result, done, from_) for t in operand)

    def _address(self, base: str, done: set[str], from_: PtxInstruction) -> str:
        return self._token(base, False, False, done, from_)

    def _token(
        self, token: str, is_destination: bool, reads_result: bool, done: set[str], from_: PtxInstruction
    ) -> str:
        body = self.body
        if token in body.registers:
            bits = body.registers[token].bits
            if is_destination or token in done:
                number = self.outputs.index(token)
                if is_destination and reads_result:
                    self.ties.append((number, f"i{bits} {body.read(token)}"))
                return f"%tle{number}" if bits == 1 else f"${number}"
            return self._input(bits, body.read(token))
        if is_special(token) or token in ("|", "!", "-", "_", "+") or token[:1].isdecimal():
            return token
        if body.is_variable(token):
            value, bits = body.address_of(token, from_.line)
            return self._input(bits, value)
        if token.startswith(("%", "$")):
            raise unreadable(from_.line, f"`{token}` is no register of this function")
        return token

    def _input(self, bits: int, value: str) -> str:
        number = len(self.outputs) + len(self.inputs)
        if bits == 1:
            wide = self.body.value(f"zext i1 {value} to i32")
            self.inputs.append(("r", f"i32 {wide}"))
            self.before.append(f"setp.ne.b32 %tle{number}, ${number}, 0;")
            return f"%tle{number}"
        self.inputs.append((_letter(bits), f"i{bits} {value}"))
        return f"${number}"

    def _emit(self, instructions: Sequence[PtxInstruction]) -> None:
        body = self.body
        bits = [body.registers[r].bits for r in self.outputs]
        predicates = sorted({int(n) for n in re.findall(r"%tle(\d+)", " ".join([*self.lines, *self.before]))})
        self.after = [f"selp.b32 ${i}, 1, 0, %tle{i};" for i, each in enumerate(bits) if each == 1]
        text = " ".join([f".reg .pred %tle{n};" for n in predicates] + self.before + self.lines + self.after)
        text = f"{{ {text} }}" if predicates else text
        early = "&" if len(instructions) > 1 else ""
        constraints = [f"={early}{_letter(max(each, 32) if each == 1 else each)}" for each in bits]
        constraints += [letter for letter, _ in self.inputs] + [str(number) for number, _ in self.ties]
        arguments = ", ".join([value for _, value in self.inputs] + [value for _, value in self.ties])
        is_pure = all(i.parts[0] in PURE and not _reads_clock(i) for i in instructions)
        constraints += [] if is_pure else ["~{memory}"]
        types = [f"i{32 if each == 1 else each}" for each in bits]
        result = "void" if not types else types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
        kind = "" if is_pure else "sideeffect "
        call = f'call {result} asm {kind}"{_escaped(text)}", "{",".join(constraints)}"({arguments}) convergent'
        if not types:
            body.do(call)
            return
        whole = body.value(call)
        for index, (register, each) in enumerate(zip(self.outputs, bits)):
            value = whole if len(types) == 1 else body.value(f"extractvalue {result} {whole}, {index}")
            body.write(register, body.value(f"icmp ne i32 {value}, 0") if each == 1 else value)


def _reads_clock(instruction: PtxInstruction) -> bool:
    return any(token.startswith(("%clock", "%globaltimer")) for operand in instruction.operands for token in operand)


def _letter(bits: int) -> str:
    return {16: "h", 32: "r", 64: "l", 128: "q", 8: "h"}[bits]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\5C").replace('"', "\\22")
