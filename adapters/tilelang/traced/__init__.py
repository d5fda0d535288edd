"""The traced route: the frontend's tile program, before layouts are inferred, as Triton's own operations.

Shared buffers and fragments become block tensors, so that values flow between the region and its kernel in registers,
and Triton pipelines, places and picks instructions as for its own code. One file is one family of operations.
"""

from tle_raw.adapters.tilelang.traced.region import trace_region

ROUTE = "traced"

__all__ = ["ROUTE", "trace_region"]
