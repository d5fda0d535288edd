"""Holds LLVM IR against LLVM itself, in a child: text is anybody's, and LLVM ends the process over what it trusts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tle_raw.adapters.common.device_llvm.lines import refusal
from tle_raw.errors import CompilationFailed, Context, SourceLocation, ToolchainError, UnsupportedFeatureError
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compilation import older_llvm
from tle_raw.knobs import knobs
from tle_raw.linker.processes.child_process import (
    CHILD_STACK,
    Finished,
    Limits,
    default_memory,
    run_child,
)
from tle_raw.linker.processes.run_python import run_python
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.linker.tools.clang import find_clang

# What is no intrinsic for the running LLVM becomes a call of a function.
_INTRINSIC_CALL = re.compile(r"^\s*call[^;\n]*?\b(llvm\.[\w.$]+)", re.MULTILINE)
CHILD = Path(__file__).with_name("llvm_child.py")
_MODULES = (
    "tle_raw.errors",
    "tle_raw.linker.device_code",
    "tle_raw.linker.llvm.normalise",
    "llvmlite.binding",
    "triton",
)
INSTALL = "pip install 'tle_raw[llvm]'"
STRIPPED = "warning: the debug info is not valid, and was left out"
# As Triton's own types cross in the llvm dialect.
_MLIR = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr addrspace(1)": "!llvm.ptr<1>"}


@dataclass(frozen=True)
class Tried:
    """A module that LLVM read: its text as LLVM prints it, what was optimised of it, and warnings."""

    text: str
    optimised: str = ""
    warnings: str = ""


@dataclass(frozen=True)
class AddedFunction:
    """A function to add to the module for the trial."""

    text: str
    name: str
    arch: str


def verify(text: str, start: SourceLocation) -> None:
    """Parse the module and check its form: values that are not defined where they are used, wrong intrinsics.

    Raises
    ------
    CompilationFailed : LLVM refuses it, at the user's line.
    ToolchainError : there is neither llvmlite nor clang; the LLVM inside Triton looks at no module's form.
    """
    if find_spec("llvmlite"):
        _ask({"text": text, "verify": True}, text, "", start, start)
    else:
        _printed_by_clang(text, start)


def try_code(
    text: str,
    is_valid: bool,
    probe: AddedFunction,
    bound: BoundSignature,
    optimise: AddedFunction | None,
    start: SourceLocation,
    location: SourceLocation,
) -> Tried:
    """Verify the module where it is not ``is_valid`` yet, and generate code for a kernel that calls ``probe``.

    ``start`` is where the text's first line stands, ``location`` the called function's line.

    Raises
    ------
    CompilationFailed : LLVM refuses the module, or fails over it.
    UnsupportedFeatureError : an instruction that the target does not have.
    ToolchainError : as for ``verify``.
    """
    asked: dict[str, Any] = {"text": text, "verify": not is_valid}
    if not is_valid and not find_spec("llvmlite"):
        asked = {"text": _printed_by_clang(text, start), "verify": False}
    if optimise:
        asked["optimise"] = {"added": optimise.text, "entry": optimise.name, "arch": optimise.arch}
    asked["code"] = _called(probe, bound)
    answer, warnings = _ask(asked, text, probe.arch, start, location)
    _refuse_unknown(answer["code"], location)
    return Tried(answer["text"], answer.get("optimised", ""), warnings)


def check_code(text: str, entry: str, bound: BoundSignature, arch: str, location: SourceLocation) -> None:
    """Generate code for a kernel that calls a function of a module which a compiler made.

    Raises
    ------
    CompilationFailed : LLVM fails over it.
    UnsupportedFeatureError : an instruction that the target does not have.
    """
    asked = {"text": text, "verify": False, "code": _called(AddedFunction("", entry, arch), bound)}
    answer, _ = _ask(asked, text, arch, location, location)
    _refuse_unknown(answer["code"], location)


def _called(probe: AddedFunction, bound: BoundSignature) -> dict[str, Any]:
    """What the child is told of the kernel that calls the function."""
    root, features = _root(probe.name, bound), _features(probe.arch)
    return {"added": probe.text, "root": root, "arch": probe.arch, "features": features, "older": older_llvm()}


def _refuse_unknown(code: str, location: SourceLocation) -> None:
    unknown = sorted(set(_INTRINSIC_CALL.findall(code)))
    if unknown:
        raise UnsupportedFeatureError(
            f"the intrinsic `{unknown[0]}` is not known to the LLVM inside Triton {version('triton')}",
            hint="its name is misspelled, or it belongs to another release of LLVM",
            context=Context(source=location),
        )


def _ask(
    asked: dict[str, Any], text: str, arch: str, start: SourceLocation, location: SourceLocation
) -> tuple[dict[str, Any], str]:
    """The child's answer, and warnings; ``text`` is what the lines of messages count in."""
    limits = Limits(knobs.compile_timeout, default_memory(), stack=CHILD_STACK)
    with temporary_folder() as folder:
        file = Path(folder, "answer.json")
        data = json.dumps(asked).encode()
        done = run_python(CHILD, str(file), data=data, folder=Path(folder), limits=limits, modules=_MODULES)
        if done.how or not file.is_file():
            raise _failure(done, arch, text, start, location)
        answer = json.loads(file.read_text())
    if "refused" in answer:
        said = f"{answer['refused']}\n{done.messages}"
        raise refusal(text, start, said) if answer["is_users"] else refusal("", location, said)
    return answer, STRIPPED if "invalid debug info" in done.messages else ""


def _failure(done: Finished, arch: str, text: str, start: SourceLocation, location: SourceLocation) -> Exception:
    context = Context(source=location)
    if done.returncode is None:
        return CompilationFailed("LLVM did not finish within knobs.compile_timeout", context=context)
    lines = done.messages.splitlines()
    fatal = [line for line in lines if line.startswith("LLVM ERROR")]
    if fatal and "Cannot select" in fatal[0]:
        what = fatal[0].rpartition("Cannot select: ")[2]
        return UnsupportedFeatureError(
            f"{arch} cannot run: {what}",
            hint="the intrinsic or the type is not for this target, or for a newer GPU only",
            context=context,
        )
    if fatal and "Broken module" in fatal[0]:  # what the verifier said stands before it
        return refusal(text, start, done.messages.partition("LLVM ERROR")[0])
    if fatal:
        return CompilationFailed(f"LLVM failed: {fatal[0].removeprefix('LLVM ERROR: ')}", context=context)
    if done.returncode == 1:
        return refusal("", location, done.messages)
    return CompilationFailed(f"LLVM {done.how or 'gave no answer'}", log=done.messages[-2000:], context=context)


def _printed_by_clang(text: str, start: SourceLocation) -> str:
    try:
        clang = find_clang()
    except ToolchainError as error:
        raise ToolchainError(
            "LLVM IR is checked by llvmlite or by clang, and neither is installed", hint=INSTALL
        ) from error
    flags = ["--target=nvptx64-nvidia-cuda", "-x", "ir", "-S", "-emit-llvm", "-O0", "-Xclang", "-disable-llvm-passes"]
    done = run_child(
        [*clang.command, *flags, "-Wno-override-module", "-o", "-", "-"],
        data=text.encode("utf-8", "surrogateescape"),
        limits=Limits(knobs.compile_timeout, default_memory(), stack=CHILD_STACK),
    )
    if done.how:
        raise refusal(text, start, done.messages.replace("<stdin>", "<string>"))
    return done.output.decode("utf-8", "surrogateescape")


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
