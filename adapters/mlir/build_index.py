"""Builds the index arithmetic and the loops that sharing needs, with operations made by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.mlir.bindings import Binding


class IndexBuilder:
    """Puts operations before or after one that is there. Made by name, they do not depend on a binding's builders."""

    def __init__(self, binding: Binding, *, before: Any = None, after: Any = None) -> None:
        self.ir = binding.ir
        self.before, self.after = before, after
        anchor = before if before is not None else after
        self.context = anchor.context
        self.location = anchor.location
        self.index = self.ir.IndexType.get(context=self.context)

    def make(
        self,
        name: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        """A new operation; its value where it has one, else the operation."""
        made = self.ir.Operation.create(
            name,
            results=list(results),
            operands=list(operands),
            attributes=attributes or {},
            regions=regions,
            loc=self.location,
        )
        if self.before is not None:
            self.ir.InsertionPoint(self.before).insert(made)
        else:
            self.ir.InsertionPoint.after(self.after).insert(made)
            self.after = made
        return made.results[0] if len(made.results) else made

    def constant(self, value: int) -> Any:
        attribute = self.ir.IntegerAttr.get(self.index, value)
        return self.make("arith.constant", [], [self.index], {"value": attribute})

    def add(self, a: Any, b: Any) -> Any:
        return self.make("arith.addi", [a, b], [self.index])

    def mul(self, a: Any, b: Any) -> Any:
        return self.make("arith.muli", [a, b], [self.index])

    def quotient(self, a: Any, b: Any) -> Any:
        return self.make("arith.divui", [a, b], [self.index])

    def remainder(self, a: Any, b: Any) -> Any:
        return self.make("arith.remui", [a, b], [self.index])

    def count(self, lower: Any, upper: Any, step: Any) -> Any:
        """Iterations from ``lower`` to ``upper``; none when they cross."""
        span = self.make("arith.subi", [upper, lower], [self.index])
        rounded = self.add(span, self.make("arith.subi", [step, self.constant(1)], [self.index]))
        count = self.make("arith.divsi", [rounded, step], [self.index])
        return self.make("arith.maxsi", [count, self.constant(0)], [self.index])

    def dim(self, memref: Any, dimension: int) -> Any:
        return self.make("memref.dim", [memref, self.constant(dimension)], [self.index])

    def thread(self) -> Any:
        """The number of this thread in its block, along all axes: Triton's have x alone, `block=` gives more."""
        x, y, z = (self._register("gpu.thread_id", axis) for axis in "xyz")
        wide, high = (self._register("gpu.block_dim", axis) for axis in "xy")
        return self.add(x, self.mul(wide, self.add(y, self.mul(high, z))))

    def threads(self) -> Any:
        x, y, z = (self._register("gpu.block_dim", axis) for axis in "xyz")
        return self.mul(x, self.mul(y, z))

    def _register(self, name: str, axis: str) -> Any:
        dimension = self.ir.Attribute.parse(f"#gpu<dim {axis}>", self.context)
        return self.make(name, [], [self.index], {"dimension": dimension})

    def loop(self, lower: Any, upper: Any, step: Any) -> Any:
        """An empty scf.for."""
        made = self.make("scf.for", [lower, upper, step], [], regions=1)
        block = self.ir.Block.create_at_start(made.regions[0], [self.index], [self.location])
        self._end(block, "scf.yield")
        return made

    def parallel(self, lower: Sequence[Any], upper: Sequence[Any], step: Sequence[Any]) -> Any:
        """An empty scf.parallel."""
        sizes = self.ir.DenseI32ArrayAttr.get([len(lower), len(upper), len(step), 0], context=self.context)
        made = self.make("scf.parallel", [*lower, *upper, *step], [], {"operandSegmentSizes": sizes}, regions=1)
        block = self.ir.Block.create_at_start(made.regions[0], [self.index] * len(lower), [self.location] * len(lower))
        self._end(block, "scf.reduce")
        return made

    def _end(self, block: Any, name: str) -> None:
        block.append(self.ir.Operation.create(name, loc=self.location))
