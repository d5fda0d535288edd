"""From device LLVM IR to a fragment's code: the way of every dialect that ends in LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tle_raw.adapter import CompilerOutput
from tle_raw.adapters.llvm.callee import find_callee
from tle_raw.adapters.llvm.check import check_code, verify
from tle_raw.adapters.llvm.entry import entry_text
from tle_raw.adapters.llvm.forms import find_layout
from tle_raw.adapters.llvm.layout import check_target
from tle_raw.adapters.llvm.lines import read
from tle_raw.adapters.llvm.mismatch import mismatch
from tle_raw.bound import BoundSignature
from tle_raw.errors import DialectError, Place, TLEError
from tle_raw.identity import entry_name
from tle_raw.linker.normalise import normalise
from tle_raw.linker.symbols import refuse_unlinkable
from tle_raw.linker.unresolved import check_resolved
from tle_raw.target import Target


@dataclass(frozen=True)
class DeviceIR:
    """LLVM IR for NVIDIA GPUs, and where it comes from.

    Attributes
    ----------
    text : defines ``symbol``, with any linkage. It may name its target, nvptx64, or none.
    place : where the text's first line stands; a line of 0 for what the user has no text of.
    compiler, seconds, files, command : as in ``CompilerOutput``.
    is_valid : LLVM printed the text, so that its form needs no check.
    is_trusted : nothing in it can stop the code generator; no child process tries it.
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
    try:
        return _compile(ir, name, bound, target)
    except TLEError as error:
        raise error.at(fragment=name, source=ir.place) from None


def _compile(ir: DeviceIR, name: str, bound: BoundSignature, target: Target) -> CompilerOutput:
    module = read(ir.text, ir.place)
    check_target(module, ir.place)
    if not ir.is_valid:
        verify(ir.text, ir.place)
    refuse_unlinkable(module)
    callee = find_callee(module, ir.symbol, ir.place)
    layout = find_layout(bound, callee.type)
    if layout is None:
        raise mismatch(bound, callee)
    entry = entry_name(name, [ir.text, ir.symbol, bound.to_json()])
    text = f"{ir.text.rstrip()}\n\n{entry_text(entry, bound, callee, layout)}"
    check_resolved(text, entry)
    if not ir.is_trusted:
        check_code(normalise(text, older_llvm=_older_llvm()), entry, bound, target, callee.place)
    return CompilerOutput(text, entry, ir.files, ir.seconds, ir.compiler, ir.command)


def _older_llvm() -> bool:
    from tle_raw.compilation import older_llvm

    return older_llvm()
