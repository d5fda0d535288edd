"""``tle.dsa.alloc``: a buffer in a local memory."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.dsa.checks import check_shape
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.local_buffer import LocalBufferType, local_buffer
from tle_raw.frontends.dsa.memories import GPU, capacities, check_exists, check_fits
from tle_raw.frontends.dsa.spaces import Space, check_space
from tle_raw.frontends.gpu.alloc import alloc as alloc_shared
from tle_raw.frontends.gpu.alloc import allocated_name
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.stages import compiled_target

# What an allocation's operation says: the memory, and how large that is.
SPACE, CAPACITY = "tle.dsa.space", "tle.dsa.capacity"


@dsa_function
def alloc(shape: Any, dtype: Any, mem_addr_space: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """A buffer in a local memory of a DSA. Its content is undefined until written.

    On CPUs and in Triton's interpreter it is memory of the program, counted against the size that the chip's memory
    has; on NVIDIA GPUs it is shared memory, whose size Triton counts; for ``ascend`` it is the memory itself.

    Parameters
    ----------
    shape : powers of two, constants.
    dtype : of the elements; no pointers.
    mem_addr_space : ``tle.dsa.ascend.UB``, ``L1``, ``L0A``, ``L0B`` or ``L0C``. GPUs have the first two.

    Raises
    ------
    ShapeError, ArgumentTypeError : the shape, the dtype or the space cannot be.
    LocalMemoryError : the memory is too small, or the target has none of that kind.
    """
    dims = check_shape("alloc", "shape", shape)
    space = check_space("alloc", "mem_addr_space", mem_addr_space)
    return allocate("alloc", dims, dtype, space, _semantic, _generator)


def allocate(
    function: str, dims: tuple[int, ...], dtype: Any, space: Space, semantic: Any, generator: Any
) -> local_buffer:
    """The buffer that a function of ``tle.dsa`` makes."""
    check_exists(function, space, generator)
    layout = swizzled_shared_layout.make_default(len(dims))
    name = allocated_name(generator, semantic)
    sizes, bits = capacities(semantic, generator), getattr(plain(dtype), "primitive_bitwidth", 0)
    if not isinstance(bits, int) or not bits:
        raise ArgumentTypeError(
            f"tle.dsa.{function}: a buffer holds numbers",
            table=[Row("dtype", "e.g. tl.float16", describe_value(dtype))],
        )
    bytes_ = max(bits, 8) // 8
    for dim in dims:
        bytes_ *= dim
    check_fits(function, name, space, bytes_, sizes)
    whole = alloc_shared(list(dims), dtype, layout, _semantic=semantic, _generator=generator)
    if generator is not None and compiled_target() != GPU and sizes is not None:
        whole.handle.set_attr(SPACE, semantic.builder.get_string_attr(space.name))
        whole.handle.set_attr(CAPACITY, semantic.builder.get_int32_attr(sizes[space.name]))
    return local_buffer(whole, LocalBufferType(whole.type, space, name=name))
