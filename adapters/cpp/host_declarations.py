"""Blanks what one function of CUDA text does not need: host functions, registrations, instantiations, other kernels.

Every token of the rest keeps its line and its column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import NOT_A_NAME, CppFunction, Scanner
from tle_raw.adapters.cpp.macros import DEVICE_WORDS, SAID, device_macros, is_scopes
from tle_raw.adapters.cpp.parameters import TemplateParameter
from tle_raw.adapters.cpp.tokens import Token, line_starts, tokenize

# A name that could be a macro: where nobody defines it here, it may say __device__.
_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*|_[A-Z][A-Z0-9_]*")
_PRAGMA = re.compile(r"[^\S\n]*#[^\S\n]*pragma\b(?:\\\n|[^\n])*")  # with the lines that continue it
_RECORDS = frozenset(("struct", "class", "union", "enum"))
_ACCESS = frozenset(("public", "protected", "private"))
_ANGLES = {"<": 1, ">": -1, ">>": -2}
# A function that says one of these is not known by its declaration alone.
_NEEDS_BODY = frozenset(("constexpr", "consteval", "auto", "decltype"))


@dataclass(frozen=True)
class HostNames:
    """What a declaration of the host's declares: a function's name, or words that a macro's call makes names of."""

    name: str = ""
    words: frozenset[str] = frozenset()

    def declare(self, name: str) -> bool:
        """Whether this may be the declaration of a name."""
        return name == self.name or self._is_pasted(name)

    def _is_pasted(self, name: str) -> bool:
        begins = (word for word in self.words if name.startswith(word))
        return any(word == name or self._is_pasted(name[len(word) :]) for word in begins)


def names_of_hosts(text: str, macros: Mapping[str, frozenset[str]]) -> tuple[HostNames, ...]:
    """What ``without_host_declarations`` leaves out of a text."""
    return tuple(names for _, names in _scanned(tokenize(text), macros).host)


def without_host_declarations(
    text: str,
    macros: Mapping[str, frozenset[str]],
    wanted: str = "",
    with_members: bool = True,
    kept: Collection[str] = (),
) -> str:
    """The text with spaces in the place of the host's declarations, and of kernels that nobody names.

    Parameters
    ----------
    macros : the words of each macro that the text and its headers define.
    wanted : the name of the function that is compiled; without it all kernels stay.
    with_members : whether the bodies of the host's member functions stay.
    kept : names of the host's that stay declared: what stays of the text says them.
    """
    tokens = tokenize(text)
    scanner = _scanned(tokens, macros)
    cut, bodies = list[list[Token]](), [] if with_members else list(scanner.bodies)
    for extent, names in scanner.host:
        if not any(map(names.declare, kept)):
            cut.append(extent)
        elif names.name and (body := _body_alone(extent)):
            bodies.append(body)
    cut += _imports_of_hosts(scanner, kept)
    cut += _unnamed(tokens, scanner, wanted, macros) if wanted else ()
    return _blanked(text, [*cut, *bodies], bodies) if cut or bodies else text


def _scanned(tokens: list[Token], macros: Mapping[str, frozenset[str]]) -> _HostScanner:
    scanner = _HostScanner(tokens, macros)
    for _ in scanner.scan():
        pass
    return scanner


def _body_alone(tokens: list[Token]) -> list[Token]:
    """The braces of a function that its declaration without them tells as much of; else nothing."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "{" and depth == 0:
            said = {token.text for token in tokens[:index]}
            return [] if said & _NEEDS_BODY else tokens[index:]
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
    return []


def _imports_of_hosts(scanner: _HostScanner, kept: Collection[str]) -> list[list[Token]]:
    """``using utils::plan;`` of a host function of this text: its name is gone with it."""

    def is_among(path: str, names: set[str]) -> bool:
        return any(f"::{name}".endswith(f"::{path}") for name in names)

    return [
        extent
        for path, extent in scanner.imports
        if path.rpartition("::")[2] not in kept
        and is_among(path, scanner.of_host)
        and not is_among(path, scanner.of_device)
    ]


def _unnamed(
    tokens: list[Token], scanner: _HostScanner, wanted: str, macros: Mapping[str, frozenset[str]]
) -> list[list[Token]]:
    """Kernels that are compiled without being asked for, and that nothing else in the text names."""
    left_out = {id(token) for extent, _ in scanner.host for token in extent}
    counts = Counter(token.text for token in tokens if token.is_word and id(token) not in left_out)
    in_macros = frozenset[str]().union(*macros.values())
    return [
        extent for name, extent in scanner.kernels if name != wanted and name not in in_macros and counts[name] == 1
    ]


def _blanked(text: str, extents: list[list[Token]], declared: list[list[Token]]) -> str:
    """``declared`` are bodies that become semicolons."""
    starts = line_starts(text)
    characters = list(text)
    for tokens in extents:
        for token in tokens:
            first = starts[token.line - 1] + token.column - 1
            for place in range(first, first + len(token.text)):
                characters[place] = "\n" if characters[place] == "\n" else " "
        for number in range(tokens[0].line, tokens[-1].line):
            pragma = _PRAGMA.match(text, starts[number])
            if pragma:
                characters[pragma.start() : pragma.end()] = re.sub(r"[^\n]", " ", pragma[0])
    for tokens in declared:
        characters[starts[tokens[0].line - 1] + tokens[0].column - 1] = ";"
    return "".join(characters)


class _HostScanner(Scanner):
    """``host`` are the tokens of each declaration that device code cannot need.

    ``of_host`` and ``of_device`` are the functions' names with their namespaces, ``imports`` what ``using`` names.
    """

    def __init__(self, tokens: list[Token], macros: Mapping[str, frozenset[str]]) -> None:
        super().__init__(tokens, "")
        self.macros = macros
        self.device = device_macros(macros)
        self.host: list[tuple[list[Token], HostNames]] = []
        self.kernels: list[tuple[str, list[Token]]] = []
        self.bodies: list[list[Token]] = []
        self.imports: list[tuple[str, list[Token]]] = []
        self.of_host: set[str] = set()
        self.of_device: set[str] = set()
        self._head: list[Token] | None = None  # what stands before a function's parameters
        self._template: tuple[TemplateParameter, ...] = ()
        self._name = ""  # of that function, unless it is declared elsewhere, as a class's member is

    def _declaration(self, scope: str) -> CppFunction | None:
        while self._call_of_macro() or self._scope_of_macro():
            pass
        start, self._head, self._name = self.at, None, ""
        if self.at >= len(self.tokens) or self._text() in ("}", ";", "namespace"):
            return None
        words = self._text(), self._text(1), self._text(2)
        is_instantiation = (words[words[0] == "extern"] == "template") and words[1 + (words[0] == "extern")] != "<"
        found = super()._declaration(scope)
        tokens = self.tokens[start : self.at]
        is_hosts = bool(tokens) and self._is_hosts(tokens, is_instantiation)
        if found:
            (self.of_host if is_hosts else self.of_device).add(found.qualified)
        if is_hosts:
            self.host.append((tokens, HostNames(self._name)))
        elif tokens and tokens[0].text == "using":
            self.imports.append(("".join(token.text for token in tokens[1:-1]), tokens))
        elif found and found.is_kernel and found.is_definition and found.template is None:
            self.kernels.append((found.name, tokens))
        elif self._head is None:
            self._members(start, self.at)
        return found

    def _function(
        self, scope: str, template: tuple[TemplateParameter, ...] | None, specifiers: list[Token], start: Token
    ) -> CppFunction | None:
        self._head, self._template = specifiers[:-1], template or ()
        self._name = specifiers[-1].text if not self._head or self._head[-1].text != "::" else ""
        return super()._function(scope, template, specifiers, start)

    def _is_hosts(self, tokens: list[Token], is_instantiation: bool) -> bool:
        if is_instantiation:  # what is wanted is instantiated where it is used
            return tokens[1 + (tokens[0].text == "extern")].text not in _RECORDS
        if self._head and self._head[-1].text in _RECORDS:  # `class EXPORTED("default") name {`
            return False
        if self._head is None or self._says_device(tokens[: _body(tokens)]):
            return False
        known = {parameter.name for parameter in self._template}
        return not any(
            _MACRO.fullmatch(token.text) and token.text not in known and token.text not in self.macros
            for token in self._head
        )

    def _members(self, start: int, end: int) -> None:
        """Gather the bodies of the host's functions in the classes among these tokens."""
        after, self.at, head, colon = self.at, start, list[Token](), -1
        while self.at < end:
            text = self._text()
            if text == "(":
                opening, inside = self.tokens[self.at], self._jump()
                if not (head and head[-1].text in NOT_A_NAME) or [t.text for t in inside] == ["auto"]:
                    closing = self.tokens[self.at - 1]
                    head += [
                        opening,
                        *(token for token in inside if token.text != "="),
                        closing,
                    ]  # of default arguments
                continue
            if text == ":" and head and head[-1].text in _ACCESS:  # behind a macro's call, too
                head, colon = [], -1
                self.at += 1
                continue
            if text == ":" and colon < 0 and any(t.text == "(" for t in head) and all(t.text != "?" for t in head):
                colon = self.at
            if text == "{":
                first = self.at
                self._jump()
                if colon >= 0 and self.tokens[first - 1].is_word:
                    continue  # a member's initialiser
                if _is_record(head):
                    self._members(first + 1, self.at - 1)
                elif not any(t.text == "(" for t in head):
                    pass
                elif not any(t.text in ("=", "auto", "operator") or self._may_be_devices(t) for t in head):
                    self.bodies.append(self.tokens[first if colon < 0 else colon : self.at])
                head, colon = [], -1
                continue
            head = [] if text in (";", "}") or (text == ":" and len(head) == 1) else [*head, self.tokens[self.at]]
            colon = -1 if not head else colon
            self.at += 1
        self.at = after

    def _may_be_devices(self, token: Token) -> bool:
        is_unknown = _MACRO.fullmatch(token.text) and token.text not in self.macros
        return bool(is_unknown) or self._is_devices(token)

    def _says_device(self, tokens: list[Token]) -> bool:
        return any(map(self._is_devices, tokens)) or bool(SAID.search(" ".join(token.text for token in tokens)))

    def _is_devices(self, token: Token) -> bool:
        return token.text in DEVICE_WORDS or token.text in self.device

    def _scope_of_macro(self) -> bool:
        """Go past ``BEGIN_NAMESPACE``, which stays whatever goes behind it; True when it was one."""
        if self._text(1) == "(" or not is_scopes(self.macros.get(self._text(), frozenset())):
            return False
        self.at += 1
        return True

    def _call_of_macro(self) -> bool:
        """Go past ``TORCH_LIBRARY(name, m) { … }`` or ``INSTANTIATE(float)``; True when it was one."""
        name = self._text()
        if self._text(1) != "(" or not self.tokens[self.at].is_word or name in DEVICE_WORDS | self.device:
            return False
        if not (name in self.macros or (_MACRO.fullmatch(name) and not name.startswith("_"))):
            return False
        words = self.macros.get(name)
        start = self.at
        self.at += 1
        self._jump()
        if self._text() == "{":
            self._jump()
        elif self._text() == ";":
            self.at += 1
        elif self._text() not in ("namespace", "}") and (words is None or not words & {"template", "void", "return"}):
            # it may belong to what follows
            self.at = start
            return False
        if words is None or not words & (_RECORDS | {"namespace", "using", "typedef"}):
            call = self.tokens[start : self.at]
            said = frozenset(token.text for token in call[1:] if token.is_word)
            self.host.append((call, HostNames(words=said | (words or frozenset()))))
        return True


def _is_record(head: list[Token]) -> bool:
    """Whether a class begins so; its arguments and bases may have parentheses, ``struct S<R(A)> : decide<b(x)> {``."""
    texts = [token.text for token in head]
    if "(" not in texts or "typedef" in texts:  # which no function's body stands behind
        return any(text in _RECORDS for text in texts)
    begin, depth = _behind_call(texts, _after_template(texts)), 0
    record = next((i for i in range(begin, len(texts)) if texts[i] in _RECORDS), len(texts))
    if record == len(texts) or "(" in texts[begin:record]:
        return False
    for index in range(record, len(texts)):
        depth += _ANGLES.get(texts[index], 0)
        is_attribute = texts[index] == "(" and index == record + 2  # `struct ALIGNED(16) name {`
        if depth == 0 and texts[index] in ("(", ":") and not is_attribute:
            return texts[index] == ":"
    return True


def _behind_call(texts: list[str], begin: int) -> int:
    """Where a class begins behind a macro's call that no semicolon ends, ``FOREACH(DEFINE) class name {``."""
    depth = 0
    for index in range(begin + 1, len(texts) - 1):
        depth += (texts[index] == "(") - (texts[index] == ")")
        if depth == 0:
            return index + 1 if texts[index] == ")" and texts[index + 1] in _RECORDS else begin
    return begin


def _after_template(texts: list[str]) -> int:
    """Where a declaration begins behind ``template <…>``."""
    depth = 0
    for index, text in enumerate(texts if texts[0] == "template" else ()):
        depth += _ANGLES.get(text, 0)
        if text in (">", ">>") and depth <= 0:
            return index + 1
    return 0


def _body(tokens: list[Token]) -> int:
    """The index of the first brace: what is said of a function stands before it."""
    return next((index for index, token in enumerate(tokens) if token.text == "{"), len(tokens))
