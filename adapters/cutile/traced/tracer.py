"""What a region knows while it is traced: the values of cuTile's variables, and where it stands in the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.adapters.common.control_flow import Flow
from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.locations import location_of
from tle_raw.adapters.cutile.traced.types import block_type, triton_dtype, without_tokens
from tle_raw.errors import SourceLocation, UntraceableError
from tle_raw.regions.shapes import shape_of
from tle_raw.triton_types import Semantic


@dataclass(frozen=True)
class View:
    """An array, or its division into tiles: pointer, sizes and strides. Nothing is written for it.

    ``type`` is cuTile's, and knows tile shape, order and padding. ``pointer`` may be a tensor descriptor. The sizes are
    multiples of ``multiples``.
    """

    pointer: Any
    shape: tuple[core.tensor, ...]
    strides: tuple[core.tensor, ...]
    type: Any
    multiples: tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """Where block ids and their numbers come from: a program's axis, or a value of the call."""

    ids: tuple[int | core.tensor, ...] = (0, 1, 2)
    counts: tuple[int | core.tensor | None, ...] = (0, 1, 2)


class Tracer:
    """One region. Each operation is written in turn; a variable has one value."""

    def __init__(
        self, semantic: Semantic, flow: Flow, grid: Grid = Grid(), barriers: frozenset[int] = frozenset()
    ) -> None:
        self.semantic, self.flow, self.grid = semantic, flow, grid
        self.builder = semantic.builder
        self.barriers = barriers  # operations, by identity, that a block barrier stands before
        self.values: dict[str, Any] = {}
        self.bare: frozenset[str] = frozenset()  # variables that are loaded without their axes of size 1
        self.multiples: dict[str, int] = {}  # what parameters are multiples of, by name
        self.expanded: dict[int, tuple[core.tensor, core.tensor]] = {}  # by identity: with and without axes of size 1
        self.keeps_matrices = False  # whether a cast is of what axes of size 1 were put into
        self.described: dict[int, Any] = {}  # the tensor descriptors that stores go by, by the operations' identities
        # Limits of values, which a loop's index is below; by the values' identity. See ``limits``.
        self.at_most: dict[int, frozenset[Any]] = {}
        self.below: dict[int, frozenset[Any]] = {}
        self.counts: dict[int, core.tensor] = {}  # the same index in 64 bits
        self.copies = 1  # of the rest of a body, in the branches that run it
        self.location: SourceLocation | None = None

    def fail(self, message: str, hint: str = "") -> UntraceableError:
        """The error to raise: what stands here cannot be expressed."""
        error = UntraceableError(f"Triton cannot express {message}", hint=hint)
        error.at(source=self.location)
        return error

    def stands_at(self, operation: Operation) -> None:
        """Errors from here on name this operation's line."""
        self.location = location_of(operation.loc) or self.location

    def value(self, variable: Variable) -> Any:
        return self.values[variable.name]

    def bind(self, variables: Sequence[Any], results: Sequence[Any]) -> None:
        """Give cuTile's variables, but for tokens, their values: of the types that cuTile says."""
        for variable, result in zip(without_tokens(variables), results, strict=True):
            self.values[variable.name] = self._of_type(variable, result) if isinstance(result, core.tensor) else result

    def _of_type(self, variable: Variable, value: core.tensor) -> core.tensor:
        """Triton's types know the sign of integers, its operations do not."""
        wanted = self.type_of(variable)
        if self.is_interpreted:
            return core.tensor(value.handle, block_type(wanted.scalar, shape_of(value)))
        if shape_of(value) != tuple(variable.get_type().shape):
            raise self.fail(f"a value of {value.type} where cuTile has {variable.get_type()}")
        return value if value.type == wanted else core.tensor(value.handle, wanted)

    def dtype(self, dtype: Any) -> core.dtype:
        """Triton's of cuTile's."""
        found = triton_dtype(dtype)
        if found is None:
            raise self.fail(f"values of type {dtype.name}")
        return found

    def type_of(self, variable: Variable) -> core.dtype:
        """The type of a variable that holds a tile."""
        type_ = variable.get_type()
        return block_type(self.dtype(type_.dtype), type_.shape)

    def make(self, create: str, type_: core.dtype, *operands: core.tensor, **keywords: Any) -> core.tensor:
        """One operation of the builder, by its name there."""
        made = getattr(self.builder, create)(*(o.handle for o in operands), **keywords)
        if self.is_interpreted:  # the function of a reduction runs on whole slices there, its constants are scalars
            type_ = block_type(type_.scalar, next((shape_of(o) for o in operands if o.type.is_block()), ()))
            if type_.scalar.is_int1():  # a comparison's handle has the dtype of what was compared
                made = type(made)(made.data.astype(bool), core.int1)
        return core.tensor(made, type_)

    @property
    def is_for_nvidia(self) -> bool:
        return getattr(getattr(self.builder, "options", None), "backend_name", "") == "cuda"

    @property
    def is_interpreted(self) -> bool:
        return not self.flow.is_compiled


Handler = Callable[[Tracer, Any], Any]
OPERATIONS: dict[str, Handler] = {}


def operation(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register what translates an opcode: it gives the value, or the tuple of values, of the results; None for none."""

    def register(handler: Handler) -> Handler:
        for opcode in opcodes:
            OPERATIONS[opcode] = handler
        return handler

    return register


def results_of(made: Any) -> list[Any]:
    """What a handler gave, for each result that is no token."""
    if made is None:
        return []
    return list(made) if isinstance(made, tuple) else [made]
