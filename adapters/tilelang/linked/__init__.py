"""The linked route: TileLang's own CUDA text, as a device function that clang compiles and Triton inlines.

It takes whatever TileLang lowers. TMA and warp specialisation need descriptors and threads of the launch: where a
caller passes none they are lowered away.
"""

from tle_raw.adapters.tilelang.linked.compile_linked import Linkable, compile_linked, compiler_identity
from tle_raw.adapters.tilelang.linked.lower import Lowered, lower
from tle_raw.adapters.tilelang.linked.lower_for_launch import lower_for_launch

ROUTE = "linked"

__all__ = [
    "ROUTE",
    "Linkable",
    "Lowered",
    "compile_linked",
    "compiler_identity",
    "lower",
    "lower_for_launch",
]
