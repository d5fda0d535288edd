"""How C++ types are spelled: joining tokens, and the types that a bound parameter asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter
from tle_raw.fragments.dtypes import DTYPES, DType

# Other spellings of our dtypes' C++ types that mean the same type.
SAME = {
    "i8": "char, int8_t, std::int8_t",
    "i16": "int16_t, std::int16_t, short int",
    "i32": "int32_t, std::int32_t, signed, signed int",
    "i64": "long, int64_t, std::int64_t, long int, long long int, ptrdiff_t, ssize_t",
    "u8": "uint8_t, std::uint8_t",
    "u16": "uint16_t, std::uint16_t, unsigned short int",
    "u32": "unsigned, uint32_t, std::uint32_t",
    "u64": "unsigned long, uint64_t, std::uint64_t, size_t, std::size_t, unsigned long int, unsigned long long int",
    "f16": "half, _Float16",
    "bf16": "nv_bfloat16, __bf16",
}
_SPELLINGS = {
    name: frozenset([dtype.cxx, *filter(None, SAME.get(name, "").split(", "))]) for name, dtype in DTYPES.items()
}
_KNOWN = frozenset({"void"}).union(*_SPELLINGS.values())
# C++ types that clang turns into the LLVM types of the boundary.
_CROSSING = {"half": "_Float16", "bfloat": "__bf16"}


def join_tokens(tokens: Sequence[str]) -> str:
    """Readable text of a few tokens: ``const float *`` becomes ``const float*``."""
    text = " ".join(tokens)
    text = re.sub(r"\s*(::|<|\[|\()\s*", r"\1", text)
    text = re.sub(r"\s+(>|\]|\)|,|\*|&|\.\.\.)", r"\1", text)
    return re.sub(r"([*&>])(\w)", r"\1 \2", text)


def tile_type(dtype: str, dims: Sequence[object]) -> str:
    """``tle::tile<float, 64, 64>``."""
    return f"tle::tile<{', '.join([dtype, *map(str, dims)])}>"


def expected_type(parameter: BoundParameter) -> str:
    """The C++ type that the user's function is best written with."""
    assert parameter.dtype is not None
    cxx = parameter.dtype.cxx
    if parameter.is_barrier:
        return "tle::barrier"
    if parameter.is_descriptor:
        return f"tle::descriptor<{', '.join([cxx, *map(str, parameter.dims)])}>"
    if parameter.cxx_layout:
        return f"tle::buffer<{', '.join([cxx, parameter.cxx_layout, *map(str, parameter.dims)])}>"
    if parameter.kind == TILE:
        return tile_type(cxx, parameter.dims)
    if parameter.kind == POINTER:
        return f"const {cxx}*" if parameter.effect == "In" else f"{cxx}*"
    if parameter.kind == ELEMENT and parameter.effect != "In":
        return f"{cxx}&"
    return cxx


def crossing_type(dtype: DType) -> str:
    """C++ type that becomes the dtype's LLVM type: fp8 crosses as a byte, __half as _Float16."""
    if dtype.llvm in _CROSSING:
        return _CROSSING[dtype.llvm]
    return "unsigned char" if dtype.name.startswith("f8") else dtype.cxx


def fits(parameter: BoundParameter, written: str) -> bool | None:
    """Whether a type as written takes the parameter; None when the text alone does not tell."""
    assert parameter.dtype is not None
    text = re.sub(r"__attribute__\(\(.*?\)\)\)|\b(const|volatile|__restrict__|__restrict)\b", " ", written)
    stars = text.count("*") + text.count("[]")
    base = " ".join(re.sub(r"\*|\[\]|&", " ", text).split())
    if parameter.is_barrier:
        if base in ("tle::barrier", "barrier"):
            return stars == 0
        return False if base in _KNOWN and base not in _SPELLINGS["u64"] | _SPELLINGS["i64"] else None
    if parameter.is_descriptor:
        return None if re.fullmatch(r"(?:tle::)?descriptor<.*>", base) or base not in _KNOWN else False
    if parameter.cxx_layout:
        return None if re.fullmatch(r"(?:tle::)?buffer<.*>", base) or base not in _KNOWN else False
    tile = re.fullmatch(r"(?:tle::)?tile<(.*)>", base)
    if tile:
        return parameter.kind == TILE and _tile_fits(parameter, tile[1].split(", "))
    if base == "void" and parameter.kind == POINTER and parameter.dtype.name == "u8":
        return stars == 1  # bytes are anything
    if base not in _KNOWN:
        return None
    if parameter.is_of_any_type and stars == 1:
        return True if base == "void" or base in _SPELLINGS[parameter.dtype.name] else None
    if base not in _SPELLINGS[parameter.dtype.name]:
        return False
    if parameter.kind in (TILE, POINTER):
        return stars == 1
    if parameter.kind == ELEMENT and parameter.effect != "In":
        return stars == 1 or (stars == 0 and "&" in text)
    return stars == 0


def _tile_fits(parameter: BoundParameter, arguments: list[str]) -> bool | None:
    assert parameter.dtype is not None
    dtype, *dims = (argument.strip() for argument in arguments)
    if len(dims) != len(parameter.dims) or (dtype in _KNOWN and dtype not in _SPELLINGS[parameter.dtype.name]):
        return False
    if any(dim.isdigit() and dim != str(bound) for dim, bound in zip(dims, parameter.dims, strict=True)):
        return False
    return True if dtype in _KNOWN and all(dim.isdigit() for dim in dims) else None
