"""Damages texts and bytes as people, editors and broken tools do: pieces lost, doubled, swapped, or from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r"[@%!#$^]?[\w.$-]+|\s+|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w.%@!#])-?\d+(?![\w.])")
NUMBERS = ("0", "-1", "1", "7", "255", "65536", "2147483648", "4294967295", "9223372036854775808", "1" * 40)
# Words that mean something in one of the languages, where they do not belong.
WORDS = (
    "define", "declare", "call", "ret", "void", "ptr", "i1", "i64", "i8388607", "half", "x86_fp80", "token", "metadata",
    "label", "undef", "poison", "zeroinitializer", "null", "blockaddress", "asm", "addrspace(3)", "addrspace(77)",
    "<4 x float>", "[0 x i8]", "<vscale x 4 x i32>", "{ i32, ptr }", "target", "triple", "!0", "!dbg", "!DILocation()",
    "#0", "inalloca", "musttail", "invoke", "unreachable", "phi", "alloca", "getelementptr", "inbounds",
    "@llvm.trap", "@llvm.nvvm.barrier0", "@f", "%0", "%x", "module", "func.func", "memref<4xf32, 3>", "tensor<?xf32>",
    "index", "vector<4xf32>", "affine_map<(d0) -> (d0)>", "loc(unknown)", "^bb0", "!llvm.ptr<3>", "dense<0>", "f32",
    "__device__", "__global__", "__shared__", "template", "extern", "#include", "#define", "//", "/*", "\\", '"', "'",
    "\t", "\r", "\x0c", "\x7f", "\u00e4", "\U0001f600", "(", ")", "{", "}", "<", ">", "[", "]", ";", ",", "=", ":",
)  # fmt: skip


def mutate_text(text: str, others: Sequence[str], random: Random) -> str:
    """One to a few changes."""
    for _ in range(random.choice((1, 1, 1, 1, 2, 4))):
        text = random.choice(_TEXT_CHANGES)(text, others, random)
    return text


def mutate_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """One to a few changes."""
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        data = random.choice(_BYTE_CHANGES)(data, others, random)
    return data


def _tokens(text: str, random: Random, change: Callable[[list[str], int], None]) -> str:
    tokens = _TOKEN.findall(text) or [""]
    change(tokens, random.randrange(len(tokens)))
    return "".join(tokens)


def _replace_token(text: str, others: Sequence[str], random: Random) -> str:
    taken = random.choice(WORDS) if random.random() < 0.5 else random.choice(_TOKEN.findall(random.choice(others)))
    return _tokens(text, random, lambda tokens, i: tokens.__setitem__(i, taken))


def _insert_token(text: str, others: Sequence[str], random: Random) -> str:
    return _tokens(text, random, lambda tokens, i: tokens.insert(i, f" {random.choice(WORDS)} "))


def _drop_token(text: str, others: Sequence[str], random: Random) -> str:
    return _tokens(text, random, lambda tokens, i: tokens.__setitem__(i, ""))


def _swap_tokens(text: str, others: Sequence[str], random: Random) -> str:
    def change(tokens: list[str], i: int) -> None:
        j = random.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]

    return _tokens(text, random, change)


def _change_number(text: str, others: Sequence[str], random: Random) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text + random.choice(NUMBERS)
    match = random.choice(found)
    return text[: match.start()] + random.choice(NUMBERS) + text[match.end() :]


def _lines(text: str, random: Random) -> tuple[list[str], int, int]:
    lines = text.split("\n")
    start = random.randrange(len(lines))
    return lines, start, min(len(lines), start + random.randint(1, 4))


def _drop_lines(text: str, others: Sequence[str], random: Random) -> str:
    lines, start, end = _lines(text, random)
    return "\n".join(lines[:start] + lines[end:])


def _double_lines(text: str, others: Sequence[str], random: Random) -> str:
    lines, start, end = _lines(text, random)
    return "\n".join(lines[:end] + lines[start:])


def _move_lines(text: str, others: Sequence[str], random: Random) -> str:
    lines, start, end = _lines(text, random)
    rest = lines[:start] + lines[end:]
    to = random.randint(0, len(rest))
    return "\n".join(rest[:to] + lines[start:end] + rest[to:])


def _take_lines(text: str, others: Sequence[str], random: Random) -> str:
    lines, start, _ = _lines(text, random)
    foreign, first, last = _lines(random.choice(others), random)
    return "\n".join(lines[:start] + foreign[first:last] + lines[start:])


def _cut(text: str, others: Sequence[str], random: Random) -> str:
    return text[: random.randint(0, len(text))]


def _nest(text: str, others: Sequence[str], random: Random) -> str:
    opened, closed = random.choice(("()", "{}", "[]", "<>"))
    depth, at = random.choice((3, 60, 1000, 30000)), random.randint(0, len(text))
    return text[:at] + opened * depth + random.choice(("", "i8", "1")) + closed * depth + text[at:]


def _repeat(text: str, others: Sequence[str], random: Random) -> str:
    start = random.randint(0, len(text))
    return text[:start] + text[start : start + random.randint(1, 40)] * random.choice((2, 50, 2000)) + text[start:]


def _change_character(text: str, others: Sequence[str], random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + chr(random.choice((random.randrange(1, 128), random.randrange(128, 0x3000)))) + text[at + 1 :]


def _flip(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(len(data) or 1)
    return data[:at] + bytes([(data[at] if data else 0) ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _set(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(len(data) or 1)
    return data[:at] + bytes([random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))]) + data[at + 1 :]


def _cut_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    start = random.randint(0, len(data))
    return data[:start] if random.random() < 0.3 else data[:start] + data[start + random.randint(1, 16) :]


def _splice(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    start, size, at = random.randint(0, len(other)), random.choice((1, 4, 32, 400)), random.randint(0, len(data))
    return data[:at] + other[start : start + size] + data[at + random.choice((0, size)) :]


_TEXT_CHANGES = (
    _replace_token, _replace_token, _insert_token, _drop_token, _swap_tokens, _change_number, _drop_lines,
    _double_lines, _move_lines, _take_lines, _cut, _nest, _repeat, _change_character,
)  # fmt: skip
_BYTE_CHANGES = (_flip, _flip, _flip, _set, _set, _cut_bytes, _splice)
