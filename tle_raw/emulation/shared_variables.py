"""Static shared variables: from globals of address space 3 to places in the block's shared memory.

A block has one object for each variable, and each worker thread of the launch has a block of its own. So a global
will not do: every function asks the runtime for the block's shared memory first, and adds the variable's offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.emulation.own_memory import Variable
from tle_raw.emulation.stack_checks import start_of_block
from tle_raw.errors import SharedMemoryError
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.hoist_addresses import HoistedAddresses, hoist_addresses
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.shared_memory import SHARED_SPACE, SharedVariable, static_shared
from tle_raw.linker.llvm.text import Edit, Entity, Module
from tle_raw.linker.machine_code.demangle import demangle

LIMIT = 227 * 1024  # of a block on the largest GPU
GAP = 256  # bytes of nobody behind each variable, so that what goes beyond its end does not find the next one
MAPPED = 248 * 1024  # of the SHARED_BYTES of team/workspace.h


@dataclass(frozen=True)
class Placed:
    """The module without shared globals, and what its block's shared memory holds."""

    module: Module
    variables: tuple[SharedVariable, ...]
    bytes: int
    variables_at: tuple[Variable, ...]


def place_shared_variables(module: Module, entry: str, spaced: bool = False) -> Placed:
    """Give every shared variable that the entry reaches its offset; ``spaced``: with memory of nobody between them.

    Raises
    ------
    UnsupportedFeatureError : ``extern __shared__``. SharedMemoryError : more than any GPU's block has.
    """
    variables = static_shared(module, entry)
    offsets, total = _offsets(variables, 0)
    if total > LIMIT:
        raise SharedMemoryError(
            f"the fragment's shared variables take {total} bytes, and a block has {LIMIT} at most",
            hint="use smaller arrays, or reuse one",
        )
    if spaced and variables:
        offsets, total = _offsets(variables, min(GAP, (MAPPED - total) // len(variables)))
    everywhere = {e.name for e in module.of_kind("global") if read_global(module, e).address_space == SHARED_SPACE}
    edits: list[Edit] = []
    for entity in module.entities:
        if entity.kind == "global" and (entity.name in everywhere or _keeps_alive(entity)):
            edits.append(removal(module, entity))
        elif entity.kind == "define":
            edits += _function_edits(module, entity, everywhere, offsets)
    at = tuple(Variable(demangle(v.name), v.bytes, offset=offsets[v.name]) for v in variables) if spaced else ()
    return Placed(module.edited(edits), variables, total, at)


def _offsets(variables: tuple[SharedVariable, ...], gap: int) -> tuple[dict[str, int], int]:
    offsets, end = {}, 0
    for variable in sorted(variables, key=lambda v: (-v.align, v.name)):
        align = max(variable.align, 16)
        end = -(-end // align) * align
        offsets[variable.name] = end
        end += variable.bytes + gap
    return offsets, end


def _keeps_alive(entity: Entity) -> bool:
    return entity.name in ("llvm.used", "llvm.compiler.used")


def _function_edits(module: Module, entity: Entity, shared: set[str], offsets: dict[str, int]) -> list[Edit]:
    return hoist_addresses(
        module, entity, shared, start_of_block(module.text, entity), _Addresses(module.text, offsets)
    )


class _Addresses(HoistedAddresses):
    """Each variable's own offset in the block's shared memory, of which the function asks once."""

    def __init__(self, text: str, offsets: dict[str, int]) -> None:
        super().__init__(text)
        self._offsets = offsets
        self._base = ""

    def address(self, name: str) -> str:
        if not self._base:
            self._base = self.value("call ptr @tle_team_shared()")
        plain = self.value(f"getelementptr i8, ptr {self._base}, i64 {self._offsets.get(name, 0)}")
        return self.value(f"addrspacecast ptr {plain} to ptr addrspace({SHARED_SPACE})")
