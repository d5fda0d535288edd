"""The values that a report is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import SourceLocation

# Lines of PTX and of assembly that are no code.
_NO_CODE = (".loc", "$L__tmp", "// %bb", "$L__func", ".p2align", "#")
# Warnings of the compiler that a report shows.
MOST_WARNINGS = 4
_WARNING = re.compile(r"\bwarning: |^not found, and passed over")


@dataclass(frozen=True)
class RegionReport:
    """One region.

    Attributes
    ----------
    inlined : no call to the fragment is left in the PTX, or on the CPU in the assembly.
    threads : on the CPU, the number of fibers that run it; 0 for an elementwise function, and on a GPU.
    instructions : PTX instructions that come from this call of the fragment, or None without line information. On the
        CPU those of the fragment's own function, or None where it is inlined.
    lines : first and last lines, in PTX or assembly, of the region's pieces.
    static_shared : bytes of the fragment's own ``__shared__`` variables, once for the whole kernel.
    dynamic_shared : bytes that the fragment asked for beside them; Triton counts them among its own.
    route : the way that the source took, where its dialect has several; ``reason`` why it is no better one.
    notes : what the dialect says of a traced region, such as hints that have no effect; else the compiler's warnings.
    seconds, cache_hit : the foreign compiler's time, and whether the fragment came from the cache.
    """

    name: str
    entry: str
    call_site: SourceLocation
    inlined: bool
    instructions: int | None
    lines: tuple[tuple[int, int], ...]
    static_shared: int
    seconds: float
    cache_hit: bool
    compiler: str
    parameters: tuple[str, ...]
    kept_calls: tuple[str, ...]
    threads: int = 0
    dynamic_shared: int = 0
    route: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


def told_warnings(fragment: Mapping[str, Any]) -> tuple[str, ...]:
    """The first warnings of a fragment's compilation; kernels of older releases have kept none."""
    lines = [line for line in fragment.get("warnings", "").splitlines() if _WARNING.search(line)]
    more = [f"{len(lines) - MOST_WARNINGS} more warnings"] if len(lines) > MOST_WARNINGS else []
    return (*lines[:MOST_WARNINGS], *more)


@dataclass(frozen=True)
class HintReport:
    """One hint of the kernel's source, ``#@hint: shared_memory``.

    Attributes
    ----------
    text : the hint as it is written, ``num_stages=4``.
    place : the comment.
    reason : why it had no effect; "" where it had one.
    """

    text: str
    place: SourceLocation
    reason: str


@dataclass(frozen=True)
class MemoryUse:
    """A local memory of a DSA: how many of its bytes a kernel takes."""

    name: str
    bytes: int
    capacity: int


@dataclass(frozen=True)
class KernelReport:
    """A whole kernel and its regions.

    ``ptxas_calls`` are calls of subroutines that ptxas made itself, such as the slow path of a division.
    ``registers``, ``stack`` and the SASS fields are None where cuobjdump is missing; ``tool_problem`` says why.
    ``dynamic_shared`` is Triton's own shared memory in bytes, ``static_shared`` the fragments'.
    ``stack`` is a thread's local memory in bytes, which lies in the GPU's own memory. Of that, ``local_arrays`` bytes
    are arrays with an index that is known at run time only, used in the source lines ``local_places``; the rest are
    spills.

    For the CPU there is no PTX and no SASS: those fields are empty or None. ``asm`` is the assembly,
    ``asm_instructions`` their number in all functions, ``library_calls`` the functions that it calls outside,
    ``scratch`` the bytes of memory for tiles of each thread that runs programs, ``checked`` whether ``knobs.debug``
    was on.

    ``hints`` are the comments in the source of the kernel and of the functions that it calls.

    For a DSA there are ``memories``, how often each of the ``pipes`` gets an instruction, how often each kind of
    ``synchronisation`` stands in the kernel, and what is ``still_needed`` to run it.

    For a launch in Triton's interpreter, ``runs`` says how often each region has run; nothing else was compiled.
    """

    kernel: str
    target: str
    regions: tuple[RegionReport, ...]
    entries: tuple[str, ...]
    problems: tuple[str, ...]
    static_shared: int
    ptx_calls: tuple[str, ...] = ()
    sass_calls: tuple[str, ...] | None = None
    ptxas_calls: tuple[str, ...] = ()
    registers: int | None = None
    spills: int | None = None
    stack: int | None = None
    local_arrays: int = 0
    local_places: tuple[SourceLocation, ...] = ()
    sass_instructions: int | None = None
    dynamic_shared: int = 0
    tool_problem: str = ""
    ptx: str = ""
    asm: str = ""
    asm_instructions: int | None = None
    library_calls: tuple[str, ...] = ()
    scratch: int | None = None
    checked: bool = False
    runs: tuple[int, ...] = ()
    hints: tuple[HintReport, ...] = ()
    memories: tuple[MemoryUse, ...] = ()
    pipes: tuple[tuple[str, int], ...] = ()
    synchronisation: tuple[tuple[str, int], ...] = ()
    still_needed: tuple[str, ...] = ()

    @property
    def one_kernel(self) -> bool:
        """Exactly one entry point in PTX and, where it can be read, SASS, or in the CPU's object; and all that was
        promised holds.
        """
        return len(self.entries) == 1 and not self.problems

    def excerpt(self, region: RegionReport | int = 0, most: int = 40, around: str = "") -> str:
        """The lines of PTX or assembly in which a region sits, with their numbers; at most ``most`` lines.

        ``around`` puts the first line that holds this text near the top; without it, or where nothing holds it, the
        excerpt starts where the region does.
        """
        chosen = self.regions[region] if isinstance(region, int) else region
        text = (self.ptx or self.asm).splitlines()
        numbers = [n for first, last in chosen.lines for n in range(first, last + 1)]
        lines = [(n, text[n - 1]) for n in numbers if not text[n - 1].lstrip().startswith(_NO_CODE)]
        found = next((i for i, (_, line) in enumerate(lines) if around and around in line), 0)
        start = max(0, min(found - 4, len(lines) - most))
        shown = [f"{n:6}  {line}" for n, line in lines[start : start + most]]
        before = [f"        … {start} lines before"] if start else []
        left = len(lines) - start - most
        return "\n".join([*before, *shown, *([f"        … {left} more lines"] if left > 0 else [])])
