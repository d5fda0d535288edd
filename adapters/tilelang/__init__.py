"""TileLang: PrimFuncs as regions, traced into Triton IR where that reaches, else through TileLang's own lowering."""

from tle_raw.adapters.tilelang.adapter import TileLangAdapter

__all__ = ["TileLangAdapter"]
