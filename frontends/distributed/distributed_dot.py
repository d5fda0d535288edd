"""``tle.distributed_dot``: a matrix product of the blocks of a cluster, which read each other's operands."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, MeshError, Row, ShapeError
from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.member_places import CLUSTER
from tle_raw.frontends.distributed.reshard import view_of
from tle_raw.frontends.distributed.reshard_plan import plan
from tle_raw.frontends.distributed.reshard_ranges import largest
from tle_raw.frontends.distributed.reshard_tiles import Tiles
from tle_raw.frontends.distributed.reshard_view import resharded_tensor, sharded_tensor
from tle_raw.frontends.distributed.sharding import sharding
from tle_raw.frontends.distributed.shared_parts import block_shape, meet, shared
from tle_raw.frontends.gpu.checks import is_buffer
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.kernel_function import kernel_function


@kernel_function
def distributed_dot(
    a: Any, b: Any, acc: Any = None, input_precision: Any = None, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """This block's part of ``a @ b + acc``, where the blocks of a cluster have parts of ``a`` and ``b``.

    It has the rows that it has of ``a`` and the columns that it has of ``b``. The part of K that it lacks of them is
    read from the shared memory of the blocks that have it. So along each axis of the mesh one operand may be split by
    its own dim, and the other one by K: no block then loads what another one does.

    Parameters
    ----------
    a : of ``tle.make_sharded_tensor``, [M, K]: a block tensor for each block, or a buffer. float16, bfloat16, float32,
        or int8; ``b`` is [K, N] of the same dtype, over the same mesh. Behind block tensors the blocks wait for each
        other, twice; for buffers the kernel itself does, before and after.
    acc : a block tensor of the part's shape, float32, or int32 for int8; None is zeros.
    input_precision : as in ``tl.dot``, for float32.

    Raises
    ------
    ArgumentTypeError, ShapeError : no sharded tensors, other dtypes, sizes that do not fit.
    MeshError : operands over two meshes or with sums to be made, or an axis that splits rows of ``a`` and columns of
        ``b``; parts that are no powers of two; blocks of no cluster.
    """
    left, right = (_operand(name, plain(value)) for name, value in (("a", a), ("b", b)))
    _check(left, right)
    mesh, rows, columns = left.sharding.mesh, _split(left, 0), _split(right, 1)
    given_blocks = [one for one in (left, right) if not is_buffer(one.handle)]
    left, right = (one if is_buffer(one.handle) else shared(one, _semantic, _generator) for one in (left, right))
    if given_blocks:
        meet(mesh, _semantic, _generator)
    views = [
        view_of(one, plan(one.sharding, sharding(mesh, split), 2), None, None, _semantic, _generator)
        for one, split in ((left, [rows, ()]), (right, [(), columns]))
    ]
    total = _product(views, plain(acc), input_precision, _semantic, _generator)
    if given_blocks:
        meet(mesh, _semantic, _generator)
    return total


def _product(views: list[resharded_tensor], acc: Any, input_precision: Any, semantic: Any, generator: Any) -> Any:
    """Over the parts of K one after the other, from whom has them."""
    folding = Folding(semantic)
    (m, K), (_, n) = (
        block_shape("distributed_dot", largest(folding, view.plan, view.plan.after, view.sizes, 1)) for view in views
    )
    step = min(
        largest(folding, view.plan, view.plan.before, view.sizes, 1)[dim]
        for dim, view in ((1, views[0]), (0, views[1]))
    )
    block_shape("distributed_dot", [step])
    for number in range(K // step):
        x = _tile(views[0], [0, number], [m, step], semantic, generator)
        y = _tile(views[1], [number, 0], [step, n], semantic, generator)
        keywords = {} if plain(input_precision) is None else {"input_precision": input_precision}
        out = core.int32 if x.dtype.is_int() else core.float32
        acc = core.dot(x, y, acc, out_dtype=out, **keywords, _semantic=semantic)
    return acc


def _tile(view: resharded_tensor, index: list[int], shape: list[int], semantic: Any, generator: Any) -> core.tensor:
    tiles = Tiles(view, semantic, generator)
    offsets = [number * size for number, size in zip(index, shape, strict=True)]
    return tiles.load(tiles.tile(offsets, shape), [bool(names) for names in view.plan.searched])


def _operand(name: str, value: Any) -> sharded_tensor:
    handle = value.handle if isinstance(value, sharded_tensor) else None
    is_block = isinstance(handle, core.tensor) and handle.type.is_block() and not handle.dtype.is_ptr()
    if not (is_block or is_buffer(handle)) or len(value.sizes) != 2:
        raise ArgumentTypeError(
            "tle.distributed_dot: operands are matrices that blocks of a cluster have parts of",
            table=[
                Row(
                    name,
                    "tle.make_sharded_tensor(…) of a block tensor or a buffer",
                    describe_value(value) if handle is None else describe_value(handle),
                )
            ],
        )
    return value  # type: ignore[no-any-return]


def _split(tensor: sharded_tensor, dim: int) -> tuple[str, ...]:
    return tensor.sharding.split[dim] if tensor.sharding.split else ()


def _check(a: sharded_tensor, b: sharded_tensor) -> None:
    if a.sharding.mesh != b.sharding.mesh:
        raise MeshError(
            "tle.distributed_dot: operands over two meshes",
            table=[Row("mesh", repr(a.sharding.mesh), repr(b.sharding.mesh))],
        )
    levels = [str(axis) for axis in a.sharding.mesh.axes if axis.level != CLUSTER]
    if levels:
        raise MeshError(
            "tle.distributed_dot: operands are shared by the blocks of a cluster",
            table=[Row("mesh", f"axes of level `{CLUSTER}`", ", ".join(levels))],
        )
    for name, one in (("a", a), ("b", b)):
        if one.sharding.partial:
            raise MeshError(
                f"tle.distributed_dot: `{name}` is a sum over axes `{', '.join(one.sharding.partial)}`",
                hint="tle.reshard adds it",
            )
    both = set(_split(a, 0)) & set(_split(b, 1))
    if both:
        names = ", ".join(sorted(both))
        raise MeshError(
            f"tle.distributed_dot: axis `{names}` splits the rows of `a` and the columns of `b`",
            table=[Row(names, "one of them", f"{list(_split(a, 0))} and {list(_split(b, 1))}")],
        )
    if a.sizes[1] != b.sizes[0]:
        raise ShapeError(
            "tle.distributed_dot: the operands do not fit", table=[Row("K of b", str(a.sizes[1]), str(b.sizes[0]))]
        )
    if a.handle.dtype != b.handle.dtype:
        raise ArgumentTypeError(
            "tle.distributed_dot: operands of two dtypes",
            table=[Row("b", str(a.handle.dtype), str(b.handle.dtype))],
        )
