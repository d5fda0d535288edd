"""The type of a buffer inside a kernel: what Triton's tracer asks of the type of a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from triton._C.libtriton import gluon_ir
from triton.language import core

from tle_raw.frontends.gpu.gluon_builder import new_builder
from tle_raw.frontends.gpu.shared_layouts import memory_bits, shared_layout

SMEM, TMEM = "smem", "tmem"


@dataclass(frozen=True)
class BufferType(core.base_type):  # type: ignore[misc]
    """A buffer's dtype, shape and layout.

    Attributes
    ----------
    shape : as the kernel sees it.
    memory : as it lies in memory: dims that a layout orders are powers of two there.
    whole : the memory of the buffer that this is a part of; the same where it is no part.
    layout : of the last ``layout.rank`` axes; an axis before them counts slots.
    space : ``smem`` or ``tmem``.
    context : MLIR's, in which the kernel is traced; None in Triton's interpreter.
    """

    dtype: Any
    shape: tuple[int, ...]
    memory: tuple[int, ...]
    whole: tuple[int, ...]
    layout: Any
    space: str = SMEM
    context: Any = field(default=None, compare=False, repr=False)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a buffer's rows or columns."""
        return self.memory != self.whole

    @property
    def has_slots(self) -> bool:
        """Whether the first axis counts slots."""
        return len(self.shape) > int(self.layout.rank)

    @property
    def slot_memory(self) -> tuple[int, ...]:
        """The memory's shape without the axis of slots."""
        return self.memory[1:] if self.has_slots else self.memory

    @property
    def bytes(self) -> int:
        """What it takes."""
        slots = self.memory[0] if self.has_slots else 1
        return slots * int(self.layout.bytes(self.slot_memory, memory_bits(self.dtype)))

    @property
    def memory_dtype(self) -> Any:
        """The dtype in memory: a bool takes a byte."""
        return core.int8 if self.dtype.is_bool() else self.dtype

    def changed(self, **fields: Any) -> BufferType:
        """The same with other fields."""
        return replace(self, **fields)

    # --- what Triton asks for -----------------------------------------------------------------------------------

    def to_ir(self, builder: Any) -> Any:
        """Triton passes its plain builder, which cannot make the types of ``ttg``."""
        made = builder if isinstance(builder, gluon_ir.GluonOpBuilder) else new_builder(self.context)
        element = self.memory_dtype.to_ir(made)
        make = made.get_tensor_mem_desc_ty if self.space == TMEM else made.get_shared_mem_desc_ty
        return make(element, list(self.memory), self.layout.to_ir(made), list(self.whole))

    def mangle(self) -> str:
        dims = ["x".join(map(str, part)) for part in (self.shape, self.memory, self.whole)]
        return f"B{self.space}_{self.dtype.mangle()}_{'_'.join(dims)}_{self.layout.text}B"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.to_ir(builder))

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor  # which is made of this type

        return buffered_tensor(handles[cursor], self), cursor + 1

    def __str__(self) -> str:
        return f"buffer {list(self.shape)} of {self.dtype}"


def tensor_type(type_: BufferType) -> Any:
    """The type of the block tensor that a load of the whole buffer gives, in the dtype of memory."""
    return core.block_type(type_.memory_dtype, list(type_.shape))
