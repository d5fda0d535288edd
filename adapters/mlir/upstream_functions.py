"""Writes func.func as llvm.func, which libtriton knows, where only the spelling differs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tle_raw.linker.mlir.tokens import Token, closing, spelling, tokenize

# Types that both containers take. An index or a memref needs the conversion of the MLIR bindings.
_PLAIN = re.compile(r"(?:i\d+|f16|bf16|f32|f64|!llvm\..*|vector<\d+x(?:i\d+|f16|bf16|f32|f64)>)$", re.DOTALL)
_STATEMENTS = {
    "return": "llvm.return",
    "func.return": "llvm.return",
    "call": "llvm.call",
    "func.call": "llvm.call",
    '"func.return"': '"llvm.return"',
}


def is_plain(type_: str) -> bool:
    """Whether a type may stand in an llvm.func as it is."""
    return bool(_PLAIN.match(type_))


def as_llvm_functions(text: str) -> str:
    """The same module without the func dialect; what cannot be respelled stays and is refused by the parser."""
    if "func.func" not in text:
        return text
    tokens = tokenize(text)
    parts, last = [], 0
    for start, end, new in _edits(text, tokens):
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])


def _edits(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    for index, token in enumerate(tokens):
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if token.text == "func.func":
            yield token.start, token.end, "llvm.func"
            if following in ("private", "public", "nested"):
                yield tokens[index + 1].start, tokens[index + 1].end, ""
        elif token.text == '"func.func"':
            yield token.start, token.end, '"llvm.func"'
        elif token.text == '"func.call"':
            yield token.start, token.end, '"llvm.call"'
        elif token.text == "callee" and '"func.call"' in text and _is_call(tokens, index):
            close = closing(tokens, index - 1)
            yield from _call_properties(tokens, index, close)
        elif token.text == "function_type" and following == "=" and tokens[index + 2].text == "(":
            yield from _function_type(text, tokens, index + 2)
        elif token.text in _STATEMENTS and _is_statement(tokens, index, following):
            yield token.start, token.end, _STATEMENTS[token.text]


def _is_statement(tokens: Sequence[Token], index: int, following: str) -> bool:
    previous = tokens[index - 1].text if index else ""
    return following not in ("=", ">") and previous not in (",", "<", "@", ".")


def _is_call(tokens: Sequence[Token], index: int) -> bool:
    """A property of a generic func.call: the nearest operation name before it."""
    name = next((token.text for token in reversed(tokens[:index]) if token.kind == "string" and "." in token.text), "")
    return name == '"func.call"'


def _call_properties(tokens: Sequence[Token], index: int, close: int) -> Iterator[tuple[int, int, str]]:
    """``llvm.call`` counts its operands and bundles."""
    opened = next(i for i in range(index, -1, -1) if tokens[i].text == "(")
    count = sum(token.kind == "value" for token in tokens[opened : closing(tokens, opened)])
    end = tokens[close].start
    yield end, end, f", op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: {count}, 0>"


def _function_type(text: str, tokens: Sequence[Token], opened: int) -> Iterator[tuple[int, int, str]]:
    close = closing(tokens, opened)
    parameters = spelling(text, tokens[opened : close + 1])
    start = close + 2
    if tokens[start].text == "(":
        end = closing(tokens, start)
        result = spelling(text, tokens[start + 1 : end]) or "void"
    else:
        end = start
        if start + 1 < len(tokens) and tokens[start + 1].text == "<":
            end = closing(tokens, start + 1)
        result = spelling(text, tokens[start : end + 1])
    yield tokens[opened].start, tokens[end].end, f"!llvm.func<{result} {parameters}>"
