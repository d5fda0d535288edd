"""bfloat arithmetic by way of f32 and integers.

The host's own narrowing instruction takes subnormal numbers for zero, and LLVM 22 ends its process over some functions
of extended bfloats. GPUs keep subnormals, and round to the nearest even.
"""

from __future__ import annotations

import re

from tle_raw.linker.llvm.text import Module, read_module

_LINE = r"(?m)^(?P<indent>\s*)(?P<name>%[\w.$-]+|%\"[^\"]*\") = "
_END = r"(?P<rest>(?:, ![^\n]*)?)$"
_WIDEN = re.compile(_LINE + r"fpext (?:[a-z]+ )*(?P<type>bfloat|<(?P<n>\d+) x bfloat>) (?P<x>[^,\n]+?) to "
                    r"(?P<to>float|<\d+ x float>)" + _END)  # fmt: skip
_NARROW = re.compile(_LINE + r"fptrunc (?:[a-z]+ )*float (?P<x>[^,\n]+?) to bfloat" + _END)
_BINARY = re.compile(
    _LINE + r"(?P<op>f(?:add|sub|mul|div|rem)) (?:[a-z]+ )*bfloat (?P<x>[^,\n]+), (?P<y>[^,\n]+?)" + _END
)
_HELPER = "tle_team_narrow_to_bfloat"
_DEFINITION = f"""
define internal bfloat @{_HELPER}(float %x) alwaysinline {{
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %half = add nuw nsw i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, 0.000000e+00
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}}
"""


def without_bfloat_arithmetic(module: Module) -> Module:
    """The module with its sums, products, widenings and narrowings of bfloats spelled out."""
    return read_module(_spelled_out(module.text)) if "bfloat" in module.text else module


def _spelled_out(text: str) -> str:
    text = _BINARY.sub(_binary, text)
    text = _WIDEN.sub(_widen, text)
    text = _NARROW.sub(rf"\g<indent>\g<name> = call bfloat @{_HELPER}(float \g<x>)\g<rest>", text)
    return f"{text}\n{_DEFINITION}" if f"@{_HELPER}(" in text else text


def _binary(found: re.Match[str]) -> str:
    """An f32 holds the exact product; of a sum or quotient, a second rounding to 8 of 24 bits changes nothing."""
    indent, name, rest = found["indent"], found["name"], found["rest"]
    x, y, wide = (_derived(name, suffix) for suffix in ("x", "y", "wide"))
    lines = (
        f"{x} = fpext bfloat {found['x']} to float{rest}",
        f"{y} = fpext bfloat {found['y']} to float{rest}",
        f"{wide} = {found['op']} float {x}, {y}{rest}",
        f"{name} = fptrunc float {wide} to bfloat{rest}",
    )
    return "\n".join(indent + line for line in lines)


def _widen(found: re.Match[str]) -> str:
    indent, name, rest, to = found["indent"], found["name"], found["rest"], found["to"]
    short, wide, shift = ("i16", "i32", "16")
    if found["n"]:
        short, wide, shift = (f"<{found['n']} x i16>", f"<{found['n']} x i32>", "splat (i32 16)")
    bits, long, high = (_derived(name, suffix) for suffix in ("bits", "long", "high"))
    lines = (
        f"{bits} = bitcast {found['type']} {found['x']} to {short}{rest}",
        f"{long} = zext {short} {bits} to {wide}{rest}",
        f"{high} = shl {wide} {long}, {shift}{rest}",
        f"{name} = bitcast {wide} {high} to {to}{rest}",
    )
    return "\n".join(indent + line for line in lines)


def _derived(name: str, suffix: str) -> str:
    """A value beside another: numbered values must stay in order, named ones need not."""
    return f'%"tle.{name[1:].strip(chr(34))}.{suffix}"'
