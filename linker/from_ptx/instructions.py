"""PTX instructions that LLVM has of its own: it optimises them with the code around, on every target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tle_raw.linker.from_ptx.assembly import is_special
from tle_raw.linker.from_ptx.body import Body, pointer
from tle_raw.linker.from_ptx.operands import PtxInstruction, immediate, read_address, vector
from tle_raw.linker.from_ptx.read_module import bits_of, unreadable

# True where it was written; False leaves the instruction to inline assembly.
Writer: TypeAlias = Callable[[Body, PtxInstruction, tuple[str, ...]], bool]
WRITERS: dict[str, Writer] = {}
_INTEGERS = frozenset(f"{kind}{bits}" for kind in "sub" for bits in (16, 32, 64))
_FLOATS = frozenset(("f32", "f64"))
_REGISTERS = {f"%{name}.{axis}": f"llvm.nvvm.read.ptx.sreg.{name}.{axis}"
              for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"}  # fmt: skip
_REGISTERS["%laneid"] = "llvm.nvvm.read.ptx.sreg.laneid"
_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge",
             "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}  # fmt: skip
_ORDER = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
          "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno"}  # fmt: skip
_CACHED = frozenset(("global", "shared", "const", "local", "param", "volatile", "v2", "v4", "entry", "func"))


def writes(*names: str) -> Callable[[Writer], Writer]:
    def add(writer: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(names, writer))
        return writer

    return add


def write_natively(body: Body, instruction: PtxInstruction) -> bool:
    """Write an instruction as LLVM's own; False where LLVM has none that means the same."""
    parts = instruction.parts
    writer = WRITERS.get(parts[0])
    if writer is None:
        return False
    try:
        return writer(body, instruction, parts[1:])
    except (IndexError, ValueError, KeyError):
        raise unreadable(instruction.line, f"the instruction `{instruction.text}` is not understood") from None


@writes("mov")
def _mov(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    target, source = i.operands
    bits = bits_of(parts[-1])
    if target[:1] == ("{",):
        elements = vector(target)
        width = bits // len(elements)
        whole = body.get(source, bits, i.line)
        for index, element in enumerate(elements):
            moved = body.value(f"lshr i{bits} {whole}, {index * width}") if index else whole
            body.assign(element, body.resized(moved, bits, width, False), width, i.line)
        return True
    if source[:1] == ("{",):
        elements = vector(source)
        width, whole = bits // len(elements), "0"
        for index, element in enumerate(elements):
            wide = body.resized(body.get(element, width, i.line), width, bits, False)
            moved = body.value(f"shl i{bits} {wide}, {index * width}") if index else wide
            whole = body.value(f"or i{bits} {whole}, {moved}")
        body.assign(target, whole, bits, i.line)
        return True
    if is_special("".join(source)):
        return _special(body, target, "".join(source), bits, i.line)
    if len(source) == 3 and source[1] == "+":  # variable+offset
        base = body.get(source[:1], bits, i.line)
        body.assign(target, body.value(f"add i{bits} {base}, {int(source[2], 0)}"), bits, i.line)
        return True
    body.assign(target, body.get(source, bits, i.line, parts[-1] in _FLOATS), bits, i.line)
    return True


def _special(body: Body, target: tuple[str, ...], name: str, bits: int, line: int) -> bool:
    if name not in _REGISTERS:
        return False
    body.intrinsics.add(f"declare i32 @{_REGISTERS[name]}()")
    body.assign(target, body.resized(body.value(f"call i32 @{_REGISTERS[name]}()"), 32, bits, False), bits, line)
    return True


@writes("cvta")
def _cvta(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    space = next((part for part in parts if part in ("global", "shared", "const", "local", "param")), "")
    if not space:
        return False
    bits = bits_of(parts[-1])
    given, wanted = ("", space) if "to" in parts else (space, "")
    value = body.get(i.operands[1], bits, i.line)
    if pointer(given) != pointer(wanted):
        address = body.value(f"inttoptr i{bits} {value} to {pointer(given)}")
        address = body.value(f"addrspacecast {pointer(given)} {address} to {pointer(wanted)}")
        value = body.value(f"ptrtoint {pointer(wanted)} {address} to i{bits}")
    body.assign(i.operands[0], value, bits, i.line)
    return True


@writes("ld")
def _ld(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    if not set(parts[:-1]) <= _CACHED:
        return False
    place, memory, count, align = _access(body, i, parts, i.operands[1])
    volatile = "volatile " if "volatile" in parts else ""
    kind = f"i{memory}" if count == 1 else f"<{count} x i{memory}>"
    loaded = body.value(f"load {volatile}{kind}, {place}, align {align}")
    for index, element in enumerate(vector(i.operands[0])):
        value = loaded if count == 1 else body.value(f"extractelement {kind} {loaded}, i32 {index}")
        body.assign(element, value, memory, i.line, signed=parts[-1].startswith("s"))
    return True


@writes("st")
def _st(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    if not set(parts[:-1]) <= _CACHED:
        return False
    place, memory, count, align = _access(body, i, parts, i.operands[0])
    is_float = parts[-1] in _FLOATS
    values = [body.get(element, memory, i.line, is_float) for element in vector(i.operands[1])]
    kind, stored = f"i{memory}", values[0]
    if count > 1:
        kind, stored = f"<{count} x i{memory}>", "poison"
        for index, value in enumerate(values):
            stored = body.value(f"insertelement {kind} {stored}, i{memory} {value}, i32 {index}")
    body.do(f"store {'volatile ' if 'volatile' in parts else ''}{kind} {stored}, {place}, align {align}")
    return True


def _access(
    body: Body, i: PtxInstruction, parts: tuple[str, ...], operand: tuple[str, ...]
) -> tuple[str, int, int, int]:
    """The typed pointer, the bits of an element, how many, and the alignment in bytes."""
    space = next((part for part in parts if part in ("global", "shared", "const", "local", "param")), "")
    address = read_address(operand, i.line)
    memory = bits_of(parts[-1])
    count = next((int(part[1:]) for part in parts if part in ("v2", "v4")), 1)
    align = memory // 8 * count
    if space == "param":  # which the writer laid out itself
        align = min(align, 8)
    return f"{pointer(space)} {body.place(address.base, address.offset, space, i.line)}", memory, count, align


@writes("add", "sub", "mul")
def _arithmetic(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    name, type_, line = i.parts[0], parts[-1], i.line
    words = set(parts[:-1])
    if type_ in _FLOATS and words <= {"rn"}:
        bits = bits_of(type_)
        first, second = (body.as_float(body.get(o, bits, line, True), bits) for o in i.operands[1:3])
        # What is rounded at once may be contracted with what follows, as ptxas contracts it.
        flags = "" if "rn" in words else "contract "
        kind = {32: "float", 64: "double"}[bits]
        result = body.as_bits(body.value(f"f{name} {flags}{kind} {first}, {second}"), bits)
        body.assign(i.operands[0], result, bits, line)
        return True
    if type_ not in _INTEGERS or not words <= ({"lo", "wide"} if name == "mul" else set()):
        return False
    bits = bits_of(type_)
    if "wide" in words:
        first, second = (_widened(body, o, bits, type_, line) for o in i.operands[1:3])
        body.assign(i.operands[0], body.value(f"mul i{2 * bits} {first}, {second}"), 2 * bits, line)
        return True
    first, second = (body.get(o, bits, line) for o in i.operands[1:3])
    body.assign(i.operands[0], body.value(f"{name} i{bits} {first}, {second}"), bits, line)
    return True


def _widened(body: Body, operand: tuple[str, ...], bits: int, type_: str, line: int) -> str:
    signed = type_.startswith("s")
    number = immediate(operand, bits, False)
    if number is not None:  # an extended constant, and no instruction
        return str(number - (1 << bits) if signed and number >> bits - 1 else number)
    return body.resized(body.get(operand, bits, line), bits, 2 * bits, signed)


@writes("mad")
def _mad(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    type_, line = parts[-1], i.line
    if type_ not in _INTEGERS or not {*parts[:-1]} <= {"lo", "wide"}:
        return False
    bits = bits_of(type_)
    if "wide" in parts:
        first, second = (_widened(body, o, bits, type_, line) for o in i.operands[1:3])
        bits *= 2
    else:
        first, second = (body.get(o, bits, line) for o in i.operands[1:3])
    product = body.value(f"mul i{bits} {first}, {second}")
    third = body.get(i.operands[3], bits, line)
    body.assign(i.operands[0], body.value(f"add i{bits} {product}, {third}"), bits, line)
    return True


@writes("fma")
def _fma(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    type_, line = parts[-1], i.line
    if type_ not in _FLOATS or parts[:-1] != ("rn",):
        return False
    bits, kind = bits_of(type_), {"f32": "float", "f64": "double"}[type_]
    given = ", ".join(f"{kind} {body.as_float(body.get(o, bits, line, True), bits)}" for o in i.operands[1:4])
    body.intrinsics.add(f"declare {kind} @llvm.fma.{type_}({kind}, {kind}, {kind})")
    body.assign(i.operands[0], body.as_bits(body.value(f"call {kind} @llvm.fma.{type_}({given})"), bits), bits, line)
    return True


@writes("neg")
def _neg(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    if parts[-1] not in _INTEGERS:
        return False
    bits = bits_of(parts[-1])
    value = body.get(i.operands[1], bits, i.line)
    body.assign(i.operands[0], body.value(f"sub i{bits} 0, {value}"), bits, i.line)
    return True


@writes("and", "or", "xor")
def _logic(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    bits = bits_of(parts[-1])
    first, second = (body.get(o, bits, i.line) for o in i.operands[1:3])
    body.assign(i.operands[0], body.value(f"{i.parts[0]} i{bits} {first}, {second}"), bits, i.line)
    return True


@writes("not")
def _not(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    bits = bits_of(parts[-1])
    value = body.get(i.operands[1], bits, i.line)
    body.assign(i.operands[0], body.value(f"xor i{bits} {value}, {'true' if bits == 1 else -1}"), bits, i.line)
    return True


@writes("shl", "shr")
def _shift(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    """By a constant only: PTX gives a meaning to amounts that LLVM gives none."""
    bits, amount = bits_of(parts[-1]), immediate(i.operands[2], 32, False)
    if amount is None or amount >= bits:
        return False
    word = "shl" if i.parts[0] == "shl" else "ashr" if parts[-1].startswith("s") else "lshr"
    value = body.get(i.operands[1], bits, i.line)
    body.assign(i.operands[0], body.value(f"{word} i{bits} {value}, {amount}"), bits, i.line)
    return True


@writes("min", "max")
def _extreme(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    type_ = parts[-1]
    if type_ not in _INTEGERS or len(parts) > 1:
        return False
    bits = bits_of(type_)
    order = ("s" if type_.startswith("s") else "u") + ("lt" if i.parts[0] == "min" else "gt")
    first, second = (body.get(o, bits, i.line) for o in i.operands[1:3])
    chosen = body.value(f"icmp {order} i{bits} {first}, {second}")
    body.assign(i.operands[0], body.value(f"select i1 {chosen}, i{bits} {first}, i{bits} {second}"), bits, i.line)
    return True


@writes("setp")
def _setp(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    type_, line = parts[-1], i.line
    compare, operation = parts[0], parts[1] if len(parts) == 3 else ""
    if len(parts) > 3 or "ftz" in parts or operation not in ("", "and", "or", "xor"):
        return False
    target = i.operands[0]
    if "|" in target:
        return False
    bits = bits_of(type_)
    if type_ in _FLOATS:
        first, second = (body.as_float(body.get(o, bits, line, True), bits) for o in i.operands[1:3])
        kind = {32: "float", 64: "double"}[bits]
        found = body.value(f"fcmp {_ORDER[compare]} {kind} {first}, {second}")
    elif type_ in _INTEGERS:
        order = _SIGNED if type_.startswith("s") else _UNSIGNED
        first, second = (body.get(o, bits, line) for o in i.operands[1:3])
        found = body.value(f"icmp {order[compare]} i{bits} {first}, {second}")
    else:
        return False
    if operation:
        found = body.value(f"{operation} i1 {found}, {body.get(i.operands[3], 1, line)}")
    body.assign(target, found, 1, line)
    return True


@writes("selp")
def _selp(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    bits, is_float = bits_of(parts[-1]), parts[-1] in _FLOATS
    first, second = (body.get(o, bits, i.line, is_float) for o in i.operands[1:3])
    chosen = body.get(i.operands[3], 1, i.line)
    body.assign(i.operands[0], body.value(f"select i1 {chosen}, i{bits} {first}, i{bits} {second}"), bits, i.line)
    return True


@writes("cvt")
def _cvt(body: Body, i: PtxInstruction, parts: tuple[str, ...]) -> bool:
    to, given, line = parts[-2], parts[-1], i.line
    words, narrow = set(parts[:-2]), {f"{kind}8" for kind in "sub"}
    integers = _INTEGERS | narrow
    if to in integers and given in integers and not words:
        value = body.get(i.operands[1], bits_of(given), line)
        value = body.resized(value, bits_of(given), bits_of(to), given.startswith("s"))
        body.assign(i.operands[0], value, bits_of(to), line, signed=to.startswith("s"))
        return True
    kinds = {"f32": "float", "f64": "double"}
    if to in _FLOATS and given in integers and words == {"rn"}:
        value = body.get(i.operands[1], bits_of(given), line)
        word = "sitofp" if given.startswith("s") else "uitofp"
        made = body.value(f"{word} i{bits_of(given)} {value} to {kinds[to]}")
    elif (to, given, words) in (("f64", "f32", set()), ("f32", "f64", {"rn"})):
        value = body.as_float(body.get(i.operands[1], bits_of(given), line, True), bits_of(given))
        made = body.value(f"{'fpext' if to == 'f64' else 'fptrunc'} {kinds[given]} {value} to {kinds[to]}")
    else:
        return False
    body.assign(i.operands[0], body.as_bits(made, bits_of(to)), bits_of(to), line)
    return True
