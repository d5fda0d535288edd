"""The linked route: TileLang's own CUDA text, as a device function that clang compiles and Triton inlines.

It takes whatever TileLang lowers. TMA loads and warp specialisation are lowered away: their descriptors and their
threads belong to a launch, and the launch is Triton's.
"""

from tle_raw.adapters.tilelang.linked.compile_linked import Linkable, compile_linked, compiler_identity
from tle_raw.adapters.tilelang.linked.lower import Lowered, lower

ROUTE = "linked"

__all__ = ["ROUTE", "Linkable", "Lowered", "compile_linked", "compiler_identity", "lower"]
