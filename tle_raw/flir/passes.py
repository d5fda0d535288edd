"""The passes of FLIR, by the names under which ``knobs.print_after`` shows what each has made of a kernel.

The names are part of the interface. Passes that only look (check, compile, decide) change nothing and are not listed.
"""

from __future__ import annotations

ALL = "all"

# After Triton's own `ttir` stage, on every target, for kernels with regions.
VIEW = {"show-regions": 'the kernel\'s Triton IR with its regions as tle.dsl_region: kernel.asm["tle"]'}

# Kernels with regions, for NVIDIA GPUs. All else there is Triton's.
NVIDIA = {
    "convert-to-ttgpuir": "a layout for every tensor; the regions are still port markers",
    "replace-ports": "shared memory and the linked functions' calls in place of the markers",
    "insert-barriers": "block barriers around the calls in pipelined loops; absent where there are none",
    "link-fragments": "LLVM IR: the fragments linked and inlined",
    "align-shared-memory": "LLVM IR: Triton's shared memory behind static variables; absent where there are none",
}

# Every kernel for the CPU.
CPU = {
    "simplify-ttir": "Triton IR: inlined, plain pointers, canonical",
    "read-ttir": "the same module in upstream MLIR, Triton's operations unregistered",
    "structure-control-flow": "early returns as scf; absent where there are none",
    "convert-to-linalg": "the Linalg form",
    "clean": 'the Linalg form, verified and canonical: kernel.asm["linalg"]',
    "block-matmul": "products of tiles as register-blocked vector code",
    "vectorise": "linalg.generic as loops over vectors",
    "multiply-by-reciprocals": "divisions by one number, where the host's vectors are 64 bytes; else nothing changes",
    "place-buffers": "tiles in memory that the launcher gives",
    "expand-math": "mathematical functions as vector arithmetic",
    "emulate-small-floats": "arithmetic of bf16 and f16 in f32",
    "keep-rounding": "no contraction across conversions",
    "expand-arithmetic": "operations that LLVM lacks as others",
    "convert-to-llvm": "the LLVM dialect",
    "translate-to-llvmir": 'LLVM IR: kernel.asm["llvmir"]',
}

NAMES = tuple(dict.fromkeys((*VIEW, *NVIDIA, *CPU)))


def pass_names(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    words = [word.strip() for word in value.split(",")]
    if value.strip() and any(word != ALL and word not in NAMES for word in words):
        raise ValueError
    return ",".join(words) if value.strip() else ""


# What an error of the knob says was expected.
pass_names.__doc__ = f"`{ALL}`, or names with commas between them: {', '.join(NAMES)}"
