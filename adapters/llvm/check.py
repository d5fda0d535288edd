"""Holds LLVM IR against LLVM itself before it comes near a kernel: text is anybody's, and LLVM trusts what it links."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tle_raw.adapters.llvm.lines import refusal
from tle_raw.bound import BoundSignature
from tle_raw.errors import CompilationFailed, Context, Place, ToolchainError, UnsupportedFeatureError
from tle_raw.linker.clang import find_clang
from tle_raw.linker.device_code import parse
from tle_raw.linker.llvmlite_binding import load_llvmlite

# What is no intrinsic for the running LLVM becomes a call of a function.
_INTRINSIC_CALL = re.compile(r"^\s*call[^;\n]*?\b(llvm\.[\w.$]+)", re.MULTILINE)
CHILD = Path(__file__).with_name("libtriton_child.py")
INSTALL = "pip install 'tle_raw[llvm]'"
# As Triton's own types cross in the llvm dialect.
_MLIR = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr addrspace(1)": "!llvm.ptr<1>"}


def verify(text: str, start: Place) -> None:
    """Parse the module and check its form: values that are not defined where they are used, wrong intrinsics.

    Raises
    ------
    CompilationFailed : LLVM refuses it, at the user's line.
    ToolchainError : there is neither llvmlite nor clang; the LLVM inside Triton looks at no module's form.
    """
    try:
        llvm = load_llvmlite()
    except ToolchainError:
        _verify_by_clang(text, start)
        return
    with llvm.create_context() as context:
        try:
            with parse(llvm, text, context) as module:
                module.verify()
        except RuntimeError as error:
            raise refusal(text, start, str(error)) from None


def _verify_by_clang(text: str, start: Place) -> None:
    try:
        clang = find_clang()
    except ToolchainError as error:
        raise ToolchainError(
            "LLVM IR is checked by llvmlite or by clang, and neither is installed", hint=INSTALL
        ) from error
    command = [*clang.command, "--target=nvptx64-nvidia-cuda", "-x", "ir", "-S", "-emit-llvm", "-O0", "-o", os.devnull]
    with tempfile.TemporaryDirectory(prefix="tle_raw-") as folder:
        file = Path(folder, "module.ll")
        file.write_text(text)
        run = subprocess.run(
            [*command, "-Wno-override-module", str(file)], capture_output=True, text=True, timeout=_timeout()
        )
    if run.returncode:
        raise refusal(text, start, run.stderr.replace(str(file), "<string>"))


def check_code(text: str, entry: str, bound: BoundSignature, arch: str, start: Place) -> None:
    """Generate code for a kernel that calls the entry, in a process of its own.

    ``text`` is what will be linked. LLVM ends its process over an instruction that the target does not have.

    Raises
    ------
    CompilationFailed : the LLVM inside the running Triton cannot read the module, or fails over it.
    UnsupportedFeatureError : an instruction that the target does not have.
    """
    asked = {"root": _root(entry, bound), "library": text, "arch": arch, "features": _features(arch)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        run = subprocess.run(
            [sys.executable, "-P", str(CHILD)],
            input=json.dumps(asked),
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_timeout(),
        )
    except subprocess.TimeoutExpired:
        raise CompilationFailed(
            f"LLVM did not finish within {_timeout():g} seconds", context=Context(source=start)
        ) from None
    if run.returncode:
        raise _failure(run, arch, start)
    unknown = sorted(set(_INTRINSIC_CALL.findall(run.stdout)))
    if unknown:
        raise UnsupportedFeatureError(
            f"the intrinsic `{unknown[0]}` is not known to the LLVM inside Triton {version('triton')}",
            hint="its name is misspelled, or it belongs to another release of LLVM",
            context=Context(source=start),
        )


def _failure(run: subprocess.CompletedProcess, arch: str, start: Place) -> Exception:
    context = Context(source=start)
    fatal = [line for line in run.stderr.splitlines() if line.startswith("LLVM ERROR")]
    if fatal and "Cannot select" in fatal[0]:
        what = fatal[0].rpartition("Cannot select: ")[2]
        return UnsupportedFeatureError(
            f"{arch} cannot run: {what}",
            hint="the intrinsic or the type is not for this target, or for a newer GPU only",
            context=context,
        )
    if fatal:
        return CompilationFailed(f"LLVM failed: {fatal[0].removeprefix('LLVM ERROR: ')}", context=context)
    if run.returncode < 0:
        name = signal.Signals(-run.returncode).name
        return CompilationFailed(f"LLVM crashed ({name})", log=run.stderr[-2000:], context=context)
    return refusal("", start, run.stderr)


def _root(entry: str, bound: BoundSignature) -> str:
    """A kernel in MLIR's llvm dialect that calls the entry: what is not called would not be linked."""
    types = [_mlir(kind) for kind in bound.entry_parameters]
    result = _mlir(bound.entry_result)
    parameters = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(types))
    passed = ", ".join(f"%a{i}" for i in range(len(types)))
    return (
        "module {\n"
        f"  llvm.func @{entry}({', '.join(types)}) -> {result}\n"
        f"  llvm.func @tle_raw_root({parameters}, %out: !llvm.ptr<1>) attributes {{nvvm.kernel}} {{\n"
        f"    %r = llvm.call @{entry}({passed}) : ({', '.join(types)}) -> {result}\n"
        f"    llvm.store %r, %out : {result}, !llvm.ptr<1>\n"
        "    llvm.return\n  }\n}\n"
    )


def _mlir(kind: str) -> str:
    return _MLIR.get(kind, kind)


def _features(arch: str) -> str:
    """The PTX version that Triton asks of LLVM, at least what the architecture needs."""
    capability = int(arch.removeprefix("sm_").rstrip("a"))
    if capability in (103, 121):
        return "+ptx88"
    return "+ptx87" if capability > 100 else "+ptx86"


def _timeout() -> float:
    from tle_raw.knobs import knobs

    return knobs.compile_timeout
