"""Static shared memory of a fragment, and the alignment of the kernel's own shared memory beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tle_raw.errors import LinkError, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import Global, read_global
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.sizes import sizes_of
from tle_raw.linker.llvm.text import Edit, Module
from tle_raw.linker.machine_code.demangle import demangle

SHARED_SPACE = 3
# TMA and WGMMA read swizzled tiles whose address bits up to 1024 matter.
DYNAMIC_ALIGNMENT = 1024
DYNAMIC_NAME = "global_smem"


@dataclass(frozen=True)
class SharedVariable:
    """One ``__shared__`` variable of known size."""

    name: str
    bytes: int
    align: int


def static_shared(
    module: Module, entry: str | None = None, skipped: Collection[str] = ()
) -> tuple[SharedVariable, ...]:
    """The shared variables that the entry reaches, or all of them; but for those that are ``skipped``.

    Raises
    ------
    UnsupportedFeatureError : ``extern __shared__``, which would alias the kernel's own shared memory.
    """
    variables = tuple(v for v in _shared_variables(module, entry) if v.name not in skipped)
    sizes = sizes_of(module)
    for variable in variables:
        if not variable.is_definition or sizes.size(variable.type) == 0:
            raise UnsupportedFeatureError(
                f"`extern __shared__` ({demangle(variable.name)}) would overlap the kernel's own shared memory",
                hint="give the array a size: `__shared__ T name[N]`, N being a constant or a dim",
            )
    return tuple(SharedVariable(v.name, sizes.size(v.type), v.align or sizes.alignment(v.type)) for v in variables)


def _shared_variables(module: Module, entry: str | None) -> Iterator[Global]:
    used = reachable(references(module), [entry]) if entry else None
    for entity in module.of_kind("global"):
        variable = read_global(module, entity)
        if variable.address_space == SHARED_SPACE and (used is None or entity.name in used):
            yield variable


def shared_bytes(variables: Iterable[SharedVariable], dynamic_alignment: int = 1) -> int:
    """Upper bound of what the variables take in any order: each padded for its alignment.

    The kernel's dynamic block starts after them, at the next multiple of ``dynamic_alignment``.
    """
    total = sum(variable.bytes + variable.align - 1 for variable in variables)
    return -(-total // dynamic_alignment) * dynamic_alignment


def dynamic_shared_alignment(module: Module, alignment: int = DYNAMIC_ALIGNMENT) -> Module:
    """A kernel's LLVM IR with its dynamic shared memory aligned to at least so many bytes.

    Static variables stand before it and would otherwise shift its start to any multiple of 16. A kernel that
    has no dynamic shared memory stays as it is.
    """
    if alignment <= 0 or alignment & (alignment - 1):
        raise LinkError(f"an alignment must be a power of two, not {alignment}")
    for entity in module.of_kind("global"):
        if entity.name == DYNAMIC_NAME:
            return _aligned(module, read_global(module, entity), alignment)
    return module


def _aligned(module: Module, variable: Global, alignment: int) -> Module:
    if variable.align >= alignment:
        return module
    tokens = variable.tokens
    for token, number in pairwise(tokens):
        if token.text == "align" and variable.align:
            return module.respelled([Edit(number.start, number.end, str(alignment))])
    end = variable.entity.end
    return module.respelled([Edit(end, end, f", align {alignment}")])
