"""Products whose factors differ by constants alone follow from each other: ``(r + 3) * n`` is ``(r + 2) * n + n``.

An unrolled loop over rows multiplies each row's number by what a row has, and adds a column. LLVM's code generation
makes sums of such products ("straight-line strength reduction"), as long as the constant is added last. But what a loop
does not change was added up before it, out of sight: ``r + (a | 3)``, with a register for each such sum. Where the same
column is added to all the next index is the last one and a row; else the constant is added last again, for LLVM to see.
nvcc has one instruction a row. Words wrap, so that the values are the same whatever they are.

Only products of one block are meant, and only such by a factor in common. exllamav2's reconstruct_gptq_kernel has 75
instructions for eight rows then, where it had 95 and nvcc has 63 (sm_90), and took 1.035 of nvcc's time on an H200
instead of 1.062 (samples/benchmarks/RESULTS.md). ``TLE_RAW_DISABLE_PASSES=constant-factors`` compiles without it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tle_raw.linker.llvm.control_flow import NAME, names_in, with_bodies
from tle_raw.linker.llvm.sums import Sums, Terms, sums_of

_PRODUCT = re.compile(rf"  ({NAME}) = mul((?: nuw)?(?: nsw)?) i32 ({NAME}), ({NAME})((?:, ![^\n]*)?)")
_ADDED = re.compile(rf"  ({NAME}) = add(?: nuw)?(?: nsw)? i32 ({NAME}), ({NAME})((?:, ![^\n]*)?)")
_LABEL = re.compile(r'(?:[-\w$.]+|"[^"]*"):')
_FEWEST = 3  # products: fewer do not pay for a sum more


@dataclass(frozen=True)
class _Product:
    """A product's block and line, the factor in common, and the other one: its name, its terms and its constant."""

    block: int
    line: int
    name: str
    factor: str
    changed: str
    terms: Terms
    constant: int
    place: str


@dataclass(frozen=True)
class _Index:
    """The block and the line of a sum of a product and a column."""

    block: int
    line: int
    name: str
    column: str
    place: str


def constant_factors(text: str) -> str:
    """The module with the constants of such factors added last."""
    return with_bodies(text, _separated)


def _separated(body: str) -> str:
    lines = body.split("\n")
    products = list(_matches(_PRODUCT, lines))
    if len(products) < _FEWEST:
        return body
    sums = sums_of(lines)
    uses = Counter(name for line in lines if line.startswith("  ") for name in names_in(line))
    added_to = _added(lines)
    for group in _groups(products, sums):
        indices = {
            product: index
            for product in group
            if uses[product.name] == 2 and (index := added_to.get(product.name)) and index.block == product.block
        }
        column, most = Counter(index.column for index in indices.values()).most_common(1)[0] if indices else ("", 0)
        if most >= _FEWEST:
            followed = {product: index for product, index in indices.items() if index.column == column}
            _follow(lines, followed)
            group = [product for product in group if product not in followed]
        shared = ""
        for product in group:
            shared, lines[product.line] = _written(product, shared)
    return "\n".join(lines)


def _matches(pattern: re.Pattern[str], lines: list[str]) -> Iterator[tuple[int, int, re.Match[str]]]:
    """The block, the line, and what is there."""
    block = 0
    for number, line in enumerate(lines):
        if _LABEL.match(line):
            block += 1
        elif found := pattern.fullmatch(line):
            yield block, number, found


def _added(lines: list[str]) -> dict[str, _Index]:
    """What is added to a value, by that value's name."""
    found: dict[str, _Index] = {}
    for block, number, made in _matches(_ADDED, lines):
        for value, column in ((made[2], made[3]), (made[3], made[2])):
            found[value] = _Index(block, number, made[1], column, made[4])
    return found


def _follow(lines: list[str], indices: dict[_Product, _Index]) -> None:
    """Each index from the one before it, and the factor as often as the constants differ."""
    ordered = sorted(indices.items(), key=lambda pair: pair[1].line)
    for (before, last), (product, index) in pairwise(ordered):
        times, step = product.constant - before.constant, product.factor
        made = []
        if times != 1:
            step = f'%"{index.name[1:].strip(chr(34))}.tle.step"'
            made = [f"  {step} = mul i32 {product.factor}, {times}{index.place}"]
        made.append(f"  {index.name} = add i32 {last.name}, {step}{index.place}")
        lines[product.line], lines[index.line] = "", "\n".join(made)


def _groups(products: list[tuple[int, int, re.Match[str]]], sums: Sums) -> Iterator[list[_Product]]:
    groups: dict[tuple[int, str, str], list[_Product]] = defaultdict(list)
    for block, number, found in products:
        for changed, factor in ((found[3], found[4]), (found[4], found[3])):
            terms, constant = sums.without_constants(changed)
            if not constant:
                terms = sums.one_sum(changed)
            if terms.parts:  # where it is one value, the constant is added last already
                product = _Product(block, number, found[1], factor, changed, terms, constant, found[5])
                groups[block, factor, str(terms)].append(product)
    taken = set[int]()
    for group in groups.values():
        if len({product.constant for product in group}) >= _FEWEST and taken.isdisjoint(p.line for p in group):
            taken |= {product.line for product in group}
            yield group


def _written(product: _Product, shared: str) -> tuple[str, str]:
    """The name of the sum that the group has in common, made here if it has none yet; and the product's lines."""
    own = product.name[1:].strip('"')
    made: list[str] = []
    if not shared:
        shared = product.changed if not product.constant else product.terms.written(f"{own}.tle", made, product.place)
    value = shared
    if product.constant:
        value = f'%"{own}.tle.factor"'
        made.append(f"  {value} = add i32 {shared}, {product.constant}{product.place}")
    made.append(f"  {product.name} = mul i32 {value}, {product.factor}{product.place}")
    return shared, "\n".join(made)
