"""What a region knows while it is traced: its values, its lanes, its guards, and where it stands in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from triton.language import core

from tle_raw.adapters.common.control_flow import Flow
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.narrow import is_narrow
from tle_raw.adapters.tilelang.regions import constant, linear_form
from tle_raw.adapters.tilelang.tir_types import Call, Expression, Node, Variable
from tle_raw.adapters.tilelang.traced.types import padded, triton_dtype
from tle_raw.errors import SourceLocation, UntraceableError
from tle_raw.regions import small_floats
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.shared_values import SharedBarrier, SharedTile
from tle_raw.triton_types import Semantic

REFUSAL = "TileLang's traced route cannot express this: "
MAX_SHOWN = 20


@dataclass(frozen=True)
class ParallelAxes:
    """The iteration space of a nest of parallel loops: each variable has an axis of the block tensors."""

    variables: tuple[Any, ...] = ()
    extents: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(padded, self.extents))

    def axis(self, variable: Variable) -> int | None:
        return next((a for a, v in enumerate(self.variables) if v.same_as(variable)), None)


class Specialising(Protocol):
    """What traces a loop whose copies are another warp's, and its products: see ``specialised.py``."""

    def is_loop(self, loop: Node) -> bool:
        """Whether it is that loop."""

    def run(self, loop: Node) -> None:
        """Trace it."""

    def copies(self, call: Call) -> bool:
        """Whether a copy is the other warp's."""

    def multiply(self, call: Call) -> None:
        """Trace a product."""

    def needs(self, memory: Any) -> None:
        """The value of a buffer is about to be read."""

    def replaces(self, memory: Any, value: core.tensor) -> None:
        """A buffer is about to get another value."""


class Tracer:
    """One region. Its statements are traced in order; every block tensor is a value that statements replace.

    ``evaluate`` and ``run_body`` trace what stands inside an expression or a statement: the index of a load is an
    expression again, the body of a loop holds statements. So the modules that trace one kind of them need the tracer
    only, and not each other.
    """

    def __init__(
        self,
        semantic: Semantic,
        flow: Flow,
        tiles: dict[str, NamedTile],
        evaluate: Callable[[Tracer, Any], core.tensor],
        run_body: Callable[[Tracer, Any], None],
        target: str = "",
    ) -> None:
        from tvm import arith

        self._evaluate, self._run_body = evaluate, run_body
        self.semantic, self.flow, self.target = semantic, flow, target
        self.analyzer = arith.Analyzer()
        self.named = tiles
        self.scalars: dict[Any, core.tensor] = {}  # variables that have a run-time value
        self.expressions: dict[Any, Any] = {}  # variables that stand for an expression or a constant
        self.memory: dict[Any, core.tensor] = {}  # global buffers, by their memory: the base pointer
        self.tiles: dict[Any, core.tensor] = {}  # shared buffers and fragments, by their memory
        self.shared: dict[Any, SharedTile] = {}  # tiles that stay in the kernel's own buffers, by their memory
        self.barriers: dict[Any, SharedBarrier] = {}  # of the kernel, by their memory
        self.homes: dict[Any, Any] = {}  # the buffer that allocated a memory: views of it have other shapes
        self.lanes = ParallelAxes()
        self.guards: list[core.tensor] = []
        self.of_lanes: set[Any] = set()  # one-element buffers that hold a value for each lane
        self.later: list[Sequence[Any]] = []  # statements that run after the present ones
        self.safe: dict[Any, Any] = {}  # what is read beyond the bounds of a global buffer, where that is not zero
        self.reducers: dict[Any, str] = {}  # memory that parallel loops combine into, by what
        self.reads_again = False  # global memory that it wrote
        self.threads: dict[Any, int] = {}  # a thread's indices, and how many threads there are along each
        self.thread_conditions: list[Any] = []  # on these, which hold for those that run the present statements,
        self.active = 1  # and how many they are
        self.specialised: Specialising | None = None  # where a loop has warps of its own that copy
        self.obstacles: list[UntraceableError] = []
        self.entered: set[Any] = set()  # bodies of statements that were traced, for what goes on after an obstacle
        self.location: SourceLocation | None = None

    # --- what stands inside --------------------------------------------------------------------------------------

    def evaluate(self, expression: Expression) -> core.tensor:
        """The value of an expression: a scalar, or in parallel loops a block tensor."""
        return self._evaluate(self, expression)

    def integer(self, expression: Expression) -> core.tensor:
        """An index, simplified first: constants stay constants, which Triton's alignment analysis lives on."""
        from tvm.tirx import IntImm

        written = isinstance(expression, int)
        return self.evaluate(IntImm("int32", expression) if written else self.simplify(expression))

    def run_body(self, body: Any) -> None:
        """Trace the statements of a body."""
        self._run_body(self, body)

    def needs(self, memory: Any) -> None:
        """The value of a buffer is about to be read: it may be a product that is under way."""
        if self.specialised is not None:
            self.specialised.needs(memory)

    def replaces(self, memory: Any, value: core.tensor) -> None:
        """A buffer is about to get another value: a product that is under way may read the old one."""
        if self.specialised is not None:
            self.specialised.replaces(memory, value)

    # --- failing ------------------------------------------------------------------------------------------------

    def fail(self, message: str, hint: str = "") -> UntraceableError:
        """The error to raise: what stands here cannot be traced."""
        error = UntraceableError(f"{REFUSAL}{message}", hint=hint)
        error.at(source=self.location)
        return error

    def meet(self, obstacle: UntraceableError) -> None:
        """Something that cannot be traced. A compilation goes on, to tell of all of them; the interpreter has no way
        back from what it did.
        """
        if not self.flow.is_compiled:
            raise obstacle
        self.obstacles.append(obstacle)

    def raise_obstacles(self) -> None:
        if not self.obstacles:
            return
        shown = {f"{e.context.source}: {e.message.removeprefix(REFUSAL)}": e for e in reversed(self.obstacles)}
        (_, first), *rest = reversed(shown.items())
        first.others = tuple(e for _, e in rest)
        first.log = "\n".join(line for line, _ in rest[:MAX_SHOWN])
        raise first

    def dtype(self, name: object) -> core.dtype:
        found = triton_dtype(name)
        if found is None:
            raise self.fail(f"values of type {name}")
        return found

    def storage(self, name: object) -> core.dtype:
        """The dtype in which memory holds elements: like ``dtype``, and bytes for those that Triton has no type of."""
        return core.uint8 if is_narrow(name) else self.dtype(name)

    # --- expressions of TIR -------------------------------------------------------------------------------------

    def simplify(self, expression: Expression) -> Any:
        """With the variables that stand for expressions replaced, simplified by what is known of the rest."""
        from tvm.tirx.stmt_functor import substitute

        if isinstance(expression, int):
            return expression
        if self.expressions:
            expression = substitute(expression, self.expressions)
        return self.analyzer.simplify(expression)

    def form(self, expression: Expression) -> tuple[dict[Any, Any], Any] | None:
        """An index as factors of the lanes' variables plus a rest that all lanes share; None where it is none."""
        found = linear_form(expression, self.lanes.variables)
        if found is None or self.varies(found[1]) or any(self.varies(f) for f in found[0].values()):
            return None
        return found

    def varies(self, expression: Expression) -> bool:
        """Whether an expression reads a value that differs from lane to lane under a name of its own."""
        from tvm.tirx.stmt_functor import post_order_visit

        if isinstance(expression, int) or not self.lanes.extents:
            return False
        found: list[Any] = []

        def visit(node: Node) -> None:
            kind = type(node).__name__
            named = kind in ("Var", "SizeVar") and node in self.scalars and self.scalars[node].type.is_block()
            if named or (kind == "BufferLoad" and node.buffer.data in self.of_lanes):
                found.append(node)

        post_order_visit(expression, visit)
        return bool(found)

    def proves(self, condition: Expression) -> bool:
        """A condition over integers holds for all values that its variables can have."""
        if isinstance(condition, bool):
            return condition
        return bool(self.analyzer.can_prove(condition))

    def size(self, extent: Any, what: str) -> int:
        found = constant(self.simplify(extent))
        if found is None:
            raise self.fail(f"{what} has no constant size: {extent}")
        return found

    def bind_range(self, variable: Variable, low: Any, extent: Any) -> None:
        from tvm.ir import Range

        self.analyzer.bind(variable, Range.from_min_extent(low, extent), allow_override=True)

    # --- values -------------------------------------------------------------------------------------------------

    def number(self, value: int | float | bool, dtype: core.dtype) -> core.tensor:
        return small_floats.number(self.semantic, value, dtype)

    def full(self, shape: Sequence[int], value: int | float, dtype: core.dtype) -> core.tensor:
        if not shape:
            return self.number(value, dtype)
        return small_floats.full(self.semantic, list(shape), value, dtype)

    def positions(self, extent: int, axis: int, rank: int) -> core.tensor:
        """0, 1, 2, … along one axis of a block tensor; the other axes have size 1."""
        size = padded(extent)
        if size == 1:
            return self.full([1] * rank, 0, core.int32)
        found = self.semantic.arange(0, size)
        return self.reshape(found, [size if a == axis else 1 for a in range(rank)])

    def reshape(self, value: core.tensor, shape: Sequence[int]) -> core.tensor:
        """Also from a scalar to a block of one element, and back."""
        before = shape_of(value)
        if before == tuple(shape):
            return value
        if not before:
            return self.semantic.splat(value, list(shape))
        if not shape:
            return self.semantic.unsplat(value)
        if tuple(d for d in before if d != 1) == tuple(d for d in shape if d != 1):
            return self._with_unit_axes(value, before, list(shape))
        return self.semantic.reshape(value, list(shape), False)

    def _with_unit_axes(self, value: core.tensor, before: Sequence[int], shape: list[int]) -> core.tensor:
        """Axes of size 1 are put in without moving anything, where that is all."""
        if len(before) > len(shape) or any(d == 1 for d in before):
            return self.semantic.reshape(value, shape, False)
        for axis, size in enumerate(shape):
            if size == 1:
                value = self.semantic.expand_dims(value, axis)
        return value

    def spread(self, value: core.tensor, shape: Sequence[int]) -> core.tensor:
        """Broadcast to a shape; the ranks are equal, or the value is a scalar."""
        if shape_of(value) == tuple(shape):
            return value
        if not shape_of(value):
            return self.semantic.splat(value, list(shape)) if shape else value
        return self.semantic.broadcast_impl_shape(value, list(shape))

    def permute(self, value: core.tensor, order: Sequence[int]) -> core.tensor:
        return value if list(order) == list(range(len(order))) else self.semantic.permute(value, tuple(order))

    def cast(self, value: core.tensor, dtype: core.dtype) -> core.tensor:
        element = value.type.scalar
        if element == dtype:
            return value
        for one, other in ((element, dtype), (dtype, element)):
            if small_floats.is_small(one) and other != core.float32 and not (other.is_fp16() or other.is_bf16()):
                # Triton converts floats of eight bits to and from others of at most 32 only.
                return self.semantic.cast(self.semantic.cast(value, core.float32), dtype)
        return self.semantic.cast(value, dtype)

    def widened(self, compute: Callable[..., core.tensor], *operands: core.tensor) -> core.tensor:
        """Triton has no arithmetic of eight-bit floats: they are computed with as f32, and rounded back."""
        element = operands[0].type.scalar
        if not small_floats.is_small(element):
            return compute(*operands)
        made = compute(*(self.cast(o, core.float32) for o in operands))
        return self.cast(made, element) if made.type.scalar.is_floating() else made

    def both(self, *conditions: core.tensor | None) -> core.tensor | None:
        """All of the conditions; None stands for one that always holds."""
        found = None
        for condition in conditions:
            if condition is not None:
                found = condition if found is None else self.semantic.and_(found, condition)
        return found

    def choose(self, condition: core.tensor, yes: core.tensor, no: core.tensor) -> core.tensor:
        return self.semantic.where(condition, yes, no)

    # --- scopes -------------------------------------------------------------------------------------------------

    @contextmanager
    def parallel(self, variables: Sequence[Any], extents: Sequence[int]) -> Iterator[None]:
        """The statements inside run once for each point of the space, all at the same time."""
        before, self.lanes = self.lanes, ParallelAxes(tuple(variables), tuple(extents))
        for variable, extent in zip(variables, extents):
            self.bind_range(variable, 0, extent)
        try:
            yield
        finally:
            self.lanes = before
            for memory in self.of_lanes:
                self.tiles.pop(memory, None)
            self.of_lanes.clear()

    @contextmanager
    def guarded(self, condition: core.tensor | None) -> Iterator[None]:
        """The statements inside touch memory only where the condition holds."""
        if condition is None:
            yield
            return
        self.guards.append(condition)
        try:
            yield
        finally:
            self.guards.pop()

    @contextmanager
    def before(self, later: Sequence[Any]) -> Iterator[None]:
        """The statements inside run before these."""
        self.later.append(later)
        try:
            yield
        finally:
            self.later.pop()

    def guard(self) -> core.tensor | None:
        """The condition under which memory may be touched here."""
        return self.both(*self.guards)

    def lanes_that_exist(self) -> core.tensor | None:
        """Which lanes are points of the space: its block tensors are padded to powers of two."""
        rank = len(self.lanes.extents)
        found = None
        for axis, extent in enumerate(self.lanes.extents):
            if extent != padded(extent):
                inside = self.semantic.less_than(self.positions(extent, axis, rank), self.number(extent, core.int32))
                found = self.both(found, inside)
        return found

    def lane(self, variable: Variable) -> core.tensor | None:
        """The value of a parallel loop's variable in each lane."""
        axis = self.lanes.axis(variable)
        if axis is None:
            return None
        return self.positions(self.lanes.extents[axis], axis, len(self.lanes.extents))


Handler = Callable[..., Any]
