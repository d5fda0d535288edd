"""From the compiler's output for a GPU to a module for the CPU, with the entry that a kernel calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tle_raw.emulation.entry import map_entry, team_entry
from tle_raw.emulation.host_text import HostText, to_host
from tle_raw.emulation.runtime import Clang, link_with_runtime, runtime_text
from tle_raw.errors import Context, Place, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature

TEAM_ARCH = "sm_80"  # the oldest GPU that fragments are compiled for: newer ones' instructions stay out of the headers
# What an elementwise function may use of the runtime: it runs in the kernel, on no thread of a team.
_ALONE = re.compile(
    r"tle_team_(?:(?:add|mul|div|sqrt|fma)_f|from_|narrow|widen|bfloat|permute|find|dot|small_fma|clock|atomic)"
)
_USES = {
    "thread": "threadIdx",
    "threads": "blockDim",
    "program": "blockIdx",
    "grid": "gridDim",
    "shared": "a __shared__ variable",
    "barrier": "a barrier",
    "warp": "an operation of a warp",
    "active": "__activemask()",
    "print": "printf",
    "assert_failed": "assert",
    "trap": "__trap()",
}


@dataclass(frozen=True)
class DeviceCode:
    """What a compiler made for a GPU of ``TEAM_ARCH``, and what messages say of it.

    For a block-level region ``output.entry`` is one thread's share, ``void (ptr args)``: see ``team/__init__.py``.

    Attributes
    ----------
    name, place : the user's function.
    is_users : says of a file in the debug information whether it is the user's.
    hint : what to do about an instruction that the CPU has no way to run.
    """

    output: CompilerOutput
    name: str
    place: Place
    is_users: Callable[[str], bool]
    hint: str = ""


def make_team(code: DeviceCode, bound: BoundSignature, clang: Clang, debug: bool) -> CompilerOutput:
    """Translate, add the entry, link the runtime, which ``clang`` compiles where no cache has it.

    Raises
    ------
    UnsupportedFeatureError : an instruction that cannot be emulated; the error names it and its line.
    SharedMemoryError : more shared memory than a block has.
    """
    output, place = code.output, code.place
    checks = debug and not bound.is_elementwise
    host = to_host(output.text, output.entry, place, code.is_users, checks, code.hint)
    if bound.is_elementwise:
        _check_alone(host, place)
        entry = output.entry
        added = map_entry(entry, bound)
    else:
        entry = f"tle_team_{output.entry.removeprefix('tle_raw_')}"
        added = team_entry(entry, output.entry, bound, code.name, host.shared_bytes, host.places, debug, host.memory)
    visible = (entry, f"{entry}.map")
    linked = link_with_runtime(f"{host.text}\n{added}", runtime_text(clang), visible)
    return replace(output, text=linked, entry=entry, static_shared=host.shared, uses_barrier=host.uses_barrier)


def _check_alone(host: HostText, place: Place) -> None:
    for match in re.finditer(r"@(tle_team_(\w+))\(", host.text):
        if not _ALONE.match(match[1]):
            what = _USES.get(match[2], match[2])
            raise UnsupportedFeatureError(
                f"the function uses {what}, and on the CPU an elementwise function runs on no thread of a block",
                hint="pass what it needs as an argument, or take a tile instead of elements",
                context=Context(source=place),
            )
