"""Finds the functions that C++ text declares: enough to choose one and to name its parameters."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tle_raw.adapters.cpp.parameters import (
    Parameter,
    TemplateParameter,
    parameter,
    split,
    template_parameter,
)
from tle_raw.adapters.cpp.tokens import Branch, Token, tokenize

_PAIRS = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
# Words before a parenthesis that do not make it a parameter list.
_NOT_A_NAME_TEXT = """
__attribute__ __declspec alignas __align__ __launch_bounds__ __cluster_dims__ __block_size__ __maxnreg__
decltype typeof __typeof__ noexcept throw requires explicit asm __asm__ sizeof static_assert
_Static_assert operator if while for switch return
"""
NOT_A_NAME = frozenset(_NOT_A_NAME_TEXT.split())
_SKIPPED = frozenset([
    "using", "typedef", "static_assert", "_Static_assert", "friend", "asm", "__asm__", "concept",
])  # fmt: skip
_LOCAL = frozenset(["static", "inline", "__inline__", "__forceinline__", "constexpr", "consteval"])
_ATTRIBUTES = frozenset(["device", "global"])
_RECORDS = frozenset(["struct", "class", "union", "enum"])


# (line, column) of a definition's first token, and of its closing brace.
Extent = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class CppFunction:
    """One declaration or definition of a free function. ``scope`` is its namespace, "" for the global one."""

    name: str
    scope: str
    parameters: tuple[Parameter, ...]
    template: tuple[TemplateParameter, ...] | None
    specifiers: frozenset[str]
    is_definition: bool
    line: int
    column: int
    branches: tuple[Branch, ...] = ()
    file: str = ""
    extent: Extent | None = None  # of a definition

    @property
    def qualified(self) -> str:
        """The name with its namespace: ``a::b::f``."""
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def is_device(self) -> bool:
        """Whether it is ``__device__``."""
        return "__device__" in self.specifiers

    @property
    def is_kernel(self) -> bool:
        """Whether it is ``__global__``."""
        return "__global__" in self.specifiers

    @property
    def is_local(self) -> bool:
        """Whether another unit cannot name it, or a compiler may leave it out where it is not called."""
        return not _LOCAL.isdisjoint(self.specifiers) or self.template is not None

    @property
    def types(self) -> tuple[str, ...]:
        """The parameters' types as written."""
        return tuple(p.type for p in self.parameters)

    def __str__(self) -> str:
        return f"{self.qualified}({', '.join(self.types)})"


@functools.lru_cache(maxsize=128)
def functions(text: str, file: str = "") -> tuple[CppFunction, ...]:
    """Free functions of C++ text, in order. Members, specialisations and operators are left out."""
    return tuple(Scanner(tokenize(text), file).scan())


class Scanner:
    """Walks namespace scopes; function bodies, classes and initialisers are jumped over."""

    def __init__(self, tokens: list[Token], file: str) -> None:
        self.tokens = tokens
        self.file = file
        self.at = 0
        self._half_closed: dict[int, list[tuple[int, str]]] = {}  # by the #if: which branch ended which namespace

    def scan(self) -> Iterator[CppFunction]:
        while self.at < len(self.tokens):
            yield from self._scope("", frozenset())

    def _scope(self, scope: str, around: Collection[Branch]) -> Iterator[CppFunction]:
        """Go through a namespace to its end; ``around`` are the #if branches in which it began."""
        while self.at < len(self.tokens):
            text = self._text()
            reopened = self._reopened()
            if reopened is not None:  # another branch of an #if ended it, this one goes on with it
                yield from self._scope(reopened, around)
                continue
            if text == "}":
                for group, branch in self.tokens[self.at].branches:
                    if (group, branch) not in around:
                        self._half_closed.setdefault(group, []).append((branch, scope))
                self.at += 1
                return
            if text == ";":
                self.at += 1
            elif text in ("inline", "namespace") and self._namespace_follows():
                yield from self._namespace(scope)
            elif text == "extern" and self._text(1).startswith('"') and self._text(2) == "{":
                around = self.tokens[self.at].branches
                self.at += 3
                yield from self._scope(scope, around)
            else:
                found = self._declaration(scope)
                if found:
                    yield found

    def _reopened(self) -> str | None:
        for group, branch in self.tokens[self.at].branches:
            ended = self._half_closed.get(group)
            if ended and ended[-1][0] != branch:
                return ended.pop()[1]
        return None

    def _text(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].text if index < len(self.tokens) else ""

    def _namespace_follows(self) -> bool:
        return self._text() == "namespace" or self._text(1) == "namespace"

    def _namespace(self, scope: str) -> Iterator[CppFunction]:
        names = []
        while self._text() not in ("{", ";", "=", ""):
            if self._text() == "[[" or self._text() == "(":
                self._jump()
                continue
            if self.tokens[self.at].is_word and self._text() not in ("inline", "namespace", "__attribute__"):
                names.append(self._text())
            self.at += 1
        if self._text() != "{":  # an alias
            self._skip_statement()
            return
        around = self.tokens[self.at].branches
        self.at += 1
        found = self._scope("::".join([*([scope] if scope else []), *names]), around)
        # what stands in a namespace without a name is this unit's own
        yield from found if names else (replace(f, specifiers=f.specifiers | {"static"}) for f in found)

    def _declaration(self, scope: str) -> CppFunction | None:
        """Read one declaration to its end; returns the function that it declares, if it does."""
        start = self.at
        heads = self._template_heads()
        if heads is None or self._text() in _SKIPPED:
            self._skip_statement()
            return None
        specifiers: list[Token] = []
        while self.at < len(self.tokens):
            text = self._text()
            if text == "(" and _names_function(specifiers):
                template = sum(heads, ()) if heads else None
                found = self._function(scope, template, specifiers, self.tokens[start])
                return found if all(heads) else None  # `template <>` specialises another
            if text in ("(", "[[", "[") or (text == "<" and specifiers and specifiers[-1].is_word):
                specifiers = self._past_group(specifiers)
                if not specifiers and self._text() == "template":  # the next declaration's
                    return None
                start = start if specifiers else self.at
            elif text == "{":
                is_record = any(token.text in _RECORDS for token in specifiers)
                self._jump()
                if not is_record and self._text() != ";":
                    return None
            elif text in (";", "="):
                self._skip_statement()
                return None
            elif text == "}":
                return None
            else:
                specifiers.append(self.tokens[self.at])
                self.at += 1
                if text == "operator":
                    self._skip_operator_name()
        return None

    def _template_heads(self) -> list[tuple[TemplateParameter, ...]] | None:
        """The parameters of each ``template <...>`` before a declaration; None: an explicit instantiation."""
        heads = []
        while self._text() == "template":
            self.at += 1
            if self._text() != "<":
                return None
            heads.append(tuple(template_parameter(part) for part in split(self._angle_group())))
        return heads

    def _past_group(self, specifiers: list[Token]) -> list[Token]:
        """Go past parentheses, brackets or template arguments; the specifiers that there are behind it."""
        if self._text() == "<":
            self._angle_group()
            return specifiers
        stands_alone = len(specifiers) == 1 and specifiers[0].is_word and specifiers[0].text != "decltype"
        before = [] if self._text() == "(" and stands_alone else specifiers  # a macro call
        return [*_told(self._jump()), *before]

    def _skip_operator_name(self) -> None:
        """Go to the parameters of ``operator=``, ``operator<``, ``operator()`` or ``operator float``."""
        if self._text() in _PAIRS:
            self._jump()
        while self._text() not in ("(", "{", "}", ";", ""):
            self.at += 1

    def _function(
        self, scope: str, template: tuple[TemplateParameter, ...] | None, specifiers: list[Token], start: Token
    ) -> CppFunction | None:
        *before, name = specifiers
        is_constructor = len(before) >= 2 and before[-1].text == "::" and before[-2].text == name.text
        while len(before) >= 2 and before[-1].text == "::" and before[-2].is_word:
            scope = "::".join([*([scope] if scope else []), before[-2].text])
            before = before[:-2]
        inside = self._jump()
        end = self._skip_to_end()
        extent = ((start.line, start.column), (end.line, end.column)) if end else None
        parameters = [parameter(part) for part in split(inside)]
        if [p.type for p in parameters] == ["void"]:
            parameters = []
        words = frozenset(token.text for token in before)
        if "friend" in words or "typedef" in words or is_constructor:
            return None
        return CppFunction(
            name.text, scope, tuple(parameters), template, words, end is not None, name.line, name.column,
            name.branches, self.file, extent,
        )  # fmt: skip

    def _skip_to_end(self) -> Token | None:
        """Go past a function's end; the closing brace of its body, when it has one."""
        while self.at < len(self.tokens):
            text = self._text()
            if text == "{":
                self._jump()
                return self.tokens[self.at - 1]
            if text in (";", "="):
                self._skip_statement()
                return None
            if text == "}":
                return None
            if text in _PAIRS:
                self._jump()
            else:
                self.at += 1
        return None

    def _skip_statement(self) -> None:
        while self.at < len(self.tokens):
            text = self._text()
            if text == "}":
                return
            if text in _PAIRS:
                self._jump()
                continue
            self.at += 1
            if text == ";":
                return

    def _jump(self) -> list[Token]:
        """Go past a bracketed group; returns what is inside."""
        start, closers = self.at + 1, [_PAIRS[self._text()]]
        branches = self.tokens[self.at].branches
        entered: dict[int, list[str]] = {}  # by the #if: what was open before its first branch
        self.at += 1
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.branches != branches:
                closers = _at_branch(branches, token.branches, closers, entered)
                branches = token.branches
            if not closers:
                break
            text = token.text
            if text == closers[-1]:
                closers.pop()
            elif text == "]]" and closers[-1] == "]":  # a[b[0]] is not an attribute
                closers.pop()
                if closers and closers[-1] == "]":
                    closers.pop()
            elif text in _PAIRS:
                closers.append(_PAIRS[text])
            self.at += 1
        return self.tokens[start : self.at - 1]

    def _angle_group(self) -> list[Token]:
        start, depth = self.at + 1, 1
        self.at += 1
        while depth and self.at < len(self.tokens):
            text = self._text()
            if text in _PAIRS:
                self._jump()
                continue
            if text in (";", "}"):  # it was a comparison after all
                return []
            depth += (text == "<") - (text == ">")
            self.at += 1
        return self.tokens[start : self.at - 1]


def _at_branch(
    before: tuple[Branch, ...], after: tuple[Branch, ...], closers: list[str], entered: dict[int, list[str]]
) -> list[str]:
    """What is open where a text comes into another #if branch: each of them begins with what was open before all."""
    known = dict(before)
    for group, branch in after:
        if group not in known:
            entered.setdefault(group, [*closers])
        elif known[group] != branch and group in entered:
            return [*entered[group]]
    return closers


def _told(attributes: list[Token]) -> list[Token]:
    """``__attribute__((device))`` and ``((global))`` are what these words of CUDA stand for."""
    if not attributes or attributes[0].text != "(":
        return []
    words = [token for token in attributes if token.text in _ATTRIBUTES]
    return [token._replace(text=f"__{token.text}__") for token in words]


def _names_function(before: list[Token]) -> bool:
    """True when a parenthesis after these tokens opens a parameter list: a type, then a name."""
    if len(before) < 2 or not before[-1].is_word or before[-1].text in NOT_A_NAME:
        return False
    return not any(token.text == "operator" for token in before)
