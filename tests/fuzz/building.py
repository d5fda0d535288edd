"""Builds the text of a kernel, statement by statement: what the operations of the fuzzer are written with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.fuzz.cases import Array, Case
from tests.fuzz.values import FLOATS, NUMBERS, Value

T = TypeVar("T")
HOW = (', cache_modifier=".cg"', ', eviction_policy="evict_first"', ", volatile=True")
HEAD = "import triton\nimport triton.language as tl\n\n\n"


class Builder:
    """A kernel that grows. Every statement defines new names, so that all values stay usable in their block."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]):
        self._draw = draw
        self.values: list[Value] = []
        self.arrays: dict[str, Array] = {}
        self.tolerances: dict[str, float] = {}
        self.helpers: dict[str, str] = {}  # text -> name
        self.lines: list[str] = []
        self.depth = 1
        self.exact_only = False  # within a loop, errors would grow without bound
        self.changed: set[str] = set()
        self._names = 0
        self.grid = self.choice([(1,), (2,), (3,), (2, 3), (2, 1, 2), (1, 2, 3)])
        self.n = self.integer(2, 60)
        self._head()

    # Choices

    def choice(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def flag(self) -> bool:
        return self._draw(st.booleans())

    def shape(self, ranks: Sequence[int] = (1, 2, 3)) -> tuple[int, ...]:
        shapes = [(16,), (64,), (2,), (1,), (128,), (512,), (8, 16), (16, 4), (1, 32), (32, 1), (2, 2), (32, 32),
                  (2, 4, 8), (4, 1, 16), (8, 8, 2)]  # fmt: skip
        return self.choice([s for s in shapes if len(s) in ranks])

    # Text

    @property
    def programs(self) -> int:
        return math.prod(self.grid)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, prefix: str = "v") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def emit(
        self, text: str, dtype: str, shape: tuple[int, ...], largest: float = math.inf, error: float = 0.0
    ) -> Value:
        """One more variable."""
        assert error == 0 or math.isfinite(largest)
        value = Value(self.name(), dtype, shape, largest if dtype in FLOATS else math.inf, error)
        self.line(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def like(self, value: Value, text: str, **changes: Any) -> Value:
        """A variable with the type and bounds of ``value``, but for ``changes``."""
        new = replace(value, name=self.name(), **changes)
        self.line(f"{new.name} = {text}")
        self.values.append(new)
        return new

    def helper(self, prefix: str, parameters: str, body: str) -> str:
        """The name of a function of the module with this body; equal ones are one."""
        text = f"({parameters}):\n{body}"
        return self.helpers.setdefault(text, f"{prefix}_{len(self.helpers)}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The statements within are indented below ``head``; what they define ends with them."""
        self.line(head)
        self.depth += 1
        known = list(self.values)
        try:
            yield
        finally:
            self.values = known
            self.depth -= 1

    @contextmanager
    def exactly(self) -> Iterator[None]:
        before, self.exact_only = self.exact_only, True
        try:
            yield
        finally:
            self.exact_only = before

    # Values

    def value(
        self,
        dtypes: Sequence[str] = NUMBERS,
        shape: tuple[int, ...] | None = None,
        ranks: Sequence[int] | None = None,
        exact: bool = False,
        where: Callable[[Value], bool] = lambda value: True,
    ) -> Value:
        """One of the values there are, or a new one from memory."""
        exact = exact or self.exact_only
        found = [
            v
            for v in self.values
            if v.dtype in dtypes
            and (v.shape == shape if shape is not None else len(v.shape) in (ranks or (1, 2, 3)))
            and (v.is_exact or not exact)
            and where(v)
        ]
        number = self.integer(0, len(found))
        if number < len(found):
            return found[-1 - number]  # simplest: the newest
        if shape is None:
            shape = self.shape(ranks or (1, 2, 3))
        return self.load(self.choice(dtypes), shape)

    def pair(self, dtypes: Sequence[str] = NUMBERS, exact: bool = False) -> tuple[Value, Value]:
        """Two of one type that broadcast to each other's shape."""
        first = self.value(dtypes, exact=exact, ranks=(0, 1, 2, 3))
        if self.integer(0, 4) == 0 and first.shape:
            shape: tuple[int, ...] = self.choice([(), tuple(d if self.flag() else 1 for d in first.shape)])
            others = [
                v for v in self.values if v.shape == shape and v.dtype == first.dtype and (v.is_exact or not exact)
            ]
            if others:
                return first, self.choice(others)
            if shape:
                return first, self.load(first.dtype, shape)
        return first, self.value((first.dtype,), first.shape, exact=exact)

    def load(self, dtype: str, shape: tuple[int, ...], fill: str = "") -> Value:
        """A tile of a new array, each program has its own."""
        fill = fill or ("special" if dtype in FLOATS and self.integer(0, 7) == 0 else "plain")
        array = self.array(dtype, self.programs * math.prod(shape), fill)
        largest = 4.0 if fill == "plain" else math.inf
        how = self.choice(HOW) if self.integer(0, 5) == 0 else ""
        return self.emit(f"tl.load({array} + {self.offsets(shape)}{how})", dtype, shape, largest)

    def array(self, dtype: str, size: int, fill: str = "plain", aligned: bool = False) -> str:
        name = f"p{len(self.arrays)}"
        skip = 0 if aligned or self.integer(0, 5) else self.integer(1, 3)
        self.arrays[name] = Array(dtype, size, fill, seed=0 if fill == "zero" else self.integer(0, 99), skip=skip)
        return name

    def offsets(self, shape: tuple[int, ...], per_program: bool = True) -> str:
        """Where the elements of a tile lie, row by row."""
        terms = [f"pid * {math.prod(shape)}"] if per_program else []
        for axis, extent in enumerate(shape):
            index = f"tl.arange(0, {extent})"
            if len(shape) > 1:
                index += "[" + ", ".join(":" if i == axis else "None" for i in range(len(shape))) + "]"
            stride = math.prod(shape[axis + 1 :])
            terms.append(f"{index} * {stride}" if stride > 1 else index)
        return " + ".join(terms) or "0"

    def bounded(self, value: Value, bound: float) -> Value:
        """The value itself where it is known to be small enough, else made so."""
        if not value.is_float or value.largest <= bound:
            return value
        if value.is_exact:
            text = f"tl.where(tl.abs({value.name}) < {bound}, {value.name}, 0.5)"
            return self.like(value, text, largest=bound)
        power = math.ceil(math.log2(value.largest / bound))
        scale = 2.0**-power
        return self.like(value, f"{value.name} * {scale!r}", largest=value.largest * scale, error=value.error * scale)

    def matched(self, x: Value, y: Value, bound: float = 64.0) -> tuple[Value, Value]:
        """Both as they are if they are exact; else small ones, so that what comes of them has a bound."""
        return (x, y) if x.is_exact and y.is_exact else (self.bounded(x, bound), self.bounded(y, bound))

    def exact_finite(self, dtypes: Sequence[str] = NUMBERS, bound: float = 1e3, **choice: Any) -> Value:
        """A value whose order and whose integer part both engines agree about."""
        return self.bounded(self.value(dtypes, exact=True, **choice), bound)

    # The whole

    def _head(self) -> None:
        terms = ["tl.program_id(0)"]
        for axis in range(1, len(self.grid)):
            terms = [f"({terms[0]}) * tl.num_programs({axis}) + tl.program_id({axis})"]
        self.line(f"pid = {terms[0]}")
        self.values.append(Value("pid", "int32", ()))
        self.values.append(Value("n", "int32", ()))
        self.values.append(Value("s", "float32", (), 4.0))

    def store(self, value: Value) -> None:
        """The value becomes a result that is compared."""
        dtype = value.dtype
        array = f"o{len(self.tolerances)}"
        size = self.programs * value.size
        stride, mask, fill = 1, "", "zero"
        if value.shape and self.integer(0, 5) == 0:
            stride = self.choice([2, 3])
        if value.shape and self.integer(0, 3) == 0:
            mask = f", mask={self.mask(value.shape)}"
            fill = "plain"  # what is masked out stays
        self.arrays[array] = Array(dtype, size * stride, fill)
        self.tolerances[array] = value.error
        offsets = self.offsets(value.shape)
        if stride > 1:
            offsets = f"({offsets}) * {stride}"
        self.line(f"tl.store({array} + {offsets}, {value.name}{mask})")

    def mask(self, shape: tuple[int, ...]) -> str:
        found = [v for v in self.values if v.dtype == "int1" and v.shape == shape]
        if found and self.flag():
            return self.choice(found).name
        return f"({self.offsets(shape, per_program=False)}) < n"

    def case(self) -> Case:
        """All that was not used by another statement is stored, and all that a loop or a condition changed."""
        given = ("pid", "n", "s")
        unused = [
            v
            for v in self.values
            if v.name not in given and (v.name in self.changed or not any(_uses(line, v.name) for line in self.lines))
        ]
        for value in unused[-8:] or [self.values[0]]:
            self.store(value)
        names = list(self.arrays)
        helpers = "".join(f"@triton.jit\ndef {name}{text}\n\n\n" for text, name in self.helpers.items())
        head = f"@triton.jit\ndef kernel({', '.join([*names, 'n', 's'])}):\n"
        source = HEAD + helpers + head + "\n".join(self.lines) + "\n"
        scalars = {"n": self.n, "s": self.choice([1.5, 0.25, -3.0])}
        return Case(source, dict(self.arrays), scalars, self.grid, dict(self.tolerances), self.flag())


def _uses(line: str, name: str) -> bool:
    """Is the variable read in this line? What stands left of " = " is written."""
    return re.search(rf"\b{name}\b", line.partition(" = ")[2] or line) is not None
