"""Chooses the user's function among those that the source declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.adapters.cpp.parameters import split
from tle_raw.adapters.cpp.spelling import join_tokens
from tle_raw.adapters.cpp.tokens import exclusive, tokenize
from tle_raw.adapters.cuda.instances import instances
from tle_raw.errors import Context, SourceLocation, SymbolError
from tle_raw.near_names import near_names


@dataclass(frozen=True)
class Callee:
    """What to call. ``function`` is None when the scan did not see it: a macro may have made it."""

    name: str
    arguments: str = ""  # explicit template arguments that the user wrote, such as "float, 4"
    function: CppFunction | None = None
    made_kernel: bool = False  # the compiler says so: a macro hides the word
    has_namesakes: bool = False  # host functions, which often launch the kernel of their name
    types: tuple[str, ...] | None = None  # the parameters' types by which one overload was chosen

    @property
    def is_kernel(self) -> bool:
        """Whether it is a ``__global__`` function."""
        return self.made_kernel or (self.function is not None and self.function.is_kernel)

    @property
    def is_template(self) -> bool:
        return self.function is not None and self.function.template is not None

    @property
    def scopes(self) -> tuple[str, ...]:
        """The namespaces in which the types are looked up that chose a kernel."""
        written = self.function.qualified if self.function and self.is_kernel and self.types is not None else ""
        return tuple(written.split("::")[:-1])

    def overload_lines(self) -> tuple[str, ...]:
        """What stands at the unit's end before an address that says types."""
        if self.types is None:
            return ()
        if not self.scopes:
            return (OVERLOAD,)
        types = ", ".join(_filled(type_, self.function, self.arguments) for type_ in self.types)
        opened = " ".join(f"namespace {scope} {{" for scope in self.scopes)
        return OVERLOAD, f"{opened} using {_CHOSEN} = void (*)({types}); {'}' * len(self.scopes)}"

    def address(self, arguments: str) -> str:
        """C++ text of the kernel's address, with these template arguments."""
        address = f"&::{self.name}<{arguments}>" if arguments else f"&::{self.name}"
        if self.types is not None:
            types = ", ".join(_filled(type_, self.function, arguments) for type_ in self.types)
            # a set with templates tells no types: there they must be written whole, and a kernel returns nothing
            if self.scopes and arguments == self.arguments:
                return f"static_cast<::{'::'.join(self.scopes)}::{_CHOSEN}>({address})"
            return (
                f"static_cast<void (*)({types})>({address})"
                if self.is_kernel
                else f"tle_raw_overload<{types}>::tle_raw_of({address})"
            )
        if not self.has_namesakes or self.function is None or self.is_template:
            return address
        return f"static_cast<void (*)({', '.join(self.function.types)})>({address})"


_CHOSEN = "tle_raw_chosen"
# Chooses among overloads by the parameters' types, whatever is returned.
OVERLOAD = (
    "template <class... tle_raw_T> struct tle_raw_overload { template <class tle_raw_R> __attribute__((host, device)) "
    "static constexpr auto tle_raw_of(tle_raw_R (*tle_raw_f)(tle_raw_T...)) { return tle_raw_f; } };"
)


def split_symbol(symbol: str) -> tuple[str, str]:
    """``"ns::f<float, 4>"`` and ``"ns::f<float, 4>(float*, int)"`` are ``("ns::f", "float, 4")``."""
    name, bracket, rest = _without_types(symbol)[0].strip().removeprefix("::").partition("<")
    return name.strip(), rest.rsplit(">", 1)[0].strip() if bracket else ""


def symbol_types(symbol: str) -> tuple[str, ...] | None:
    """The parameters' types that a symbol gives, such as ``("float*", "int")``; None where it gives none."""
    written = _without_types(symbol)[1]
    return functions(f"void f({written});")[0].types if written is not None else None


def _without_types(symbol: str) -> tuple[str, str | None]:
    depth = 0
    for place, character in enumerate(symbol):
        if character == "(" and depth == 0:
            return symbol[:place], symbol[place + 1 :].rsplit(")", 1)[0]
        depth += (character in "<(") - (character in ">)")
    return symbol, None


def default_symbol(stub: str, known: Sequence[CppFunction], text: str) -> str:
    """The stub's name; when the text never says it, the only device function there is (FlagTree's rule)."""
    if any(token.text == stub for token in tokenize(text)):
        return stub
    names = {function.qualified for function in known if function.is_device and not function.is_local}
    names = names or {function.qualified for function in known if function.is_device}
    names = names or {function.qualified for function in known if function.is_kernel}
    return names.pop() if len(names) == 1 else stub


def choose_function(symbol: str, functions: Sequence[CppFunction]) -> Callee:
    """The function that ``symbol`` names.

    Raises
    ------
    SymbolError : it is overloaded.
    """
    name, arguments = split_symbol(symbol)
    all_named = functions_named(name, functions)
    named = [function for function in all_named if function.is_device or function.is_kernel] or all_named
    types = symbol_types(symbol)
    if types is not None:
        chosen = [f for f in named if _all_spelled(f.types, f) == _all_spelled(types, f)]
        found = [] if chosen else instances(named, types, arguments)
        if not chosen and not found and named:
            raise SymbolError(
                f"no `{name}` takes ({', '.join(types)})",
                log=_listed(named),
                hint="write the types as the source does, or as an instance has them, without names",
                context=Context(source=location_of(named[0])),
            )
        if found:
            chosen = [instance.function for instance in found]
            arguments = found[0].arguments
            types = types if len(_distinct(all_named)) > 1 else None  # one that is alone needs no choice
        named = chosen
    count = len(split(tokenize(arguments)))
    fitting = [
        f for f in named if not arguments or count <= len(f.template or ()) or any(p.is_pack for p in f.template or ())
    ]
    named = fitting or named
    candidates = _distinct(named)
    overloads = [f for f in candidates if not exclusive(f.branches, candidates[0].branches)]
    if len(overloads) > 1:
        raise SymbolError(
            f"`{name}` is ambiguous: the source has {len(overloads)} functions of that name",
            log=_listed(overloads),
            hint=f"choose one by its parameters: symbol={_example(overloads[0], arguments)!r}",
            context=Context(source=location_of(overloads[0])),
        )
    return Callee(name, arguments, _best(named), has_namesakes=len(_distinct(all_named)) > 1, types=types)


def functions_named(name: str, functions: Iterable[CppFunction]) -> list[CppFunction]:
    """Those of a qualified name; where there are none, those in namespaces that a macro names or opens.

    ``FLASH_NAMESPACE::f`` is written in the first case, and plain ``f`` behind ``BEGIN_NAMESPACE`` in the second.
    """
    known = list(functions)
    named = [f for f in known if f.qualified == name] or [f for f in known if _is_behind_a_macro(f.qualified, name)]
    return named or [f for f in known if name.endswith(f"::{f.qualified}")]


def _is_behind_a_macro(written: str, name: str) -> bool:
    ours, theirs = written.split("::"), name.split("::")
    return (
        len(ours) == len(theirs)
        and ours[-1] == theirs[-1]
        and all(one == other or one.isupper() for one, other in zip(ours[:-1], theirs[:-1]))
    )


def _filled(type_: str, function: CppFunction | None, arguments: str) -> str:
    """A type of a template's with the arguments in the place of its parameters."""
    names = [parameter.name for parameter in (function and function.template) or ()]
    values = [join_tokens([token.text for token in part]) for part in split(tokenize(arguments))]
    known = dict(zip(names, values))
    return join_tokens([known.get(token.text, token.text) for token in tokenize(type_)])


def _listed(overloads: Iterable[CppFunction]) -> str:
    return "\n".join(f"{function.file}:{function.line}: {function}" for function in overloads)


def _example(function: CppFunction, arguments: str) -> str:
    return f"{function.qualified}{f'<{arguments}>' if arguments else ''}({', '.join(function.types)})"


def _all_spelled(types: Sequence[str], function: CppFunction) -> tuple[str, ...]:
    scopes = function.qualified.split("::")[:-1]
    return tuple(_spelled(type_, scopes) for type_ in types)


def _spelled(type_: str, scopes: Sequence[str]) -> str:
    """A type without what does not choose an overload, and without the names of what the function itself is in."""
    texts = [word.text for word in tokenize(type_) if word.text not in _NO_CHOICE]
    while texts and texts[-1] in _QUALIFIERS:  # of the copy, which is the function's own
        texts.pop()
    behind = texts[::-1].index(">") if ">" in texts else len(texts)
    if _INDIRECT.isdisjoint(texts[len(texts) - behind :]):
        texts = list(dropwhile(_QUALIFIERS.__contains__, texts))
    kept: list[str] = []
    for text in texts:
        last = kept[-1] if kept and kept[-1] not in _QUALIFIERS else ""
        if text == "::" and last in scopes and kept[-2:-1] != ["::"]:
            kept.pop()
        elif text != "::" or last == ">" or last.isidentifier():
            kept.append(text)
    is_sortable = "<" not in kept and kept.count("*") <= 1
    return " ".join(sorted(kept) if is_sortable else kept)


_NO_CHOICE = frozenset({"__restrict__", "__restrict", "struct", "class", "enum", "typename"})
_QUALIFIERS = frozenset({"const", "volatile"})
_INDIRECT = frozenset({"*", "&", "&&", "["})


def _distinct(functions: Iterable[CppFunction]) -> list[CppFunction]:
    """One function for each parameter list; a forward declaration and its definition are one."""
    distinct: dict[tuple[object, ...], CppFunction] = {}
    for function in functions:
        key = (_all_spelled(function.types, function), function.template and len(function.template))
        distinct.setdefault(key, function)
    return list(distinct.values())


def _best(functions: Sequence[CppFunction]) -> CppFunction | None:
    return next((function for function in functions if function.is_definition), functions[0] if functions else None)


def missing_function(symbol: str, functions: Sequence[CppFunction], source: SourceLocation) -> SymbolError:
    """The error for a function that the compiler does not know."""
    name, _ = split_symbol(symbol)
    hidden = [f for f in functions_named(name, functions) if f.branches and (f.is_device or f.is_kernel)]
    if hidden:
        return SymbolError(
            f"no branch of the source that is compiled has the function `{name}`",
            hint="it stands between #if and #endif: give the macro that it asks for, defines={…}",
            context=Context(source=location_of(hidden[0])),
        )
    known = list(dict.fromkeys(f.qualified for f in functions if f.is_device or f.is_kernel))
    same_name = [qualified for qualified in known if qualified.rpartition("::")[2] == name.rpartition("::")[2]]
    near = same_name or near_names(name, known, cutoff=0.5)
    hint = f"the functions here are {', '.join(known[:5])}" if known else "it has no __device__ or __global__ function"
    if near:
        hint = f"did you mean {' or '.join(near)}? Write symbol={near[0]!r}"
    return SymbolError(f"the source has no function `{name}`", hint=hint, context=Context(source=source))


def location_of(function: CppFunction) -> SourceLocation:
    """The line of a function's name."""
    return SourceLocation(function.file, function.line, function.column)
