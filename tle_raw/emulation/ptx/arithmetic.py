"""PTX's arithmetic, logic, comparison and selection."""

from __future__ import annotations

from tle_raw.emulation.numbers import approximate, extreme, flushed, rounded, saturated
from tle_raw.emulation.ptx.function import (
    BITS,
    FLOATS,
    PtxFunction,
    UnknownInstruction,
    bits_of,
    instruction,
    is_type,
    llvm_type,
    value_type,
)
from tle_raw.emulation.ptx.parse import InlineStatement
from tle_raw.emulation.ptx.small import flushed_small, from_small, is_small, per_half, small_result

_ROUNDINGS = ("rn", "rz", "rm", "rp")


def rounding_of(parts: list[str]) -> str:
    return next((part for part in parts if part in _ROUNDINGS), "rn")


@instruction("add", "sub", "mul", "fma", "mad", "div", "min", "max")
def _arithmetic(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind = value_type(parts, s)
    if (s.parts[0] == "add" and "cc" in parts) or (s.parts[0] == "sub" and "cc" in parts):
        return _with_carry(f, s, parts)
    if is_small(kind):
        return _small(f, s, parts, kind)
    if kind == "f32x2":
        return _two_floats(f, s, parts)
    llvm = llvm_type(kind)
    if llvm not in FLOATS.values():
        return _integer(f, s, parts, kind)
    f.set(s.operands[0], _float(f, s, parts, llvm, [f.get(o, llvm) for o in s.operands[1:]]), llvm)
    return None


def _float(f: PtxFunction, s: InlineStatement, parts: list[str], llvm: str, operands: list[str]) -> str:
    """What add, sub, mul, fma, div, min or max gives of floats or doubles."""
    ftz, root = "ftz" in parts, s.parts[0]
    operands = [flushed(f.body, o, llvm, ftz) for o in operands]
    if root in ("min", "max"):
        value = extreme(f.body, root, llvm, operands, parts)
    elif "approx" in parts or "full" in parts:
        value = approximate(f.body, root, llvm, operands)
    else:
        value = rounded(f.body, "fma" if root == "mad" else root, rounding_of(parts), llvm, operands)
    value = flushed(f.body, value, llvm, ftz)
    return saturated(f.body, value, llvm) if "sat" in parts else value


def _two_floats(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Two floats in a register of 64 bits."""
    b, halves = f.body, []
    operands = [f.get(o, "i64") for o in s.operands[1:]]
    for shift in (0, 32):
        bits = [b.value(f"trunc i64 {b.value(f'lshr i64 {o}, {shift}')} to i32") for o in operands]
        value = _float(f, s, parts, "float", [b.value(f"bitcast i32 {x} to float") for x in bits])
        halves.append(f.convert(value, "float", "i64"))
    f.set(s.operands[0], b.value(f"or i64 {halves[0]}, {b.value(f'shl i64 {halves[1]}, 32')}"), "i64")


def _small(f: PtxFunction, s: InlineStatement, parts: list[str], kind: str) -> None:
    """16-bit floats, one or two in a register."""
    if s.parts[0] == "div":
        raise UnknownInstruction(s.opcode)
    operands = [f.get(o, llvm_type(kind)) for o in s.operands[1:]]
    result = per_half(f, kind, operands, lambda k, halves: small_result(f, s.parts[0], k, halves, parts))
    f.set(s.operands[0], result, llvm_type(kind))


_PLAIN = {"add": "add", "sub": "sub", "mul": "mul"}


def _integer(f: PtxFunction, s: InlineStatement, parts: list[str], kind: str) -> None:
    root, signed, b = s.parts[0], kind[0] == "s", f.body
    if root in ("min", "max") and kind.endswith("x2"):
        raise UnknownInstruction(s.opcode)
    llvm = llvm_type(kind)
    if root in ("mul", "mad") and ("wide" in parts or "hi" in parts):
        return _long_product(f, s, parts, llvm, signed)
    operands = [f.get(o, llvm) for o in s.operands[1:]]
    if root == "mad":
        product = b.value(f"mul {llvm} {operands[0]}, {operands[1]}")
        value = b.value(f"add {llvm} {product}, {operands[2]}")
    elif root == "div":
        value = b.value(f"{'s' if signed else 'u'}div {llvm} {operands[0]}, {operands[1]}")
    elif root in ("min", "max"):
        name = f"llvm.{'s' if signed else 'u'}{root}.{llvm}"
        value = b.call(llvm, name, f"{llvm} {operands[0]}", f"{llvm} {operands[1]}")
    elif "sat" in parts:
        name = f"llvm.{'s' if signed else 'u'}{root}.sat.{llvm}"
        value = b.call(llvm, name, f"{llvm} {operands[0]}", f"{llvm} {operands[1]}")
    else:
        value = b.value(f"{_PLAIN[root]} {llvm} {operands[0]}, {operands[1]}")
    return f.set(s.operands[0], value, llvm)


def _long_product(f: PtxFunction, s: InlineStatement, parts: list[str], llvm: str, signed: bool) -> None:
    bits, extend = bits_of(llvm), "sext" if signed else "zext"
    wide = f"i{2 * bits}"
    factors = [f.body.value(f"{extend} {llvm} {f.get(o, llvm)} to {wide}") for o in s.operands[1:3]]
    value = f.body.value(f"mul {wide} {factors[0]}, {factors[1]}")
    kind = wide
    if "hi" in parts:
        high = f.body.value(f"lshr {wide} {value}, {bits}")
        value, kind = f.body.value(f"trunc {wide} {high} to {llvm}"), llvm
    if s.parts[0] == "mad":
        value = f.body.value(f"add {kind} {value}, {f.get(s.operands[3], kind)}")
    f.set(s.operands[0], value, kind)


@instruction("addc", "subc", "madc")
def _with_carry(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """add.cc, addc, addc.cc and the same of sub and mad: in one bit more than the type has."""
    llvm = llvm_type(value_type(parts, s))
    bits, b = bits_of(llvm), f.body
    wide = f"i{bits + 1}"
    terms = [f.get(o, llvm) for o in s.operands[1:3]]
    if s.parts[0].startswith("mad"):
        terms = [
            _half_of_product(f, llvm, terms, value_type(parts, s)[0] == "s", "hi" in parts),
            f.get(s.operands[3], llvm),
        ]
    left, right = (b.value(f"zext {llvm} {term} to {wide}") for term in terms)
    word = "sub" if s.parts[0].startswith("sub") else "add"
    total = b.value(f"{word} {wide} {left}, {right}")
    if s.parts[0].endswith("c"):
        carry = b.value(f"zext i1 {f.get('%carry', 'i1')} to {wide}")
        total = b.value(f"{word} {wide} {total}, {carry}")
    f.set(s.operands[0], b.value(f"trunc {wide} {total} to {llvm}"), llvm)
    if "cc" in parts:
        top = b.value(f"lshr {wide} {total}, {bits}")
        f.set("%carry", b.value(f"trunc {wide} {top} to i1"), "i1")


def _half_of_product(f: PtxFunction, llvm: str, factors: list[str], signed: bool, high: bool) -> str:
    bits, extend = bits_of(llvm), "sext" if signed else "zext"
    a, b = (f.body.value(f"{extend} {llvm} {factor} to i{2 * bits}") for factor in factors)
    product = f.body.value(f"mul i{2 * bits} {a}, {b}")
    if high:
        product = f.body.value(f"lshr i{2 * bits} {product}, {bits}")
    return f.body.value(f"trunc i{2 * bits} {product} to {llvm}")


@instruction("rem")
def _remainder(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind = value_type(parts, s)
    llvm = llvm_type(kind)
    a, c = (f.get(o, llvm) for o in s.operands[1:3])
    f.set(s.operands[0], f.body.value(f"{'s' if kind[0] == 's' else 'u'}rem {llvm} {a}, {c}"), llvm)


@instruction("neg", "abs")
def _sign(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b = value_type(parts, s), f.body
    llvm = llvm_type(kind)
    value = f.get(s.operands[1], llvm)
    negative = s.parts[0] == "neg"
    if is_small(kind):
        mask = {"i16": -0x8000, "i32": -0x7FFF8000}[llvm] if negative else {"i16": 0x7FFF, "i32": 0x7FFF7FFF}[llvm]
        value = b.value(f"{'xor' if negative else 'and'} {llvm} {value}, {mask}")
        if "ftz" in parts:
            value = per_half(f, kind, [value], lambda k, h: flushed_small(f, k, h[0]))
    elif llvm in FLOATS.values():
        value = b.value(f"fneg {llvm} {value}") if negative else b.call(llvm, f"llvm.fabs.{kind}", f"{llvm} {value}")
        value = flushed(b, value, llvm, "ftz" in parts)
    elif negative:
        value = b.value(f"sub {llvm} 0, {value}")
    else:
        value = b.call(llvm, f"llvm.abs.{llvm}", f"{llvm} {value}", "i1 false")
    f.set(s.operands[0], value, llvm)


@instruction("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def _function(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind = value_type(parts, s)
    if is_small(kind):
        value = per_half(
            f, kind, [f.get(s.operands[1], llvm_type(kind))], lambda k, h: small_result(f, s.parts[0], k, h, parts)
        )
        return f.set(s.operands[0], value, llvm_type(kind))
    llvm, ftz = llvm_type(kind), "ftz" in parts
    operand = flushed(f.body, f.get(s.operands[1], llvm), llvm, ftz)
    if "approx" in parts:
        value = approximate(f.body, s.parts[0], llvm, [operand])
    else:
        value = rounded(f.body, s.parts[0], rounding_of(parts), llvm, [operand])
    return f.set(s.operands[0], flushed(f.body, value, llvm, ftz), llvm)


@instruction("copysign")
def _copysign(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind = value_type(parts, s)
    llvm = FLOATS[kind]
    sign, size = (f.get(o, llvm) for o in s.operands[1:3])
    f.set(s.operands[0], f.body.call(llvm, f"llvm.copysign.{kind}", f"{llvm} {size}", f"{llvm} {sign}"), llvm)


# --- bits -----------------------------------------------------------------------------------------------------------


@instruction("and", "or", "xor", "not", "cnot", "shl", "shr")
def _logic(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b, root = value_type(parts, s), f.body, s.parts[0]
    llvm = llvm_type(kind)
    value = f.get(s.operands[1], llvm)
    if root == "not":
        value = b.value(f"xor {llvm} {value}, {'true' if llvm == 'i1' else -1}")
    elif root == "cnot":
        value = b.value(f"zext i1 {b.value(f'icmp eq {llvm} {value}, 0')} to {llvm}")
    elif root in ("and", "or", "xor"):
        value = b.value(f"{root} {llvm} {value}, {f.get(s.operands[2], llvm)}")
    else:
        value = shifted(f, root, llvm, value, f.get(s.operands[2], "i32"), kind[0] == "s")
    f.set(s.operands[0], value, llvm)


def shifted(f: PtxFunction, root: str, llvm: str, value: str, count: str, signed: bool = False) -> str:
    """PTX shifts by any count: what is shifted out altogether is 0, or the sign."""
    b, bits = f.body, bits_of(llvm)
    last = b.call("i32", "llvm.umin.i32", f"i32 {count}", f"i32 {bits - 1}")
    amount = f.convert(last, "i32", llvm)
    word = "shl" if root == "shl" else "ashr" if signed else "lshr"
    result = b.value(f"{word} {llvm} {value}, {amount}")
    if word == "ashr":
        return result
    inside = b.value(f"icmp ult i32 {count}, {bits}")
    return b.value(f"select i1 {inside}, {llvm} {result}, {llvm} 0")


@instruction("popc", "clz", "brev", "bfind")
def _count(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b = value_type(parts, s), f.body
    llvm = llvm_type(kind)
    value, bits = f.get(s.operands[1], llvm), bits_of(llvm)
    if s.parts[0] == "brev":
        return f.set(s.operands[0], b.call(llvm, f"llvm.bitreverse.{llvm}", f"{llvm} {value}"), llvm)
    if s.parts[0] == "popc":
        return f.set(
            s.operands[0], f.convert(b.call(llvm, f"llvm.ctpop.{llvm}", f"{llvm} {value}"), llvm, "i32"), "i32"
        )
    if s.parts[0] == "bfind" and kind[0] == "s":
        value = b.value(f"xor {llvm} {value}, {b.value(f'ashr {llvm} {value}, {bits - 1}')}")
    zeros = f.convert(b.call(llvm, f"llvm.ctlz.{llvm}", f"{llvm} {value}", "i1 false"), llvm, "i32")
    if s.parts[0] == "clz":
        return f.set(s.operands[0], zeros, "i32")
    result = zeros if "shiftamt" in parts else b.value(f"sub i32 {bits - 1}, {zeros}")
    nothing = b.value(f"icmp eq {llvm} {value}, 0")
    return f.set(s.operands[0], b.value(f"select i1 {nothing}, i32 -1, i32 {result}"), "i32")


@instruction("bfe", "bfi", "bmsk", "szext")
def _field(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b, root = value_type(parts, s), f.body, s.parts[0]
    llvm = llvm_type(kind)
    if root == "szext":
        raise UnknownInstruction(s.opcode)
    if root == "bmsk":
        start, length = (f.get(o, "i32") for o in s.operands[1:3])
        if "wrap" in parts:
            start, length = (b.value(f"and i32 {x}, 31") for x in (start, length))
        return f.set(s.operands[0], _mask(f, llvm, start, length), llvm)
    position = 2 if root == "bfe" else 3
    start, length = (b.value(f"and i32 {f.get(o, 'i32')}, 255") for o in s.operands[position : position + 2])
    if root == "bfi":
        field, into = (f.get(o, llvm) for o in s.operands[1:3])
        mask = _mask(f, llvm, start, length)
        kept = b.value(f"and {llvm} {into}, {b.value(f'xor {llvm} {mask}, -1')}")
        moved = b.value(f"and {llvm} {shifted(f, 'shl', llvm, field, start)}, {mask}")
        return f.set(s.operands[0], b.value(f"or {llvm} {kept}, {moved}"), llvm)
    value = f.get(s.operands[1], llvm)
    signed = kind[0] == "s"
    moved = shifted(f, "shr", llvm, value, start, signed)
    part = b.value(f"and {llvm} {moved}, {_mask(f, llvm, '0', length)}")
    return f.set(s.operands[0], _signed_field(f, llvm, value, part, start, length) if signed else part, llvm)


def _mask(f: PtxFunction, llvm: str, start: str, length: str) -> str:
    ones = f.body.value(f"xor {llvm} {shifted(f, 'shl', llvm, '-1', length)}, -1")
    return shifted(f, "shl", llvm, ones, start)


def _signed_field(f: PtxFunction, llvm: str, value: str, part: str, start: str, length: str) -> str:
    """The bits above a signed field are its top bit, which is the value's own where the field leaves the register."""
    b, bits = f.body, bits_of(llvm)
    end = b.value(f"sub i32 {b.value(f'add i32 {start}, {length}')}, 1")
    top = f.convert(b.call("i32", "llvm.umin.i32", f"i32 {end}", f"i32 {bits - 1}"), "i32", llvm)
    sign = b.value(f"trunc {llvm} {b.value(f'lshr {llvm} {value}, {top}')} to i1")
    above = shifted(f, "shl", llvm, "-1", length)
    filled = b.value(f"or {llvm} {part}, {above}")
    chosen = b.value(f"select i1 {sign}, {llvm} {filled}, {llvm} {part}")
    empty = b.value(f"icmp eq i32 {length}, 0")
    return b.value(f"select i1 {empty}, {llvm} 0, {llvm} {chosen}")


@instruction("prmt")
def _permute(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    if parts != ["b32"]:
        raise UnknownInstruction(s.opcode)
    operands = [f"i32 {f.get(o, 'i32')}" for o in s.operands[1:4]]
    f.set(s.operands[0], f.body.call("i32", "tle_team_permute", *operands), "i32")


@instruction("lop3")
def _any_logic(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """The table's bit i is the result where a, b, c have the bits of i; c is the lowest."""
    if parts != ["b32"]:
        raise UnknownInstruction(s.opcode)
    b, operand = f.body, s.operands[4]
    table = f.get(operand, "i32") if operand in f.variables else int(operand, 0)  # a constant of C++, or of the text
    values = [f.get(o, "i32") for o in s.operands[1:4]]
    inverse = [b.value(f"xor i32 {v}, -1") for v in values]
    total = "0"
    for index in (i for i in range(8) if isinstance(table, str) or table >> i & 1):
        chosen = [values[k] if index >> (2 - k) & 1 else inverse[k] for k in range(3)]
        term = b.value(f"and i32 {b.value(f'and i32 {chosen[0]}, {chosen[1]}')}, {chosen[2]}")
        if isinstance(table, str):
            bit = b.value(f"trunc i32 {b.value(f'lshr i32 {table}, {index}')} to i1")
            term = b.value(f"select i1 {bit}, i32 {term}, i32 0")
        total = b.value(f"or i32 {total}, {term}")
    f.set(s.operands[0], total, "i32")


@instruction("shf")
def _funnel(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    b, left = f.body, parts[0] == "l"
    low, high, count = (f.get(o, "i32") for o in s.operands[1:4])
    amount = b.value(f"and i32 {count}, 31")
    name = f"llvm.fsh{'l' if left else 'r'}.i32"
    value = b.call("i32", name, f"i32 {high}", f"i32 {low}", f"i32 {amount}")
    if "clamp" in parts:
        whole = b.value(f"icmp uge i32 {count}, 32")
        value = b.value(f"select i1 {whole}, i32 {low if left else high}, i32 {value}")
    f.set(s.operands[0], value, "i32")


@instruction("dp4a", "dp2a")
def _dot(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kinds = [part for part in parts if is_type(part)]
    signs = (kinds[0][0] == "s") + 2 * (kinds[1][0] == "s")
    a, c, total = (f.get(o, "i32") for o in s.operands[1:4])
    width, first = (1 if s.parts[0] == "dp4a" else 2), 2 * ("hi" in parts)
    numbers = (f"i32 {signs}", f"i32 {width}", f"i32 {first}")
    f.set(s.operands[0], f.body.call("i32", "tle_team_dot", f"i32 {a}", f"i32 {c}", f"i32 {total}", *numbers), "i32")


_PARALLEL = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")


@instruction(*(f"{name}{count}" for name in _PARALLEL for count in (2, 4)))
def _parallel(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Two halves or four bytes at once; ``vset`` compares."""
    if any("." in operand for operand in s.operands):
        raise UnknownInstruction(s.opcode)  # a mask or a selection of lanes
    kinds = [part for part in parts if is_type(part)]
    root, lanes = s.parts[0][:-1], int(s.parts[0][-1])
    result, left, right = (kinds if root != "vset" else ["u32", *kinds])[-3:]
    signs = (left[0] == "s") + 2 * (right[0] == "s") + 4 * (result[0] == "s")
    comparison = (
        ("eq", "ne", "lt", "le", "gt", "ge").index(parts[-1 if "add" not in parts else -2]) if root == "vset" else 0
    )
    operands = [f"i32 {f.get(o, 'i32')}" for o in s.operands[1:4]]
    operands += ["i32 0"] * (3 - len(operands))
    numbers = (_PARALLEL.index(root), lanes, signs, int("sat" in parts), int("add" in parts), comparison)
    f.set(s.operands[0], f.body.call("i32", "tle_team_parallel", *operands, *(f"i32 {n}" for n in numbers)), "i32")


@instruction("sad")
def _differences(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b = value_type(parts, s), f.body
    llvm, sign = llvm_type(kind), "s" if kind[0] == "s" else "u"
    a, c, total = (f.get(o, llvm) for o in s.operands[1:4])
    most, least = (b.call(llvm, f"llvm.{sign}{m}.{llvm}", f"{llvm} {a}", f"{llvm} {c}") for m in ("max", "min"))
    f.set(s.operands[0], b.value(f"add {llvm} {b.value(f'sub {llvm} {most}, {least}')}, {total}"), llvm)


# --- comparing and choosing -----------------------------------------------------------------------------------------

_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "nan": "uno"}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def compared(f: PtxFunction, comparison: str, kind: str, values: list[str], ftz: bool) -> str:
    """An i1 of two values of a PTX type."""
    if is_small(kind):
        values = [from_small(f, kind, flushed_small(f, kind, v) if ftz else v) for v in values]
        kind = "f32"
    elif kind in FLOATS:
        values = [flushed(f.body, v, FLOATS[kind], ftz) for v in values]
    left, right = values
    if kind in FLOATS:
        word = (_ORDERED | _UNORDERED)[comparison]
        return f.body.value(f"fcmp {word} {FLOATS[kind]} {left}, {right}")
    signed = comparison if comparison in ("eq", "ne") else ("s" if kind[0] == "s" else "u") + comparison
    word = _UNSIGNED.get(comparison, signed)
    return f.body.value(f"icmp {word} {llvm_type(kind)} {left}, {right}")


@instruction("setp")
def _compare(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind = value_type(parts, s)
    values, first, second = [f.get(o, llvm_type(kind)) for o in s.operands[1:3]], *s.operands[0].partition("|")[::2]
    if kind.endswith("x2"):
        bits = _compared_halves(f, parts, kind, values)
    else:
        bit = compared(f, parts[0], kind, values, "ftz" in parts)
        bits = [bit, f.body.value(f"xor i1 {bit}, true")]
    if len(s.operands) > 3:
        word = next(part for part in parts if part in ("and", "or", "xor"))
        other = f.get(s.operands[3], "i1")
        bits = [f.body.value(f"{word} i1 {x}, {other}") for x in bits]
    f.set(first, bits[0], "i1")
    if second:
        f.set(second, bits[1], "i1")


def _compared_halves(f: PtxFunction, parts: list[str], kind: str, values: list[str]) -> list[str]:
    """A bit of each half, the lower one first."""
    found: list[str] = []

    def half(plain: str, pair: list[str]) -> str:
        found.append(compared(f, parts[0], plain, pair, "ftz" in parts))
        return "0"

    per_half(f, kind, values, half)
    return found


@instruction("set")
def _compare_to_number(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """1.0 or all ones where it is true."""
    result, kind = [part for part in parts if is_type(part)][-2:]
    if len(s.operands) > 3:
        raise UnknownInstruction(s.opcode)
    operands = [f.get(o, llvm_type(kind)) for o in s.operands[1:3]]
    one = {"f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result, -1)

    def half(k: str, values: list[str]) -> str:
        bit = compared(f, parts[0], k, values, "ftz" in parts)
        return f.body.value(f"select i1 {bit}, i16 {one}, i16 0")

    if kind in BITS and (result in BITS or kind.endswith("x2")):
        value, llvm = per_half(f, kind, operands, half), llvm_type(kind)
    else:
        bit, llvm = compared(f, parts[0], kind, operands, "ftz" in parts), llvm_type(result)
        true = "1.0" if result == "f32" else str(one)
        value = f.body.value(f"select i1 {bit}, {llvm} {true}, {llvm} {'0.0' if result == 'f32' else 0}")
    f.set(s.operands[0], value, llvm)


@instruction("selp")
def _select(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    llvm = llvm_type(value_type(parts, s))
    yes, no = (f.get(o, llvm) for o in s.operands[1:3])
    f.set(s.operands[0], f.body.value(f"select i1 {f.get(s.operands[3], 'i1')}, {llvm} {yes}, {llvm} {no}"), llvm)


@instruction("slct")
def _select_by_sign(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, of = [part for part in parts if is_type(part)]
    llvm = llvm_type(kind)
    yes, no = (f.get(o, llvm) for o in s.operands[1:3])
    sign = f.get(s.operands[3], llvm_type(of))
    bit = f.body.value(f"fcmp oge float {sign}, 0.0" if of == "f32" else f"icmp sge i32 {sign}, 0")
    f.set(s.operands[0], f.body.value(f"select i1 {bit}, {llvm} {yes}, {llvm} {no}"), llvm)
