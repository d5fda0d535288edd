"""What an attempt at a fragment's code is told, and what is read of its outcome: what its kernel must give, the files
that the compiler read, what no GPU takes, and how an error is explained.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.common.launched_kernel import WARP
from tle_raw.adapters.cpp.command import optimiser_flags
from tle_raw.adapters.cpp.toolchain import Toolchain
from tle_raw.adapters.cuda.defined_elsewhere import name_definer
from tle_raw.adapters.cuda.explain import Attempt, with_text
from tle_raw.adapters.cuda.gpu_limits import refuse_beyond_gpu
from tle_raw.adapters.cuda.host_code import declared_constant
from tle_raw.adapters.cuda.kernel_use import KernelUse
from tle_raw.adapters.cuda.read_signature import Slot, check_prototype, slots
from tle_raw.adapters.cuda.source_facts import (
    closure_of,
    foreign_files,
    options_of,
    prototype_of_source,
    users_files,
)
from tle_raw.adapters.cuda.symbol import (
    Callee,
    location_of,
)
from tle_raw.adapters.cuda.try_code import try_unusual
from tle_raw.adapters.cuda.wrapper import template_arguments
from tle_raw.errors import (
    FragmentSourceError,
    TLEError,
    UnresolvedSymbolError,
)
from tle_raw.fragments.adapter import DeviceCode, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.llvm.constant_tables import CONSTANT_SPACE, move_tables
from tle_raw.linker.llvm.plain_loops import WHOLE
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.linker.ptx.branch_back import LIKE_NVCC
from tle_raw.targets.base import DeviceCodeWanted


def struct_slots(source: Source, bound: BoundSignature, callee: Callee) -> tuple[Slot, ...]:
    """What crosses for a device function of which the prototype told the signature, where it takes types of its own."""
    if source.signature is None or callee.is_kernel or callee.function is None:
        return ()
    prototype = prototype_of_source(source, callee)
    found = slots(prototype, callee) if any(type_.is_made for type_ in prototype.parameters) else ()
    return found if [slot.name for slot in found] == [p.name for p in bound.crossing] else ()


def with_clusters(source: Source, wanted: DeviceCodeWanted) -> DeviceCodeWanted:
    """Code that speaks of clusters is emulated as that of the first GPU with them: before, headers leave them out."""
    speaks_of_them = "cluster" in source.text or options_of(source)[0].cluster > 1
    return replace(wanted, arch="sm_90") if wanted.is_emulated and speaks_of_them else wanted


def optimiser_of(source: Source, callee: Callee, wanted: DeviceCodeWanted, has_arrays: bool = False) -> tuple[str, ...]:
    options, _ = options_of(source)
    return optimiser_flags(options.flags, callee.is_kernel, not wanted.is_emulated, has_arrays)


def marked_as_nvccs(text: str, source: Source) -> str:
    """What is ``const`` and not ``__constant__`` in global memory; and marks: passes make this code as nvcc does."""
    if f"addrspace({CONSTANT_SPACE}) constant" in text:
        module = read_module(text)
        text = module.edited(move_tables(module, declared_constant(source))).text
    marks = (LIKE_NVCC, WHOLE) if options_of(source)[0].whole else (LIKE_NVCC,)
    return "\n".join((text, *(f"{mark} = !{{}}" for mark in marks), ""))


def read_files(run: Run, toolchain: Toolchain) -> tuple[Path, ...]:
    """The files of the user's that the compiler read."""
    files = foreign_files(toolchain.folders, tuple(run.files))
    for file in files:
        if file.exists() and not file.is_file():
            raise FragmentSourceError(f"the source includes {file}, which is no regular file")
        if not file.exists():
            raise FragmentSourceError(
                f"the compiler says that it read {file}, and there is no such file",
                hint="it cannot tell a name that holds a backslash or a line end: rename the file or the folder",
            )
    return files


def kernel_use(source: Source, bound: BoundSignature, callee: Callee, toolchain: Toolchain) -> KernelUse:
    """What the region asks of the kernel, checked against the kernel's own prototype."""
    options, _ = options_of(source)
    explicit = callee.arguments or ", ".join(template_arguments(bound, callee))
    chosen = replace(callee, arguments=explicit)
    location = location_of(callee.function) if callee.function else source.location
    grid, taken = dict(options.grid), slots(prototype_of_source(source, chosen), callee)
    threads = math.prod(options.block)
    idle = threads if options.whole and threads % WARP else 0
    is_users = users_files(toolchain.folders)
    use = KernelUse(callee.name, bound, taken, grid, options.shared, location, is_users, idle, options.whole)
    check_prototype(bound, use.passed, use.slots, callee, location)
    return use


def refuse_what_no_gpu_takes(text: str, entry: str, shared: int, attempt: Attempt) -> None:
    source, function = attempt.source, attempt.callee.function
    location = location_of(function) if function else source.location
    holds = "\n" * (source.location.line - 1) + source.text if location.file == source.location.file else ""
    is_users = users_files(attempt.toolchain.folders)
    refuse_beyond_gpu(text, entry, location, holds, is_users)
    try_unusual(text, entry, attempt.bound, shared, attempt.arch, location, is_users)


def device_code_of(attempt: Attempt) -> DeviceCode:
    source, function, folders = attempt.source, attempt.callee.function, attempt.toolchain.folders
    return DeviceCode(
        attempt.callee.name,
        location_of(function) if function else source.location,
        users_files(folders),
        hint="write that part in plain CUDA under `#ifdef TLE_RAW_TEAM`, which only the CPU's compilation defines",
        explained=functools.partial(explained_by_source, source),
    )


def explained_by_source(source: Source, error: TLEError) -> TLEError:
    if isinstance(error, UnresolvedSymbolError):
        options, folder = options_of(source)
        here = options.file.parent if options.file else folder
        name_definer(error, (here, *(file.parent for file in closure_of(source).files)), source.text)
    return with_text(source, error).at(fragment=source.name)
