"""Stage A, third: how each tensor will be reached. Leaves ``tt.tensor_accessor.<name>``.

The accessor itself is bound in stage D: until then it is a description, of pages and of where they lie.
"""

from __future__ import annotations

from dataclasses import replace

from tle_raw.targets.tenstorrent.formats import TILE_BYTES
from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.options import Options


def attach_tensor_accessor_tt(module: Module, options: Options) -> Module:
    """The module with a description of an accessor for each tensor."""
    attributes = dict(module.attributes)
    for name, tensor in module.tensors.items():
        attributes[f"tt.tensor_accessor.{name}"] = {
            "memory": tensor.memory,
            "layout": tensor.layout,
            "page_size": TILE_BYTES[tensor.data_format],
            "pages": tensor.pages,
            "matrix": [tensor.tile_rows, tensor.tile_columns],
            "bound": False,
        }
    return replace(module, attributes=attributes)
