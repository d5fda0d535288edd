"""Stage A, second: from tensors to buffers. Leaves ``tt.cb.<name>``: page_size, depth, data_format, pages.

A buffer that the reader fills or the writer empties has its tensor's format in memory, block floats too; others have
their dtype's. What crosses from one kernel to another is held twice, so that one fills while the other empties.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.errors import Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.dtypes import BLOCK_FLOATS, FORMATS
from tle_raw.targets.tenstorrent.formats import TILE_BYTES
from tle_raw.targets.tenstorrent.ir import Module, walk
from tle_raw.targets.tenstorrent.options import Options


def propagate_tt_layout_v5(module: Module, options: Options) -> Module:
    """The module with formats."""
    attributes = dict(module.attributes)
    tensors = {}
    for name, tensor in module.tensors.items():
        asked = attributes[f"tt.buffer.{name}"]["dtype"]
        if asked in BLOCK_FLOATS and not tensor.dtype.startswith(("float", "bfloat")):
            raise UnsupportedFeatureError(
                f"block floats hold floats, and `{name}` holds integers", table=[Row("dtype", "a float", tensor.dtype)]
            )
        tensors[name] = replace(tensor, data_format=BLOCK_FLOATS.get(asked) or FORMATS[tensor.dtype])
    crossing = {local: statement.tensor for statement in walk(module.body) for local in _crossing(statement)}
    for name, local in module.locals.items():
        format_ = tensors[crossing[name]].data_format if name in crossing else FORMATS[local.dtype]
        attributes[f"tt.cb.{name}"] = {
            "page_size": TILE_BYTES[format_],
            "depth": 2 if name in crossing else 1,
            "data_format": format_,
            "pages": local.tiles,
        }
    return replace(module, tensors=tensors, attributes=attributes)


def _crossing(statement: Any) -> list[str]:
    if not hasattr(statement, "tensor"):
        return []
    return [getattr(statement, "target", None) or statement.source]
