"""Blanks what one function of CUDA text does not need: host functions, registrations, instantiations, other kernels.

Every token of the rest keeps its line and its column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tle_raw.adapters.cpp.declarations import NOT_A_NAME, CppFunction, Scanner
from tle_raw.adapters.cpp.macros import DEVICE_WORDS, device_macros
from tle_raw.adapters.cpp.parameters import TemplateParameter
from tle_raw.adapters.cpp.tokens import Token, tokenize

# A name that could be a macro: where nobody defines it here, it may say __device__.
_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*|_[A-Z][A-Z0-9_]*")
_PRAGMA = re.compile(r"[^\S\n]*#[^\S\n]*pragma\b[^\n]*")
_RECORDS = frozenset(("struct", "class", "union", "enum"))


def without_host_declarations(
    text: str, macros: Mapping[str, frozenset[str]], wanted: str = "", with_members: bool = True
) -> str:
    """The text with spaces in the place of the host's declarations, and of kernels that nobody names.

    Parameters
    ----------
    macros : the words of each macro that the text and its headers define.
    wanted : the name of the function that is compiled; without it all kernels stay.
    with_members : whether the bodies of the host's member functions stay.
    """
    tokens = tokenize(text)
    scanner = _HostScanner(tokens, macros)
    for _ in scanner.scan():
        pass
    cut = [*scanner.host, *_imports_of_hosts(scanner), *(_unnamed(tokens, scanner, wanted, macros) if wanted else ())]
    bodies = [] if with_members else scanner.bodies
    return _blanked(text, [*cut, *bodies], bodies) if cut or bodies else text


def host_functions(text: str, macros: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The functions that are left out of a text, by their names with their namespaces, and not declared otherwise."""
    scanner = _HostScanner(tokenize(text), macros)
    for _ in scanner.scan():
        pass
    return frozenset(scanner.of_host - scanner.of_device)


def _imports_of_hosts(scanner: _HostScanner) -> list[list[Token]]:
    """``using utils::plan;`` of a host function of this text: its name is gone with it."""

    def is_among(path: str, names: set[str]) -> bool:
        return any(f"::{name}".endswith(f"::{path}") for name in names)

    return [
        extent
        for path, extent in scanner.imports
        if is_among(path, scanner.of_host) and not is_among(path, scanner.of_device)
    ]


def _unnamed(
    tokens: list[Token], scanner: _HostScanner, wanted: str, macros: Mapping[str, frozenset[str]]
) -> list[list[Token]]:
    """Kernels that are compiled without being asked for, and that nothing else in the text names."""
    left_out = {id(token) for extent in scanner.host for token in extent}
    counts = Counter(token.text for token in tokens if token.is_word and id(token) not in left_out)
    in_macros = frozenset[str]().union(*macros.values())
    return [
        extent for name, extent in scanner.kernels if name != wanted and name not in in_macros and counts[name] == 1
    ]


def _blanked(text: str, extents: list[list[Token]], declared: list[list[Token]]) -> str:
    """``declared`` are bodies that become semicolons."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    characters = list(text)
    for tokens in extents:
        for token in tokens:
            first = starts[token.line - 1] + token.column - 1
            for place in range(first, first + len(token.text)):
                characters[place] = "\n" if characters[place] == "\n" else " "
        for number in range(tokens[0].line, tokens[-1].line):
            pragma = _PRAGMA.match(text, starts[number], starts[number + 1] - 1)
            if pragma:
                characters[pragma.start() : pragma.end()] = " " * (pragma.end() - pragma.start())
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
        self.host: list[list[Token]] = []
        self.kernels: list[tuple[str, list[Token]]] = []
        self.bodies: list[list[Token]] = []
        self.imports: list[tuple[str, list[Token]]] = []
        self.of_host: set[str] = set()
        self.of_device: set[str] = set()
        self._head: list[Token] | None = None  # what stands before a function's parameters
        self._template: tuple[TemplateParameter, ...] = ()

    def _declaration(self, scope: str) -> CppFunction | None:
        while self._call_of_macro():
            pass
        start, self._head = self.at, None
        if self.at >= len(self.tokens) or self._text() in ("}", ";", "namespace"):
            return None
        is_instantiation = self._text() == "template" and self._text(1) != "<"
        found = super()._declaration(scope)
        tokens = self.tokens[start : self.at]
        is_hosts = bool(tokens) and self._is_hosts(tokens, is_instantiation)
        if found:
            (self.of_host if is_hosts else self.of_device).add(found.qualified)
        if is_hosts:
            self.host.append(tokens)
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
        return super()._function(scope, template, specifiers, start)

    def _is_hosts(self, tokens: list[Token], is_instantiation: bool) -> bool:
        if is_instantiation:  # what is wanted is instantiated where it is used
            return tokens[1].text not in _RECORDS
        if self._head is None or any(map(self._is_devices, tokens[: _body(tokens)])):
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
                if not (head and head[-1].text in NOT_A_NAME):
                    head += [opening, *inside]
                continue
            if text == ":" and colon < 0 and any(t.text == "(" for t in head) and all(t.text != "?" for t in head):
                colon = self.at
            if text == "{":
                first = self.at
                self._jump()
                if colon >= 0 and self.tokens[first - 1].is_word:
                    continue  # a member's initialiser
                if not any(t.text == "(" for t in head):
                    if any(t.text in _RECORDS for t in head):
                        self._members(first + 1, self.at - 1)
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

    def _is_devices(self, token: Token) -> bool:
        return token.text in DEVICE_WORDS or token.text in self.device

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
        elif words is None or not words & {"template", "void"}:  # it may belong to what follows
            self.at = start
            return False
        if words is None or not words & (_RECORDS | {"namespace", "using", "typedef"}):
            self.host.append(self.tokens[start : self.at])
        return True


def _body(tokens: list[Token]) -> int:
    """The index of the first brace: what is said of a function stands before it."""
    return next((index for index, token in enumerate(tokens) if token.text == "{"), len(tokens))
