"""``buffered_tensor``: a buffer in shared or tensor memory as a value of a kernel."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import views
from tle_raw.frontends.gpu.buffer_type import BufferType
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.storage import Storage


class buffered_tensor(core.base_value):  # type: ignore[misc]
    """A buffer that ``tle.gpu.alloc`` made, or a view of one.

    It is carried by loops, passed to ``@triton.jit`` functions and returned by them like a tensor, and is never copied:
    a view, ``slot``, ``subslice``, ``reshape``, ``permute`` or ``trans``, is one of the same memory.

    Attributes
    ----------
    shape, dtype : those of the elements.
    layout : how they lie in memory.
    """

    def __init__(self, handle: Any, type: BufferType, storage: Storage | None = None) -> None:
        self.handle = handle
        self.type = type
        self.storage = storage or Storage()

    @property
    def shape(self) -> Any:
        return core.tuple([core.constexpr(dim) for dim in self.type.shape])

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def layout(self) -> Any:
        return self.type.layout

    @property
    def rank(self) -> int:
        return len(self.type.shape)

    def __repr__(self) -> str:
        return str(self.type)

    # --- what Triton asks for -----------------------------------------------------------------------------------

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))

    # --- methods of kernels -------------------------------------------------------------------------------------

    slot = gpu_function(views.slot)
    subslice = gpu_function(views.subslice)
    reshape = gpu_function(views.reshape)
    permute = gpu_function(views.permute)
    trans = gpu_function(views.trans)
    load = gpu_function(views.load)
    store = gpu_function(views.store)
    free = gpu_function(views.free)
    __getitem__ = gpu_function(views.slot)
