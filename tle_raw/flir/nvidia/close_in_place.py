"""After the conversion to TritonGPU: stores into buffers take the place of their markers, in the module itself.

Of a kernel in which nothing else crosses, as one that clears buffers and reaches them by pointers, printing the module
and reading it again would take longer than all else that is done here. The markers of such stores are pure: nobody uses
them any more, and Triton's passes leave them out.
"""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import gluon_ir

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.open_crossings import CROSSING
from tle_raw.linker.mlir.text import OPERATION

_STORE = r"[\22ttg.local_store\22, \22tb\22, \22\22, \22\22, \22\22]"  # a marker's record
_MARKED, _PURE = f'pure = false, symbol = "{CROSSING}"', f'pure = true, symbol = "{CROSSING}"'
_FOLLOWED = ("tt.splat", "ttg.convert_layout", "tti.experimental_memdesc_to_i32", "tti.experimental_memdesc_to_i64")


def only_stores_cross(text: str) -> bool:
    """Whether all markers of Triton IR in generic form are of stores of tensors into buffers."""
    return text.count(_MARKED) == text.count(f'"{_STORE}", libpath = "", {_MARKED}')


def with_pure_markers(text: str) -> str:
    """Triton IR with markers that may be left out once ``close_in_place`` has seen them."""
    return text.replace(_MARKED, _PURE)


def close_in_place(module: Any) -> int:
    """Put the stores behind their markers; how many there are.

    Raises
    ------
    RegionError : the buffer that rode along with a marker is not to be found.
    """
    markers: list[Any] = []
    made_by: dict[int, Any] = {}

    def see(operation: Any) -> None:
        name = operation.get_name()
        if name in _FOLLOWED:
            made_by[operation.get_result(0).id()] = operation
        elif name == OPERATION and operation.get_str_attr("symbol") == CROSSING:
            markers.append(operation)

    module.walk(see)
    builder = gluon_ir.GluonOpBuilder(module.context)
    for marker in markers:
        builder.set_insertion_point_after(marker)
        builder.set_loc(marker.get_result(0).get_loc())
        builder.create_local_store(_buffer(marker.get_operand(1), made_by), marker.get_operand(0))
    return len(markers)


def _buffer(rider: Any, made_by: dict[int, Any]) -> Any:
    """What the address was asked of that a splat carries."""
    value = rider
    while (operation := made_by.get(value.id())) is not None:
        value = operation.get_operand(0)
    if value is rider:
        raise RegionError(
            "a store into a shared buffer lost its buffer in one of Triton's passes", hint="report this with the kernel"
        )
    return value
