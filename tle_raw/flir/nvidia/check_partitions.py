"""Check what stands beside specialised warps, before Triton's passes meet it."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.errors import RegionError, Row
from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import location_of
from tle_raw.regions import ports

_AUTOMATIC = "tt.warp_specialize"
_CALL = "tt.call"
_NAMED = f'symbol = "{ports.NAMED}.'


def check_partitions(lines: Sequence[str], num_ctas: int, has_stages: bool, *, keeps_warps: bool = True) -> int:
    """Check a module in generic form that holds partitions; how many operations make them.

    Parameters
    ----------
    keeps_warps : Triton runs each worker with the warps that were asked for.

    Raises
    ------
    RegionError : a function that is not inlined, a loop that Triton is to specialise, groups in stages, a cluster, or
        a named barrier where Triton may change the warps that it counts.
    """
    places = [n for n, line in enumerate(lines) if SPECIALIZE in line and generic_name(line) == SPECIALIZE]
    for number, line in enumerate(lines):
        if _AUTOMATIC in line:
            raise _refused(
                lines, number, "a loop asks Triton to specialise warps, and the kernel does so itself",
                "remove warp_specialize=True from the loop",
            )  # fmt: skip
        if _CALL in line and generic_name(line) == _CALL:
            raise _refused(
                lines, number, "a kernel with specialised warps calls a function that is not inlined",
                "remove noinline=True from it, or a return from its middle where it is called in a loop or a branch",
            )  # fmt: skip
        if _NAMED in line and not keeps_warps:
            raise _refused(
                lines, number, "a barrier without phases counts the threads of partitions, and on this GPU Triton may "
                "run a worker with fewer warps than asked for",
                "say which use of the barrier this is: phaseIdx",
            )  # fmt: skip
    if places and has_stages:
        raise _refused(
            lines, places[0], "groups of a loop run in stages in a kernel with specialised warps",
            "leave pipe_stages out: a worker that copies ahead takes its place",
        )  # fmt: skip
    if places and num_ctas > 1:
        raise _refused(
            lines, places[0], "specialised warps are not to be had in a kernel whose blocks form clusters",
            "launch it with num_ctas=1", Row("num_ctas", "1", str(num_ctas)),
        )  # fmt: skip
    return len(places)


def _refused(lines: Sequence[str], number: int, message: str, hint: str, *rows: Row) -> Exception:
    end = number
    while " loc(" not in lines[end] and end + 1 < len(lines):  # of an operation with regions it is on the last line
        end += 1
    site = Locations(list(lines)).source_location(location_of(lines[end]))
    return RegionError(message, table=list(rows), hint=hint).at(call_site=site)
