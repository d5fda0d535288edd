"""From device LLVM IR to a fragment's code: the way of every dialect that ends in LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.adapter import CompilerOutput
from tle_raw.adapters.llvm.callee import Callee, find_callee
from tle_raw.adapters.llvm.check import check_code, verify
from tle_raw.adapters.llvm.entry import entry_text, thread_text, with_functions
from tle_raw.adapters.llvm.forms import Layout, find_layout
from tle_raw.adapters.llvm.layout import check_intrinsics, check_target
from tle_raw.adapters.llvm.lines import read, unreadable
from tle_raw.adapters.llvm.mismatch import ambiguous, mismatch
from tle_raw.adapters.llvm.readings import other_meaning
from tle_raw.bound import BoundSignature
from tle_raw.compilation import older_llvm
from tle_raw.errors import DialectError, Place, TLEError
from tle_raw.flir.cpu.team import TEAM_ARCH, DeviceCode, make_team
from tle_raw.identity import entry_name
from tle_raw.linker.clang import find_clang
from tle_raw.linker.device_code import optimise_for_device
from tle_raw.linker.llvm_text import Module, UnreadableIRError
from tle_raw.linker.normalise import normalise
from tle_raw.linker.shared_memory import static_shared
from tle_raw.linker.symbols import refuse_unlinkable
from tle_raw.linker.unresolved import check_resolved
from tle_raw.target import Target

HINT = "the CPU runs what a GPU of sm_80 has, without tensor cores and textures; give it a function of its own"

PROBE = "tle_raw_probe"  # the name of an entry that is compiled for a look only


@dataclass(frozen=True)
class DeviceIR:
    """LLVM IR for NVIDIA GPUs, and where it comes from.

    Attributes
    ----------
    text : defines ``symbol``, with any linkage. It may name its target, nvptx64, or none.
    place : where the text's first line stands. Of text that LLVM printed, and of bitcode (a line of 0), no line is
        counted: errors name the place itself.
    compiler, seconds, files, command : as in ``CompilerOutput``.
    is_valid : LLVM printed the text, so that its form needs no check.
    is_trusted : nothing in it can stop the code generator; no child process tries it.
    names : what the function's author calls its parameters, where the text does not tell; "" for none.
    """

    text: str
    symbol: str
    place: Place
    compiler: str
    seconds: float
    files: tuple[Path, ...] = ()
    command: tuple[str, ...] = ()
    is_valid: bool = False
    is_trusted: bool = False
    names: tuple[str, ...] = ()


def compile_device_ir(ir: DeviceIR, name: str, bound: BoundSignature, target: Target) -> CompilerOutput:
    """Check the function against the signature, add the entry that a kernel calls, and for the CPU make it a team.

    Raises
    ------
    SymbolError : the function is missing, ambiguous, only declared, or a kernel.
    SignatureMismatchError : it does not take what the signature passes.
    LinkError : the module is another target's.
    CompilationFailed : the text is no LLVM IR, or LLVM refuses it.
    UnresolvedSymbolError, UnsupportedFeatureError : it uses what is defined nowhere, or what the target has not.
    ToolchainError : a tool is missing.
    """
    if target.backend not in ("cuda", "cpu"):
        raise DialectError(f"LLVM IR is compiled for cuda targets and for cpu, not for {target}")
    start = replace(ir.place, line=0) if ir.is_valid else ir.place
    try:
        return _compile(ir, start, name, bound, target)
    except UnreadableIRError as refusal:
        error: TLEError = unreadable(ir.text, start, refusal)
    except TLEError as refusal:
        error = refusal
    if error.context.source == start:
        error.context = replace(error.context, source=ir.place)
    raise error.at(fragment=name, source=ir.place)


def _compile(ir: DeviceIR, start: Place, name: str, bound: BoundSignature, target: Target) -> CompilerOutput:
    module = read(ir.text, start)
    check_target(module, start)
    if not ir.is_valid:
        verify(ir.text, start)
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
    team = target.backend == "cpu"
    if not ir.is_trusted:
        _check_code(ir, module, bound, callee, layout, TEAM_ARCH if team else target.arch)
    write = thread_text if team and not bound.is_elementwise else entry_text
    entry = entry_name(name, [ir.text, ir.symbol, bound.to_json(), str(team)])
    text = with_functions(ir.text, module, write(entry, bound, callee, layout))
    static_shared(text, entry)  # refuses what has no size; the sizes are asked for when it is linked
    check_resolved(text, entry)
    output = CompilerOutput(text, entry, ir.files, ir.seconds, ir.compiler, ir.command)
    return _team(output, bound, callee.symbol, callee.place if start.line else ir.place) if team else output


def _check_code(ir: DeviceIR, module: Module, bound: BoundSignature, callee: Callee, layout: Layout, arch: str) -> None:
    """The entry is a kernel's in both cases: what a GPU cannot run, the CPU does not emulate either."""
    text = with_functions(ir.text, module, entry_text(PROBE, bound, callee, layout))
    check_code(normalise(text, older_llvm=older_llvm()), PROBE, bound, arch, callee.place)


def _team(output: CompilerOutput, bound: BoundSignature, name: str, place: Place) -> CompilerOutput:
    from tle_raw.knobs import knobs

    text = optimise_for_device(output.text, output.entry, TEAM_ARCH)
    clang = find_clang(str(knobs.cuda.clang) if knobs.cuda.clang else None)
    code = DeviceCode(replace(output, text=text), name, place, bool, HINT)
    return make_team(code, bound, clang, knobs.debug)
