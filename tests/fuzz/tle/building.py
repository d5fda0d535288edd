"""A kernel in two forms that grow together: of TLE's operations, and the plain one, whose buffers are global memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.building import HEAD, Builder
from tests.fuzz.cases import Array, Case
from tests.fuzz.values import NUMBERS, Value, bits

IMPORT = "import tle_raw.language as tle\n"
TILES = ((16,), (64,), (128,), (512,), (8, 16), (16, 32), (32, 32), (16, 4), (2, 64), (64, 16), (1, 32))
SLOTTED = ((2, 16, 32), (3, 8, 16), (4, 1, 64), (2, 32, 8), (5, 4, 4))


@dataclass(frozen=True)
class View:
    """A buffer, or a view of one. In the plain form its name is that of a pointer to its first element.

    ``rows``: its rows lie behind each other, in the order of its axes. ``slots``: its first axis counts them.
    ``cut``: the lengths along each axis below which no part may be cut out; () where there are no parts at all.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    slots: bool
    rows: bool
    cut: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        return self.strides == row_strides(self.shape)


def row_strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def places(shape: Sequence[int], strides: Sequence[int]) -> str:
    """Where the elements of a tile lie, from its first one on."""
    terms = []
    for axis, extent in enumerate(shape):
        index = f"tl.arange(0, {extent})"
        if len(shape) > 1:
            index += "[" + ", ".join(":" if i == axis else "None" for i in range(len(shape))) + "]"
        terms.append(f"{index} * {strides[axis]}")
    return " + ".join(terms)


class TleBuilder(Builder):
    """What is written with ``line`` stands in both forms."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]):
        self.plain_lines: list[str] = []
        self.constants: dict[str, str] = {}  # text -> name
        self.plain_helpers: dict[str, str] = {}  # the text of a function -> that of the plain one
        self.views: list[View] = []
        # On sm_90 a kernel that waits for wgmma itself has no software pipeliner: it is drawn with one of both.
        self.waits_for_wgmma = self.has_stages = False
        super().__init__(draw)

    def line(self, text: str) -> None:
        self.either(text, text)

    def either(self, text: str, plain: str) -> None:
        """One statement in each form; several of the plain one are separated by newlines."""
        super().line(text)
        self.plain_lines += ["    " * self.depth + line for line in plain.split("\n")]

    def emit_either(
        self, text: str, plain: str, dtype: str, shape: tuple[int, ...], largest: float = math.inf, error: float = 0.0
    ) -> Value:
        value = super().emit("0", dtype, shape, largest, error)
        for lines, form in ((self.lines, text), (self.plain_lines, plain)):
            lines[-1] = "    " * self.depth + f"{value.name} = {form}"
        return value

    def either_helper(self, prefix: str, parameters: str, body: str, plain: str) -> str:
        """The name of a function of the module, which has another body in the plain form."""
        name = self.helper(prefix, parameters, body)
        self.plain_helpers[f"def {name}({parameters}):\n{body}\n"] = f"def {name}({parameters}):\n{plain}\n"
        return name

    def constant(self, text: str) -> str:
        """The name of a constant of the module."""
        return self.constants.setdefault(text, f"C{len(self.constants)}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        with self.either_block(head, head):
            yield

    @contextmanager
    def either_block(self, head: str, plain: str) -> Iterator[None]:
        """As ``block``, with two heads."""
        known = list(self.views)
        with super().block(head):
            self.plain_lines[-1] = "    " * (self.depth - 1) + plain
            yield
        self.views = known

    def scratch(self, dtype: str, size: int) -> str:
        """Global memory of the plain form, for each program ``size`` elements: the text of a pointer to the first."""
        name = f"w{len(self.arrays)}"
        self.arrays[name] = Array(dtype, self.programs * size, "zero")
        return f"{name} + pid * {size}"

    def target(self, dtype: str, size: int, aligned: bool = False) -> str:
        """An array that is compared."""
        name = self.array(dtype, size, aligned=aligned)
        self.tolerances[name] = 0.0
        return name

    # Buffers

    def buffer(self, dtype: str, shape: tuple[int, ...], slots: bool = False, init: str = "", layout: str = "") -> View:
        """A new one, whose content is undefined unless ``init`` is a number. ``layout``: "default", "rows", …"""
        layout = layout or self.choice(["default", "default", "rows", "swizzled", "padded"])
        argument, rows, cut = self._layout(layout, dtype, shape, slots)
        view = View(self.name("u"), dtype, shape, row_strides(shape), slots, rows, cut)
        filled = f", init_value={init}" if init else ""
        self.either(
            f"{view.name} = tle.gpu.alloc({list(shape)}, tl.{dtype}{argument}{filled})",
            f"{view.name} = {self.scratch(dtype, math.prod(shape))}",
        )
        tile, count = (shape[1:], shape[0]) if slots else (shape, 1)
        for number in range(count if init else 0):
            at = f"{view.name} + {number * math.prod(tile)} + {places(tile, row_strides(tile))}"
            self.plain_lines.append("    " * self.depth + f"tl.store({at}, {init})")
        self.views.append(view)
        return view

    def _layout(self, kind: str, dtype: str, shape: tuple[int, ...], slots: bool) -> tuple[str, bool, tuple[int, ...]]:
        tile = shape[1:] if slots else shape
        if len(tile) == 1:
            return "", True, (1,) * len(shape)
        if kind == "swizzled" and tile[1] >= 8 and tile[0] >= 8:
            vector, phase, phases = self.choice([(2, 1, 4), (4, 1, 2), (1, 2, 4), (1, 1, 8), (4, 1, 1)])
            text = self.constant(f"tle.gpu.swizzled_shared_layout({vector}, {phase}, {phases}, [1, 0])")
            return f", layout={text}", False, (8, 8, 8)
        if kind == "padded" and not slots:
            gap = 128 // bits(dtype) * self.choice([1, 2])
            text = self.constant(f"tle.gpu.padded_shared_layout([[{max(tile[1], gap)}, {gap}]], {list(tile)})")
            return f", layout={text}", False, ()
        if kind == "default":
            return "", False, (8, tile[1]) if not slots else (1, 8, tile[1])
        return ", nv_mma_shared_layout=False", True, (1,) * len(shape)

    def filled(self, dtypes: Sequence[str] = NUMBERS, shape: tuple[int, ...] | None = None) -> View:
        """A new buffer, all of it written: by ``init_value``, as a whole, or slot by slot."""
        dtype = self.choice(dtypes)
        slots = shape is None and self.integer(0, 3) == 0
        shape = shape or self.choice(SLOTTED if slots else TILES)
        if self.integer(0, 3) == 0:
            return self.buffer(dtype, shape, slots, init=self.choice(["0", "1", "3"]))
        view = self.buffer(dtype, shape, slots)
        if not slots:
            self.store_tile(view)
            return view
        tile = self.part(view, shape[1:], view.strides[1:])
        stored = self.value((dtype,), tile.shape, exact=True)
        index = self.name("i")
        head = f"for {index} in {self.choice(['range', 'tl.static_range'])}({shape[0]}):"
        with self.block(head):
            at = self.part(view, tile.shape, tile.strides)
            self.slot_line(view, at, index)
            self.store_tile(at, stored if self.flag() else None)
        return view

    def part(self, of: View, shape: tuple[int, ...], strides: tuple[int, ...]) -> View:
        """A view without the first axis that nobody wrote yet: its name is new."""
        return replace(of, name=self.name("u"), shape=shape, strides=strides, slots=False, cut=of.cut[-len(shape) :])

    def slot_line(self, of: View, new: View, index: str) -> None:
        """``new`` is slot ``index`` of ``of``."""
        form = self.choice([f"{of.name}.slot({index})", f"{of.name}[{index}]"])
        self.either(f"{new.name} = {form}", f"{new.name} = {of.name} + ({index}) * {of.strides[0]}")

    def store_tile(self, view: View, value: Value | None = None) -> None:
        stored = value or self.value((view.dtype,), view.shape, exact=True)
        form = self.choice([f"{view.name}.store({stored.name})", f"tle.local_store({view.name}, {stored.name})"])
        self.either(form, f"tl.store({view.name} + {places(view.shape, view.strides)}, {stored.name})")

    def fill_tile(self, view: View, number: str) -> None:
        plain = f"tl.store({view.name} + {places(view.shape, view.strides)}, {number})"
        self.either(f"{view.name}.store({number})", plain)

    def load_tile(self, view: View) -> Value:
        form = self.choice([f"{view.name}.load()", f"tle.gpu.local_load({view.name})"])
        plain = f"tl.load({view.name} + {places(view.shape, view.strides)})"
        return self.emit_either(form, plain, view.dtype, view.shape)

    def view(self, dtypes: Sequence[str] = NUMBERS, where: Callable[[View], bool] = lambda view: True) -> View:
        """One of the views there are, or a new buffer, for which ``where`` must hold too."""
        found = [view for view in self.views if view.dtype in dtypes and where(view)]
        number = self.integer(0, len(found))
        if number < len(found):
            return found[-1 - number]
        tiles = [shape for shape in TILES if where(View("", dtypes[0], shape, row_strides(shape), False, True, shape))]
        if not tiles:
            return self.buffer(self.choice(dtypes), self.choice(SLOTTED), slots=True, init="2")
        return self.filled(dtypes, self.choice(tiles))

    # The whole

    def case(self) -> Case:
        case = super().case()
        constants = "".join(f"{name} = tl.constexpr({text})\n" for text, name in self.constants.items())
        head = HEAD.rstrip() + "\n\n" + IMPORT + "\n" + constants + "\n\n"
        body, plain = ("\n".join(lines) + "\n" for lines in (self.lines, self.plain_lines))
        assert case.source.endswith(body)
        until_body = case.source.removesuffix(body).removeprefix(HEAD)
        source = head + until_body + body
        for function, other in self.plain_helpers.items():
            until_body = until_body.replace(function, other)
        return replace(case, source=source, plain=HEAD + until_body + plain)
