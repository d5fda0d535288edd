"""The buffers of ``tiles=[…]``: block tensors of the caller take the place of a piece of global memory.

Each is touched at one place of the region only, so that one block tensor can stand for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.locations import location_of
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.regions import constant, is_parallel, linear_form, region_of, uses
from tle_raw.adapters.tilelang.tir_types import Buffer, Node
from tle_raw.errors import Row, SignatureError, SourceLocation
from tle_raw.fragments.parameter_types import IN, INOUT, OUT


@dataclass(frozen=True)
class NamedTile:
    """``origin`` and ``extents`` say which piece; ``kept`` are the dims along which it is a block tensor.

    ``is_certain`` : some write of the piece is under no guard. ``location`` is that of its first use.
    """

    name: str
    buffer: Buffer
    origin: tuple[Any, ...]
    extents: tuple[int, ...]
    effect: str
    is_certain: bool = False
    location: SourceLocation | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d, extent in enumerate(self.extents) if extent != 1) or (len(self.extents) - 1,)

    @property
    def is_written_whole(self) -> bool:
        """No element of the block tensor is left as it was; those beyond the extents are."""
        return self.is_certain and self.dims == tuple(self.extents[d] for d in self.kept)

    @property
    def dims(self) -> tuple[int, ...]:
        """The block tensor's shape: powers of two; what lies beyond the extents is never read."""
        return tuple(1 << (self.extents[d] - 1).bit_length() for d in self.kept)


@dataclass
class _Touch:
    origin: tuple[Any, ...]
    extents: tuple[Any, ...]
    writes: bool
    loops: tuple[Any, ...]
    location: SourceLocation | None
    certain: bool


@dataclass
class _Search:
    """Walks the body and notes every touch of one buffer."""

    buffer: Buffer
    serial: list[Any] = field(default_factory=list)
    parallel: list[Any] = field(default_factory=list)
    found: list[_Touch] = field(default_factory=list)
    location: SourceLocation | None = None
    branches: int = 0

    def visit(self, node: Node) -> None:
        kind = type(node).__name__
        self.location = (
            location_of(node) if kind in ("For", "Evaluate", "BufferStore", "Bind") else None
        ) or self.location
        if kind == "SeqStmt":
            for inner in node.seq:
                self.visit(inner)
        elif kind == "For":
            stack = self.parallel if is_parallel(node) else self.serial
            stack.append(node)
            self.visit(node.body)
            stack.pop()
        elif kind == "BufferStore":
            self.touch(node.buffer, node.indices, writes=True)
            self.expression(node.value)
        elif kind == "IfThenElse":
            self.expression(node.condition)
            self.branches += 1
            self.visit(node.then_case)
            if node.else_case is not None:
                self.visit(node.else_case)
            self.branches -= 1
        elif kind == "While":
            self.expression(node.condition)
            self.serial.append(None)
            self.visit(node.body)
            self.serial.pop()
        elif kind in ("Evaluate", "Bind"):
            self.expression(node.value)
        elif hasattr(node, "body"):
            self.visit(node.body)

    def expression(self, root: Any) -> None:
        from tvm.tirx.stmt_functor import post_order_visit

        in_regions: list[Any] = []

        def region(node: Any) -> None:
            if type(node).__name__ == "Call" and str(node.op.name) == "tl.region":
                box, access = region_of(node), constant(node.args[1])
                in_regions.append(node.args[0])
                if self.is_it(box.buffer):
                    self.note(box.origin, box.extents, access != 1)
                    if access == 3:
                        self.note(box.origin, box.extents, False)

        loads: list[Any] = []
        post_order_visit(root, region)
        post_order_visit(root, lambda node: loads.append(node) if type(node).__name__ == "BufferLoad" else None)
        for load in loads:
            if not any(load.same_as(r) for r in in_regions):
                self.touch(load.buffer, load.indices, writes=False)

    def is_it(self, buffer: Buffer) -> bool:
        """Whether a buffer is the one looked for; a view of its memory is not, and has no place in a tile."""
        if buffer.same_as(self.buffer):
            return True
        if buffer.data.same_as(self.buffer.data):
            raise SignatureError(
                f"the buffer `{self.buffer.name}` of tiles= is touched through the view `{buffer.name}` of its memory",
                hint="leave it out of tiles=, so that it stays a pointer",
            ).at(source=self.location)
        return False

    def touch(self, buffer: Buffer, indices: Sequence[Any], writes: bool) -> None:
        """An element in a parallel nest: all of its iterations together touch a box."""
        if not self.is_it(buffer):
            return
        variables = [loop.loop_var for loop in self.parallel]
        origin, extents = [], []
        for index in indices:
            form = linear_form(index, variables)
            factors = {} if form is None else form[0]
            if form is None or len(factors) > 1 or any(constant(f) != 1 for f in factors.values()):
                raise SignatureError(
                    f"the buffer `{self.buffer.name}` of tiles= is touched at an index that is no box: {index}",
                    hint="leave it out of tiles=, so that it stays a pointer",
                ).at(source=self.location)
            loop = next((p for p in self.parallel for v in factors if p.loop_var.same_as(v)), None)
            origin.append(form[1])
            extents.append(1 if loop is None else loop.extent)
        self.note(tuple(origin), tuple(extents), writes)

    def note(self, origin: Sequence[Any], extents: Sequence[Any], writes: bool) -> None:
        loops = tuple(loop for loop in self.serial if loop is None or constant(loop.extent) != 1)
        runs = all(loop is not None and (constant(loop.extent) or 0) > 0 for loop in loops)
        certain = runs and not self.branches
        self.found.append(_Touch(tuple(origin), tuple(extents), writes, loops, self.location, certain))


def find_named_tiles(program: Program, names: Sequence[str]) -> dict[str, NamedTile]:
    """The pieces that the named buffers stand for.

    Raises
    ------
    SignatureError : no such buffer, or one that is touched at several places.
    """
    return {name: _find(program, name) for name in names}


def _find(program: Program, name: str) -> NamedTile:
    if name not in program.buffers:
        raise SignatureError(
            f"tiles= names `{name}`, which is no global buffer of `{program.name}`",
            table=[Row("tiles=", f"of {', '.join(program.buffers) or 'no buffers'}", name)],
        )
    search = _Search(program.buffers[name])
    search.visit(program.body)
    if not search.found:
        raise SignatureError(f"the kernel never touches the buffer `{name}` of tiles=")
    first = search.found[0]
    extents = [constant(e) for e in first.extents]
    if any(e is None for e in extents):
        raise SignatureError(f"the piece of `{name}` that a tile is to stand for has no constant size").at(
            source=first.location
        )
    for touch in search.found:
        _check_same(name, first, touch)
    reads, writes = any(not t.writes for t in search.found), any(t.writes for t in search.found)
    effect = INOUT if reads and writes else OUT if writes else IN
    is_certain = any(t.writes and t.certain for t in search.found)
    known = tuple(e for e in extents if e is not None)
    return NamedTile(name, search.buffer, first.origin, known, effect, is_certain, first.location)


def _check_same(name: str, first: _Touch, touch: _Touch) -> None:
    from tvm import arith

    analyzer = arith.Analyzer()
    same = all(
        analyzer.can_prove_equal(a, b) for a, b in zip((*first.origin, *first.extents), (*touch.origin, *touch.extents))
    )
    moving = [loop for loop in touch.loops if loop is not None and any(uses(o, [loop.loop_var]) for o in touch.origin)]
    if same and not moving:
        return
    where = f"moves with the loop over `{moving[0].loop_var.name}`" if moving else "differs from one use to the next"
    raise SignatureError(
        f"one block tensor cannot stand for `{name}`: the piece that the kernel touches {where}",
        table=[Row(name, _box(first), _box(touch))],
        hint="leave it out of tiles=, so that it stays a pointer",
    ).at(source=touch.location)


def _box(touch: _Touch) -> str:
    return ", ".join(f"{o} : +{e}" for o, e in zip(touch.origin, touch.extents))
