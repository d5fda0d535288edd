"""From a Python function and its types to one LLVM module, by Numba, as NVPTX takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.numba.installed import capability_of
from tle_raw.adapters.numba.instructions import INSTRUCTIONS
from tle_raw.adapters.numba.types import NumbaArgument
from tle_raw.adapters.numba.words import wrapper
from tle_raw.errors import CompilationFailed, UnsupportedFeatureError
from tle_raw.linker.llvm.opaque_pointers import opaque_pointers
from tle_raw.linker.llvm.text import UnreadableIRError
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite_for_gpus

ENTRY = "tle_numba_entry"
TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'
# Instructions that libNVVM knows by one name and a mode, and LLVM by a name for each.
_MODES = re.compile(r'@"?llvm\.nvvm\.(shfl\.sync\.i32|vote\.sync|match\.all\.sync\.i32|match\.all\.sync\.i64)"?(?=\()')
_REGISTERS = re.compile(r'@"?llvm\.nvvm\.read\.ptx\.sreg\.(n?tid)\.([xyz])"?(?=\()')


@dataclass(frozen=True)
class Lowered:
    """``text`` defines ENTRY, which takes what a region passes; ``result`` is Numba's type of what it returns."""

    text: str
    result: Any


def lower(
    function: Any, types: Sequence[Any], result: Any, arguments: Sequence[NumbaArgument], fastmath: Any,
    capability: tuple[int, int], block: tuple[int, ...],
) -> Lowered:  # fmt: skip
    """Numba's own compiler, up to its LLVM IR.

    Raises
    ------
    CompilationFailed : Numba refuses the function.
    UnsupportedFeatureError : it needs more than LLVM IR.
    """
    from numba import types as numba_types
    from numba.cuda import compiler

    try:
        with capability_of(capability):
            made = compiler.compile_cuda(function, result, tuple(types), fastmath=bool(fastmath), cc=capability)
    except Exception as error:  # of any kind: Numba runs the user's own Python while it types
        raise CompilationFailed(f"Numba cannot compile `{function.__name__}`", log=_log_of(error)) from error
    _refuse(function.__name__, made.library)
    texts = [_MODES.sub(r'@"tle.numba.\1"', opaque_pointers(str(module))) for module in made.library.modules]
    texts.append(TRIPLE + INSTRUCTIONS)
    returned = made.signature.return_type
    returned = None if returned == numba_types.none else returned
    if block:
        texts = [_REGISTERS.sub(r'@"tle.numba.\1.\2"', text) for text in texts]
        texts.append(_block(block))
    try:
        return Lowered(_linked(texts, made.fndesc.llvm_func_name, arguments, returned), returned)
    except (RuntimeError, UnreadableIRError) as error:
        raise CompilationFailed(f"LLVM cannot read what Numba made of `{function.__name__}`", log=str(error)) from error


def _refuse(name: str, library: Any) -> None:
    """What a library of Numba's needs beside its LLVM IR; it knows that of what it calls, too."""
    reasons = {
        "functions of CUDA C++, which Numba links as machine code": library._linking_files,
        "a cooperative launch, whose blocks wait for each other": library.use_cooperative,
        "arrays of the device as globals, whose addresses would be in the code": library.referenced_objects,
    }
    for what, found in reasons.items():
        if found:
            raise UnsupportedFeatureError(
                f"`{name}` needs {what}",
                log="\n".join(sorted(map(str, found))) if isinstance(found, (set, frozenset)) else "",
                hint="pass arrays as arguments, and write what Numba has no Python for in a fragment of CUDA C++",
            )


def _log_of(error: Exception) -> str:
    lines = [line for line in re.sub(r"\x1b\[\d*m", "", str(error)).splitlines() if line.strip()]
    return "\n".join(line[:200] for line in lines[:25])


def _linked(texts: Sequence[str], name: str, arguments: Sequence[NumbaArgument], result: Any) -> str:
    """One module, in which only the entry is visible. Names that Numba counts in a process become plain ones."""
    llvm = load_llvmlite_for_gpus()
    with ExitStack() as modules:  # all are disposed of before their context, also after an error
        context = modules.enter_context(llvm.create_context())

        def parsed(text: str) -> Any:
            return modules.enter_context(llvm.parse_assembly(text, context=context))

        module = parsed(texts[0])
        for text in sorted(set(texts[1:])):  # Numba keeps what it links in sets
            module.link_in(parsed(text))
        kinds = [str(argument.type) for argument in module.get_function(name).arguments]
        module.link_in(parsed(TRIPLE + wrapper(ENTRY, name, arguments, kinds, result)))
        for number, value in enumerate([*module.functions, *module.global_variables]):
            if not value.is_declaration and value.name != ENTRY:
                value.name = f"tle.numba.{number}"
                value.linkage = "internal"
        for value in module.functions:
            if not value.is_declaration:  # Numba leaves that to libNVVM
                value.add_function_attribute("convergent")
        module.verify()
        text = str(module)
    return "\n".join(line for line in text.splitlines() if not line.startswith(("; ModuleID", "source_filename")))


def _block(block: tuple[int, ...]) -> str:
    """The threads of a Triton block, which has one dim, as a block of the shape that the function was written for."""
    x, y, z = (*block, 1, 1, 1)[:3]
    thread = '  %t = call i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()\n'
    bodies = {
        "tid.x": f"{thread}  %r = urem i32 %t, {x}\n",
        "tid.y": f"{thread}  %d = udiv i32 %t, {x}\n  %r = urem i32 %d, {y}\n",
        "tid.z": f"{thread}  %r = udiv i32 %t, {x * y}\n",
        **{f"ntid.{axis}": f"  %r = add i32 0, {extent}\n" for axis, extent in zip("xyz", (x, y, z))},
    }
    functions = [f'define i32 @"tle.numba.{name}"() {{\n{body}  ret i32 %r\n}}' for name, body in bodies.items()]
    return "\n".join([TRIPLE, 'declare i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()', *functions, ""])
