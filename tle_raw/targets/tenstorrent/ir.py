"""The program between passes, down to the form of which C++ is written: three kernels, buffers, tables per core.

Until ``split_device_kernel`` a module has one ``body``, of operations on whole blocks (``blocks.py``); after it three
kernels, whose statements are those of this file. Both print as text, by ``print_ir.py``. Everything is a value; a pass
makes a new module. An integer expression is 32 bits wide and unsigned at run time, and none may become negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tle_raw.errors import SourceLocation

Role = Literal["reader", "compute", "writer"]
ROLES: tuple[Role, ...] = ("reader", "compute", "writer")
TILE = 32


# --- Expressions and arguments


@dataclass(frozen=True)
class Int:
    """A constant."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Var:
    """A ``Let``, the variable of a ``For``, or a runtime argument."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Op:
    """Two expressions and a sign: + - * / % min max < <= > >= == != && ||, as in C for unsigned numbers."""

    sign: str
    a: Expr
    b: Expr

    def __str__(self) -> str:
        if self.sign in ("min", "max"):
            return f"{self.sign}({self.a}, {self.b})"
        return f"({self.a} {self.sign} {self.b})"


@dataclass(frozen=True)
class Query:
    """What a function of the API gives: ``get_write_ptr``, ``get_read_ptr``, ``get_tile_size``."""

    function: str
    arguments: tuple[Arg, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Buffer:
    """A circular buffer, by its name; in C++ its number."""

    name: str

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True)
class Accessor:
    """A tensor in global memory, by its name; in C++ a ``TensorAccessor`` that the kernel's head makes."""

    name: str

    def __str__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True)
class Bits:
    """The 32 bits of a float32, as the functions on scalars take them."""

    value: float

    def __str__(self) -> str:
        return f"bits({self.value!r})"


@dataclass(frozen=True)
class Word:
    """An enumerator, as release 0.81.1 spells it: ``BroadcastType::COL``, ``PoolType::SUM``, ``DataFormat::Int32``."""

    text: str

    def __str__(self) -> str:
        return self.text


Expr = Int | Var | Op | Query
Arg = Int | Var | Op | Query | Buffer | Accessor | Bits | Word


# --- Statements of the three kernels


@dataclass(frozen=True)
class Let:
    """``const uint32_t name = value;``"""

    name: str
    value: Expr


@dataclass(frozen=True)
class For:
    """``for (uint32_t name = start; name < stop; ++name)``."""

    name: str
    start: Expr
    stop: Expr
    body: tuple[Any, ...]
    location: SourceLocation | None = None


@dataclass(frozen=True)
class If:
    """A branch on an integer expression."""

    condition: Expr
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Call:
    """An operation of the kernel API, named and with arguments in the order of release 0.81.1.

    Besides the API's own there are operations that C++ has to write out, in the reader, on one page that is reserved:
    ``write_scaler_tile(cb, bits, format)`` (what ``reduce_tile`` multiplies by: the first row of each face), and
    ``write_choice_tile(cb, page, condition, yes, no)``: in the tile at page ``page`` behind the write pointer element
    (r, c) is ``yes`` where the condition, an expression of ``r`` and ``c``, holds, and ``no`` elsewhere.
    """

    operation: str
    arguments: tuple[Arg, ...] = ()
    template: tuple[Arg, ...] = ()
    location: SourceLocation | None = None


Statement = Let | For | If | Call


# --- What a module declares


@dataclass(frozen=True)
class Tensor:
    """An array in global memory, in tiles of 32 x 32.

    The dims ``row_dim`` and ``column_dim`` of ``shape`` (None: it has one row, or one column) are cut into tiles; the
    others count matrices, row-major. A matrix has ``tile_rows`` x ``tile_columns`` pages, also where the last ones hold
    nothing but padding; page number ``(matrix * tile_rows + r) * tile_columns + c``. Padding is zero.

    Attributes
    ----------
    dtype : of the arrays of the host, in NumPy's words and ``bfloat16``; ``data_format`` of the pages, in Metalium's.
    direction : ``in``, ``out`` or ``inout``.
    memory, layout : ``DRAM`` or ``L1``; ``interleaved`` or ``sharded``. ``shard`` is a shard's tiles, (rows, columns).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data_format: str
    row_dim: int | None
    column_dim: int | None
    tile_rows: int
    tile_columns: int
    direction: Literal["in", "out", "inout"] = "in"
    memory: Literal["DRAM", "L1"] = "DRAM"
    layout: Literal["interleaved", "sharded"] = "interleaved"
    shard: tuple[int, int] | None = None

    @property
    def matrices(self) -> int:
        """How many matrices the other dims count."""
        count = 1
        for dim, extent in enumerate(self.shape):
            if dim not in (self.row_dim, self.column_dim):
                count *= extent
        return count

    @property
    def pages(self) -> int:
        return self.matrices * self.tile_rows * self.tile_columns


@dataclass(frozen=True)
class CircularBuffer:
    """A queue of pages in L1, each a tile.

    ``number`` is its index c_N; ``capacity`` how many pages it holds, ``block`` how many are pushed and popped at a
    time; ``producer`` and ``consumer`` are the kernels at its ends.
    """

    name: str
    number: int
    data_format: str
    page_bytes: int
    capacity: int
    block: int
    producer: Role
    consumer: Role

    @property
    def bytes(self) -> int:
        return self.page_bytes * self.capacity


@dataclass(frozen=True)
class CompileTimeArg:
    """The words of one accessor, in the order of the kernel's list: ``name`` is the tensor's."""

    name: str


@dataclass(frozen=True)
class RuntimeArg:
    """One word. ``address`` is that of the tensor ``source``, ``core`` a column of the per-core table, ``scalar`` the
    32 bits of the scalar parameter ``source``."""

    name: str
    kind: Literal["address", "core", "scalar"]
    source: str


@dataclass(frozen=True)
class Kernel:
    """One of the three programs of a core."""

    role: Role
    compile_time_args: tuple[CompileTimeArg, ...] = ()
    runtime_args: tuple[RuntimeArg, ...] = ()
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class WorkItem:
    """One block of the grid: row ``io``, column ``jo`` of the outputs' blocks, in the matrix ``batch``."""

    io: int
    jo: int
    batch: int = 0
    len_k: int | None = None
    tile_order: str | None = "row_major"


@dataclass(frozen=True)
class CoreWork:
    """What one core does: its place, the values of its runtime arguments by column, its blocks."""

    x: int
    y: int
    values: Mapping[str, int]
    items: tuple[WorkItem, ...]


@dataclass(frozen=True)
class ComputeConfig:
    """Of the compute kernel: DST of 32 bits an element, and how many tiles may be held there at a time."""

    fp32_dest_acc_en: bool
    dst_tiles: int
    math_fidelity: str = "HiFi4"
    math_approx_mode: bool = False


@dataclass(frozen=True)
class Module:
    """A kernel on its way.

    Attributes
    ----------
    parameters : the arrays and scalars of the PrimFunc, in its order; ``scalars`` those that are scalars, with dtypes.
    grid : the extents of ``T.Kernel``, x, y, z.
    attributes : what passes leave behind, under the names ``tt.…``.
    body : one sequence for all roles until it is split, then empty.
    kernels, circular_buffers, cores, compute : empty until a pass makes them.
    locals : the blocks' own buffers by name, ``blocks.Local``, until they are circular buffers.
    done : the names of the passes that have run.
    """

    name: str
    parameters: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    scalars: Mapping[str, str] = field(default_factory=dict)
    grid: tuple[int, int, int] = (1, 1, 1)
    core_grid: tuple[int, int] = (1, 1)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    body: tuple[Any, ...] = ()
    circular_buffers: Mapping[str, CircularBuffer] = field(default_factory=dict)
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    cores: tuple[CoreWork, ...] = ()
    compute: ComputeConfig | None = None
    locals: Mapping[str, Any] = field(default_factory=dict)
    done: tuple[str, ...] = ()


def walk(statements: tuple[Any, ...]) -> Iterator[Any]:
    """Every statement, those inside loops and branches behind the loop or branch."""
    for statement in statements:
        yield statement
        for name in ("body", "then", "otherwise"):
            yield from walk(getattr(statement, name, ()))
