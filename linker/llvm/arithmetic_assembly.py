"""Inline assembly that computes and touches no memory: headers of fp16, bf16 and fp8 are full of it, sines hold some.

%3 = tail call { i32, i32 } asm "{\\0A\\09mad.lo.cc.u32 $0, $2, $3, $4;\\0A\\09madc.hi.u32 $1, $2, $3, 0;\\0A}", ...
"""

from __future__ import annotations

import re

_ASM = re.compile(r' asm (?P<sideeffect>sideeffect )?"(?P<text>(?:[^"\\]|\\.)*)", "(?P<bound>[^"]*)"')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VECTOR = re.compile(r"\{[^{};]*\}")  # of operands; a block's statements end with a semicolon
_STATEMENT = re.compile(r"(?:@!?[%$]?\w+\s+)?(\.?[a-z]\w*)[^:]*")
_ARITHMETIC = frozenset(
    ["abs", "add", "addc", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos", "cvt", "div",
     "dp2a", "dp4a", "ex2", "fma", "fns", "lg2", "lop3", "mad", "mad24", "madc", "max", "min", "mov", "mul", "mul24",
     "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr",
     "sin", "slct", "sqrt", "sub", "subc", "szext", "tanh", "testp", "xor"]
)  # fmt: skip
_VIDEO = re.compile(r"v(?:add|sub|absdiff|min|max|avrg|set|shl|shr|mad)[24]?")  # SIMD within a register


def without_arithmetic(text: str) -> str:
    """The LLVM text, in which only assembly is still called ``asm`` that may do more than compute."""
    return _ASM.sub(_renamed, text) if " asm " in text else text


def _renamed(match: re.Match[str]) -> str:
    is_plain = not match["sideeffect"] and "memory" not in match["bound"] and _computes(match["text"])
    return match[0].replace(" asm ", " arithmetic ", 1) if is_plain else match[0]


def _computes(text: str) -> bool:
    """Whether each of its statements is known to; what is not read, such as a label, is not."""
    plain = _COMMENT.sub(" ", text.replace("\\0A", "\n").replace("\\09", " "))
    statements = (each.strip() for each in re.split(r"[;{}\n]", _VECTOR.sub("", plain)))
    return "[" not in plain and all(map(_is_arithmetic, filter(None, statements)))


def _is_arithmetic(statement: str) -> bool:
    found = _STATEMENT.fullmatch(statement)
    word = found[1] if found else ""
    return word == ".reg" or word in _ARITHMETIC or _VIDEO.fullmatch(word) is not None
