"""Read single-line operations of MLIR text by their grammar: strings, nested brackets, SSA names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tle_raw.errors import RegionError

# Of a string what is no escape is matched in one go: records of regions are a thousand characters.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(_STRING + r"|%[\w$.\-]+(?:#\d+)?|[{}]|\^bb\d+")
_NAME = re.compile(r'^\s*(?:%[^=]*= )?"?(?P<name>[a-z_]+(?:\.[a-z_0-9]+)*)"?(?=[\s(]|$)')
_VALUE, _VALUE_OR_STRING = re.compile(r"%[\w$.\-]+"), re.compile(_STRING + r"|(%[\w$.\-]+)")
# An operation in generic form up to the end of its operands, which no names of blocks or regions follow.
_PLAIN_HEAD = re.compile(r'\s*(?:%[^="]*= )?"[\w.]+"\([^()"]*\)(?= *(?:<\{[^{}%^]*\}> *)?(?:\{[^{}%^]*\} *)?:)')
_STRUCTURE = re.compile(_STRING + r'|->|[()\[\]{}<>,"]')  # an arrow is no bracket
_OPENING, _CLOSING = "([{<", ")]}>"
_NESTING = re.compile(r'["(\[{<]')
OPERATION = "tt.extern_elementwise"
_SPELLED = re.compile(rf' = (?:{re.escape(OPERATION)} |"{re.escape(OPERATION)}"\()')
_PLAIN_ATTRIBUTE = re.compile(rf"([a-z_]+) = ({_STRING}|[a-z]+)")
_PLAIN = re.compile(
    rf"(?P<indent> *)(?P<result>%[\w$.\-]+) = {re.escape(OPERATION)} (?P<operands>%[\w$.\-#]+(?:, %[\w$.\-#]+)*) "
    rf"\{{(?P<attributes>{_PLAIN_ATTRIBUTE.pattern}(?:, {_PLAIN_ATTRIBUTE.pattern})*)\}} : "
    r"\((?P<types>[^()\"{}]*)\) -> (?P<type>[^()\"{} ][^()\"{}]*?)(?P<location> loc\(.*)?"
)


@dataclass(frozen=True)
class TextOperation:
    """``%result = tt.extern_elementwise %a, %b {attributes} : (types) -> type loc(...)``.

    In MLIR's generic form it is ``%result = "tt.extern_elementwise"(%a, %b) <{attributes}> : (types) -> type``.
    """

    indent: str
    result: str
    operands: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    types: tuple[str, ...]
    result_type: str
    location: str

    def attribute(self, name: str) -> str:
        """The text of a string attribute, unescaped."""
        return unescape(self._values[name])

    @cached_property
    def _values(self) -> dict[str, str]:
        return dict(self.attributes)


def read_operation(line: str) -> TextOperation:
    """Parse one ``tt.extern_elementwise`` line.

    Raises
    ------
    RegionError : the line is not of the form that this release knows.
    """
    try:
        return _read(line)
    except (ValueError, KeyError, IndexError) as e:
        raise RegionError(
            "a port operation is printed in a form that this release of tle_raw does not know",
            log=line.strip()[:400],
            hint="report this with the Triton version; `tle-raw doctor` shows the tested range",
        ) from e


def _read(line: str) -> TextOperation:
    return _read_plain(line) or _read_any(line)


def _read_plain(line: str) -> TextOperation | None:
    """Nearly every one: in Triton's form, with strings, words and no brackets but of types."""
    found = _PLAIN.fullmatch(line)
    if found is None:
        return None
    operands = tuple(found["operands"].split(", "))
    types = tuple(t.strip() for t in split_top_level(found["types"]))
    if len(types) != len(operands):
        return None
    attributes = tuple(_PLAIN_ATTRIBUTE.findall(found["attributes"]))
    return TextOperation(
        found["indent"], found["result"], operands, attributes, types, found["type"], found["location"] or ""
    )


def _read_any(line: str) -> TextOperation:
    indent = indent_of(line)
    head, rest = _SPELLED.split(line.strip(), 1)
    brace = rest.index("{")
    operands = tuple(o.strip() for o in rest[:brace].rstrip(" <").rstrip(")").split(",") if o.strip())
    end = matching_bracket(rest, brace)
    attributes = tuple(_attribute(a) for a in split_top_level(rest[brace + 1 : end]))
    rest = rest[end + 1 :].removeprefix(">").strip()
    if not rest.startswith(": ("):
        raise ValueError(rest)
    close = matching_bracket(rest, 2)
    types = tuple(t.strip() for t in split_top_level(rest[3:close]))
    arrow, tail = rest[close + 1 :].split("->", 1)
    if arrow.strip():
        raise ValueError(rest)
    location = tail.find(" loc(")
    result_type = tail if location < 0 else tail[:location]
    if not head.startswith("%") or len(operands) != len(types):
        raise ValueError(line)
    return TextOperation(
        indent,
        head,
        operands,
        attributes,
        types,
        result_type.strip(),
        "" if location < 0 else tail[location:],
    )


def _attribute(text: str) -> tuple[str, str]:
    name, value = text.split("=", 1)
    return name.strip(), value.strip()


def matching_bracket(text: str, start: int) -> int:
    """Index of the bracket that closes the one at ``start``."""
    end = text.find(_CLOSING[_OPENING.index(text[start])], start)
    if end >= 0 and text[end - 1] != "-" and not _NESTING.search(text, start + 1, end):
        return end
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        char = match.group()
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth == 0:
                return match.start()
        elif char == '"':
            raise ValueError(text)  # a string without end
    raise ValueError(text)


def split_top_level(text: str) -> list[str]:
    """Split at commas that stand inside no bracket and no string."""
    if not _NESTING.search(text):
        return [part for part in text.split(",") if part.strip()]
    parts, start, depth = [], 0, 0
    for match in _STRUCTURE.finditer(text):
        char = match.group()
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif char == '"':
            raise ValueError(text)  # a string without end
        elif char == "," and depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return [p for p in parts if p.strip()]


def unescape(quoted: str) -> str:
    r"""MLIR writes ``\\``, ``\n``, ``\t`` and ``\XX`` (two hex digits of one byte)."""
    if len(quoted) < 2 or not (quoted.startswith('"') and quoted.endswith('"')):
        raise ValueError(quoted)
    if "\\\\" not in quoted:  # most hold nothing but quotes
        plain = quoted[1:-1].replace("\\22", '"')
        if "\\" not in plain:
            return plain
    simple = {b"\\": b"\\", b"n": b"\n", b"t": b"\t", b'"': b'"'}
    data = re.sub(
        rb'\\([0-9A-Fa-f]{2}|[\\nt"])',
        lambda m: simple.get(m[1]) or bytes([int(m[1], 16)]),
        quoted[1:-1].encode(),
    )
    return data.decode()


def quoted(text: str) -> str:
    """As MLIR writes a string attribute, of a text without control characters."""
    return '"' + text.replace("\\", "\\\\").replace('"', "\\22") + '"'


def indent_of(line: str) -> str:
    """The blanks in front of a line."""
    return line[: len(line) - len(line.lstrip())]


def location_of(line: str) -> str:
    """The location that ends a line, with the blank in front of it; "" where there is none."""
    start = line.rfind(" loc(")
    return line[start:] if start >= 0 else ""


def operation_name(line: str) -> str:
    """The operation that a line begins with, ``arith.addi``; "" where it begins with none."""
    match = _NAME.match(line)
    return match["name"] if match else ""


def find_lines(text: str, *words: str) -> list[int]:
    """The numbers, from 0, of the lines that hold any of these words, in order.

    A text is searched much faster than its lines one by one, and of an operation few lines are.
    """
    found: set[int] = set()
    for word in words:
        number, counted, at = 0, 0, text.find(word)
        while at >= 0:
            number += text.count("\n", counted, at)
            found.add(number)
            counted = text.find("\n", at)
            at = text.find(word, counted) if counted >= 0 else -1
    return sorted(found)


def value_names(text: str) -> list[str]:
    """The SSA names of a text, in order; of ``%a#1``, which is one of several results, ``%a``."""
    if '"' not in text:
        return _VALUE.findall(text)
    if (head := _PLAIN_HEAD.match(text)) is not None:  # what follows has no values, but long types
        return _VALUE.findall(head[0])
    return [name for name in _VALUE_OR_STRING.findall(text) if name]


def value_uses(lines: list[str], name: str) -> int:
    """How often an SSA name is written; once is its definition.

    Sibling blocks may reuse a name, so that the count may be too high, never too low.
    """
    return sum(value_names(line).count(name) for line in lines if name in line)


def brace_depth(line: str) -> int:
    """How many more regions are open after a line than before it; braces in strings do not count."""
    if "{" not in line and "}" not in line:
        return 0
    bare = _without_strings(line)
    return bare.count("{") - bare.count("}")


def _without_strings(line: str) -> str:
    if '"' not in line:
        return line
    if "\\" in line:  # a quote may stand within a string
        return "".join(token for token in _TOKEN.findall(line) if token[0] != '"')
    return "".join(line.split('"')[::2])


def _holds_whole_braces(line: str) -> bool:
    """Whether all braces of a line are opened and closed in it, as those of attributes are."""
    bare = _without_strings(line)
    return bare.count("{") == bare.count("}") and bare.find("{") <= bare.find("}")


def block_ids(lines: list[str]) -> list[int]:
    """For each line, a number of the block that it ends in; two lines of one block have one number."""
    ids, stack, latest = [], [0], 0
    for line in lines:
        # Most lines neither open nor close a block, and reading tokens is slow.
        opens_or_closes = "^bb" in line or (("{" in line or "}" in line) and not _holds_whole_braces(line))
        for token in _TOKEN.findall(line) if opens_or_closes else ():
            if token == "{":
                latest += 1
                stack.append(latest)
            elif token == "}" and len(stack) > 1:
                stack.pop()
            elif token.startswith("^bb") and line.lstrip().startswith("^"):
                latest += 1
                stack[-1] = latest
        ids.append(stack[-1])
    return ids
