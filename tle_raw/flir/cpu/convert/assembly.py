"""The assembly of ``tl.inline_asm_elementwise`` as LLVM IR of one thread: which registers it reads and writes.

It becomes what Triton makes of it for GPUs, and the emulation of device code gives its instructions a meaning. Each
register that it writes is a function of those that it reads, so that it may be computed more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tle_raw.emulation.ptx.translate import repeats_itself
from tle_raw.errors import LoweringError, Row, SourceLocation, TLEError
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.convert.functions import is_public
from tle_raw.flir.cpu.convert.memory_of_assembly import uses_memory, writes_memory
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value
from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.bound import ELEMENT, BoundParameter, BoundSignature
from tle_raw.fragments.compilation import compile_source
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.parameter_types import IN
from tle_raw.linker.llvm.escaped import escaped
from tle_raw.registry import find_adapter
from tle_raw.target import Target

NAME = "inline_asm"
# LLVM's constraint letters for NVPTX, and the registers behind them as MLIR and LLVM have them.
_REGISTERS = {"h": "i16", "r": "i32", "l": "i64", "f": "f32", "d": "f64"}
_CONSTANTS = frozenset(("n", "i"))  # a GPU writes them into the text; here they are in registers of their size
_HINT = "write this piece as a CUDA fragment, @tle_raw.dialect(...): the CPU runs those as a team of threads"


@dataclass(frozen=True)
class Assembly:
    """``outputs`` and ``inputs`` are MLIR types of registers; ``pack`` elements are computed at a time."""

    text: str
    constraints: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    pack: int
    is_pure: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        """Of its functions: one that nobody reads where there are no inputs, for else they are none of elements."""
        return self.inputs or ("i32",)

    def function(self, output: int) -> str:
        """LLVM IR of the function that computes one of the registers."""
        parameters = ", ".join(f"{_llvm(type_)} %p{number}" for number, type_ in enumerate(self.parameters))
        given = parameters if self.inputs else ""
        results = [_llvm(type_) for type_ in self.outputs]
        whole = results[0] if len(results) == 1 else f"{{ {', '.join(results)} }}"
        lines = [
            f'%all = call {whole} asm "{escaped(self.text.encode())}", "{escaped(self.constraints.encode())}"({given})'
        ]
        if len(results) == 1:
            lines.append(f"ret {whole} %all")
        else:
            lines += [f"%one = extractvalue {whole} %all, {output}", f"ret {results[output]} %one"]
        return "\n  ".join((f"define {results[output]} @{NAME}({parameters}) {{", *lines)) + "\n}\n"

    def signature(self, output: int) -> BoundSignature:
        parameters = (
            BoundParameter(f"p{number}", ELEMENT, IN, parse_dtype(type_))
            for number, type_ in enumerate(self.parameters)
        )
        return BoundSignature(NAME, tuple(parameters), parse_dtype(self.outputs[output]))


def read_assembly(op: Operation) -> Assembly:
    """What an operation asks for.

    Raises
    ------
    LoweringError : its registers cannot be computed one by one, or its constraints do not fit its types.
    """
    text = str(op.attributes["asm_string"].value)
    letters = [each.strip() for each in str(op.attributes["constraints"].value).split(",")]
    pack, is_pure = int(op.attributes["packed_element"].value), bool(op.attributes["pure"].value)
    outputs = [each.lstrip("=&") for each in letters if each.startswith("=")]
    inputs = [
        outputs[int(each)] if each.isdigit() and int(each) < len(outputs) else each
        for each in letters
        if each[:1] not in ("=", "~")
    ]
    if len(outputs) > 1:
        _check_registers_agree(op, text)
    _check_known(outputs, list(_REGISTERS))
    _check_known(inputs, [*_REGISTERS, *sorted(_CONSTANTS)])
    written, read = _widths(op.results, pack), _widths(op.operands, pack)
    rows = [Row("outputs", str(len(written)), str(len(outputs))), Row("inputs", str(len(read)), str(len(inputs)))]
    if any(row.expected != row.got for row in rows):
        raise LoweringError(f"the constraints of inline assembly do not fit {pack} elements of its types", table=rows)
    inputs = [("l" if width > 32 else "r") if each in _CONSTANTS else each for each, width in zip(inputs, read)]
    needed = [width * any(True for _ in value.uses) for value in op.results for width in _widths([value], pack)]
    _check_sizes("outputs", outputs, needed)
    _check_sizes("inputs", inputs, read)
    constraints = ",".join(_without_constants(letters, inputs))
    types_out, types_in = (tuple(_REGISTERS[letter] for letter in given) for given in (outputs, inputs))
    return Assembly(text, constraints, types_out, types_in, pack, is_pure and not uses_memory(op))


def _widths(values: Sequence[Value], pack: int) -> list[int]:
    """The bits that each register of operands, or of results, must have."""
    return [width for value in values for width in widths_of(types.element_of(value.type), pack)]


def _check_known(letters: Sequence[str], known: Sequence[str]) -> None:
    unknown = next((letter for letter in letters if letter not in known), None)
    if unknown is not None:
        raise LoweringError(
            f"inline assembly asks for `{unknown}`, which the CPU target does not know",
            table=[Row("a constraint", "one of " + ", ".join(known), unknown)],
        )


def _check_sizes(name: str, letters: Sequence[str], widths: Sequence[int]) -> None:
    for number, (letter, width) in enumerate(zip(letters, widths)):
        if width > int(_REGISTERS[letter][1:]):
            raise LoweringError(
                f"a register of inline assembly is too small: number {number} of its {name}, `{letter}`",
                table=[Row("bits", f"{width} or more", _REGISTERS[letter][1:])],
            )


def _without_constants(letters: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """The constraints, where those of constants are the registers that hold them here."""
    registers = iter(inputs)
    found = []
    for letter in letters:
        register = letter if letter[:1] in ("=", "~") else next(registers)
        found.append(register if letter in _CONSTANTS else letter)
    return found


def _check_registers_agree(op: Operation, text: str) -> None:
    """Its registers are computed one after the other: nobody may change in between what they are computed from."""
    if writes_memory(op):
        raise LoweringError("inline assembly that writes memory has one result on a CPU, not several", hint=_HINT)
    if uses_memory(op) and (repeats_itself(text) or _in_an_open_loop(op)):
        raise LoweringError("inline assembly that waits for memory has one result on a CPU, not several", hint=_HINT)


def _in_an_open_loop(op: Operation) -> bool:
    """Whether a loop that may never end repeats it, or may: a function that is called does not show it."""
    outer = op.parent.operation
    while outer.name not in ("scf.while", "func.func"):
        outer = outer.parent.operation
    return outer.name == "scf.while" or not is_public(outer)


def compile_register(assembly: Assembly, output: int, line: SourceLocation | None = None) -> CompiledFragment:
    """The function that computes one of the registers, for this machine.

    ``line`` is the kernel's, for what is checked while it runs.

    Raises
    ------
    LoweringError : LLVM refuses the assembly, or an instruction has no meaning on a CPU.
    """
    adapter = find_adapter("llvm")
    bound = assembly.signature(output)
    location = line or SourceLocation("<inline assembly>", 0)
    text = assembly.function(output)
    source = adapter.read(Declaration(NAME, None, {"source": text, "symbol": NAME}, location, Path()))
    try:
        return compile_source(adapter, source, (), bound, Target("cpu"), compiler=adapter.compiler_identity())
    except TLEError as error:
        refusal = LoweringError(f"inline assembly: {error.message}", table=error.table, hint=error.hint)
    raise refusal


def _llvm(type_: str) -> str:
    return parse_dtype(type_).llvm


def width_of(element: Type) -> int:
    """Bits of an element in registers, in which a bool takes a byte."""
    return 64 if types.is_pointer(element) else build.bits(types.in_memory(element))


def per_register(width: int, pack: int) -> int:
    """How many elements share a register: those of less than four bytes, of a pack."""
    return min(max(1, 32 // width), pack)


def widths_of(element: Type, pack: int) -> list[int]:
    """The bits that a pack of elements takes of each of its registers."""
    width = width_of(element)
    each = per_register(width, pack)
    return [each * width] * -(-pack // each)
