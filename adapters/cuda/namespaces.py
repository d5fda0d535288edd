"""A symbol without its namespace, as the file itself may say it: completed, or refused with the whole name.

Clang would say that there is no such function, after seconds; the text of the source tells at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.declarations import functions as functions_in
from tle_raw.adapters.cpp.tokens import tokenize
from tle_raw.adapters.cuda.symbol import functions_named, location_of, split_symbol
from tle_raw.errors import Context, SymbolError

# What lets code leave namespaces out.
_LEFT_OUT = re.compile(r"\busing\s+(?:namespace\b|[\w:]+\s*;)|\binline\s+namespace\b|\bnamespace\s+\w+\s*=")

_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*([\w:]+)\s*;")


def with_namespace(symbol: str, functions: Sequence[CppFunction], texts: Iterable[str]) -> str:
    """The symbol by the name that C++ finds from everywhere, where the texts let its namespace be left out.

    Raises
    ------
    SymbolError : the function stands in a namespace that the symbol does not name; the hint names it.
    """
    name, _ = split_symbol(symbol)
    if functions_named(name, functions):
        return symbol
    texts = list(texts)
    *scopes, own = _without_aliases(name, texts).split("::")
    same_name = [f for f in functions if f.name == own and (f.is_kernel or f.is_device)]
    if not same_name:
        return symbol
    inner = [function for function in same_name if _is_within(function, scopes)]
    whole = list(dict.fromkeys(f.qualified for f in inner or same_name))
    if any(_may_be_made(text, own) for text in texts):
        return symbol
    if inner and len(whole) == 1 and any(map(_LEFT_OUT.search, texts)):
        return renamed(symbol, whole[0])
    raise SymbolError(
        f"the source has no function `{name}`: it stands in {'another' if scopes else 'a'} namespace",
        hint=f"did you mean {' or '.join(whole)}? Write symbol={renamed(symbol, whole[0])!r}",
        context=Context(source=location_of((inner or same_name)[0])),
    )


def renamed(symbol: str, name: str) -> str:
    """The symbol of another function with the same arguments and types."""
    old = split_symbol(symbol)[0]
    place = symbol.index(old)
    return name + symbol[place + len(old) :]


def _without_aliases(name: str, texts: Sequence[str]) -> str:
    """A name in the namespaces' own names, where the texts give them others."""
    for text in texts:
        for alias, own in _ALIAS.findall(text):
            if name.startswith(f"{alias}::"):
                return f"{own.removeprefix('::')}{name[len(alias) :]}"
    return name


def _is_within(function: CppFunction, scopes: Sequence[str]) -> bool:
    """Whether the named namespaces are among the function's, in their order."""
    left = iter(function.scope.split("::"))
    return all(scope in left for scope in scopes)


def _may_be_made(text: str, name: str) -> bool:
    """Whether a macro may make a function of that name: ``KERNEL(name)`` outside of functions."""
    if name not in text:
        return False
    tokens, bodies = tokenize(text), [f.extent for f in functions_in(text) if f.extent]
    return any(
        tokens[place - 1].text in ("(", ",")
        and tokens[place + 1].text in (")", ",")
        and not any(first <= (token.line, token.column) <= last for first, last in bodies)
        for place, token in enumerate(tokens[1:-1], 1)
        if token.text == name
    )
