"""Chooses the user's function among those that the source declares."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.tokens import exclusive, tokenize
from tle_raw.errors import Context, SourceLocation, SymbolError


@dataclass(frozen=True)
class Callee:
    """What to call. ``function`` is None when the scan did not see it: a macro may have made it."""

    name: str
    arguments: str = ""  # explicit template arguments that the user wrote, such as "float, 4"
    function: CppFunction | None = None
    made_kernel: bool = False  # the compiler says so: a macro hides the word
    has_namesakes: bool = False  # host functions, which often launch the kernel of their name

    @property
    def is_kernel(self) -> bool:
        """Whether it is a ``__global__`` function."""
        return self.made_kernel or (self.function is not None and self.function.is_kernel)

    @property
    def is_template(self) -> bool:
        return self.function is not None and self.function.template is not None

    def address(self, arguments: str) -> str:
        """C++ text of the kernel's address, with these template arguments."""
        address = f"&::{self.name}<{arguments}>" if arguments else f"&::{self.name}"
        if not self.has_namesakes or self.function is None or self.is_template:
            return address
        return f"static_cast<void (*)({', '.join(self.function.types)})>({address})"


def split_symbol(symbol: str) -> tuple[str, str]:
    """``"ns::f<float, 4>"`` is ``("ns::f", "float, 4")``."""
    name, bracket, rest = symbol.strip().removeprefix("::").partition("<")
    return name.strip(), rest.rsplit(">", 1)[0].strip() if bracket else ""


def default_symbol(stub: str, functions: Sequence[CppFunction], text: str) -> str:
    """The stub's name; when the text never says it, the only device function there is (FlagTree's rule)."""
    if any(token.text == stub for token in tokenize(text)):
        return stub
    names = {function.qualified for function in functions if function.is_device}
    names = names or {function.qualified for function in functions if function.is_kernel}
    return names.pop() if len(names) == 1 else stub


def choose_function(symbol: str, functions: Sequence[CppFunction]) -> Callee:
    """The function that ``symbol`` names.

    Raises
    ------
    SymbolError : it is overloaded.
    """
    name, arguments = split_symbol(symbol)
    all_named = [function for function in functions if function.qualified == name]
    named = [function for function in all_named if function.is_device or function.is_kernel] or all_named
    candidates = _distinct(named)
    overloads = [f for f in candidates if not exclusive(f.branches, candidates[0].branches)]
    if len(overloads) > 1:
        raise SymbolError(
            f"`{name}` is ambiguous: the source has {len(overloads)} functions of that name",
            log="\n".join(f"{function.file}:{function.line}: {function}" for function in overloads),
            hint="give the one to call a name of its own, or call it from a new function",
            context=Context(source=location_of(overloads[0])),
        )
    return Callee(name, arguments, _best(named), has_namesakes=len(named) < len(all_named))


def _distinct(functions: Iterable[CppFunction]) -> list[CppFunction]:
    """One function for each parameter list; a forward declaration and its definition are one."""
    distinct: dict[tuple[object, ...], CppFunction] = {}
    for function in functions:
        key = (function.types, function.template and len(function.template))
        distinct.setdefault(key, function)
    return list(distinct.values())


def _best(functions: Sequence[CppFunction]) -> CppFunction | None:
    return next((function for function in functions if function.is_definition), functions[0] if functions else None)


def missing_function(symbol: str, functions: Sequence[CppFunction], source: SourceLocation) -> SymbolError:
    """The error for a function that the compiler does not know."""
    name, _ = split_symbol(symbol)
    known = list(dict.fromkeys(f.qualified for f in functions if f.is_device or f.is_kernel))
    same_name = [qualified for qualified in known if qualified.rpartition("::")[2] == name.rpartition("::")[2]]
    near = same_name or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"the functions here are {', '.join(known[:5])}" if known else "it has no __device__ or __global__ function"
    if near:
        hint = f"did you mean {' or '.join(near)}? Write symbol={near[0]!r}"
    return SymbolError(f"the source has no function `{name}`", hint=hint, context=Context(source=source))


def location_of(function: CppFunction) -> SourceLocation:
    """The line of a function's name."""
    return SourceLocation(function.file, function.line, function.column)
