"""``tle.dsa.extract_slice``, ``insert_slice`` and ``extract_element``: parts of block tensors."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.dsa.checks import (
    check_constants,
    check_inside,
    check_numbers,
    check_shape,
    check_tensor,
)
from tle_raw.frontends.dsa.content import along
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.kept import keep
from tle_raw.frontends.dsa.memories import keeps_operations
from tle_raw.frontends.gpu import content
from tle_raw.frontends.gpu.alloc import alloc as alloc_shared
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.local_ptr import local_ptr
from tle_raw.regions.shapes import shape_of


@dsa_function
def extract_slice(
    full: Any, offsets: Any, sizes: Any, strides: Any, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """A part of a block tensor: element ``i`` along an axis is element ``offset + i * stride`` of ``full``.

    Parameters
    ----------
    offsets : one for each axis, constants or scalars of the kernel. Scalars that lead beyond the tensor give its
        nearest elements.
    sizes : of the part, constants, powers of two.
    strides : one for each axis, positive constants.

    Raises
    ------
    ArgumentTypeError : it is no block tensor. ShapeError : the part lies beyond the tensor, or has another rank.
    """
    full = check_tensor("extract_slice", "full", full)
    begins, dims, steps = _part("extract_slice", shape_of(full), offsets, sizes, strides)
    if _generator is not None and keeps_operations():
        type_ = core.block_type(full.dtype, list(dims))
        return _kept("extract_slice", [full], begins, {"strides": steps}, type_, _semantic, _generator)
    shape = shape_of(full)
    places = []
    for axis, (begin, size, step) in enumerate(zip(begins, dims, steps)):
        places.append(_clamped(_places(axis, len(shape), begin, size, step, _semantic), shape[axis], _semantic))
    held = _held(full, _semantic, _generator)
    pointers = local_ptr(held, tuple(places), _semantic=_semantic, _generator=_generator)
    return core.load(pointers, _semantic=_semantic)


@dsa_function
def insert_slice(
    full: Any, sub: Any, offsets: Any, sizes: Any, strides: Any, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """A block tensor with a part replaced: element ``offset + i * stride`` along an axis is element ``i`` of ``sub``.

    The result is a new tensor; ``full`` keeps its value. What would lie beyond it is left out.

    Parameters
    ----------
    sub : the part, of the dtype of ``full``.
    offsets, sizes, strides : as for ``tle.dsa.extract_slice``; the sizes are the part's shape.

    Raises
    ------
    ArgumentTypeError : no block tensors, or of different dtypes. ShapeError : as for ``tle.dsa.extract_slice``.
    """
    full, sub = check_tensor("insert_slice", "full", full), check_tensor("insert_slice", "sub", sub)
    begins, dims, steps = _part("insert_slice", shape_of(full), offsets, sizes, strides)
    if sub.dtype != full.dtype or shape_of(sub) != dims:
        raise ArgumentTypeError(
            "tle.dsa.insert_slice: the part is of the tensor's dtype and of the shape that sizes say",
            table=[Row("sub", f"{list(dims)} of {full.dtype}", f"{list(shape_of(sub))} of {sub.dtype}")],
        )
    if _generator is not None and keeps_operations():
        return _kept("insert_slice", [full, sub], begins, {"strides": steps}, full.type, _semantic, _generator)
    shape = shape_of(full)
    places, inside = [], None
    for axis, (begin, size, step) in enumerate(zip(begins, dims, steps)):
        place = _places(axis, len(shape), begin, size, step, _semantic)
        here = _semantic.less_than(place, _semantic.to_tensor(shape[axis]))
        here = _semantic.and_(here, _semantic.greater_equal(place, _semantic.to_tensor(0)))
        here = _semantic.broadcast_impl_shape(here, list(dims))
        inside = here if inside is None else _semantic.and_(inside, here)
        places.append(_clamped(place, shape[axis], _semantic))
    held = _held(full, _semantic, _generator)
    pointers = local_ptr(held, tuple(places), _semantic=_semantic, _generator=_generator)
    core.store(pointers, sub, inside, _semantic=_semantic)
    return content.load(held, _semantic=_semantic, _generator=_generator)


@dsa_function
def extract_element(src: Any, indice: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """One element of a block tensor, as a scalar.

    Parameters
    ----------
    indice : one index for each axis, constants or scalars of the kernel. Scalars beyond the tensor give its nearest
        element.

    Raises
    ------
    ArgumentTypeError : it is no block tensor. ShapeError : a constant beyond it, or another rank.
    """
    src = check_tensor("extract_element", "src", src)
    shape = shape_of(src)
    ones = (1,) * len(shape)
    begins = check_numbers("extract_element", "indice", indice, len(shape))
    check_inside("extract_element", shape, begins, ones, ones)
    if _generator is not None and keeps_operations():
        return _kept("extract_element", [src], begins, {}, src.dtype, _semantic, _generator)
    places = [_clamped(_scalar(begin, _semantic), dim, _semantic) for begin, dim in zip(begins, shape)]
    held = _held(src, _semantic, _generator)
    pointer = local_ptr(held, tuple(places), _semantic=_semantic, _generator=_generator)
    return core.load(pointer, _semantic=_semantic)


def _held(tensor: core.tensor, semantic: Any, generator: Any) -> Any:
    """A buffer, on GPUs in shared memory, through which elements get to the threads that want them."""
    dims, layout = list(shape_of(tensor)), swizzled_shared_layout.make_default(len(shape_of(tensor)))
    held = alloc_shared(dims, tensor.dtype, layout, _semantic=semantic, _generator=generator)
    content.store(held, tensor, _semantic=semantic, _generator=generator)
    return held


def _part(
    function: str, shape: tuple[int, ...], offsets: Any, sizes: Any, strides: Any
) -> tuple[list[Any], tuple[int, ...], tuple[int, ...]]:
    dims = check_shape(function, "sizes", sizes)
    check_constants(function, "sizes", sizes, len(shape))
    steps = check_constants(function, "strides", strides, len(shape))
    begins = check_numbers(function, "offsets", offsets, len(shape))
    check_inside(function, shape, begins, dims, steps)
    return begins, dims, steps


def _kept(
    name: str, tensors: list[core.tensor], numbers: list[Any], constants: dict[str, Any], type_: Any, s: Any, g: Any
) -> core.tensor:
    operands = [each.handle for each in (*tensors, *(_scalar(number, s) for number in numbers))]
    return core.tensor(keep(name, constants, operands, [type_.to_ir(s.builder)], s, g)[0], type_)


def _scalar(number: Any, semantic: Any) -> core.tensor:
    return semantic.cast(semantic.to_tensor(number), core.int32)


def _places(axis: int, rank: int, begin: Any, size: int, step: int, semantic: Any) -> core.tensor:
    index = along(axis, rank, size, semantic)
    if step != 1:
        index = semantic.mul(index, semantic.to_tensor(step), False)
    return semantic.add(index, _scalar(begin, semantic), False)


def _clamped(index: core.tensor, dim: int, semantic: Any) -> core.tensor:
    low = core.maximum(index, semantic.to_tensor(0), _semantic=semantic)
    return core.minimum(low, semantic.to_tensor(dim - 1), _semantic=semantic)
