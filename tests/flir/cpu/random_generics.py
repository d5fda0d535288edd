"""Random kernels in the Linalg form: index arithmetic as reshapes make it, masks, loads, arithmetic, a store."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.flir.cpu.linalg_kernels import kernel_text, load, store

SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 100, 128)
NUMBERS = (1, 2, 3, 4, 8, 16, 32, 64, 100)
KINDS = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
MOST_ELEMENTS = 4096
ARGUMENTS = "%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr, %w: !llvm.ptr, %n: i32, %u: i32"


@dataclass
class RandomKernel:
    """A kernel over arrays ``x`` and ``y`` to read, ``z`` and ``w`` to write, all of ``total`` elements.

    ``%n`` is a bound in masks and a divisor (at least 1), ``%u`` a flag; program ids may be anything small.
    """

    random: Random
    lines: list[str] = field(default_factory=list)
    constants: dict[tuple[int, str], str] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.kind = self.random.choice(KINDS)
        self.shape = [self.random.choice(SIZES) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]
        while math.prod(self.shape) > MOST_ELEMENTS:
            self.shape[self.random.randrange(len(self.shape))] = self.random.choice(SIZES[:5])
        self.total = math.prod(self.shape)
        self.rank = len(self.shape)
        self.inside = [f"%i{d}" for d in range(self.rank)]

    @property
    def is_float(self) -> bool:
        return "f" in self.kind

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, right: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {right}")
        return name

    def op(self, name: str, a: str, b: str, kind: str = "index") -> str:
        return self.emit(f"arith.{name} {a}, {b} : {kind}")

    def constant(self, value: int, kind: str = "index") -> str:
        return self.constants.setdefault((value, kind), f"%c{len(self.constants)}")

    # -- indices: each stays in 0 <= i < total

    def linear(self, order: list[int]) -> str:
        total = self.constant(0)
        for position, dim in enumerate(order):
            stride = math.prod(self.shape[d] for d in order[position + 1 :])
            total = self.op("addi", total, self.op("muli", self.inside[dim], self.constant(stride)))
        return total

    def indices(self) -> list[str]:
        order = list(range(self.rank))
        known = [self.linear(order), *self.inside]
        self.random.shuffle(order)
        known.append(self.linear(order))
        for _ in range(self.random.randrange(6)):
            known.append(self.index(known))
        return known

    def index(self, known: list[str]) -> str:
        a, number = self.random.choice(known), self.random.choice(NUMBERS)
        match self.random.randrange(8):
            case 0 | 1:
                return self.op(self.random.choice(["divui", "divsi", "floordivsi"]), a, self.constant(number))
            case 2 | 3:
                return self.op(self.random.choice(["remui", "remsi"]), a, self.constant(number))
            case 4:
                return self.op("andi", a, self.constant(self.random.choice([1, 3, 7, 15, 63])))
            case 5:
                return self.op("shrui", a, self.constant(self.random.choice([1, 2, 3])))
            case 6:
                return self.op("subi", self.constant(self.total - 1), a)
            case _:
                return self.emit(f"arith.select %uniform, {a}, {self.random.choice(known)} : index")

    def offset(self, index: str) -> str:
        """As i64, by one of several ways."""
        if self.random.randrange(3) == 0:
            return self.emit(f"arith.index_cast {index} : index to i64")
        narrow = self.emit(f"arith.index_cast {index} : index to i32")
        return self.emit(f"arith.{self.random.choice(['extsi', 'extui'])} {narrow} : i32 to i64")

    def program_offset(self, known: list[str]) -> tuple[str, str]:
        """A quotient or remainder of an offset that depends on the program id, and whether it can be an index."""
        narrow = self.emit(f"arith.index_cast {self.random.choice(known)} : index to i32")
        scaled = self.op("muli", "%pid", self.constant(self.random.choice([*NUMBERS, -64]), "i32"), "i32")
        dividend = self.op(self.random.choice(["addi", "subi"]), scaled, narrow, "i32")
        divisor = self.random.choice(["%n", self.constant(self.random.choice(NUMBERS), "i32")])
        value = self.op(self.random.choice(["remsi", "divsi"]), dividend, divisor, "i32")
        low = self.emit(f"arith.cmpi sge, {value}, {self.constant(0, 'i32')} : i32")
        high = self.emit(f"arith.cmpi slt, {value}, {self.constant(self.total, 'i32')} : i32")
        return self.emit(f"arith.extsi {value} : i32 to i64"), self.op("andi", low, high, "i1")

    def mask(self, known: list[str], depth: int = 0) -> str:
        match self.random.randrange(10):
            case 0:
                return "%uniform"
            case 1:
                return "%true"
            case 2 | 3 if depth < 2:
                kind = self.random.choice(["andi", "ori"])
                return self.op(kind, self.mask(known, depth + 1), self.mask(known, depth + 1), "i1")
            case _:
                bound = self.random.choice(["%bound", self.constant(self.random.randrange(self.total + 1))])
                order = self.random.choice(["slt", "sge", "ult", "eq", "ne"])
                return self.emit(f"arith.cmpi {order}, {self.random.choice(known)}, {bound} : index")

    # -- values

    def load(self, known: list[str], values: list[str]) -> str:
        name = self.name().strip("%")
        other = self.random.choice(["%other", *values])
        source = self.random.choice(["%x", "%y"])
        if self.random.randrange(5) == 0:
            offset, valid = self.program_offset(known)
            self.lines.append(load(name, source, offset, self.kind, valid, other))
        else:
            mask = self.mask(known) if self.random.randrange(2) else ""
            self.lines.append(load(name, source, self.offset(self.random.choice(known)), self.kind, mask, other))
        return f"%{name}"

    def load_buffer(self, known: list[str]) -> str:
        shape = "x".join(map(str, self.shape))
        access = f"memref.load %buffer[{', '.join(self.inside)}] : memref<{shape}x{self.kind}>"
        if self.random.randrange(2):
            return self.emit(access)
        name = self.name()
        return self.emit(
            f"scf.if {self.mask(known)} -> {self.kind} {{ {name} = {access}\n scf.yield {name} : {self.kind} }} "
            f"else {{ scf.yield %other : {self.kind} }}"
        )

    def compute(self, values: list[str]) -> str:
        names = ["addf", "mulf", "subf", "maximumf"] if self.is_float else ["addi", "muli", "subi", "maxsi", "xori"]
        return self.op(self.random.choice(names), self.random.choice(values), self.random.choice(values), self.kind)

    def guarded_division(self, known: list[str], values: list[str]) -> str:
        """Divides where the divisor is not zero."""
        divisor = self.random.choice(values)
        kind, zero = self.kind, self.constant(0, self.kind)
        safe = self.emit(f"arith.cmpi sgt, {divisor}, {zero} : {kind}")
        name = self.name()
        return self.emit(
            f"scf.if {safe} -> {kind} {{ {name} = arith.divsi {self.random.choice(values)}, {divisor} : {kind}\n"
            f"scf.yield {name} : {kind} }} else {{ scf.yield {values[0]} : {kind} }}"
        )

    def nested(self, known: list[str], values: list[str]) -> str:
        """A masked access inside of a branch, with work on the other side."""
        outer, inner = self.mask(known), self.mask(known)
        offset = self.offset(self.random.choice(known))
        name = self.name().strip("%")
        access = load(name, "%x", offset, self.kind, inner, "%other")
        add = "addf" if self.is_float else "addi"
        return self.emit(
            f"scf.if {outer} -> {self.kind} {{ {access} scf.yield %{name} : {self.kind} }} else {{\n"
            f"%{name}_e = arith.{add} {values[0]}, {values[0]} : {self.kind}\n scf.yield %{name}_e : {self.kind} }}"
        )

    def loop(self, values: list[str]) -> str:
        name, add = self.name(), "addf" if self.is_float else "addi"
        return self.emit(
            f"scf.for {name}_k = %zero to %two step %one iter_args({name}_a = {values[-1]}) -> ({self.kind}) {{\n"
            f"{name}_r = arith.{add} {name}_a, {values[0]} : {self.kind}\n scf.yield {name}_r : {self.kind} }}"
        )

    def values(self, known: list[str]) -> list[str]:
        values: list[str] = []
        for _ in range(self.random.randrange(1, 4)):
            values.append(self.load(known, values) if self.random.randrange(3) else self.load_buffer(known))
            chance = self.random.randrange(12)
            if len(values) > 1:
                values.append(self.compute(values))
            if chance == 0 and not self.is_float:
                values.append(self.guarded_division(known, values))
            elif chance == 1:
                values.append(self.nested(known, values))
            elif chance == 2:
                values.append(self.loop(values))
        return values

    def text(self) -> str:
        """The whole kernel."""
        known = self.indices()
        values = self.values(known)
        there_and_back = [known[0], known[self.rank + 1], self.op("subi", self.constant(self.total - 1), known[0])]
        target = self.offset(self.random.choice(there_and_back))
        mask = self.mask(known) if self.random.randrange(2) else ""
        self.lines.append(store(values[-1], "%z", target, self.kind, mask, address="%stored"))
        self.lines.append(f"%w_at = arith.index_cast {known[0]} : index to i64")
        self.lines.append(store(values[0], "%w", "%w_at", self.kind, address="%kept"))
        return kernel_text(ARGUMENTS, self._frame(values[0]))

    def _frame(self, result: str) -> str:
        dims = ", ".join(f"d{d}" for d in range(self.rank))
        shape = "x".join(map(str, self.shape))
        same = f"affine_map<({dims}) -> ({dims})>"
        parallel = ", ".join(['"parallel"'] * self.rank)
        kinds = f"iterator_types = [{parallel}]"
        lines = "\n".join(self.lines)
        indices = "\n".join(f"%i{d} = linalg.index {d} : index" for d in range(self.rank))
        constants = "\n".join(f"{n} = arith.constant {v} : {kind}" for (v, kind), n in self.constants.items())
        buffer = f"memref<{shape}x{self.kind}>"
        return f"""
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        %true = arith.constant true
        %other = arith.constant {"1.5" if self.is_float else "7"} : {self.kind}
        %bound = arith.index_cast %n : i32 to index
        %zero32 = arith.constant 0 : i32
        %uniform = arith.cmpi sgt, %u, %zero32 : i32
        {constants}
        %buffer = memref.alloca() : {buffer}
        linalg.generic {{indexing_maps = [{same}], {kinds}}} outs(%buffer : {buffer}) {{
        ^bb0(%old: {self.kind}):
          {indices}
          %o = arith.index_cast %i{self.rank - 1} : index to i64
          {load("filled", "%y", "%o", self.kind)}
          linalg.yield %filled : {self.kind}
        }}
        %domain = memref.alloca() : memref<{shape}xi1>
        %out = memref.alloca() : {buffer}
        linalg.generic {{indexing_maps = [{same}, {same}], {kinds}}}
            ins(%domain : memref<{shape}xi1>) outs(%out : {buffer}) {{
        ^bb0(%unread: i1, %old: {self.kind}):
          {indices}
          {lines}
          linalg.yield {result} : {self.kind}
        }}
        linalg.copy ins(%out : {buffer}) outs(%buffer : {buffer})
        """


def random_kernel(random: Random) -> tuple[str, Any]:
    """The text of a kernel, and what it was made of."""
    kernel = RandomKernel(random)
    return kernel.text(), kernel
