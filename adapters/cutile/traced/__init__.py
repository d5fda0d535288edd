"""A cuTile function's typed IR, written with Triton's builder.

``tracer`` holds what is known while a region is traced, ``values`` makes and reshapes block tensors, ``flow`` is the
control flow of Triton's compiler and of its interpreter; each family of operations has its own file, and
``operations`` lists them all.
"""

from tle_raw.adapters.cutile.traced.region import trace_region

__all__ = ["trace_region"]
