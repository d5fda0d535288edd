"""Run as a program: links LLVM IR with the LLVM inside Triton and generates its code, where a crash harms nobody.

Standard input is JSON: root (an MLIR module that calls the entry), library (LLVM IR text), arch, features.
Standard output is the PTX. Imports nothing of this package: it starts in a fifth of a second.
"""

import json
import sys
import tempfile
from pathlib import Path

import triton
from triton._C.libtriton import ir, llvm, nvidia

TRIPLE = "nvptx64-nvidia-cuda"


def main() -> None:
    asked = json.load(sys.stdin)
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.TemporaryDirectory(prefix="tle_raw-") as folder:
        root, library = Path(folder, "root.mlir"), Path(folder, "library.ll")
        root.write_text(asked["root"])
        library.write_text(asked["library"])
        parsed = ir.parse_mlir_module(str(root), context)
        llvm.init_targets()
        llvm_context = llvm.context()
        module = llvm.to_module(parsed, llvm_context)
        llvm.attach_datalayout(module, TRIPLE, asked["arch"], asked["features"])
        llvm.link_extern_libs(module, [str(library)])
    llvm.optimize_module(module, llvm.OPTIMIZE_O3)
    arguments = [str(module), TRIPLE, asked["arch"], asked["features"], [], True, False]
    if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 8):
        arguments.append(False)
    sys.stdout.write(llvm.translate_to_asm(*arguments))


if __name__ == "__main__":
    main()
