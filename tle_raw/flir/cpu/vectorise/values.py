"""A value of the body in its two shapes: lane 0 as a scalar, all lanes as a vector; each is made when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Type
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.scopes import Scope


class VectorisedValue:
    """One value of the body.

    Parameters
    ----------
    element : type of one lane.
    lanes : what is known of it.
    scope : where its code goes.
    scalar : makes lane 0; needed where the lanes' steps are known.
    vector : makes all lanes; not needed where they follow from lane 0.
    """

    def __init__(
        self,
        element: Type,
        lanes: LaneFacts,
        scope: Scope,
        count: int,
        *,
        scalar: Callable[[], Any] | None = None,
        vector: Callable[[], Any] | None = None,
    ) -> None:
        self.element = element
        self.lanes = lanes
        self.scope = scope
        self._count = count
        self._make_scalar = scalar
        self._make_vector = vector
        self._scalar: Any = None
        self._vector: Any = None

    @property
    def follows_from_first_lane(self) -> bool:
        return self._make_scalar is not None and self.lanes.steps is not None

    def scalar(self) -> Any:
        """Lane 0."""
        if self._scalar is None:
            assert self._make_scalar is not None
            self._scalar = self._make_scalar()
        return self._scalar

    def vector(self) -> Any:
        """All lanes."""
        if self._vector is None:
            if self.follows_from_first_lane:
                self._vector = self._spread(self.scalar())
            else:
                assert self._make_vector is not None
                self._vector = self._make_vector()
        return self._vector

    def _spread(self, first: Any) -> Any:
        steps = self.lanes.steps
        assert steps is not None
        with self.scope.point():
            if not any(steps):
                return build.splat(first, self._count)
            if str(self.element) == "!llvm.ptr":
                ir = mlir()
                offsets = build.integers(ir.IntegerType.get_signless(64), steps)
                return build.advance(first, offsets, ir.IntegerType.get_signless(8))
            known = build.integers(self.element, steps)
            spread = build.splat(first, self._count)
            return build.operation("arith.addi", [spread.type], [spread, known])


class WrittenValues(Protocol):
    """The old body's values in the new one, each of ``count`` lanes."""

    count: int

    def __getitem__(self, value: Any) -> VectorisedValue: ...
