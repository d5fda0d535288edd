"""On sm_100 and later Triton's software pipeliner leaves alone the loops that hold a kernel's own buffers.

It schedules loops around products in tensor memory there, and knows no place for loads from buffers that it did not
make: Triton 3.9 says so on standard error, 3.6 spreads the copies of a loop over its stages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.structure import Nest, read_structure

STAGES = "tt.num_stages"
_OURS = ("ttg.local_load", "ttg.local_store", "ttg.async_copy", "ttng.async_tma", "ttng.wait_barrier", "ttng.tc_gen5")
_SET = re.compile(rf"{re.escape(STAGES)} = \d+ : i32")


def leave_loops(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, whose loops with such operations have one stage; how many there are."""
    lines = text.splitlines()
    if not any(generic_name(line).startswith(_OURS) for line in lines):
        return text, 0
    found = [loop for loop in _loops(read_structure(lines)) if _holds(loop, lines)]
    for loop in found:
        lines[loop.end] = with_one_stage(lines[loop.end])
    return "\n".join(lines), len(found)


def _loops(found: Sequence[int | Nest]) -> Iterator[Nest]:
    for item in found:
        if isinstance(item, Nest):
            if '"scf.for"' in item.text:
                yield item
            for body in item.bodies:
                yield from _loops(body)


def _holds(loop: Nest, lines: Sequence[str]) -> bool:
    return any(generic_name(line).startswith(_OURS) for line in lines[loop.begin : loop.end])


def with_one_stage(line: str) -> str:
    """The line that ends a loop: ``}) {attributes} : (types) -> types``."""
    if STAGES in line:
        return _SET.sub(f"{STAGES} = 1 : i32", line)
    if "}) {" in line:
        return line.replace("}) {", f"}}) {{{STAGES} = 1 : i32, ", 1)
    return line.replace("})", f"}}) {{{STAGES} = 1 : i32}}", 1)
