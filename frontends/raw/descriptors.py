"""Tensor descriptors as arguments of fragments: ``Descriptor[...]`` parameters.

No operation of Triton's takes a descriptor as it is and knows nothing of it. So it crosses as a load by it, which is
noted: what a region gets is the descriptor of the load, and nothing is loaded. Where descriptors are plain pointers at
the end, on CPUs, the load tells where the array begins, and the array's sizes and strides stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, SharedBufferError
from tle_raw.fragments.argument import DESCRIPTOR_KIND, Argument
from tle_raw.fragments.check_parameters import is_block_of
from tle_raw.fragments.parameter_types import DESCRIPTOR, Descriptor
from tle_raw.fragments.signature import Signature
from tle_raw.frontends.gpu.checks import is_buffer
from tle_raw.frontends.gpu.tile_places import has_tma
from tle_raw.frontends.gpu.tma_copy import NOTE, is_tma_layout
from tle_raw.regions.ports import DESCRIPTOR_NOTE
from tle_raw.regions.stages import compiled_target, is_looked_at
from tle_raw.regions.values import describe_dtype
from tle_raw.triton_types import Semantic
from tle_raw.triton_version import VERSION

GPU = "cuda"  # the target where a descriptor is a tensor map
MOST_AXES = 5  # of a tensor map


def describe_descriptor(descriptor: Any) -> Argument:
    """Its block's dtype and shape."""
    dims = tuple(int(core._unwrap_if_constexpr(dim)) for dim in descriptor.block_shape)
    return Argument(DESCRIPTOR_KIND, describe_dtype(descriptor.dtype), dims, layout=DESCRIPTOR)


def check_blocks(signature: Signature, given: Mapping[str, Any]) -> None:
    """The buffers that are blocks of a descriptor have the copy engine's layout, on every target.

    Raises
    ------
    SharedBufferError : one has another layout.
    """
    for descriptor in (p for p in signature.parameters if isinstance(p.type, Descriptor)):
        for p in (p for p in signature.parameters if is_block_of(p.type, descriptor.type)):
            buffer = core._unwrap_if_constexpr(given[p.name])
            if is_buffer(buffer) and not is_tma_layout(buffer):
                raise SharedBufferError(
                    f"`{p.name}` has the block of the descriptor `{descriptor.name}`, and not the copy engine's layout",
                    table=[Row(p.name, "nv_mma_shared_layout, whole", buffer.layout.text)],
                    hint="tle.gpu.alloc's own layout is the copy engine's: leave layout= and nv_mma_shared_layout= out",
                )


def pass_descriptor(descriptor: Any, name: str, semantic: Semantic | None) -> Any:
    """What stands for it in the kernel's IR: tensors for the marker; in Triton's interpreter its tensor map.

    Raises
    ------
    ArgumentTypeError : the GPU has no copy engine.
    """
    if semantic is None:
        return interpreted_map(descriptor)
    if not has_tma(semantic):
        raise ArgumentTypeError(
            f"the descriptor `{name}` is for the copy engine (TMA) of sm_90 and later",
            table=[Row(name, "sm_90 or later", "an older GPU")],
            hint="load the tile in the kernel, descriptor.load(offsets), and pass that",
        )
    rank = len(descriptor.block_shape)
    places = [semantic.to_tensor(0)] * rank
    loaded = descriptor.load(places, _semantic=semantic)
    if is_looked_at():  # a region may write where it points, which torch.compile sees of a store
        descriptor.store(places, loaded, _semantic=semantic)
    loaded.handle.set_attr(NOTE, semantic.builder.get_string_attr(DESCRIPTOR_NOTE))
    if compiled_target() == GPU:
        return [loaded]
    numbers = [*descriptor.shape, *descriptor.strides]
    wide = [semantic.cast(semantic.to_tensor(number), core.int64) for number in numbers]
    return [loaded, *(semantic.splat(number, list(loaded.shape)) for number in wide)]


def interpreted_map(descriptor: Any) -> list[int]:
    """A descriptor of Triton's interpreter as the words of a tensor map (``tle_raw/team/tensor_map.h``)."""
    handle = descriptor.handle
    dims = [int(dim) for dim in handle.block_shape]
    size = descriptor.dtype.primitive_bitwidth // 8
    unused = [0] * (MOST_AXES - len(dims))
    words = [int(handle.base.data.item()), _fill(handle, size), len(dims), size]
    for numbers in (handle.shape, handle.strides):
        words += [*(int(number.data.item()) for number in numbers), *unused]
    return [*words, *dims, *unused]


def _fill(handle: Any, size: int) -> int:
    """The bits of an element beyond the array."""
    import numpy
    from triton.runtime.interpreter import TensorHandle, interpreter_builder

    beyond = [TensorHandle(number.data.reshape(-1)[:1].astype(numpy.int32), core.int32) for number in handle.shape]
    hints = (None,) if VERSION >= (3, 9) else (None, None)
    block = interpreter_builder.create_descriptor_load(handle, beyond, *hints).data
    return int(numpy.ascontiguousarray(block).reshape(-1)[:1].view(f"u{size}")[0])
