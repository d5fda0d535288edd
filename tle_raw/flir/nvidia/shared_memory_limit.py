"""Hold the kernel's shared memory, its own and its fragments', against what one block may have."""

from __future__ import annotations

from collections.abc import Sequence

from triton.runtime.errors import OutOfResources

from tle_raw.errors import Row, SharedMemoryError
from tle_raw.flir.nvidia.read_buffers import SharedBuffer
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.llvm.shared_memory import DYNAMIC_ALIGNMENT, SharedVariable, shared_bytes
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.machine_code.shared_memory_limits import LIMITS, WITHOUT_ASKING


class OutOfSharedMemory(SharedMemoryError, OutOfResources):  # Triton has no types
    """Triton's own error too: an autotuner passes over the configuration."""


def static_variables(fragments: Sequence[CompiledFragment]) -> list[tuple[str, SharedVariable]]:
    """Each fragment's static shared variables with the fragment's name; a fragment used twice counts once."""
    distinct = {f.entry: f for f in fragments}.values()
    return [(f.name, SharedVariable(*variable)) for f in distinct for variable in f.static_shared]


def needs_alignment(capability: int, fragments: Sequence[CompiledFragment]) -> bool:
    """Static variables stand before dynamic memory that must start at a multiple of ``DYNAMIC_ALIGNMENT``.

    So it must where the architecture's own layouts care, and where a fragment was promised it.
    """
    promised = capability >= 90 or any(f.dynamic_shared for f in fragments)
    return promised and any(f.static_shared for f in fragments)


def check_shared_memory(
    dynamic: int,
    fragments: Sequence[CompiledFragment],
    capability: int,
    buffers: Sequence[SharedBuffer] = (),
) -> None:
    """Raise what Triton alone cannot see, or cannot explain.

    Static shared memory is in none of its counts; what fragments ask for beside it is.

    Raises
    ------
    OutOfSharedMemory : with a row for Triton's part, one for each of the kernel's own buffers in it, and one for each
        fragment's variable or request. Buffers whose uses do not overlap share memory.
    """
    limit = LIMITS.get(capability)
    variables = static_variables(fragments)
    static = _static_bytes(dynamic, fragments, capability)
    asked = {f.entry: f for f in fragments if f.dynamic_shared}.values()
    if limit is None or not (variables or asked or buffers) or dynamic + static <= limit:
        return
    rows = [Row("total", f"at most {limit}", str(dynamic + static))]
    rows.append(Row("dynamic (tiles, scratch)" if asked else "Triton (tiles, scratch)", str(dynamic), str(dynamic)))
    rows += [Row(f"  {buffer}", str(buffer.bytes), str(buffer.bytes)) for buffer in buffers]
    rows += [Row(f"{f.name}: asks for", str(f.dynamic_shared), str(f.dynamic_shared)) for f in asked]
    rows += [Row(f"{name}: {demangle(v.name)}", str(v.bytes), str(v.bytes)) for name, v in variables]
    raise OutOfSharedMemory(
        f"the kernel needs more shared memory than a block of sm_{capability} has, in bytes",
        table=rows,
        hint="make the tiles smaller, or num_stages",
    )


def asked_of_driver(dynamic: int, fragments: Sequence[CompiledFragment], capability: int) -> int:
    """The dynamic bytes that Triton's launcher is told of.

    It asks the driver for more than ``WITHOUT_ASKING`` bytes by the dynamic ones alone; the static ones count too.
    """
    total = dynamic + _static_bytes(dynamic, fragments, capability)
    return max(dynamic, WITHOUT_ASKING + 16) if total > WITHOUT_ASKING else dynamic


def _static_bytes(dynamic: int, fragments: Sequence[CompiledFragment], capability: int) -> int:
    alignment = DYNAMIC_ALIGNMENT if dynamic and needs_alignment(capability, fragments) else 1
    return shared_bytes((v for _, v in static_variables(fragments)), alignment)
