"""The MLIR dialect: modules of any binding, MLIR text, and functions written in Python.

Every thread of the block runs the function. What it computes for itself, each thread does alone: scalars, vectors,
loops, and stores at places that depend on the thread's index. linalg operations, scf.parallel, scf.forall,
affine.parallel and memref.copy that write memory of the block are one loop of the whole block instead: its iterations
are dealt out to the threads, with a barrier before and after, so all threads must reach it. See ``share_loops``.
"""

from tle_raw.adapters.mlir.adapter import MlirAdapter

__all__ = ["MlirAdapter"]
