"""Finds the function that a fragment names, and reads how it is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tle_raw.adapters.common.device_llvm.lines import location_at
from tle_raw.errors import Context, SignatureMismatchError, SourceLocation, SymbolError, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import FunctionType, LlvmFunction, read_function, read_global
from tle_raw.linker.llvm.text import Entity, Module, Token
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.near_names import near_names

# Words between `define` and the result that change how a function is called.
_CONVENTION = re.compile(r"\w+cc|cc\d*|ccc|spir_func|ptx_device|amdgpu_\w+|\w+_kernel|x86_\w+|arm_\w+")
_BY_MEMORY = frozenset(("byval", "sret", "inalloca", "preallocated", "byref", "swiftself", "nest"))


@dataclass(frozen=True)
class Callee:
    """A definition: its symbol, its type, its calling convention as text, and its line.

    ``extensions`` says for each parameter zeroext, signext or ""; ``names`` how the text calls it, or "".
    """

    symbol: str
    type: FunctionType
    convention: str
    extensions: tuple[str, ...]
    names: tuple[str, ...]
    location: SourceLocation


def default_symbol(stub: str, module: Module) -> str:
    """The stub's name; when nothing is called so, the only function that others could call (FlagTree's rule)."""
    known = [entity.name for entity in module.of_kind("define", "declare", "global")]
    if stub in known or any(_plain(name) == stub for name in known):
        return stub
    visible = [
        e.name for e in module.of_kind("define") if not _words(module, e) & {"internal", "private", "ptx_kernel"}
    ]
    return visible[0] if len(visible) == 1 else stub


def find_callee(module: Module, symbol: str, start: SourceLocation) -> Callee:
    """The definition of ``symbol``, which may also be the C++ name of one mangled function.

    Raises
    ------
    SymbolError : it is missing, ambiguous, only declared, an alias, or a kernel.
    SignatureMismatchError : it takes its parameters in a way that a call here cannot make.
    """
    entity = _definition(module, symbol, start)
    function = read_function(module, entity)
    location = location_at(module.text, start, entity.start)
    context = Context(source=location)
    if function.is_kernel or entity.name in _annotated_kernels(module):
        raise SymbolError(
            f"`{symbol}` is a kernel, and a fragment calls a device function",
            hint='define it without ptx_kernel and without the annotation !"kernel"',
            context=context,
        )
    if "..." in function.type.parameters:
        raise UnsupportedFeatureError(f"`{symbol}` takes a variable number of arguments", context=context)
    words = [t.text for t in module.header(entity) if t.text in _BY_MEMORY]
    if words:
        raise SignatureMismatchError(
            f"`{symbol}` takes or returns a value through memory (`{words[0]}`)",
            hint="pass scalars, pointers and tiles; an aggregate cannot cross",
            context=context,
        )
    parameters = _parameters(module, entity)[: len(function.type.parameters)]
    return Callee(
        entity.name,
        function.type,
        _convention(function),
        tuple(_extension(parameter) for parameter in parameters),
        tuple(_name(parameter) for parameter in parameters),
        location,
    )


def _definition(module: Module, symbol: str, start: SourceLocation) -> Entity:
    found = [e for e in module.of_kind("define") if e.name == symbol]
    found = found or [e for e in module.of_kind("define") if _plain(e.name) == symbol]
    if len(found) == 1:
        return found[0]
    if found:
        lines = [f"@{e.name}: {demangle(e.name)}" for e in found]
        raise SymbolError(
            f"`{symbol}` is ambiguous: the module defines {len(found)} functions of that name",
            log="\n".join(lines),
            hint=f"write symbol={found[0].name!r}",
            context=Context(source=location_at(module.text, start, found[0].start)),
        )
    for entity in module.of_kind("declare", "global"):
        if entity.name == symbol:
            raise _unusable(module, entity, start)
    raise _missing(module, symbol, start)


def _unusable(module: Module, entity: Entity, start: SourceLocation) -> SymbolError:
    context = Context(source=location_at(module.text, start, entity.start))
    if entity.kind == "declare":
        return SymbolError(
            f"`{entity.name}` is declared, but the module does not define it",
            hint="a fragment needs the function's body; link the module that has it first (llvm-link)",
            context=context,
        )
    kind = read_global(module, entity).kind
    return SymbolError(
        f"`{entity.name}` is {'an alias' if kind == 'alias' else 'a variable'}, not a function's definition",
        hint="name the function itself in symbol=",
        context=context,
    )


def _missing(module: Module, symbol: str, start: SourceLocation) -> SymbolError:
    names = {name: name for name in (e.name for e in module.of_kind("define"))}
    shown = {_plain(name): name for name in names}
    near = near_names(symbol, [*names, *shown], cutoff=0.5, meaning=lambda name: names.get(name) or shown[name])
    hint = f"it defines {', '.join(_spelled(list(names)[:5]))}" if names else "it defines no function at all"
    if near:
        first = names.get(near[0]) or shown[near[0]]
        hint = f"did you mean {' or '.join(_spelled(near))}? Write symbol={first!r}"
    return SymbolError(f"the module has no function `{symbol}`", hint=hint, context=Context(source=start))


def _spelled(names: Iterable[str]) -> list[str]:
    return [f"{name} ({demangle(name)})" if demangle(name) != name else name for name in names]


def _plain(name: str) -> str:
    """``_Z5scalePfi`` is ``scale``."""
    readable = demangle(name)
    return re.sub(r"<.*>", "", readable.partition("(")[0]).rpartition(" ")[2] if readable != name else name


def _words(module: Module, entity: Entity) -> set[str]:
    return {token.text for token in read_function(module, entity).before}


def _convention(function: LlvmFunction) -> str:
    words = [token.text for token in function.before if token.kind == "word"]
    for index, word in enumerate(words):
        if _CONVENTION.fullmatch(word):
            return f"cc {words[index + 1]}" if word == "cc" else word
    return ""


def _parameters(module: Module, entity: Entity) -> list[list[Token]]:
    """The tokens of each parameter: type, attributes, name."""
    tokens = module.header(entity)
    start = next(i for i, token in enumerate(tokens) if token.kind == "@") + 2
    depth, found = 1, [list[Token]()]
    for token in tokens[start:]:
        depth += (token.text in "([{<") - (token.text in ")]}>")
        if depth == 0:
            break
        if depth == 1 and token.text == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _extension(parameter: Sequence[Token]) -> str:
    return next((token.text for token in reversed(parameter) if token.text in ("zeroext", "signext")), "")


def _name(parameter: Sequence[Token]) -> str:
    """``i32 noundef %n`` is called n; a number is no name."""
    if len(parameter) < 2 or parameter[-1].kind != "%" or parameter[-1].text[1:].isdecimal():
        return ""
    return parameter[-1].name


def _annotated_kernels(module: Module) -> set[str]:
    """Kernels by the older way: ``!nvvm.annotations`` names nodes ``!{ptr @f, !"kernel", i32 1}``."""
    nodes = {e.name: module.source(e) for e in module.of_kind("metadata")}
    listed = re.findall(r"!(\d+)", nodes.get("nvvm.annotations", ""))
    found = (re.search(r'@("[^"]*"|[-\w$.]+)[^@]*!"kernel"', nodes.get(number, "")) for number in listed)
    return {match[1].strip('"') for match in found if match}
