"""Run as a program: reads foreign LLVM IR with LLVM, and generates its code, where a crash harms nobody.

Standard input is JSON, by task; each may be missing:
text, verify : the module, and whether llvmlite reads, verifies and prints it.
optimise : a function to add, its name, and arch: the module as a GPU compiler leaves it at O3.
code : a function to add, root (an MLIR module that calls it), arch, features and older: linked by the LLVM inside
Triton, as it will be in the user's process.
The answer, in the file that is named, is JSON too. Each task imports what it needs: a process runs one or two of them.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

TRIPLE = "nvptx64-nvidia-cuda"


def main() -> None:
    asked = json.load(sys.stdin)
    answer: dict[str, Any] = {"text": asked["text"]}
    try:
        if asked.get("verify"):
            answer["text"] = printed(asked["text"])
        if asked.get("optimise"):
            answer["optimised"] = optimise(answer["text"], **asked["optimise"])
        if asked.get("code"):
            answer["code"] = generated(answer["text"], **asked["code"])
    except Refused as refusal:
        answer |= {"refused": str(refusal), "is_users": refusal.is_users}
    Path(sys.argv[1]).write_text(json.dumps(answer))


class Refused(Exception):
    """What LLVM said; of the text as the user wrote it, or of what was made of it."""

    def __init__(self, said: str, is_users: bool = False) -> None:
        super().__init__(said)
        self.is_users = is_users


def printed(text: str) -> str:
    """The module as LLVM prints it: nothing of it can be read in two ways. Debug info that is wrong has gone."""
    from tle_raw.linker.device_code import parse
    from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

    llvm = load_llvmlite()
    with llvm.create_context() as context:
        try:
            with parse(llvm, text, context) as module:
                module.verify()
                return without_name(str(module))
        except RuntimeError as error:
            raise Refused(str(error), is_users=True) from None


def without_name(text: str) -> str:
    """LLVM names a module after its file, and there is none."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if not line.startswith(("; ModuleID", "source_filename")))


def optimise(text: str, added: str, entry: str, arch: str) -> str:
    from tle_raw.errors import LinkError
    from tle_raw.linker.device_code import optimise_for_device

    try:
        return optimise_for_device(text + added, entry, arch)
    except LinkError as error:
        raise Refused(error.log or error.message) from None


def generated(text: str, added: str, root: str, arch: str, features: str, older: bool) -> str:
    """The PTX of a kernel that calls the function, by the LLVM inside Triton."""
    from triton._C.libtriton import ir, llvm, nvidia

    from tle_raw.linker.llvm.normalise import normalise
    from tle_raw.linker.llvm.text import read_module
    from tle_raw.triton_version import VERSION

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.TemporaryDirectory(prefix="tle_raw-") as folder:
        kernel, library = Path(folder, "root.mlir"), Path(folder, "library.ll")
        kernel.write_text(root)
        module = normalise(read_module(text + added), older_llvm=older)
        library.write_text(module.text, encoding="utf-8", errors="surrogateescape")
        parsed = ir.parse_mlir_module(str(kernel), context)
        llvm.init_targets()
        llvm_context = llvm.context()
        module = llvm.to_module(parsed, llvm_context)
        llvm.attach_datalayout(module, TRIPLE, arch, features)
        try:
            llvm.link_extern_libs(module, [str(library)])
        except RuntimeError as error:
            raise Refused(str(error)) from None
    llvm.optimize_module(module, llvm.OPTIMIZE_O3)
    arguments = [str(module), TRIPLE, arch, features, [], True, False]
    if VERSION >= (3, 8):
        arguments.append(False)
    ptx: str = llvm.translate_to_asm(*arguments)
    return ptx


if __name__ == "__main__":
    main()
