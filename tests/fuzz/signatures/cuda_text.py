"""CUDA C++ whose functions read every parameter, and the types that they may take one in."""

from __future__ import annotations

import math
from random import Random

from tests.fuzz.signatures.declared import RESULT, Case, Declared, Function, Port, tag, weight
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE
from tle_raw.fragments.dtypes import DTYPES

HEADERS = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <tle_raw/tile.h>\n"
OTHER_NAMES = {"i64": ("long",), "u64": ("unsigned long", "size_t"), "i8": ("char", "int8_t"), "u32": ("unsigned",)}
WRONG = (
    "signed char", "short", "int", "long long", "unsigned char", "unsigned short", "unsigned int",
    "unsigned long long", "__half", "__nv_bfloat16", "float", "double", "bool", "float*", "int*", "float**", "int&",
    "tle::tile<float, 4>", "tle::tile<int, 4, 8>", "tle::tile<float, 32, 32>", "float4",
)  # fmt: skip


def ports(random: Random, parameters: tuple[Declared, ...], has_result: bool) -> tuple[tuple[Port, ...], str]:
    """How the function takes the parameters, and what it returns. Constants are macros."""
    found = [Port(p, () if p.kind == CONST else (random.choice(_types(p)),), p.name) for p in parameters]
    return tuple(found), "double" if has_result else "void"


def _types(p: Declared) -> list[str]:
    spelled = [DTYPES[p.dtype].cxx, *OTHER_NAMES.get(p.dtype, ())]
    if p.kind == TILE:
        plain = [f"{s}{c}*" for s in spelled for c in (["", " const"] if p.effect == "In" else [""])]
        return [*plain, tile(DTYPES[p.dtype].cxx, p.shape)]
    if p.kind == POINTER:
        return [f"{s}*" for s in spelled] + [f"const {s}*" for s in spelled if p.effect == "In"]
    if p.kind == ELEMENT and p.effect != "In":
        return [f"{s}{c}" for s in spelled for c in "&*"]
    return [*spelled, *(f"const {s}&" for s in spelled[:1])]


def tile(cxx: str, shape: tuple[int, ...]) -> str:
    return f"tle::tile<{', '.join([cxx, *map(str, shape)])}>"


def fits(p: Declared, types: tuple[str, ...]) -> bool:
    if p.kind == CONST:
        return not types
    written = types[0].replace("const ", "").replace(" const", "")
    known = [t.replace("const ", "").replace(" const", "") for t in _types(p)]
    by_value = written.replace("&", "") if p.effect == "In" else written
    return by_value in known or written in known


def function_text(function: Function, case: Case | None) -> str:
    """The definition. Without a case it has no more than a type."""
    taken = ", ".join(f"{port.types[0]} {port.name or f'u{i}'}" for i, port in enumerate(function.ports) if port.types)
    lines = [] if case is None else [*_lines(function, case)]
    if case is None and function.result != "void":
        lines.append(f"return {function.result}();")
    body = "".join(f"  {line}\n" for line in lines)
    return f"__device__ {function.result} {function.name}({taken}) {{\n{body}}}\n"


def _lines(function: Function, case: Case) -> list[str]:
    terms = [f"{weight(i)} * {_read(port)}" for i, port in enumerate(function.ports) if _is_read(port)]
    lines = [f"double total = {' + '.join(terms) or '0'};"]
    for index, port in enumerate(function.ports):
        p = port.declared
        if p.name == case.told and case.told != RESULT:
            lines.append(f"{port.name if port.types[0].endswith('&') else f'*{port.name}'} = total;")
        elif p.kind == TILE and p.effect != "In":
            number = f"({DTYPES[p.dtype].cxx})({tag(index, p.dtype)})"
            lines.append(f"{port.name}[0] = {number};")
    return [*lines, "return total;"] if function.result != "void" else lines


def _is_read(port: Port) -> bool:
    return port.declared.effect != "Out" and port.declared.name != "out"


def _read(port: Port) -> str:
    p = port.declared
    if p.kind == CONST:
        return f"TLE_C_{p.name}"
    if p.kind in (TILE, POINTER):
        value = f"{port.name}[{math.prod(p.shape) - 1 if p.kind == TILE else 1}]"
    else:
        value = f"*{port.name}" if port.types[0].endswith("*") else port.name
    return f"(double)({'float' if p.dtype in ('f16', 'bf16') else 'double'})({value})"
