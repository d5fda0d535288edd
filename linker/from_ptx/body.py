"""The body of a function under construction: registers as LLVM's variables, blocks, addresses, values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tle_raw.linker.from_ptx.operands import immediate
from tle_raw.linker.from_ptx.read_module import PtxVariable, bits_of, unreadable
from tle_raw.linker.llvm.text import encode_name

SPACE_NUMBERS = {"global": 1, "shared": 3, "const": 4, "local": 0, "": 0, "param": 0}
_FLOATS = {32: "float", 64: "double"}


@dataclass(frozen=True)
class Register:
    """A register: the variable that holds it, as an integer of its bits."""

    slot: str
    bits: int


@dataclass
class Body:
    """Writes one function's body. ``registers`` are those in scope.

    Each register is a variable on the stack, of an integer type; LLVM's first pass makes values of them. ``variables``
    are the module's, ``functions`` its functions and what it declares; ``used`` gathers the variables that are named.
    """

    variables: Mapping[str, PtxVariable]
    functions: Collection[str]
    used: set[str] = field(default_factory=set)
    intrinsics: set[str] = field(default_factory=set)
    registers: dict[str, Register] = field(default_factory=dict)
    parameters: dict[str, tuple[str, int]] = field(default_factory=dict)  # name: (variable's address, bytes)
    locals_: dict[str, str] = field(default_factory=dict)
    head: list[str] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)  # of the registers that are used: their bits
    lines: list[str] = field(default_factory=list)
    count: int = 0
    is_open: bool = True  # the block has no end yet

    def fresh(self, what: str = "v") -> str:
        self.count += 1
        return f"%{what}.{self.count}"

    def do(self, text: str) -> None:
        if not self.is_open:
            self.label(self.fresh("dead"))
        self.lines.append(f"  {text}")

    def value(self, instruction: str) -> str:
        name = self.fresh()
        self.do(f"{name} = {instruction}")
        return name

    def end(self, instruction: str) -> None:
        """The block's last instruction."""
        self.do(instruction)
        self.is_open = False

    def label(self, name: str) -> None:
        """Begin a block; what stands before it goes on there."""
        if self.is_open:
            self.lines.append(f"  br label {name}")
        self.lines.append(f"{name[1:]}:")
        self.is_open = True

    # --- registers ---------------------------------------------------------------------------------------------

    def declare(self, name: str, type_: str) -> None:
        self.registers[name] = Register(self.fresh("r"), bits_of(type_))

    def _slot(self, name: str) -> Register:
        register = self.registers[name]
        self.slots[register.slot] = register.bits
        return register

    def read(self, name: str) -> str:
        register = self._slot(name)
        return self.value(f"load i{register.bits}, ptr {register.slot}")

    def write(self, name: str, value: str) -> None:
        """Assign a value of the register's own bits."""
        register = self._slot(name)
        self.do(f"store i{register.bits} {value}, ptr {register.slot}")

    def assign(self, operand: tuple[str, ...], value: str, bits: int, line: int, signed: bool = False) -> None:
        """Assign a value of so many bits: a wider register is filled by extension."""
        if operand == ("_",):
            return
        name = "".join(operand)
        if name not in self.registers:
            raise unreadable(line, f"`{name}` is no register of this function")
        self.write(name, self.resized(value, bits, self.registers[name].bits, signed))

    def get(self, operand: tuple[str, ...], bits: int, line: int, is_float: bool = False) -> str:
        """An operand as an integer of so many bits."""
        if operand[:1] == ("!",):
            return self.value(f"xor i1 {self.get(operand[1:], 1, line)}, true")
        name = "".join(operand)
        if name in self.registers:
            return self.resized(self.read(name), self.registers[name].bits, bits, False)
        number = immediate(operand, bits, is_float)
        if number is not None:
            return str(number) if bits > 1 else ("true" if number else "false")
        if self.is_variable(name) or name in self.functions:
            value, own = self.address_of(name, line)
            return self.resized(value, own, bits, False)
        raise unreadable(line, f"`{' '.join(operand)}` is no register of this function, and no constant")

    def resized(self, value: str, bits: int, wanted: int, signed: bool) -> str:
        if bits == wanted:
            return value
        word = "trunc" if wanted < bits else "sext" if signed else "zext"
        return self.value(f"{word} i{bits} {value} to i{wanted}")

    def as_float(self, value: str, bits: int) -> str:
        return self.value(f"bitcast i{bits} {value} to {_FLOATS[bits]}")

    def as_bits(self, value: str, bits: int) -> str:
        return self.value(f"bitcast {_FLOATS[bits]} {value} to i{bits}")

    # --- memory ------------------------------------------------------------------------------------------------

    def is_variable(self, name: str) -> bool:
        return name in self.variables or name in self.locals_ or name in self.parameters

    def address_of(self, name: str, line: int) -> tuple[str, int]:
        """The address of a variable in its own space, as an integer, and the integer's bits."""
        if name in self.locals_:
            return self.value(f"ptrtoint ptr {self.locals_[name]} to i64"), 64
        if name in self.parameters:
            return self.value(f"ptrtoint ptr {self.parameters[name][0]} to i64"), 64
        if name in self.variables:
            variable = self.variables[name]
            self.used.add(name)
            bits = 32 if variable.space == "shared" else 64
            return self.value(f"ptrtoint {pointer(variable.space)} {encode_name('@', name)} to i{bits}"), bits
        if name in self.functions:
            raise unreadable(line, f"the address of the function `{name}`: what is called through it cannot be linked")
        raise unreadable(line, f"`{name}` is defined nowhere")

    def place(self, base: str, offset: int, space: str, line: int) -> str:
        """A pointer of the space to ``[base+offset]``."""
        kind = pointer(space)
        if base in self.registers:
            bits = self.registers[base].bits
            start = self.value(f"inttoptr i{bits} {self.read(base)} to {kind}")
        elif base in self.variables and self.variables[base].space == space:
            self.used.add(base)
            start = encode_name("@", base)
        elif base in self.locals_ and space in ("local", "param"):
            start = self.locals_[base]
        elif base in self.parameters and space == "param":
            start = self.parameters[base][0]
        else:
            number = immediate((base,), 64, False)
            value, bits = (str(number), 64) if number is not None else self.address_of(base, line)
            start = self.value(f"inttoptr i{bits} {value} to {kind}")
        return self.value(f"getelementptr i8, {kind} {start}, i64 {offset}") if offset else start


def pointer(space: str) -> str:
    """The LLVM type of a pointer into a state space; "" is the generic one."""
    number = SPACE_NUMBERS[space]
    return f"ptr addrspace({number})" if number else "ptr"
