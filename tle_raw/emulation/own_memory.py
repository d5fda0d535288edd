"""Debug: the memory that a fragment may touch beside the arrays of its launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.shared_memory import SHARED_SPACE
from tle_raw.linker.llvm.sizes import sizes_of
from tle_raw.linker.llvm.text import Module, encode_name

_ALLOCATORS = ("malloc",)


@dataclass(frozen=True)
class Variable:
    """A variable of the fragment; ``symbol`` is empty for a shared one, which lies at ``offset``."""

    name: str
    bytes: int
    symbol: str = ""
    offset: int = 0


@dataclass(frozen=True)
class OwnMemory:
    """All variables, and whether the fragment has addresses that nobody knows: of malloc, or set by the host."""

    variables: tuple[Variable, ...] = ()
    finds_more: bool = False


def global_variables(module: Module) -> tuple[Variable, ...]:
    """The variables and constants of a module that do not lie in shared memory."""
    sizes = sizes_of(module)
    found = [(entity, read_global(module, entity)) for entity in module.of_kind("global")]
    return tuple(
        Variable(entity.name, sizes.size(variable.type), encode_name("@", entity.name))
        for entity, variable in found
        if variable.is_definition and variable.address_space != SHARED_SPACE and not entity.name.startswith("llvm.")
    )


def finds_memory(module: Module) -> bool:
    """Whether the fragment allocates memory, or has a variable for a pointer, which the host may set."""
    if any(entity.name in _ALLOCATORS for entity in module.of_kind("declare")):
        return True
    found = [read_global(module, e) for e in module.of_kind("global") if not e.name.startswith("llvm.")]
    return any("ptr" in str(variable.type) and variable.kind == "global" for variable in found)


def memory_table(entry: str, memory: OwnMemory, names: Sequence[str]) -> list[str]:
    """The constants ``@entry.variables`` that a ``tle_region`` points to; ``names`` are the texts of the names."""
    variables = memory.variables
    kind = "{ ptr, ptr, i64, i64 }"
    values = ", ".join(
        f"{kind} {{ ptr @{entry}.variable.{i}, ptr {v.symbol or 'null'}, i64 {v.offset}, i64 {v.bytes} }}"
        for i, v in enumerate(variables)
    )
    table = f"[{len(variables)} x {kind}] " + (f"[{values}]" if variables else "zeroinitializer")
    return [
        *(f"@{entry}.variable.{i} = internal constant {name}" for i, name in enumerate(names)),
        f"@{entry}.variables = internal constant {table}",
    ]
