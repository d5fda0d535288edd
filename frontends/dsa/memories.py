"""Which local memories the target of a compilation has, and how large each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import LocalMemoryError, Row
from tle_raw.frontends.dsa.spaces import Space
from tle_raw.knobs import knobs
from tle_raw.regions.stages import OTHER, compiled_target
from tle_raw.registry import find_target
from tle_raw.targets.base import HasLocalMemories
from tle_raw.targets.chips import CHIPS, aligned

# What of a DSA a GPU has a memory for: shared memory.
ON_GPUS = ("UB", "L1")
GPU, CPU = "cuda", "cpu"


def keeps_operations() -> bool:
    """Whether the target of this thread's compilation has operations of ``tle.dsa`` itself."""
    target = compiled_target()
    return target not in ("", OTHER, GPU, CPU) and isinstance(find_target(target), HasLocalMemories)


def capacities(semantic: Any, generator: Any) -> Mapping[str, int] | None:
    """Bytes by the name of each memory; None on GPUs, where Triton counts shared memory."""
    if generator is None:
        return CHIPS[knobs.cpu.chip]
    target, options = compiled_target(), semantic.builder.options
    if target == CPU:
        return CHIPS[options.chip]
    found = find_target(target) if target not in ("", OTHER, GPU) else None
    return found.local_memories(options) if isinstance(found, HasLocalMemories) else None


def check_exists(function: str, space: Space, generator: Any) -> None:
    """The target has such a memory.

    Raises
    ------
    LocalMemoryError : it is a GPU, which has none.
    """
    if generator is None or compiled_target() != GPU or space.name in ON_GPUS:
        return
    raise LocalMemoryError(
        f"tle.dsa.{function}: a GPU has no {space.name}, for {space.holds}",
        table=[Row("space", "UB or L1, which are shared memory on GPUs", space.name)],
        hint="keep operands in L1, and multiply them there: tl.dot(tle.dsa.to_tensor(a), tle.dsa.to_tensor(b))",
    )


def check_fits(function: str, name: str, space: Space, bytes_: int, sizes: Mapping[str, int] | None) -> None:
    """One buffer alone is not larger than its memory.

    Raises
    ------
    LocalMemoryError : it is.
    """
    if sizes is None:
        return
    asked, size = aligned(space.name, bytes_), sizes[space.name]
    if asked > size:
        called = f"the buffer `{name}`" if name else "a buffer"
        raise LocalMemoryError(
            f"tle.dsa.{function}: {called} does not fit into {space.name}",
            table=[Row(f"bytes in {space.name}", f"{size} left of {size}", f"{asked} asked")],
            hint="work on smaller tiles, in a loop",
        )
