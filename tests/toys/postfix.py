"""A dialect for tests: arithmetic on elements in reverse Polish notation, ``x 2 * 1 +``.

It shows all that an adapter has to do. ARCHITECTURE.md points here.
"""

from __future__ import annotations

import time
from pathlib import Path

from tle_raw.errors import CompilationFailed, DialectError, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.options import known_options
from tle_raw.fragments.signature import Signature
from tle_raw.target import Target
from tle_raw.targets.device_code import wanted_device_code

OPERATIONS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
IDENTITY = "postfix 1"


class PostfixAdapter:
    """``dialect("postfix", source="x 2 *")`` over a stub whose parameters are elements of f32."""

    name = "postfix"

    def read(self, declaration: Declaration) -> Source:
        options = known_options(self.name, declaration.options, ("source",), {})
        text = options.get("source")
        if not isinstance(text, str):
            raise DialectError("the dialect postfix takes source=, a text")
        return Source(self.name, declaration.name, declaration.name, text, declaration.location)

    def files(self, source: Source) -> tuple[Path, ...]:
        return ()

    def compiler_identity(self) -> str:
        return IDENTITY

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        wanted_device_code(target, "the dialect postfix compiles")  # whatever it is, plain arithmetic is part of it
        if not bound.is_elementwise or {*bound.entry_parameters, bound.entry_result} != {"float"}:
            raise UnsupportedFeatureError("the dialect postfix computes with elements of f32")
        started = time.perf_counter()
        names = [parameter.name for parameter in bound.crossing]
        body, result = _lines(source, names)
        parameters = ", ".join(f"float %{name}" for name in names)
        text = "\n".join([f"define float @{source.symbol}({parameters}) {{", *body, f"  ret float {result}", "}", ""])
        return CompilerOutput(text, source.symbol, (), time.perf_counter() - started, IDENTITY)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        return " ".join(parameter.name for parameter in signature.parameters)


def _lines(source: Source, names: list[str]) -> tuple[list[str], str]:
    """The instructions of the expression, and the value that is left on the stack."""
    lines: list[str] = []
    stack: list[str] = []
    for word in source.text.split():
        if word in OPERATIONS and len(stack) >= 2:
            right, left = stack.pop(), stack.pop()
            stack.append(f"%v{len(lines)}")
            lines.append(f"  {stack[-1]} = {OPERATIONS[word]} float {left}, {right}")
        elif word in names:
            stack.append(f"%{word}")
        elif word.isdecimal():
            stack.append(f"{word}.0")
        else:
            raise CompilationFailed(f"postfix does not know what `{word}` does here", log=source.text)
    if len(stack) != 1:
        raise CompilationFailed(f"an expression leaves one value, this one {len(stack)}", log=source.text)
    return lines, stack[0]
