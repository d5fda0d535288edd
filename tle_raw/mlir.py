"""The language of ``@tle_raw.dialect("mlir")``: dtypes, threads, shuffles, atomics, mathematics, printing."""

from tle_raw.adapters.mlir.edsl.language import *  # noqa: F403
from tle_raw.adapters.mlir.edsl.language import __all__ as __all__
