"""``tle.gpu.wgmma`` and ``wgmma_wait``: products of tiles in shared memory that run in the background."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu import content, operations, products_under_way, views
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.gpu.checks import check_buffer, check_constant, check_flag, check_whole_tensor, is_buffer
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.tensor_memory import multiply_into, wait_for_products
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.stages import compiled_target

NOTE, WGMMA = "tle.note", "wgmma"
_ROWS, _COLUMNS, _DEPTH_BYTES = 64, 8, 32
HOPPER = 90
# No number is larger than infinity.
_NEVER = "{ .reg .pred p; setp.gt.f32 p, $1, 0f7F800000; @p nanosleep.u32 0; mov.u32 $0, 0; }"


@gpu_function
def wgmma(
    a: Any,
    b: Any,
    acc: Any = None,
    input_precision: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = core.float32,
    trans_a: Any = False,
    trans_b: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
) -> core.tensor:
    """``a @ b + acc``, begun and not waited for: ``wgmma_wait`` says when the result is there.

    On sm_90 it is ``wgmma.mma_async``, which reads the buffers where they lie. Until it is waited for, its operands are
    not written, and its result is passed to ``wgmma`` or ``wgmma_wait`` only. On other GPUs, on CPUs and in Triton's
    interpreter it is ``tl.dot``, which is done at once. A kernel that calls it goes through a list of passes of this
    package, without Triton's software pipeliner, which would take the waits for its own.

    With a buffer in tensor memory as ``acc``, on sm_100, it is ``tcgen05.mma``: the product is added to what the buffer
    holds, and the buffer is returned.

    Parameters
    ----------
    a : a buffer, or a block tensor, of rank 2; M is a multiple of 64.
    b : a buffer of rank 2 and of the same dtype; N is a multiple of 8.
    acc : what to add, of ``out_dtype``; nothing by default. Or a buffer in tensor memory, of M rows and N columns.
    input_precision, max_num_imprecise_acc : as for ``tl.dot``.
    out_dtype : of the result: f32, f16 for operands of f16, i32 for i8.
    trans_a, trans_b : take the buffer's transpose.

    Raises
    ------
    SharedBufferError : a buffer's layout is not ``nv_mma_shared_layout``.
    ShapeError, ArgumentTypeError : the shapes or dtypes do not go together.
    """
    traced = {"_semantic": _semantic, "_generator": _generator}
    left, right = plain(a), check_buffer("wgmma", "b", b)
    if is_buffer(left):
        left = check_buffer("wgmma", "a", left)
        left = views.trans(left, **traced) if check_flag("wgmma", "trans_a", trans_a) else left
    right = views.trans(right, **traced) if check_flag("wgmma", "trans_b", trans_b) else right
    _check_operands(left, right)
    products_under_way.begin(operand for operand in (left, right) if is_buffer(operand))
    if is_buffer(plain(acc)):
        return multiply_into(left, right, check_buffer("wgmma", "acc", acc), _semantic, _generator)
    x = content.load(left, **traced) if is_buffer(left) else left
    y = content.load(right, **traced)
    options = {"input_precision": input_precision, "max_num_imprecise_acc": max_num_imprecise_acc}
    result = core.dot(x, y, plain(acc), **options, out_dtype=plain(out_dtype), _semantic=_semantic)
    if _generator is not None:
        result.handle.set_attr(NOTE, _semantic.builder.get_string_attr(WGMMA))
    return result


@gpu_function
def wgmma_wait(
    pendings: Any = 0, acc: Any = None, behind: Any = None, _semantic: Any = None, _generator: Any = None
) -> Any:
    """Wait until at most so many of the latest ``wgmma`` are under way.

    On sm_90 it is ``wgmma.wait_group``. On sm_100, for a buffer in tensor memory, it waits for all. Elsewhere nothing
    is under way.

    Parameters
    ----------
    pendings : how many may be left; a constant. ``wgmma_wait(acc)`` is ``wgmma_wait(0, acc)``.
    acc : the result that is waited for, and returned: what uses it stands behind the wait. A buffer in tensor memory is
        read behind it.
    behind : a block tensor of f32 that is computed before the wait, while products run. A compiler may otherwise move
        the wait in front of what does not need its result.

    Raises
    ------
    ArgumentTypeError : ``pendings`` is no constant, ``acc`` no block tensor, or ``behind`` none of f32.
    """
    if (isinstance(plain(pendings), core.tensor) or is_buffer(plain(pendings))) and plain(acc) is None:
        pendings, acc = 0, pendings
    count, value = check_constant("wgmma_wait", "pendings", pendings), plain(acc)
    if is_buffer(value) and count >= 0:
        products_under_way.wait(0)
        return wait_for_products(check_buffer("wgmma_wait", "acc", value), _semantic, _generator)
    if count < 0 or not isinstance(value, core.tensor) or not value.type.is_block():
        raise ArgumentTypeError(
            "tle.gpu.wgmma_wait waits for the result of a product",
            table=[
                Row("pendings", "0 or more", str(count)),
                Row("acc", "a block tensor", describe_value(value)),
            ],
        )
    products_under_way.wait(count)
    first = plain(behind)
    if first is not None:
        _stand_behind(first, _semantic, _generator)
    if _generator is None:
        return value
    return core.tensor(perform(operations.WGMMA_WAIT, _semantic, _generator, value.handle, count), value.type)


def _stand_behind(value: Any, semantic: Any, generator: Any) -> None:
    """Something that is never done, and that ptxas does not move across waits, depends on a tensor's elements."""
    if not isinstance(value, core.tensor) or not value.type.is_block() or value.dtype != core.float32:
        raise ArgumentTypeError(
            "tle.gpu.wgmma_wait stands behind a tensor",
            table=[Row("behind", "a block tensor of fp32", describe_value(value))],
        )
    if generator is not None and compiled_target() == "cuda" and capability_of(semantic) == HOPPER:
        assembly, constraints = core.constexpr(_NEVER), core.constexpr("=r,r")
        core.inline_asm_elementwise(assembly, constraints, [value], core.int32, False, 1, _semantic=semantic)


def _check_operands(left: Any, right: Any) -> None:
    for name, operand in (("a", left), ("b", right)):
        if is_buffer(operand):
            check_whole_tensor("wgmma", operand.type)
            if not isinstance(operand.layout, nv_mma_shared_layout):
                raise SharedBufferError(
                    "tle.gpu.wgmma reads buffers of the layout that tensor cores read",
                    table=[Row(name, "nv_mma_shared_layout", operand.layout.text)],
                )
        elif not isinstance(operand, core.tensor) or not operand.type.is_block():
            raise ArgumentTypeError(
                "tle.gpu.wgmma multiplies tiles", table=[Row(name, "a buffer", describe_value(operand))]
            )
    shapes = [tuple(operand.type.shape) if is_buffer(operand) else shape_of(operand) for operand in (left, right)]
    if left.dtype != right.dtype:
        raise ArgumentTypeError(
            "tle.gpu.wgmma: both operands have one dtype", table=[Row("b", str(left.dtype), str(right.dtype))]
        )
    if len(shapes[0]) != 2 or len(shapes[1]) != 2 or shapes[0][1] != shapes[1][0]:
        raise ShapeError(
            "tle.gpu.wgmma multiplies [M, K] by [K, N]",
            table=[Row("a", "[M, K]", str(list(shapes[0]))), Row("b", "[K, N]", str(list(shapes[1])))],
        )
    (rows, depth), columns = shapes[0], shapes[1][1]
    least = _DEPTH_BYTES * 8 // left.dtype.primitive_bitwidth
    if rows % _ROWS or columns % _COLUMNS or depth < least:
        raise ShapeError(
            "tle.gpu.wgmma: the tiles are none of the hardware's",
            table=[
                Row("M", f"a multiple of {_ROWS}", str(rows)),
                Row("N", f"a multiple of {_COLUMNS}", str(columns)),
                Row("K", f"at least {least}", str(depth)),
            ],
        )
