"""From device LLVM IR to a fragment's code: the way of every dialect that ends in LLVM IR."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from tle_raw.adapters.common.device_llvm.callee import Callee, find_callee
from tle_raw.adapters.common.device_llvm.check import AddedFunction, Tried, try_code, verify
from tle_raw.adapters.common.device_llvm.entry import added_text, entry_text, thread_text, with_added
from tle_raw.adapters.common.device_llvm.forms import Layout, find_layout
from tle_raw.adapters.common.device_llvm.layout import check_intrinsics, check_target
from tle_raw.adapters.common.device_llvm.lines import read, unreadable
from tle_raw.adapters.common.device_llvm.mismatch import ambiguous, mismatch
from tle_raw.adapters.common.device_llvm.readings import other_meaning
from tle_raw.errors import SourceLocation, TLEError
from tle_raw.fragments.adapter import CompilerOutput, DeviceCode
from tle_raw.fragments.bound import BoundSignature
from tle_raw.identity import entry_name
from tle_raw.linker.device_code import optimise_for_device
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.link_libraries import defined_in
from tle_raw.linker.llvm.redefined import refuse_redefinitions
from tle_raw.linker.llvm.shared_memory import static_shared
from tle_raw.linker.llvm.symbols import refuse_unlinkable
from tle_raw.linker.llvm.text import Module, UnreadableIRError, read_module
from tle_raw.linker.unresolved import check_resolved
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted
from tle_raw.targets.device_code import wanted_device_code

HINT = "the CPU runs what a GPU of sm_80 has, without tensor cores and textures; give it a function of its own"

PROBE = "tle_raw_probe"  # the name of an entry that is compiled for a look only


@dataclass(frozen=True)
class DeviceIR:
    """LLVM IR for NVIDIA GPUs, and where it comes from.

    Attributes
    ----------
    text : defines ``symbol``, with any linkage. It may name its target, nvptx64, or none.
    location : where the text's first line stands. Of text that LLVM printed, and of bitcode (a line of 0), no line is
        counted: errors name the place itself.
    compiler, seconds, files, command : as in ``CompilerOutput``.
    is_valid : LLVM printed the text, so that its form needs no check.
    is_trusted : nothing in it can stop the code generator; no child process tries it.
    names : what the function's author calls its parameters, where the text does not tell; "" for none.
    libraries : what will be linked with it.
    """

    text: str
    symbol: str
    location: SourceLocation
    compiler: str
    seconds: float
    files: tuple[Path, ...] = ()
    command: tuple[str, ...] = ()
    is_valid: bool = False
    is_trusted: bool = False
    names: tuple[str, ...] = ()
    libraries: tuple[LinkLibrary, ...] = ()


def compile_device_ir(ir: DeviceIR, name: str, bound: BoundSignature, target: Target) -> CompilerOutput:
    """Check the function against the signature, and add the entry that the target wants.

    Raises
    ------
    SymbolError : the function is missing, ambiguous, only declared, or a kernel.
    SignatureMismatchError : it does not take what the signature passes.
    LinkError : the module is another target's. DuplicateSymbolError : it has two symbols of one name.
    CompilationFailed : the text is no LLVM IR, or LLVM refuses it.
    UnresolvedSymbolError, UnsupportedFeatureError : it uses what is defined nowhere, or what the target has not.
    ToolchainError : a tool is missing.
    """
    wanted = wanted_device_code(target, "LLVM IR is compiled")
    start = replace(ir.location, line=0) if ir.is_valid else ir.location
    try:
        return _compile(ir, start, name, bound, wanted)
    except TLEError as refusal:
        error = _explained(ir, start, name, refusal)
    raise error


def _explained(ir: DeviceIR, start: SourceLocation, name: str, error: TLEError) -> TLEError:
    """An error with its lines in the text that the user has."""
    if isinstance(error, UnreadableIRError):
        error = unreadable(ir.text, start, error)
    if error.context.source == start:
        error.context = replace(error.context, source=ir.location)
    return error.at(fragment=name, source=ir.location)


def _compile(
    ir: DeviceIR, start: SourceLocation, name: str, bound: BoundSignature, wanted: DeviceCodeWanted
) -> CompilerOutput:
    module = _readable(ir, start)
    try:
        callee, layout = _chosen(ir, module, bound, start)
    except TLEError:
        if not ir.is_valid:
            verify(ir.text, start)  # what LLVM itself refuses is said first
        raise
    write = thread_text if wanted.is_emulated and not bound.is_elementwise else entry_text
    entry = entry_name(name, [ir.text, ir.symbol, bound.to_json(), str(wanted.is_emulated)])
    added = added_text(module, write(entry, bound, callee, layout))
    thread = AddedFunction(added, entry, wanted.arch) if wanted.is_emulated else None
    tried = _tried(ir, start, module, bound, callee, layout, thread, wanted.arch)
    # Lines are the user's in these two; what goes on is LLVM's own print.
    written = read_module(with_added(ir.text, added))
    static_shared(written, entry)  # refuses what has no size; the sizes are asked for later
    check_resolved(written, entry, provided=defined_in(ir.libraries))
    text = with_added(tried.text, added)
    if wanted.is_emulated:
        text = tried.optimised or optimise_for_device(text, entry, wanted.arch)
    explained = functools.partial(_explained, ir, start, name)
    device = DeviceCode(callee.symbol, callee.location if start.line else ir.location, bool, HINT, explained)
    return CompilerOutput(text, entry, ir.files, ir.seconds, ir.compiler, ir.command, tried.warnings, device=device)


def _readable(ir: DeviceIR, start: SourceLocation) -> Module:
    module = read(ir.text, start)
    if not ir.is_valid:
        refuse_redefinitions(module, start)
    check_target(module, start)
    return module


def _chosen(ir: DeviceIR, module: Module, bound: BoundSignature, start: SourceLocation) -> tuple[Callee, Layout]:
    """The function that is called, and how."""
    refuse_unlinkable(module)
    callee = find_callee(module, ir.symbol, start)
    check_intrinsics(module, callee.symbol, start)
    layout = find_layout(bound, callee.type)
    if layout is None:
        raise mismatch(bound, callee)
    names = ir.names if len(ir.names) == len(callee.names) else callee.names
    other = other_meaning(bound, layout, callee.type, names)
    if other is not None:
        raise ambiguous(layout, other, callee, names)
    return callee, layout


def _tried(
    ir: DeviceIR, start: SourceLocation, module: Module, bound: BoundSignature, callee: Callee, layout: Layout,
    thread: AddedFunction | None, arch: str,
) -> Tried:  # fmt: skip
    """The probe's entry is a kernel's in both cases: what a GPU cannot run, the CPU does not emulate either."""
    if ir.is_trusted:
        return Tried(ir.text)
    probe = AddedFunction(added_text(module, entry_text(PROBE, bound, callee, layout)), PROBE, arch)
    optimise = thread if find_spec("llvmlite") else None
    return try_code(ir.text, ir.is_valid, probe, bound, optimise, start, callee.location)
