"""A PrimFunc as a tile program, for targets that compile whole kernels by themselves."""

from tle_raw.adapters.tilelang.tile_programs.read import read_tile_program

__all__ = ["read_tile_program"]
