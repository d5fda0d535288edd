"""``buffered_tensor``, a buffer as a value of a kernel, and its type: the pair that Triton's tracer asks for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from triton._C.libtriton import gluon_ir
from triton.language import core

from tle_raw.errors import PipeError, Row, SharedBufferError, SourceLocation
from tle_raw.frontends.gpu.gluon_builder import identity, new_builder
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits

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
    origin, storage : the value that has this type, and whose memory it is; another value that has it may be another's.
    """

    dtype: Any
    shape: tuple[int, ...]
    memory: tuple[int, ...]
    whole: tuple[int, ...]
    layout: Any
    space: str = SMEM
    context: Any = field(default=None, compare=False, repr=False)
    origin: int = field(default=0, compare=False, repr=False)
    storage: Any = field(default=None, compare=False, repr=False)

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
        if self.storage is not None:
            self.storage.passed_on()
        dims = ["x".join(map(str, part)) for part in (self.shape, self.memory, self.whole)]
        return f"B{self.space}_{self.dtype.mangle()}_{'_'.join(dims)}_{self.layout.text}B"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.to_ir(builder))

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        is_same = self.origin != 0 and identity(handles[cursor]) == self.origin
        return buffered_tensor(handles[cursor], self, self.storage if is_same else None), cursor + 1

    def __str__(self) -> str:
        return f"buffer {list(self.shape)} of {self.dtype}"


@dataclass
class Storage:
    """One allocation. A buffer that comes out of a loop or a function is not known to be one's.

    Attributes
    ----------
    barrier : the handle of the barrier at which products into tensor memory arrive when they are done.
    taken : of a pipe's field what alone reaches it; "" else.
    window : of a slot of a pipe what is traced of it.
    """

    name: str = ""
    type: BufferType | None = None
    freed: SourceLocation | None = None
    barrier: Any = None
    taken: str = ""
    window: Any = None

    def check_alive(self, function: str) -> None:
        """Raise a SharedBufferError where it was freed."""
        if self.freed is not None:
            raise SharedBufferError(
                f"tle.gpu.{function}: the buffer{f' `{self.name}`' if self.name else ''} was freed before",
                table=[Row("buffer", "allocated", f"freed at {self.freed}")],
            )
        if self.taken:
            raise PipeError(
                f"tle.gpu.{function}: the buffer{f' `{self.name}`' if self.name else ''} is a pipe's",
                table=[Row("buffer", "one of no pipe", self.taken)],
                hint="writer.acquire and reader.wait give slots, with the buffer's part for each field",
            )

    def reached(self) -> None:
        """Somebody takes its handle: only a pipe's slots ask."""

    def passed_on(self) -> None:
        """A function is called with it, or with what a loop or a function made of it: only a pipe's slots ask."""


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
        self._handle = handle
        self.storage = storage or Storage()
        self.type = type.changed(origin=identity(handle), storage=storage) if storage else type

    @property
    def handle(self) -> Any:
        """The value in Triton's IR, or NumPy's array, for whoever works on the memory."""
        self.storage.reached()
        return self._handle

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

    def given_to(self, partition: Any) -> None:
        """A partition of specialised warps gets it: raise where nobody may use it, or a pipe alone."""
        self.storage.check_alive("warp_specialize")

    def __repr__(self) -> str:
        return str(self.type)

    # --- what Triton asks for -----------------------------------------------------------------------------------

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self._handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self._handle.set_loc(builder.create_name_loc(name, self._handle.get_loc()))

    def untracked(self) -> buffered_tensor:
        """The same memory, for copies into a pipe's slot that the pipe itself follows."""
        return buffered_tensor(self._handle, self.type.changed(storage=None))


def tensor_type(type_: BufferType) -> Any:
    """The type of the block tensor that a load of the whole buffer gives, in the dtype of memory."""
    return core.block_type(type_.memory_dtype, list(type_.shape))
