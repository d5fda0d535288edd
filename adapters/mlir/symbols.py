"""Chooses the function that a fragment calls among those of a module."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.adapters.mlir.functions import MlirFunction
from tle_raw.errors import Context, SourceLocation, SymbolError
from tle_raw.near_names import near_names


def default_symbol(stub: str, known: Sequence[MlirFunction]) -> str:
    """The stub's name; where the module has none, its only public function."""
    if any(function.name == stub for function in known):
        return stub
    public = [f for f in known if not f.is_private and not f.is_declaration and not f.is_kernel]
    return public[0].path if len(public) == 1 else stub


def choose_function(symbol: str, known: Sequence[MlirFunction], location: SourceLocation, text: str) -> MlirFunction:
    """The function that ``symbol`` names: ``f``, or ``kernels::f`` inside the module ``kernels``.

    Raises
    ------
    SymbolError : it is missing, private, only declared, a kernel, or several have the name.
    """
    wanted = tuple(part.strip().removeprefix("@") for part in symbol.split("::"))
    named = [f for f in known if f.name == wanted[-1] and _ends_with(f.modules, wanted[:-1])]
    if not named:
        raise _missing(symbol, known, location)
    if len(named) > 1:
        raise SymbolError(
            f"`{symbol}` is ambiguous: the module has {len(named)} functions of that name",
            log="\n".join(f"line {_line(f, location)}: {f.path}" for f in named),
            hint=f"name the module that it stands in: symbol={named[0].path!r}"
            if len({f.path for f in named}) > 1
            else "remove or rename all but one of them",
            context=Context(source=_location(named[0], location, text)),
        )
    function = named[0]
    context = Context(source=_location(function, location, text))
    if function.is_kernel:
        raise SymbolError(
            f"`{symbol}` is a kernel, and a fragment calls a device function",
            hint="take `kernel` from it; a kernel cannot be called from inside another kernel",
            context=context,
        )
    if function.container == "gpu.func":
        raise SymbolError(
            f"`{symbol}` is a gpu.func", hint="a fragment calls a func.func or an llvm.func", context=context
        )
    if function.is_declaration:
        raise SymbolError(f"`{symbol}` is only declared: it has no body", hint=_listed(known), context=context)
    if function.is_private:
        raise SymbolError(
            f"`{symbol}` is private to its module",
            hint=f"make it public; {_listed(known)}",
            context=context,
        )
    return function


def _ends_with(modules: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    named = tuple(filter(None, modules))
    return not wanted or named[-len(wanted) :] == wanted


def _missing(symbol: str, known: Sequence[MlirFunction], location: SourceLocation) -> SymbolError:
    names = [f.path for f in known]
    near = near_names(symbol, names, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? Write symbol={near[0]!r}; {_listed(known)}" if near else _listed(known)
    return SymbolError(f"the module has no function `{symbol}`", hint=hint, context=Context(source=location))


def _listed(known: Sequence[MlirFunction]) -> str:
    if not known:
        return "the module has no function"
    kinds = [f.path + _kind(f) for f in known]
    return "the functions here are " + ", ".join(kinds[:8])


def _kind(function: MlirFunction) -> str:
    words = {"a kernel": function.is_kernel, "a declaration": function.is_declaration, "private": function.is_private}
    said = next((word for word, is_so in words.items() if is_so), "")
    return f" ({said})" if said else ""


def _line(function: MlirFunction, location: SourceLocation) -> int:
    return location.line + function.line - 1


def _location(function: MlirFunction, location: SourceLocation, text: str) -> SourceLocation:
    lines = text.splitlines()
    return SourceLocation(
        location.file, _line(function, location), 0, lines[function.line - 1] if function.line <= len(lines) else ""
    )
