"""PTX's cvt, mov, cvta and isspacep."""

from __future__ import annotations

from tle_raw.emulation.numbers import (
    FORMATS,
    ROUNDINGS,
    TF32_ROUNDINGS,
    float_to_integer,
    flushed,
    integer_to_float,
    narrowed,
    narrowed_randomly,
    saturated,
    widened,
)
from tle_raw.emulation.ptx.function import (
    FLOATS,
    PtxFunction,
    UnknownInstruction,
    bits_of,
    elements_of,
    instruction,
    is_type,
    llvm_type,
    value_type,
    vector,
)
from tle_raw.emulation.ptx.parse import InlineStatement
from tle_raw.emulation.ptx.small import from_small, is_small, narrowed_small, to_small

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@instruction("mov")
def _move(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Also packs and unpacks: ``mov.b32 %0, {a, b}``."""
    kind = llvm_type(value_type(parts, s))
    to, source = s.operands
    if parts[0] in ("v2", "v4"):
        places = elements_of(f, to, int(parts[0][1]))
        values = [f.get(element, kind) for element in elements_of(f, source, len(places))]
        for place, value in zip(places, values):
            f.set(place, value, kind)
        return None
    if source.startswith("{"):
        pieces = vector(source)
        size = bits_of(kind) // len(pieces)
        total = "0"
        for index, piece in enumerate(pieces):
            wide = f.convert(f.get(piece, f"i{size}"), f"i{size}", kind)
            total = f.body.value(f"or {kind} {total}, {f.body.value(f'shl {kind} {wide}, {index * size}')}")
        return f.set(to, total, kind)
    value = f.get(source, kind)
    if not to.startswith("{"):
        return f.set(to, value, kind)
    pieces = vector(to)
    size = bits_of(kind) // len(pieces)
    for index, piece in enumerate(pieces):
        part = f.body.value(f"lshr {kind} {value}, {index * size}")
        f.set(piece, f.body.value(f"trunc {kind} {part} to i{size}"), f"i{size}")
    return None


@instruction("cvt")
def _convert(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    if parts[0] == "pack":
        return _pack_integers(f, s, parts)
    result, source = [part for part in parts if is_type(part)][-2:]
    if "scaled" in s.opcode:
        raise UnknownInstruction(s.opcode)
    if "rs" in parts:
        return _convert_randomly(f, s, parts, result)
    if result.endswith("x2"):
        return _convert_pair(f, s, parts, result, source)
    if result == "tf32":
        return _to_tf32(f, s, parts)
    value, kind = _read(f, s.operands[1], source, "ftz" in parts and source == "f32")
    if result in FLOATS or is_small(result):
        return _to_float(f, s, parts, result, value, kind, source)
    return _to_integer(f, s, parts, result, value, kind, source)


def _pack_integers(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Two integers, clamped to as many bits as are wanted, below the lowest bits of a third."""
    b, size, signed = f.body, int(parts[2][1:]), parts[2][0] == "s"
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
    total = f.get(s.operands[3], "i32") if len(s.operands) > 3 else "0"
    for operand in s.operands[1:3]:
        number = b.call("i32", "llvm.smax.i32", f"i32 {f.get(operand, 'i32')}", f"i32 {low}")
        number = b.call("i32", "llvm.smin.i32", f"i32 {number}", f"i32 {high}")
        bits = b.value(f"and i32 {number}, {(1 << size) - 1}")
        total = b.value(f"or i32 {b.value(f'shl i32 {total}, {size}')}, {bits}")
    f.set(s.operands[0], total, "i32")


def _read(f: PtxFunction, operand: str, source: str, ftz: bool) -> tuple[str, str]:
    """The value as float or double, or as an integer of its own size."""
    llvm = llvm_type(source)
    value = f.get(operand, llvm)
    if is_small(source):
        return from_small(f, source, value), "float"
    return (flushed(f.body, value, llvm, ftz) if llvm == "float" else value), llvm


def _to_integer(
    f: PtxFunction, s: InlineStatement, parts: list[str], result: str, value: str, kind: str, source: str
) -> None:
    llvm, signed = llvm_type(result), result[0] == "s"
    if kind in FLOATS.values():
        rounding = next((part for part in parts if part in _INTEGRAL), None)
        if rounding is None:
            raise UnknownInstruction(s.opcode)
        value = float_to_integer(f.body, value, kind, rounding, llvm, signed=signed)
        return f.set(s.operands[0], value, llvm, signed)
    if "sat" in parts:
        value = _clamped(f, value, kind, source[0] == "s", llvm, signed)
    else:
        value = f.convert(value, kind, llvm, source[0] == "s")
    return f.set(s.operands[0], value, llvm, signed)


def _clamped(f: PtxFunction, value: str, kind: str, is_signed: bool, llvm: str, signed: bool) -> str:
    wide = f.body.value(f"{'sext' if is_signed else 'zext'} {kind} {value} to i128")
    bits = bits_of(llvm)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    wide = f.body.call("i128", "llvm.smax.i128", f"i128 {wide}", f"i128 {low}")
    wide = f.body.call("i128", "llvm.smin.i128", f"i128 {wide}", f"i128 {high}")
    return f.body.value(f"trunc i128 {wide} to {llvm}")


def _to_float(
    f: PtxFunction, s: InlineStatement, parts: list[str], result: str, value: str, kind: str, source: str
) -> None:
    rounding = next((part for part in parts if part in ROUNDINGS), "rn")
    b, llvm = f.body, FLOATS.get(result, "double")
    if kind not in FLOATS.values():  # an integer: half and bfloat16 round once only from a number that holds it all
        if is_small(result) and bits_of(kind) == 64:
            value = b.call("double", "tle_team_from_long", f"i64 {value}", f"i32 {int(source[0] == 's')}")
        else:
            value = integer_to_float(b, value, kind, rounding, llvm, signed=source[0] == "s")
        kind = llvm
    integral = next((part for part in parts if part in _INTEGRAL), None)
    if integral:
        value = b.call(kind, f"llvm.{_INTEGRAL[integral]}.f{bits_of(kind)}", f"{kind} {value}")
        rounding = "rn"
    if "sat" in parts:
        value = saturated(b, value, kind)
    if "relu" in parts:
        value = _relu(f, value, kind)
    f.set(
        s.operands[0],
        _rounded_to(f, result, value, kind, rounding, "satfinite" in parts, "ftz" in parts),
        _bits(result),
    )


def _bits(result: str) -> str:
    return FLOATS.get(result) or llvm_type(result)


def _relu(f: PtxFunction, value: str, kind: str) -> str:
    """Negative numbers become 0, NaN stays."""
    negative = f.body.value(f"fcmp olt {kind} {value}, 0.0")
    return f.body.value(f"select i1 {negative}, {kind} 0.0, {kind} {value}")


def _rounded_to(f: PtxFunction, result: str, value: str, kind: str, rounding: str, saturate: bool, ftz: bool) -> str:
    """A float or double in the result's format; small formats as their bits."""
    b = f.body
    if is_small(result):
        if kind == "float" and rounding == "rn" and not saturate:
            return to_small(f, result, value)
        wide = value if kind == "double" else b.value(f"fpext float {value} to double")
        return narrowed_small(f, result, wide, rounding, saturate)
    if result == "f64":
        return value if kind == "double" else b.value(f"fpext float {value} to double")
    if kind == "double":
        if rounding == "rn":
            value = b.value(f"fptrunc double {value} to float")
        else:
            value = b.call("float", "tle_team_narrow_f32", f"double {value}", f"i32 {ROUNDINGS[rounding]}")
    return flushed(b, value, "float", ftz)


def _to_tf32(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """A float whose lowest 13 bits are zeros."""
    b, value = f.body, f.get(s.operands[1], "float")
    if "relu" in parts:
        value = _relu(f, value, "float")
    rounding = next((part for part in parts if part in TF32_ROUNDINGS), None)
    if rounding is None:
        raise UnknownInstruction(s.opcode)
    numbers = (f"i32 {TF32_ROUNDINGS[rounding]}", f"i32 {int('satfinite' in parts)}")
    f.set(s.operands[0], b.call("float", "tle_team_tf32", f"float {value}", *numbers), "float")


def _convert_pair(f: PtxFunction, s: InlineStatement, parts: list[str], result: str, source: str) -> None:
    """Two numbers in one register: of two floats, the first becomes the upper half; or of a pair."""
    b = f.body
    rounding = next((part for part in parts if part in ROUNDINGS), "rn")
    to = llvm_type(result)
    if source == "f32":
        doubles = [b.value(f"fpext float {f.get(o, 'float')} to double") for o in s.operands[1:3]]
    else:
        doubles = _pair(f, s.operands[1], source)[::-1]
    if "relu" in parts:
        doubles = [_relu(f, d, "double") for d in doubles]
    format = result.removesuffix("x2")
    high, low = (narrowed(b, d, format, rounding, "satfinite" in parts) for d in doubles)
    both = b.value(f"or i32 {low}, {b.value(f'shl i32 {high}, {bits_of(to) // 2}')}")
    f.set(s.operands[0], f.convert(both, "i32", to), to)


def _convert_randomly(f: PtxFunction, s: InlineStatement, parts: list[str], result: str) -> None:
    """Two or four floats, the first one into the highest bits. Of four, two and two are rounded by the same bits."""
    b, kind, random = f.body, llvm_type(result), f.get(s.operands[-1], "i32")
    numbers = vector(s.operands[1]) if result.endswith("x4") else list(s.operands[1:3])
    size = bits_of(kind) // len(numbers)
    of_upper, of_lower = _random_bits(f, result, random)
    total = "0"
    for index, number in enumerate(numbers):
        double = b.value(f"fpext float {f.get(number, 'float')} to double")
        if "relu" in parts:
            double = _relu(f, double, "double")
        bits = of_upper if index < len(numbers) // 2 else of_lower
        code = narrowed_randomly(b, double, result[:-2], bits, "satfinite" in parts)
        total = b.value(f"or i32 {total}, {b.value(f'shl i32 {code}, {size * (len(numbers) - 1 - index)}')}")
    f.set(s.operands[0], f.convert(total, "i32", kind), kind)


def _random_bits(f: PtxFunction, result: str, random: str) -> tuple[str, str]:
    """The 16 bits for the upper half of the results, and those for the lower one: f16 has 13, e2m1 a byte of each."""
    b = f.body

    def part(shift: int, mask: int, place: int = 0) -> str:
        found = b.value(f"and i32 {b.value(f'lshr i32 {random}, {shift}')}, {mask}")
        return b.value(f"shl i32 {found}, {place}")

    if result == "f16x2":
        return part(16, 0x1FFF, 3), part(0, 0x1FFF, 3)
    if result != "e2m1x4":
        return part(16, 0xFFFF), part(0, 0xFFFF)
    upper, lower = (b.value(f"or i32 {part(16 + byte, 0xFF, 8)}, {part(byte, 0xFF)}") for byte in (8, 0))
    return upper, lower


def _pair(f: PtxFunction, operand: str, source: str) -> list[str]:
    """The two doubles of a packed register, the lower one first."""
    b, format = f.body, source.removesuffix("x2")
    if format not in FORMATS:
        raise UnknownInstruction(source)
    kind = llvm_type(source)
    size, bits = bits_of(kind) // 2, f.convert(f.get(operand, kind), kind, "i32")
    parts = (b.value(f"and i32 {b.value(f'lshr i32 {bits}, {shift}')}, {(1 << size) - 1}") for shift in (0, size))
    return [widened(b, part, format) for part in parts]


@instruction("cvta")
def _convert_address(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Only shared addresses differ from generic ones."""
    space = next(
        (part.split("::")[0] for part in parts if part.startswith(("shared", "global", "local", "const", "param"))), ""
    )
    kind = llvm_type(value_type(parts, s))
    if kind != "i64":
        raise UnknownInstruction(s.opcode)  # a generic address has 64 bits
    value = f.get(s.operands[1], kind)
    if space == "shared":
        wide = f.convert(value, kind, "i64")
        if "to" in parts:
            pointer = f.body.value(f"inttoptr i64 {wide} to ptr")
            wide = f.body.call("i64", "tle_team_shared_address", f"ptr {pointer}")
        else:
            pointer = f.body.call("ptr", "tle_team_shared_pointer", f"i64 {wide}", "i32 %site")
            wide = f.body.value(f"ptrtoint ptr {pointer} to i64")
        value, kind = wide, "i64"
    f.set(s.operands[0], value, kind)


@instruction("isspacep")
def _is_space(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    pointer = f.body.value(f"inttoptr i64 {f.get(s.operands[1], 'i64')} to ptr")
    space = parts[0].split("::")[0]
    if space not in ("shared", "local"):
        raise UnknownInstruction(s.opcode)
    name = "of_cluster" if parts[0] == "shared::cluster" else space
    bit = f.body.value(f"icmp ne i32 {f.body.call('i32', f'tle_team_is_{name}', f'ptr {pointer}')}, 0")
    f.set(s.operands[0], bit, "i1")


@instruction("mapa")
def _map_address(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """The address in another block of the cluster, generic or of shared memory as the one that is given."""
    kind, rank = llvm_type(value_type(parts, s)), f.get(s.operands[2], "i32")
    is_shared = "shared::cluster" in parts
    pointer = _pointer_to(f, s.operands[1], kind, is_shared)
    mapped = f.body.call("ptr", "tle_team_cluster_map", f"ptr {pointer}", f"i32 {rank}", "i32 %site")
    if is_shared:
        wide = f.body.call("i64", "tle_team_shared_address", f"ptr {mapped}")
    else:
        wide = f.body.value(f"ptrtoint ptr {mapped} to i64")
    f.set(s.operands[0], wide if kind == "i64" else f.body.value(f"trunc i64 {wide} to {kind}"), kind)


@instruction("getctarank")
def _rank_of_address(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Whose shared memory an address is of."""
    is_shared = "shared::cluster" in parts
    kind = "i32" if is_shared and parts[-1] == "u32" else "i64"
    pointer = _pointer_to(f, s.operands[1], kind, is_shared)
    f.set(s.operands[0], f.body.call("i32", "tle_team_cluster_rank_of", f"ptr {pointer}"), "i32")


def _pointer_to(f: PtxFunction, operand: str, kind: str, is_shared: bool) -> str:
    address = f.get(operand, kind)
    wide = address if kind == "i64" else f.body.value(f"zext {kind} {address} to i64")
    if is_shared:
        return f.body.call("ptr", "tle_team_shared_pointer", f"i64 {wide}", "i32 %site")
    return f.body.value(f"inttoptr i64 {wide} to ptr")
