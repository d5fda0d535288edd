"""Links a module with libraries: each function that it calls and does not define is taken of the first that has it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tle_raw.errors import SymbolError
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.llvm.functions import FunctionType, read_function, read_global
from tle_raw.linker.llvm.merge import merge
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.symbols import internalise, refuse_unlinkable
from tle_raw.linker.llvm.text import Module, read_module
from tle_raw.linker.unresolved import REFLECTION, RUNTIME_BUILTINS
from tle_raw.near_names import near_names

MOST_ROUNDS = 64


def defined_in(libraries: Sequence[LinkLibrary]) -> Callable[[Collection[str]], frozenset[str]]:
    """Which of some names the libraries define, for ``check_resolved``."""
    return lambda names: frozenset().union(*(library.defines(names) for library in libraries))


def types_in(libraries: Sequence[LinkLibrary]) -> Callable[[str], FunctionType | None]:
    """The type of a function that one of the libraries defines as LLVM IR."""
    return lambda name: next(filter(None, (library.type_of(name) for library in libraries)), None)


@dataclass(frozen=True)
class TakenFunction:
    """A function that was asked of a library: its name, the library's, and the library's kind."""

    name: str
    library: str
    kind: str


@dataclass(frozen=True)
class Joined:
    """A module with what it needs of libraries, and where that comes from."""

    module: Module
    taken: tuple[TakenFunction, ...]


def link_libraries(
    text: str, libraries: Sequence[LinkLibrary], roots: Collection[str] | None = None, asked: Collection[str] = ()
) -> Joined:
    """The module with all that it reaches of the libraries.

    Parameters
    ----------
    text : LLVM IR.
    libraries : in order: the first that defines a function gives it.
    roots : what is to work; all that the module defines when None.
    asked : functions to take of the libraries, whoever calls them.

    Raises
    ------
    AbiError, DuplicateSymbolError, SymbolError, LinkError : a library does not fit, or is damaged.
    """
    main = normalise(read_module(text))
    wanted: list[dict[str, FunctionType | None]] = [{} for _ in libraries]
    for name in asked:
        own = next((own for library, own in zip(libraries, wanted) if library.defines([name])), None)
        if own is None:
            raise _not_there(name, libraries)
        own[name] = next(filter(None, (library.declared_type(name) for library in libraries)), None)
    joined = _joined(main, libraries, wanted)
    for _ in range(MOST_ROUNDS):
        missing = _missing(joined, roots)
        found = False
        for library, own in zip(libraries, wanted):
            new = library.defines(missing.keys() - own.keys()) if missing else frozenset()
            for name in sorted(new):
                own[name] = missing.pop(name)
                found = True
        if not found:
            break
        joined = _joined(main, libraries, wanted)
    taken = (TakenFunction(n, library.name, library.kind) for library, own in zip(libraries, wanted) for n in own)
    return Joined(joined, tuple(taken))


def _not_there(name: str, libraries: Sequence[LinkLibrary]) -> SymbolError:
    known = sorted({each for library in libraries for each in library.functions()})
    near = near_names(name, known) or known[:5]
    return SymbolError(f"no module defines `{name}`", hint=f"they define {', '.join(near)}" if near else "")


def _joined(main: Module, libraries: Sequence[LinkLibrary], wanted: Sequence[dict[str, FunctionType | None]]) -> Module:
    joined, outside = main, types_in(libraries)
    for index, (library, names) in enumerate(zip(libraries, wanted)):
        if names:
            module = normalise(read_module(library.text(names, outside)))
            refuse_unlinkable(module)
            joined = merge(joined, internalise(module, names), f"lib{index + 1}")
    return joined


def _missing(module: Module, roots: Collection[str] | None) -> dict[str, FunctionType | None]:
    """Functions and variables that are used and only declared, with the types by which they are called."""
    defined = [entity.name for entity in module.of_kind("define")]
    used = reachable(references(module), defined if roots is None else roots)
    known = RUNTIME_BUILTINS | REFLECTION
    found: dict[str, FunctionType | None] = {}
    for entity in module.of_kind("declare"):
        if entity.name in used and entity.name not in known and not entity.name.startswith("llvm."):
            found[entity.name] = read_function(module, entity).type
    for entity in module.of_kind("global"):
        if entity.name in used and not read_global(module, entity).is_definition:
            found[entity.name] = None
    return found
