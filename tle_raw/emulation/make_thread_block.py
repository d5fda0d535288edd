"""From the compiler's output for a GPU to a module for the CPU, with the entry that a kernel calls."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle_raw.emulation.element_entry import PLACED, map_entry, thread_of_element, threaded_entry, told_entry
from tle_raw.emulation.entry import thread_block_entry
from tle_raw.emulation.host_text import HostText, to_host
from tle_raw.emulation.runtime import find_runtime, link_with_runtime
from tle_raw.errors import Context, SourceLocation, TLEError, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput, DeviceCode
from tle_raw.fragments.bound import BoundSignature
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.linker.abi import check_entry
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.llvm.text import read_module

# What an elementwise function may use of the runtime where it runs in the kernel, and what it needs a thread for: then
# it is a block of one, called for each element.
_WITHOUT_THREADS = re.compile(
    r"tle_team_(?:(?:add|mul|div|sqrt|fma)_f|from_|narrow|widen|bfloat|permute|find|dot|small_fma|tf32|parallel|clock"
    r"|atomic)"
)
_ON_ONE_THREAD = re.compile(r"tle_team_(?:check_|spin|meet|print|assert_failed|trap)")
_USES = {
    "thread": "threadIdx",
    "threads": "blockDim",
    "program": "blockIdx",
    "grid": "gridDim",
    "shared": "a __shared__ variable",
    "barrier": "a barrier",
    "warp": "an operation of a warp",
    "active": "__activemask()",
}


@dataclass(frozen=True)
class HostModule:
    """LLVM IR for this machine, whole but for the C library, and what can no longer be read from it.

    ``entry`` is the function that a kernel calls: see ``tle_raw.emulation``.
    """

    text: str
    entry: str
    static_shared: tuple[SharedVariable, ...]
    uses_barrier: bool


def make_thread_block(output: CompilerOutput, bound: BoundSignature, debug: bool) -> HostModule:
    """Translate device code of a form that ``DeviceCodeWanted.is_emulated`` states, add the entry, link the runtime.

    Parameters
    ----------
    debug : compile the checks of ``knobs.debug`` into it.

    Raises
    ------
    UnsupportedFeatureError : an instruction that cannot be emulated; the error names it and its line.
    SharedMemoryError : more shared memory than a block has.
    AbiError : the entry is not one thread's share.
    ToolchainError : no clang compiles the runtime, where no cache has it.
    """
    code = output.device or DeviceCode(bound.name, SourceLocation("<fragment>", 0))
    if output.device is None and not bound.is_elementwise:
        # The adapter may know of no other entry than a GPU's.
        check_entry(read_module(output.text), output.entry, ("ptr",), "void")
    try:
        return _made(output.text, output.entry, code, bound, debug)
    except TLEError as error:
        raise code.explained(error) from None


def _made(text: str, thread: str, code: DeviceCode, bound: BoundSignature, debug: bool) -> HostModule:
    """``thread`` is one thread's share, or the whole of an elementwise function."""
    runtime = find_runtime(str(knobs.cuda.clang) if knobs.cuda.clang else None)
    # An element that a mask leaves out is computed, too, and may be zero: dividing by it is no fault.
    divisions = not bound.is_elementwise
    host = to_host(text, thread, code.location, code.is_users, debug, code.hint, divisions)
    name = thread.removeprefix("tle_raw_")
    if debug:  # the same text elsewhere tells other lines
        name += f"_{digest(code.location.file, code.location.line)[:8]}"
    if bound.is_elementwise:
        entry, added = _element(name, thread, host, code, bound, debug)
    else:
        entry = f"tle_team_{name}"
        added = _block(entry, thread, host, code, bound, debug)
    linked = link_with_runtime(f"{host.text}\n{added}", runtime, (entry, f"{entry}.map"))
    return HostModule(linked, entry, host.shared, host.uses_barrier)


def _block(entry: str, thread: str, host: HostText, code: DeviceCode, bound: BoundSignature, debug: bool) -> str:
    return thread_block_entry(entry, thread, bound, code.name, host.shared_bytes, host.locations, debug, host.memory)


def _element(
    name: str, function: str, host: HostText, code: DeviceCode, bound: BoundSignature, debug: bool
) -> tuple[str, str]:
    """What a kernel calls for an element: its name, and the text. Where it needs a thread it is a block of one."""
    entry, added = f"{PLACED}{name}" if debug else function, ""
    if _needs_thread(host, code.location):
        entry = f"{PLACED}{name}"
        thread, block = f"{entry}.thread", f"{entry}.block"
        added += thread_of_element(thread, function, bound)
        added += _block(block, thread, host, code, bound, debug)
        added += threaded_entry(entry, block, bound)
    elif debug:
        added += told_entry(entry, function, bound)
    return entry, added + map_entry(entry, bound)


def _needs_thread(host: HostText, location: SourceLocation) -> bool:
    """Whether an elementwise function uses what only threads have.

    Raises
    ------
    UnsupportedFeatureError : it uses what only blocks have.
    """
    found = False
    for match in re.finditer(r"@(tle_team_(\w+))\(", host.text):
        if _ON_ONE_THREAD.match(match[1]):
            found = True
        elif not _WITHOUT_THREADS.match(match[1]):
            what = _USES.get(match[2], match[2])
            raise UnsupportedFeatureError(
                f"the function uses {what}, and on the CPU an elementwise function runs on no thread of a block",
                hint="pass what it needs as an argument, or take a tile instead of elements",
                context=Context(source=location),
            )
    return found
