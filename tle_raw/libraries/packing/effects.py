"""What a piece of code does beside giving its results, as far as its LLVM IR tells: reads, writes, barrier."""

from __future__ import annotations

import re

from tle_raw.linker.llvm.global_effects import global_effects
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.prepare import LinkableModule

# Assembly that computes and touches no memory: headers of fp16, bf16 and fp8 are full of it.
_ASM = re.compile(r' asm (?P<sideeffect>sideeffect )?"(?P<text>(?:[^"\\]|\\.)*)", "(?P<bound>[^"]*)"')
_ARITHMETIC = frozenset(
    ["abs", "add", "and", "bfe", "bfi", "brev", "clz", "cos", "cvt", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "lg2",
     "lop3", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt", "sad", "selp",
     "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub", "tanh", "testp", "xor"]
)  # fmt: skip
_WORD = re.compile(r"(?:^|[;{}\n])\s*(?:@!?%?\w+\s+)?(\.?[a-z]\w*)")


def found_effects(module: LinkableModule) -> frozenset[str]:
    """Those that the code may have; what is certain not to happen is left out."""
    told = read_module(_ASM.sub(_without_arithmetic, module.text))
    memory = global_effects(told, module.entry, reachable(references(told), [module.entry]))
    found = {"reads": memory.reads, "writes": memory.writes, "barrier": module.uses_barrier}
    return frozenset(effect for effect, is_there in found.items() if is_there)


def _without_arithmetic(match: re.Match[str]) -> str:
    text = match["text"].replace("\\0A", "\n").replace("\\09", " ")
    words = {word for word in _WORD.findall(text) if word != ".reg"}
    is_plain = not match["sideeffect"] and "memory" not in match["bound"] and words <= _ARITHMETIC
    return match[0].replace(" asm ", " arithmetic ", 1) if is_plain else match[0]
