"""Dynamic shared memory of a kernel that becomes a function: its arrays, and static variables that are too much."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tle_raw.adapters.cuda.kernel_use import KernelUse, kernel_symbol
from tle_raw.errors import Context, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import global_names, reachable, references
from tle_raw.linker.llvm.shared_memory import SHARED_SPACE, shared_bytes, static_shared
from tle_raw.linker.llvm.sizes import sizes_of
from tle_raw.linker.llvm.text import Edit, Entity, Module, apply_edits, encode_name, read_module
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.machine_code.shared_memory_limits import WITHOUT_ASKING


@dataclass(frozen=True)
class PlacedMemory:
    """Variables that are given a part of the dynamic memory, by their offsets in bytes, and how much there is."""

    offsets: Mapping[str, int]
    bytes: int = 0


def place_memory(module: Module, kernel: str, reached: Collection[str], use: KernelUse) -> PlacedMemory:
    """``extern __shared__`` arrays all start where the dynamic memory does.

    Static variables come behind, where they are more than a launch may have: those of the kernel's own code, the
    largest first, until the rest can stay.
    """
    arrays = _dynamic_arrays(module, reached)
    if arrays and not use.shared:
        raise _no_size(arrays[0], use)
    offsets = dict.fromkeys(arrays, 0)
    end = use.shared if arrays else 0
    static = static_shared(module, kernel, skipped=arrays)
    left, apart = shared_bytes(static), _used_apart(module, reached, kernel)
    for variable in sorted(static, key=lambda variable: -variable.bytes):
        if left > WITHOUT_ASKING and variable.name not in apart:
            offsets[variable.name] = -(-end // variable.align) * variable.align
            end = offsets[variable.name] + variable.bytes
            left -= variable.bytes + variable.align - 1
    return PlacedMemory(offsets, end)


def _used_apart(module: Module, reached: Collection[str], kernel: str) -> frozenset[str]:
    """What functions that are not inlined name."""
    return frozenset(
        name
        for entity in module.of_kind("define")
        if entity.name in reached and entity.name != kernel
        for name, _, _ in global_names(module.text, entity.body, entity.end)
    )


def _dynamic_arrays(module: Module, reached: Collection[str]) -> tuple[str, ...]:
    """The ``extern __shared__`` arrays that the kernel reaches."""
    return tuple(e.name for e in module.of_kind("global") if e.name in reached and _is_dynamic(module, e))


def _is_dynamic(module: Module, entity: Entity) -> bool:
    variable = read_global(module, entity)
    if variable.address_space != SHARED_SPACE:
        return False
    return not variable.is_definition or sizes_of(module).size(variable.type) == 0


def _no_size(array: str, use: KernelUse) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the kernel `{use.name}` has dynamic shared memory (extern __shared__ {demangle(array)}), and nobody says "
        f"how much",
        hint="state the bytes that its launch would give: shared=4096",
        context=Context(source=use.location),
    )


def sized_arrays(text: str, use: KernelUse) -> str:
    """``extern __shared__`` arrays as variables of the stated size. They are one memory, so there is one variable."""
    module = read_module(text)
    kernel, _ = kernel_symbol(module, use)
    arrays = _dynamic_arrays(module, reachable(references(module), [kernel]))
    if not arrays:
        return text
    if not use.shared:
        raise _no_size(arrays[0], use)
    first = encode_name("@", arrays[0])
    edits = []
    for entity in module.of_kind("global"):
        if entity.name in arrays:
            edits.append(removal(module, entity))
    for entity in module.of_kind("define"):
        for name, start, end in global_names(module.text, entity.body, entity.end):
            if name in arrays[1:]:
                edits.append(Edit(start, end, first))
    sized = f"{first} = internal addrspace(3) global [{use.shared} x i8] undef, align 16"
    return f"{apply_edits(text, edits)}\n{sized}\n"
