"""``tl.inline_asm_elementwise`` on the CPU: PTX on groups of elements, as Triton packs them for GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.convert import buffer_pointers, build, types
from tle_raw.flir.cpu.convert.assembly import compile_register, per_register, read_assembly, width_of, widths_of
from tle_raw.flir.cpu.convert.irregular import in_packs
from tle_raw.flir.cpu.convert.kernel import Kernel, converts, location_of
from tle_raw.flir.cpu.convert.memory_of_assembly import writes_memory
from tle_raw.flir.cpu.convert.reduce import evaluates
from tle_raw.flir.cpu.convert.regions import call_element, declare_element
from tle_raw.flir.cpu.convert.tiles import Elementwise, Shared
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value


class Computation:
    """An operation's assembly as functions of the module."""

    def __init__(self, kernel: Kernel, op: Operation) -> None:
        self.kernel, self.op, self.assembly = kernel, op, read_assembly(op)
        self.results = [types.element_of(r.type) for r in op.results]
        line = location_of(op.location) if kernel.debug else None
        outputs = range(len(self.assembly.outputs))
        self._functions = [compile_register(self.assembly, output, line) for output in outputs]
        for function in self._functions:
            kernel.libraries.append(str(function.path))
            declare_element(kernel, function)

    def packs(self, elements: Sequence[Any]) -> list[Any]:
        """Of each operand a pack of elements, one behind the other; of each result the same."""
        pack = self.assembly.pack
        with self.op.location:
            registers: list[Value] = []
            for first in range(0, len(elements), pack):
                registers += _packed([_bits(element) for element in elements[first : first + pack]])
            given = [_retyped(r, type_) for r, type_ in zip(registers, self.assembly.inputs)]
            given = given or [build.constant(0, "i32")]
            written = [call_element(self.kernel, self.op, function, given) for function in self._functions]
            found: list[Any] = []
            for element in self.results:
                count = len(widths_of(element, pack))
                found += _unpacked(written[:count], element, pack)
                written = written[count:]
            return found

    def scalars(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Of each operand one number, which stands for the whole pack."""
        pack = self.assembly.pack
        return tuple(self.packs([operand for operand in operands for _ in range(pack)])[::pack])


def _computation(kernel: Kernel, op: Operation) -> Computation:
    """Made once, however often a reduction's body is written."""
    if op not in kernel.assemblies:
        kernel.assemblies[op] = Computation(kernel, op)
    found: Computation = kernel.assemblies[op]
    return found


@evaluates("tt.elementwise_inline_asm")
def evaluate_inline_asm(kernel: Kernel, op: Operation, operands: Sequence[Any]) -> tuple[Any, ...]:
    return _computation(kernel, op).scalars(operands)


@converts("tt.elementwise_inline_asm")
def inline_asm(kernel: Kernel, op: Operation) -> None:
    computation = _computation(kernel, op)
    if writes_memory(op):
        buffer_pointers.given_away(kernel, op)
    if not types.is_tile(op.results[0].type):
        for value, number in zip(op.results, computation.scalars([kernel.scalar(o) for o in op.operands])):
            kernel.set(value, number)
        return
    shape, results, pack = types.shape_of(op.results[0].type), computation.results, computation.assembly.pack
    tiles = [kernel.spread(o, shape) for o in op.operands]
    if pack > 1:
        for value, buffer in zip(op.results, in_packs(kernel, tiles, shape, results, pack, computation.packs)):
            kernel.set(value, buffer)
        return
    whole = Elementwise(shape, results[0], tiles, lambda *elements: computation.packs(elements))
    for number, value in enumerate(op.results):
        found = Shared(whole, number, results[number])
        if computation.assembly.is_pure:
            kernel.set(value, found)
        else:  # a clock or memory is read where it stands
            kernel.values[value] = kernel.stored(found)


def _bits(element: Any) -> Value:
    """An element as an integer of its width."""
    stored = types.to_memory(element)
    return _cast_bits(stored, f"i{build.bits(stored.type)}")


def _cast_bits(number: Value, type_: str) -> Value:
    return number if str(number.type) == type_ else build.value("arith.bitcast", [number], type_)


def _packed(elements: Sequence[Value]) -> list[Value]:
    """Registers of the elements of one operand, the first one in the lowest bits."""
    width = build.bits(elements[0].type)
    each = per_register(width, len(elements))
    if each == 1:
        return list(elements)
    registers = []
    for first in range(0, len(elements), each):
        whole = build.constant(0, "i32")
        for place, element in enumerate(elements[first : first + each]):
            wide = build.cast_integer(element, "i32", signed=False)
            whole = build.binary("ori", whole, build.binary("shli", wide, build.constant(place * width, "i32")))
        registers.append(whole)
    return registers


def _unpacked(registers: Sequence[Value], element: Type, pack: int) -> list[Any]:
    """The elements of one result that registers hold."""
    width = width_of(element)
    each = per_register(width, pack)
    memory = types.in_memory(element)
    found = []
    for number in range(pack):
        register = _cast_bits(registers[number // each], f"i{build.bits(registers[number // each].type)}")
        if place := number % each * width:
            register = build.binary("shrui", register, build.constant(place, register.type))
        stored = build.cast_integer(register, f"i{width}", signed=False)
        found.append(types.from_memory(_cast_bits(stored, str(memory)), element))
    return found


def _retyped(register: Value, type_: str) -> Value:
    """Bits in a register of another type; what is narrower has zeros above it."""
    return _cast_bits(build.cast_integer(register, f"i{type_[1:]}", signed=False), type_)
