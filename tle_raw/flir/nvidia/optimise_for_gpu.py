"""Triton's optimiser of LLVM IR, told which GPU it works for.

Triton optimises without a target machine: to LLVM that is a processor on which sums of 64 bits cost what others cost,
and on which threads do not part. It makes loops count in 64 bits, divides them by questions that each thread answers
for itself, and so undoes what clang has done for the GPU: on an H200 a matrix that is unpacked takes 166 registers for
nvcc's 96, and 96 when the optimiser knows. Triton's own kernels are optimised as ever; what is told here is for CUDA
kernels that are one region alone, which clang has optimised.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TRIPLE = "nvptx64-nvidia-cuda"
_THREAD = threading.local()
_LOCK = threading.Lock()


@contextmanager
def for_the_gpu(module: Any) -> Iterator[None]:
    """While this holds, Triton's stage for ``module``, in this thread, optimises for the GPU that it compiles for."""
    from triton._C.libtriton import ir
    from triton.backends.nvidia import compiler

    with _LOCK:
        if not isinstance(compiler.llvm, _Llvm):
            compiler.llvm = _Llvm(compiler.llvm)
    module.set_attr("llvm.target_triple", ir.builder(module.context).get_string_attr(_TRIPLE))
    _THREAD.machine = ()
    try:
        yield
    finally:
        del _THREAD.machine


class _Llvm:
    """Triton's LLVM as its backend sees it: the same but for how a thread optimises that has asked for it."""

    def __init__(self, llvm: Any) -> None:
        self._llvm = llvm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llvm, name)

    def attach_datalayout(self, module: Any, triple: str, arch: str, features: str, *more: Any) -> None:
        if hasattr(_THREAD, "machine"):
            _THREAD.machine = (arch, features)
        self._llvm.attach_datalayout(module, triple, arch, features, *more)

    def optimize_module(self, module: Any, level: Any, *given: Any, **named: Any) -> None:
        machine = getattr(_THREAD, "machine", ())
        if machine and not given:
            named = {"arch": machine[0], "features": machine[1], **named}
        self._llvm.optimize_module(module, level, *given, **named)
