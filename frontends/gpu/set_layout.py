"""``tle.gpu.set_layout``: a tensor's layout in registers, where the kernel says."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.layouts.encodings import distributed_encoding
from tle_raw.frontends.lite.arguments import check_block, describe_value, plain
from tle_raw.regions import ports
from tle_raw.regions.partitions import current_partition, warps_here
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.stages import check_stages, compiled_target

LAYOUTS = "layouts of tensors"


@gpu_function
def set_layout(value: Any, layout: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The same tensor, whose elements lie in the threads' registers as a layout says.

    On NVIDIA GPUs Triton's passes keep it there, and take it over for what the tensor is computed from and what is
    computed from it, as far as that pays; a conversion stands where it meets another layout. Elsewhere it is the
    tensor.

    Parameters
    ----------
    value : a block tensor.
    layout : ``BlockEncoding``, ``MmaEncoding``, ``DotOperandEncoding`` or ``SlicedEncoding``, of the tensor's rank, and
        made for the kernel's ``num_warps``, or those of the partition.

    Raises
    ------
    LayoutError : it is none of these, or does not fit the tensor or the block.
    """
    tensor, encoding = check_block("gpu.set_layout", "value", value), plain(layout)
    if not isinstance(encoding, distributed_encoding):
        raise LayoutError(
            "tle.gpu.set_layout: a layout of registers",
            table=[Row("layout", "e.g. tle.gpu.BlockEncoding(...)", describe_value(encoding))],
        )
    if encoding.rank != len(shape_of(tensor)):
        raise LayoutError(
            "tle.gpu.set_layout: the layout is of another rank than the tensor",
            table=[Row("rank", str(len(shape_of(tensor))), str(encoding.rank))],
        )
    if not tensor.dtype.is_ptr():
        encoding.check(tensor.dtype)
    if _generator is None or compiled_target() != "cuda":
        return tensor
    options = _semantic.builder.options
    check_stages(options, LAYOUTS)
    warps, partition = warps_here(options.num_warps), current_partition()
    if encoding.warps != warps:
        wanted = f"{warps} ({'num_warps' if partition is None else f'of {partition.name}'})"
        raise LayoutError(
            "tle.gpu.set_layout: the layout is made for another number of warps",
            table=[Row("warps", wanted, str(encoding.warps))],
        )
    type_ = tensor.handle.get_type()
    handle = _semantic.builder.create_extern_elementwise(encoding.text, "", ports.LAYOUT, [tensor.handle], type_, True)
    return core.tensor(handle, tensor.type)
