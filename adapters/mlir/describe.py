"""What lowers MLIR on this machine, for ``tle-raw doctor``."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.mlir.bindings import installed
from tle_raw.fragments.adapter import Finding

ALONE = "llvm, arith, scf, cf, math, gpu, nvvm: nothing else is needed"
WITH = "memref, vector, linalg, index, affine, tensor, and func with memrefs"


def describe() -> tuple[Finding, ...]:
    return tuple(_findings())


def _findings() -> Iterator[Finding]:
    import triton

    yield Finding("libtriton", f"triton {triton.__version__}", ALONE)
    bindings = installed()
    for index, binding in enumerate(bindings):
        found = f"{binding.package} {binding.version}"
        yield Finding(binding.root, found, WITH if index == 0 else f"not used: {bindings[0].root} comes first")
    if not bindings:
        yield Finding("MLIR bindings", "", WITH, "pip install 'tle_raw[mlir]'")
