"""The cuTile dialect: tile functions and kernels of cuTile Python become Triton IR where a kernel calls them."""

from tle_raw.adapters.cutile.adapter import CutileAdapter

__all__ = ["CutileAdapter"]
