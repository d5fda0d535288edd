"""Runs the Linalg of a kernel on this machine by upstream MLIR, program after program: what it computes is compared.

The text is for MLIR of LLVM 19. What the installed binding spells otherwise is written anew, and what is HIVM's own is
left out: hints and synchronisation mean nothing where programs run one after the other.
"""

from __future__ import annotations

import ctypes
import re

import torch
from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

_TO_TENSOR = re.compile(
    r"(bufferization\.to_tensor %\S+ restrict writable : memref<((?:\d+x)+\w+)[^\n]*?>)(?= loc|$)", re.M
)
_BINARY = re.compile(r"linalg\.elemwise_binary \{fun = #linalg\.binary_fn<(\w+)>\}")
_LEFT_OUT = ("annotation.mark", "hivm.hir.sync_block")
_COPY = re.compile(r"memref\.copy (%[\w#]+), (%[\w#]+) : (memref<.*>) to (memref<.*>)")
_BUFFERS = "func.func(convert-elementwise-to-linalg),one-shot-bufferize{allow-unknown-ops=false}"
_PASSES = (
    "func.func(convert-linalg-to-loops,convert-scf-to-cf)",
    "expand-strided-metadata",
    "lower-affine",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-cf-to-llvm",
    "convert-func-to-llvm",
    "reconcile-unrealized-casts",
)


def run(text: str, kernel: str, arguments: list[object], grid: tuple[int, int]) -> None:
    """Arrays are torch's, flat or not; they are read and written in place."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(_newer(text, kernel))
        PassManager.parse(f"builtin.module({_BUFFERS})").run(module.operation)
        # Of a memref's copy the lowering makes a call of a library.
        module = ir.Module.parse(_COPY.sub(r"linalg.copy ins(\1 : \3) outs(\2 : \4)", str(module)))
        PassManager.parse(f"builtin.module({','.join(_PASSES)})").run(module.operation)
        engine = ExecutionEngine(module, opt_level=0)
        start = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup(f"_mlir_ciface_{kernel}"))
        workspace = torch.zeros(1, dtype=torch.int8)
        for y in range(grid[1]):
            for x in range(grid[0]):
                numbers = [ctypes.c_int32(number) for number in (*grid, 1, x, y, 0)]
                held = [_packed(value) for value in (workspace, *arguments)]
                words = [ctypes.addressof(value) for value in (*held, *numbers)]
                packed = (ctypes.c_void_p * len(words))(*words)
                start(ctypes.addressof(packed))


class _Memref(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("allocated", "aligned", "offset", "size", "stride")]


def _packed(value: object) -> ctypes._SimpleCData | ctypes.c_void_p:
    """As MLIR's C interface takes it: of an array a pointer to its descriptor."""
    if isinstance(value, torch.Tensor):
        at = value.data_ptr()
        descriptor = _Memref(at, at, 0, value.numel(), 1)
        pointer = ctypes.c_void_p(ctypes.addressof(descriptor))
        pointer.descriptor = descriptor  # which has to live as long
        return pointer
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int32(value)


def _newer(text: str, kernel: str) -> str:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(_LEFT_OUT)]
    lines = [_zero(line) if "hivm.hir.get_sub_block_idx" in line else line for line in lines]
    text = "\n".join(lines)
    text = _TO_TENSOR.sub(lambda match: f"{match[1]} to tensor<{match[2]}>", text)
    text = _BINARY.sub(lambda match: f"linalg.elementwise kind=#linalg.elementwise_kind<{match[1]}>", text)
    return text.replace('global_kernel = "local"', "llvm.emit_c_interface")


def _zero(line: str) -> str:
    return f"{line.partition('=')[0]}= arith.constant 0 : i64"
