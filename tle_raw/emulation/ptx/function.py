"""The function under construction: registers, operands and types of an inline PTX text."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.nvvm import threads
from tle_raw.emulation.nvvm.define import define
from tle_raw.emulation.ptx.parse import InlineStatement

SHARED_BYTES = 256 * 1024  # of team/workspace.h
# LLVM types of PTX's fundamental types; 16-bit floats and packed ones are kept as bits.
_SIZES = re.compile(r"[bus](8|16|32|64|128)")
FLOATS = {"f32": "float", "f64": "double"}
BITS = {"f16": "i16", "bf16": "i16", "f16x2": "i32", "bf16x2": "i32", "f32x2": "i64", "tf32": "i32"}
BITS |= {"e2m1x2": "i8", "e2m1x4": "i16"} | dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"), "i16")
BITS |= dict.fromkeys(("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"), "i32")


class UnknownInstruction(Exception):
    """An instruction that has no meaning here. ``str()`` is its whole opcode, ``about`` a reason, or nothing."""

    def __init__(self, opcode: str, about: str = "") -> None:
        super().__init__(opcode)
        self.about = about


def llvm_type(ptx: str) -> str:
    """The LLVM type of a PTX type."""
    size = _SIZES.fullmatch(ptx)
    if size:
        return f"i{size[1]}"
    return "i1" if ptx == "pred" else FLOATS.get(ptx) or BITS.get(ptx) or _unknown(ptx)


def _unknown(ptx: str) -> str:
    raise UnknownInstruction(f".{ptx}")


def is_type(part: str) -> bool:
    return part in FLOATS or part in BITS or part == "pred" or _SIZES.fullmatch(part) is not None


def bits_of(llvm: str) -> int:
    return {"float": 32, "double": 64}.get(llvm) or int(llvm[1:])


@dataclass
class PtxFunction:
    """Writes LLVM IR for PTX. Each register and each operand of the statement is a variable on the stack."""

    body: FunctionBody = field(default_factory=FunctionBody)
    variables: dict[str, tuple[str, str]] = field(default_factory=dict)  # PTX name: (address, LLVM type)
    scopes: list[dict[str, tuple[str, str] | None]] = field(default_factory=list)
    head: FunctionBody = field(default_factory=FunctionBody)
    labels: dict[str, str] = field(default_factory=dict)
    count: int = 0
    repeats: bool = False  # a branch leads back

    def variable(self, name: str, llvm: str) -> str:
        """A new variable; the same name in an outer block is hidden until the block ends."""
        address = f"%r{self.count}"
        self.count += 1
        self.head.do(f"{address} = alloca {llvm}")
        if self.scopes and name not in self.scopes[-1]:
            self.scopes[-1][name] = self.variables.get(name)
        self.variables[name] = (address, llvm)
        return address

    def open(self) -> None:
        self.scopes.append({})

    def close(self) -> None:
        for name, before in (self.scopes.pop() if self.scopes else {}).items():
            if before is None:
                del self.variables[name]
            else:
                self.variables[name] = before

    def get(self, operand: str, llvm: str, signed: bool = False) -> str:
        """An operand's value as an LLVM type of this or a smaller size, or a larger one for loads of narrow ones."""
        operand = operand.strip()
        if operand.startswith("!"):
            return self.body.value(f"xor i1 {self.get(operand[1:], 'i1')}, true")
        if operand.startswith("-") and operand[1:] in self.variables:
            return self.body.value(f"sub {llvm} 0, {self.get(operand[1:], llvm)}")
        if operand in self.variables:
            address, kind = self.variables[operand]
            return self.convert(self.body.value(f"load {kind}, ptr {address}"), kind, llvm, signed)
        if operand.startswith("%") or operand == "WARP_SZ":
            return self.convert(*_special(self, operand), llvm)
        return _immediate(operand, llvm)

    def set(self, operand: str, value: str, llvm: str, signed: bool = False) -> None:
        """Assign; a wider register is filled by extension. ``_`` takes nothing."""
        operand = operand.strip()
        if operand == "_":
            return
        if operand not in self.variables:
            raise UnknownInstruction(f"`{operand}` is no register")
        address, kind = self.variables[operand]
        self.body.do(f"store {kind} {self.convert(value, llvm, kind, signed)}, ptr {address}")

    def convert(self, value: str, given: str, wanted: str, signed: bool = False) -> str:
        """The same bits as another type; integers are cut or extended."""
        if given == wanted:
            return value
        if given in ("float", "double"):
            value, given = self.body.value(f"bitcast {given} {value} to i{bits_of(given)}"), f"i{bits_of(given)}"
        middle = f"i{bits_of(wanted)}"
        if bits_of(given) != bits_of(wanted):
            word = "trunc" if bits_of(given) > bits_of(wanted) else "sext" if signed else "zext"
            value = self.body.value(f"{word} {given} {value} to {middle}")
        if wanted in ("float", "double"):
            return self.body.value(f"bitcast {middle} {value} to {wanted}")
        return value

    def block(self, name: str) -> str:
        """The LLVM label of a PTX label."""
        return self.labels.setdefault(name, self.body.fresh("block"))


Instruction = Callable[[PtxFunction, InlineStatement, list[str]], None]
TABLE: dict[str, Instruction] = {}


def instruction(*roots: str) -> Callable[[Instruction], Instruction]:
    """Registers what writes the instructions whose opcode begins with one of these words."""

    def register(function: Instruction) -> Instruction:
        TABLE.update(dict.fromkeys(roots, function))
        return function

    return register


def value_type(parts: list[str], statement: InlineStatement) -> str:
    """The last type of an opcode."""
    found = [part for part in parts if is_type(part)]
    if not found:
        raise UnknownInstruction(statement.opcode)
    return found[-1]


def vector(operand: str) -> list[str]:
    """``{a, b}`` is a and b."""
    return [part.strip() for part in operand.strip("{} ").split(",")]


def elements_of(f: PtxFunction, operand: str, count: int) -> list[str]:
    """``{a, b}``, or a vector of registers, or a number, which stands for each."""
    if operand.startswith("{"):
        return vector(operand)
    names = [f"{operand}.{letter}" for letter in "xyzw"[:count]]
    return names if names[0] in f.variables else [operand] * count


def _immediate(text: str, llvm: str) -> str:
    """A number as LLVM text."""
    hexadecimal = re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", text)
    if hexadecimal:
        data = bytes.fromhex(hexadecimal[1] or hexadecimal[2])
        return _float(struct.unpack(">f" if hexadecimal[1] else ">d", data)[0], llvm)
    try:
        number = int(text.rstrip("uU"), 0)
    except ValueError:
        try:
            return _float(float(text), llvm)
        except ValueError:
            raise UnknownInstruction(f"`{text}` is neither a register nor a number") from None
    if llvm in ("float", "double"):
        return _float(float(number), llvm)
    if llvm == "i1":
        return "true" if number else "false"
    size = 1 << bits_of(llvm)
    number %= size
    return str(number - size if number >= size // 2 else number)


def _float(number: float, llvm: str) -> str:
    if llvm not in ("float", "double"):
        raise UnknownInstruction(f"`{number}` is no number for a register of {bits_of(llvm)} bits")
    if llvm == "float":  # which takes no digits that it cannot hold
        number = _as_float(number)
    return "0x" + struct.pack(">d", number).hex().upper()


def _as_float(number: float) -> float:
    """The nearest number of 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _special(function: PtxFunction, name: str) -> tuple[str, str]:
    """A special register, as a value and its type."""
    body, plain = function.body, name.lstrip("%")
    indexed = re.fullmatch(r"(tid|ntid|ctaid|nctaid|clusterid|nclusterid)\.([xyzw])", plain)
    if indexed:
        intrinsic = define(f"read.ptx.sreg.{plain}", (), "i32")
        assert intrinsic is not None
        return _spliced(body, intrinsic.lines), "i32"
    if plain.startswith("lanemask_"):
        return threads.lane_mask(body, plain.removeprefix("lanemask_")), "i32"
    if plain in ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
        value = body.call("i64", "tle_team_clock")
        return (body.value(f"lshr i64 {value}, 32") if plain.endswith("_hi") else value), "i64"
    if plain in ("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "WARP_SZ"):
        return threads.special_register(body, plain, "i32"), "i32"
    if plain.startswith("reserved_smem_offset_"):  # cooperative groups keep 1 KiB for themselves
        return str(SHARED_BYTES - (1024 if plain[-1] in "n01" else 0)), "i32"
    if plain == "is_explicit_cluster":
        return threads.is_in_cluster(body), "i1"
    in_cluster = re.fullmatch(r"cluster_(n?cta(?:id|rank))(?:\.([xyzw]))?", plain)
    if in_cluster:
        return threads.place_in_cluster(body, in_cluster[1], in_cluster[2] or "x"), "i32"
    if plain in ("envreg1", "envreg2"):
        return threads.grid_memory(body, high=plain == "envreg1"), "i32"
    if plain.startswith(("envreg", "dynamic_smem_size", "total_smem_size")):
        return ("1" if "_n" in plain else "0"), "i32"
    raise UnknownInstruction(f"`{name}` is no register that the CPU has")


def _spliced(body: FunctionBody, lines: list[str]) -> str:
    """Instructions of another body, renamed; the value that it returns."""
    names: dict[str, str] = {}
    for line in lines:
        line = re.sub(r"%v\d+", lambda m: names.get(m[0], m[0]), line.strip())
        given, equals, rest = line.partition(" = ")
        if equals:
            names[given] = body.value(rest)
        elif line.startswith("ret "):
            return line.split()[-1]
    raise AssertionError("a body that returns nothing")
