"""The eDSL of the mlir dialect: the body of a Python function is the code."""

from tle_raw.adapters.mlir.edsl.fragment import build, prototype, read_function
from tle_raw.adapters.mlir.edsl.reader import Built

__all__ = ["Built", "build", "prototype", "read_function"]
