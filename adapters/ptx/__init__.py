"""PTX fragments, and files that hold PTX or LTO-IR: fatbins and archives."""

from tle_raw.adapters.ptx.adapter import PtxAdapter

__all__ = ["PtxAdapter"]
