"""From the Linalg form to LLVM IR: the passes of ``passes.CPU`` for the stage ``llvmir``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tle_raw.errors import CompilationFailed
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.block_matmul import block_matmul
from tle_raw.flir.cpu.carry_bfloats import carry_bfloats
from tle_raw.flir.cpu.common_divisor import multiply_by_reciprocals
from tle_raw.flir.cpu.keep_rounding import keep_rounding
from tle_raw.flir.cpu.math_functions import expand_math
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.cpu.place_buffers import place_buffers
from tle_raw.flir.cpu.prefetch import prefetch_next
from tle_raw.flir.cpu.stream_stores import stream_stores
from tle_raw.flir.cpu.upstream_passes import (
    convert_to_llvm,
    emulate_small_floats,
    expand_arithmetic,
    translate_to_llvmir,
)
from tle_raw.flir.cpu.vectorise import vectorise
from tle_raw.flir.cpu.vectorise.operations import walk
from tle_raw.flir.print_after import with_locations
from tle_raw.flir.run_stage import run_stage

# Products of tiles.
_PRODUCTS = ("linalg.matmul", "linalg.batch_matmul")
# Non-temporal stores of vectors came with AVX.
_STREAMS = 32
# Divisions of vectors as wide as these take four times as long as the operations that can take their place.
_DIVIDES_SLOWLY = 64


def lower_to_llvm(
    module: Any,
    *,
    vector_bytes: int,
    fma: bool = True,
    metadata: dict[str, Any] | None = None,
    disabled: Collection[str] = (),
) -> str:
    """Lower a kernel in the Linalg form to LLVM IR text, without target triple and data layout.

    Parameters
    ----------
    module : the text of a module, or a module of the MLIR bindings, which is changed in place.
    vector_bytes : width of the host's vector registers: 64 for AVX-512, 32 for AVX2, 16 otherwise.
    fma : whether the host has fused multiply-add.
    metadata : receives ``scratch_bytes``, the scratch memory that one worker needs, and ``streamed``, what
        ``stream_stores`` says.
    disabled : names of passes that exist for speed, and are left out.

    Raises
    ------
    ToolchainError : the MLIR bindings are not installed.
    CompilationFailed : MLIR refuses the module; the log carries its diagnostics.
    """
    ir = mlir()
    if not isinstance(module, str):
        return _lower(module, vector_bytes, fma, metadata, disabled)
    with ir.Context(), ir.Location.unknown():
        return _lower(parse(module), vector_bytes, fma, metadata, disabled)


def _lower(
    module: Any, vector_bytes: int, fma: bool, metadata: dict[str, Any] | None, disabled: Collection[str]
) -> str:
    with module.context, mlir().Location.unknown():
        lowering = Lowering(module, vector_bytes, fma)
        run_stage(CPU, "llvmir", lowering, disabled)
    if metadata is not None:
        metadata["scratch_bytes"] = lowering.scratch_bytes
        metadata["streamed"] = lowering.streamed
    return lowering.llvm_ir


class Lowering:
    """One module on its way to LLVM IR, with a method for each pass: see ``run_stage``."""

    def __init__(self, module: Any, vector_bytes: int, fma: bool) -> None:
        self.module, self.vector_bytes, self.fma = module, vector_bytes, fma
        self.multiplies = any(op.name in _PRODUCTS for op in walk(module.operation))
        self.scratch_bytes = 0
        self.streamed: dict[str, Any] | None = None
        self.llvm_ir = ""

    def text(self) -> str:
        return self.llvm_ir or with_locations(self.module)

    def block_matmul(self) -> int:
        block_matmul(self.module, vector_bytes=self.vector_bytes)
        return 1

    def vectorise(self) -> int:
        vectorise(self.module, vector_bytes=self.vector_bytes)
        return 1

    def prefetch(self) -> int | None:
        # A product's programs read the same rows again: what is next is in the cache, and the bandwidth is not.
        if self.multiplies:
            return None
        prefetch_next(self.module)
        return 1

    def stream_stores(self) -> int | None:
        if self.vector_bytes < _STREAMS:
            return None
        self.streamed = stream_stores(self.module)
        return 1

    def multiply_by_reciprocals(self) -> int | None:
        if not self.fma or self.vector_bytes < _DIVIDES_SLOWLY:
            return None
        multiply_by_reciprocals(self.module)
        return 1

    def place_buffers(self) -> int:
        self.scratch_bytes = place_buffers(self.module)
        return 1

    def expand_math(self) -> int:
        expand_math(self.module, fma=self.fma)
        return 1

    def emulate_small_floats(self) -> int:
        emulate_small_floats(self.module)
        return 1

    def keep_rounding(self) -> int:
        keep_rounding(self.module)
        return 1

    def expand_arithmetic(self) -> int:
        expand_arithmetic(self.module)
        return 1

    def convert_to_llvm(self) -> int:
        convert_to_llvm(self.module)
        return 1

    def translate_to_llvmir(self) -> int:
        self.llvm_ir = translate_to_llvmir(self.module)
        return 1

    def carry_bfloats(self) -> int:
        before, self.llvm_ir = self.llvm_ir, carry_bfloats(self.llvm_ir)
        return int(self.llvm_ir != before)


def parse(text: str) -> Any:
    """Read a module's text in the current context.

    Raises
    ------
    CompilationFailed : it is no valid module.
    """
    ir = mlir()
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as e:
        raise CompilationFailed("MLIR cannot read the kernel", log=str(e)) from e
