"""Which operations of Triton IR a hint means: those at the places to which Triton attributes the calls on its line.

A hint is for every call that stands on its line, whole or in part, and for the loop whose head does. From Triton 3.8 on
the operations of a call have the place of its first character; before, that of the argument that was traced last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import triton

from tle_raw.flir.hints.comments import Hint

AT_LAST_ARGUMENT = tuple(int(v) for v in triton.__version__.split(".")[:2]) < (3, 8)


@dataclass(frozen=True)
class HintedPlace:
    """A call or a loop with a hint.

    Attributes
    ----------
    line, column : where its operations are said to come from; the column counts from 0.
    first, last : the lines that it stands on; of a loop, with its body.
    """

    hint: Hint
    line: int
    column: int
    first: int
    last: int
    is_loop: bool


@dataclass
class HintedFile:
    """The hints of a file by the lines of the operations that they mean, and those that mean none.

    ``functions`` are the first and last lines of the file's functions.
    """

    at: dict[int, list[HintedPlace]] = field(default_factory=dict)
    stray: list[Hint] = field(default_factory=list)
    functions: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: HintedFile) -> None:
        """Take those of another part of the file too."""
        for line, places in other.at.items():
            self.at.setdefault(line, []).extend(places)
        self.stray += other.stray
        self.functions += other.functions

    def hints(self) -> list[Hint]:
        """All of them, each once, in order."""
        bound = [place.hint for places in self.at.values() for place in places]
        return sorted(dict.fromkeys([*bound, *self.stray]), key=lambda hint: hint.line)

    def function_around(self, line: int) -> tuple[int, int] | None:
        """The innermost function that holds a line."""
        return max((f for f in self.functions if f[0] <= line <= f[1]), default=None)

    def places(self, line: int, column: int, is_loop: bool) -> list[HintedPlace]:
        """Those of an operation: on its line those that begin in its column, or all, where none does.

        Triton counts columns from 0 or 1.
        """
        found = [place for place in self.at.get(line, ()) if place.is_loop == is_loop]
        exact = [place for place in found if column in (place.column, place.column + 1)]
        return exact or found


def place_hints(lines: Sequence[str], hints: Sequence[Hint], blanks: int = 0) -> HintedFile:
    """Bind the hints of a file to its calls and loops.

    Parameters
    ----------
    blanks : in front of each line in the file, where ``lines`` are without.
    """
    placed = HintedFile()
    try:
        tree = ast.parse("".join(lines)) if hints else ast.Module([], [])
    except SyntaxError:
        return placed
    by_line: dict[int, list[Hint]] = {}
    for hint in hints:
        by_line.setdefault(hint.line, []).append(hint)
    met = set()
    for node, first, last in _spans(tree):
        is_loop = not isinstance(node, ast.Call)
        for line in range(first, last + 1):
            for hint in by_line.get(line, ()):
                met.add(hint)
                where = _place_of(node)
                end = node.end_lineno or last if is_loop else last
                place = HintedPlace(hint, where[0], where[1] + blanks, first, end, is_loop)
                placed.at.setdefault(place.line, []).append(place)
    placed.stray = [hint for hint in hints if hint not in met]
    placed.functions = [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    return placed


_Spanned = ast.Call | ast.For | ast.While


def _spans(tree: ast.AST) -> Iterator[tuple[_Spanned, int, int]]:
    """Each call with its lines, and each loop with those of its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, node.lineno, node.end_lineno or node.lineno
        elif isinstance(node, (ast.For, ast.While)):
            yield node, node.lineno, max(node.lineno, node.body[0].lineno - 1)


def _place_of(node: _Spanned) -> tuple[int, int]:
    """The line and the column of the operations that a call, or a loop itself, is traced to."""
    last: ast.AST | None = None
    if AT_LAST_ARGUMENT:
        if isinstance(node, ast.Call):
            last = [node.func, *node.keywords, *node.args][-1]
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            last = [node.iter.func, *node.iter.args, *node.iter.keywords][-1]
    if isinstance(last, ast.Starred):
        last = last.value
    place = last or node
    return place.lineno, place.col_offset  # type: ignore[attr-defined]  # every node that is chosen has them
