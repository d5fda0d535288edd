"""The MLIR dialect: modules of any binding, MLIR text, and functions written in Python."""

from tle_raw.adapters.mlir.adapter import MlirAdapter

__all__ = ["MlirAdapter"]
