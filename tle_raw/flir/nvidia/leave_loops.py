"""Loops that Triton's software pipeliner leaves alone: on sm_100 and later those that hold a kernel's own buffers.

It schedules loops around products in tensor memory there, and knows no place for loads from buffers that it did not
make: Triton 3.9 says so on standard error, 3.6 spreads the copies of a loop over its stages.

On every GPU it leaves alone the loops with waits and arrivals at named barriers, and at those of clusters and grids.
The pipeliner stops at Triton's own barriers; these it does not know, and it would move loads in front of them.
"""

from __future__ import annotations

from tle_raw.flir.operation_attributes import with_attributes
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.structure import nests, read_structure
from tle_raw.regions.clusters import ARRIVE, COPY, GRID_BARRIER, MEET, SIGNAL, WAIT
from tle_raw.regions.ports import NAMED

STAGES = "tt.num_stages"
_BARRIERS = (
    f'symbol = "{NAMED}.',
    *(f'symbol = "{each}"' for each in (ARRIVE, WAIT, MEET, SIGNAL, COPY, GRID_BARRIER)),
)
_OURS = ("ttg.local_load", "ttg.local_store", "ttg.async_copy", "ttng.async_tma", "ttng.wait_barrier", "ttng.tc_gen5")


def leave_loops(text: str, with_buffers: bool) -> tuple[str, int]:
    """TritonGPU text in generic form, whose loops with such operations have one stage; how many there are.

    Parameters
    ----------
    with_buffers : leave alone those that hold the kernel's own buffers, too.
    """
    names = [name for name in _BARRIERS if name in text]
    if not with_buffers and not names:
        return text, 0
    lines = text.splitlines()
    held = {
        n
        for n, line in enumerate(lines)
        if any(name in line for name in names) or (with_buffers and generic_name(line).startswith(_OURS))
    }
    if not held:
        return text, 0
    loops = (nest for nest in nests(read_structure(lines)) if '"scf.for"' in nest.text)
    found = [loop for loop in loops if not held.isdisjoint(range(loop.begin, loop.end))]
    for loop in found:
        lines[loop.end] = with_one_stage(lines[loop.end])
    return "\n".join(lines), len(found)


def with_one_stage(line: str) -> str:
    """The line that ends a loop: ``}) {attributes} : (types) -> types``."""
    return with_attributes(line, {STAGES: "1 : i32"})


def has_one_stage(line: str) -> bool:
    """Whether the line that ends a loop says so."""
    return f"{STAGES} = 1 :" in line
