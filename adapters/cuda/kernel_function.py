"""A ``__global__`` function in LLVM IR loses its calling convention, and is given what its launch would give it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from tle_raw.adapters.cpp.block_indices import GRID_FUNCTION
from tle_raw.adapters.cuda.kernel_memory import PlacedMemory, place_memory
from tle_raw.adapters.cuda.kernel_use import KernelUse, kernel_symbol
from tle_raw.errors import Context, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import KERNEL_CONVENTIONS, read_function
from tle_raw.linker.llvm.hoist_addresses import HoistedAddresses, hoist_addresses
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.read_only_loads import mark_read_only_loads
from tle_raw.linker.llvm.references import global_names, reachable, references, without_notes
from tle_raw.linker.llvm.text import Edit, Entity, Module, apply_edits, read_module
from tle_raw.linker.machine_code.demangle import demangle

_GRID_CALL = re.compile(rf"(?:tail |notail )?call [^@\n]*@{GRID_FUNCTION}(\w+)\(\)(?: #\d+)?")


def as_function(text: str, use: KernelUse, attributes: str, is_emulated: bool) -> tuple[str, str, int]:
    """The kernel without its convention, with more parameters: the block indices that are given, shared memory."""
    module = read_module(text)
    kernel, holder = kernel_symbol(module, use)
    graph = references(module)
    reached = reachable(graph, [kernel])
    placed = PlacedMemory({}) if is_emulated else place_memory(module, kernel, reached, use)
    arrays = placed.offsets
    dropped = {e.name for e in module.of_kind("define") if e.name not in reached}
    edits = [removal(module, holder)]
    for entity in module.of_kind("global"):
        if entity.name in arrays or (entity is not holder and _holds_dropped(entity, graph, reached, dropped)):
            edits.append(removal(module, entity))
        elif entity.name in ("llvm.used", "llvm.compiler.used"):
            edits.append(removal(module, entity))  # they name the variable that is gone
    for entity in module.of_kind("declare"):
        if entity.name.startswith(GRID_FUNCTION):
            edits.append(removal(module, entity))
    edits += without_notes(module, dropped)
    for entity in module.of_kind("define"):
        if entity.name in dropped:
            edits.append(removal(module, entity))  # other kernels of the file may hold anything
        elif entity.name == kernel:
            edits += _kernel_edits(module, entity, use, arrays, attributes)
            edits += mark_read_only_loads(module, entity) if use.whole and not is_emulated else ()
        else:
            _refuse_in_helper(module, entity, use, arrays)
    return apply_edits(text, edits), kernel, placed.bytes


def _holds_dropped(
    variable: Entity, graph: Mapping[str, Collection[str]], reached: Collection[str], dropped: Collection[str]
) -> bool:
    """Whether a variable that the kernel does not reach holds functions that go: a table of virtual ones does."""
    if variable.name in reached or variable.name.startswith("llvm."):
        return False
    return not reachable(graph, [variable.name]).isdisjoint(dropped)


def _kernel_edits(
    module: Module, entity: Entity, use: KernelUse, arrays: Mapping[str, int], attributes: str
) -> Iterator[Edit]:
    function = read_function(module, entity)
    for token in function.before:
        if token.text in KERNEL_CONVENTIONS:
            yield Edit(token.start, token.end + 1, "")
    for token in function.after:
        if token.kind == "#":  # the compiler's own: kernels are noinline, and carry the bounds of their launch
            yield Edit(token.start, token.end, attributes)
    more = [f"i32 %tle.given.{p.name}" for p in use.given] + (["i32 %tle.shared"] if arrays else [])
    if more:
        close = _end_of_parameters(module, entity)
        yield Edit(close, close, (", " if function.type.parameters else "") + ", ".join(more))
    for match in _GRID_CALL.finditer(module.text, entity.body, entity.end):
        yield Edit(match.start(), match.end(), f"add i32 {_grid_value(match[1], use)}, 0")
    yield from hoist_addresses(module, entity, arrays, _start(module.text, entity), _Given(module.text, arrays))


class _Given(HoistedAddresses):
    """Addresses in the dynamic shared memory that the call gives."""

    def __init__(self, text: str, offsets: Mapping[str, int]) -> None:
        super().__init__(text)
        self._offsets = offsets

    def address(self, name: str) -> str:
        begin = self.value("inttoptr i32 %tle.shared to ptr addrspace(3)")
        offset = self._offsets[name]
        return self.value(f"getelementptr i8, ptr addrspace(3) {begin}, i32 {offset}") if offset else begin


def _start(text: str, entity: Entity) -> int:
    """The place after the ``{`` of a definition, and after the label of its first block."""
    first = text.find("\n", entity.body) + 1
    end = text.find("\n", first)
    return end if text[first:end].split(";")[0].strip().endswith(":") else entity.body + 1


def _end_of_parameters(module: Module, entity: Entity) -> int:
    tokens = module.header(entity)
    index = next(i for i, token in enumerate(tokens) if token.kind == "@") + 1
    depth = 0
    while True:
        depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        if depth == 0:
            return tokens[index].start
        index += 1


def _grid_value(axis: str, use: KernelUse) -> str:
    variable = axis.replace("_", ".")
    value = use.grid.get(variable)
    if not isinstance(value, str):
        own = variable.replace("gridDim", "blockIdx")
        raise UnsupportedFeatureError(
            f"the kernel `{use.name}` reads {variable}, and {own} comes from the call",
            hint=f'say where it comes from as well: grid={{"{own}": {use.grid[own]!r}, "{variable}": "blocks"}}',
            context=Context(source=use.location),
        )
    return f"%tle.given.{value}"


def _refuse_in_helper(module: Module, entity: Entity, use: KernelUse, arrays: Collection[str]) -> None:
    """What a call gives is known to the kernel's own code only; a function that is kept apart would need it too."""
    found = {name for name, _, _ in global_names(module.text, entity.body, entity.end)}
    if not any(n in arrays or n.startswith(GRID_FUNCTION) for n in found):
        return
    what = "extern __shared__ memory" if found & set(arrays) else "a block index that the call gives"
    raise UnsupportedFeatureError(
        f"`{demangle(entity.name)}`, which is not inlined, uses {what}",
        hint="take __noinline__ away, or pass it as an argument",
        context=Context(source=use.location),
    )
