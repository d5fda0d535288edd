"""``tle.make_sharded_tensor``: what a member of a mesh has of a tensor, inside kernels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from triton import knobs
from triton.language import core

from tle_raw.errors import MeshError, MeshTypeError, Row
from tle_raw.frontends.distributed import sharding as on_the_host
from tle_raw.frontends.distributed.reshard_view import sharded_tensor
from tle_raw.frontends.distributed.sharding import ShardingSpec
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain
from tle_raw.frontends.lite.kernel_function import kernel_function


def _make_sharded_tensor(
    handle: Any, sharding: Any, shape: Any = None, _semantic: Any = None, _generator: Any = None
) -> sharded_tensor:
    """A member's own part of a tensor, and the sharding that says which one it is.

    On the host it is what ``tle_raw.distributed.make_sharded_tensor`` gives.

    Parameters
    ----------
    handle : what this member has. A pointer to the first element of its part, in the memory that a context shares, at
        the same place for every member; rows are as long as those of the largest part, which is the first member's. Or,
        for blocks of a cluster, a buffer of ``tle.gpu.alloc`` that is as large as the largest part, or a block tensor.
    sharding : a ``ShardingSpec``; a constant.
    shape : of the whole tensor: integers and scalars, one for each dim. It may be left out for a buffer or a block
        tensor: parts are full ones then.

    Raises
    ------
    MeshTypeError : no sharding, or another kind of handle or shape. MeshError : a shape of another rank.
    """
    spec, value = plain(sharding), plain(handle)
    if not isinstance(spec, ShardingSpec):
        raise MeshTypeError(
            "tle.make_sharded_tensor: a sharded tensor has a sharding",
            table=[Row("sharding", "tle.sharding(…), as a tl.constexpr", describe_value(sharding))],
        )
    sizes = _sizes(spec, value, shape)
    if spec.rank not in (0, len(sizes)):
        raise MeshError(
            "tle.make_sharded_tensor: the tensor has another rank than its sharding",
            table=[Row("shape", f"{spec.rank} sizes, for split={list(map(list, spec.split))}", f"{len(sizes)} sizes")],
        )
    return sharded_tensor(value, spec, sizes)


_in_kernels = kernel_function(_make_sharded_tensor, "make_sharded_tensor")


@functools.wraps(_in_kernels)
def make_sharded_tensor(*arguments: Any, _semantic: Any = None, _generator: Any = None, **keywords: Any) -> Any:
    if _semantic is None and not knobs.runtime.interpret:
        return on_the_host.make_sharded_tensor(*arguments, **keywords)
    return _in_kernels(*arguments, _semantic=_semantic, _generator=_generator, **keywords)


def is_block(value: Any) -> bool:
    """Whether it is a block tensor."""
    return isinstance(value, core.tensor) and value.type.is_block()


def _sizes(spec: ShardingSpec, handle: Any, shape: Any) -> Sequence[Any]:
    """Of the whole tensor."""
    if (plain(shape) is None and not isinstance(handle, core.tensor | type(None))) or is_block(handle):
        own = [int(plain(size)) for size in handle.shape]
        counts = spec.parts() or (1,) * len(own)
        whole = [size * count for size, count in zip(own, counts, strict=False)]
        if plain(shape) is None:
            return whole
    found = items(shape)
    if not found or not all(is_integer(size) or is_scalar_integer(size) for size in found):
        raise MeshTypeError(
            "tle.make_sharded_tensor: the shape of the whole tensor",
            table=[Row("shape", "integers, one for each dim", describe_value(shape))],
        )
    return found
