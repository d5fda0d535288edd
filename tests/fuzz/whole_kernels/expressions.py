"""Expressions of a random kernel: indices with known bounds, words that may wrap, floats."""

from __future__ import annotations

import random
from dataclasses import dataclass

THREADS, BLOCKS = 32, 2
LARGEST = 1 << 28  # of what is computed on the way to an index: no signed number overflows
CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 64, 100, -1, -2, -8)


@dataclass(frozen=True)
class Index:
    """A signed 32-bit expression with bounds."""

    text: str
    low: int
    high: int

    def __str__(self) -> str:
        return self.text

    @property
    def size(self) -> int:
        return max(abs(self.low), abs(self.high))


PARAMETERS = {"n": (0, 12), "m": (1, 9), "s": (-7, 7), "q": (0, 70)}
FIELDS = (Index("w.a", -5, 5), Index("w.b[1]", 0, 5))


class Expressions:
    """What a kernel's statements are built of; ``ints``, ``words`` and ``floats`` are the variables in scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # Threads that run at once store each to a place of its own; one after the other they may meet.
        self.at_once = self.chance(0.4)
        self.written = 90 if self.at_once else 7000
        self.ints = [Index("i", 0, THREADS * BLOCKS - 1), Index("tid", 0, THREADS - 1), *FIELDS]
        self.ints += [Index(name, *bounds) for name, bounds in PARAMETERS.items()]
        self.words, self.floats, self.longs = ["u0", "u1", "acc"], ["f0", "f1"], ["w.c"]
        self.has_local = False

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self, depth: int = 2, limit: int = 30000) -> Index:
        """An index whose size is at most ``limit``."""
        for _ in range(20):
            found = self._index(depth)
            if found.size <= limit:
                return found
        return self._constant(self.random.randint(0, 40))

    def _constant(self, value: int) -> Index:
        return Index(f"({value})" if value < 0 else str(value), value, value)

    def _index(self, depth: int) -> Index:
        if depth == 0 or self.chance(0.15):
            if self.chance(0.78):
                return self.random.choice(self.ints)
            return self._constant(self.random.choice(CONSTANTS))
        a, b = self._index(depth - 1), self._index(depth - 1)
        kind = self.pick(*"++++--***<<d%&|?nxzcur")
        if kind == "+" and a.size + b.size < LARGEST:
            return Index(f"({a} + {b})", a.low + b.low, a.high + b.high)
        if kind == "-" and a.size + b.size < LARGEST:
            return Index(f"({a} - {b})", a.low - b.high, a.high - b.low)
        if kind == "*" and a.size * b.size < LARGEST:
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return Index(f"({a} * {b})", min(ends), max(ends))
        if kind == "<" and a.size < 1 << 20:
            by = self.random.randint(0, 5)
            text = f"({a} << {by})" if a.low >= 0 and self.chance(0.5) else f"({a} * {1 << by})"
            return Index(text, a.low << by, a.high << by)
        if kind == "d":
            by = self.random.choice([2, 3, 4, 7, 8, 16])
            return Index(f"({a} / {by})", -(a.size // by), a.size // by)
        if kind == "%":
            by = self.random.choice([2, 3, 4, 7, 8, 16, 32])
            return Index(f"({a} % {by})", 1 - by, by - 1)
        if kind == "r" and b.low > 0:
            return Index(f"({a} % {b})", -b.high, b.high)
        if kind == "u" and a.low >= 0:
            by = self.random.choice([2, 3, 4, 8])
            return Index(f"(int)((unsigned){a} {self.pick('/', '%')} {by}u)", 0, max(a.high, by))
        if kind == "&":
            mask = self.random.choice([1, 3, 6, 7, 12, 15, 31])
            return Index(f"({a} & {mask})", 0, mask)
        if kind == "|" and a.low >= 0:
            bits = self.random.choice([1, 2, 3, 4, 8])
            return Index(f"({a} | {bits})", 0, a.high + bits)
        if kind == "?":
            return Index(f"({self.condition(1)} ? {a} : {b})", min(a.low, b.low), max(a.high, b.high))
        if kind == "n":
            return Index(f"min({a}, {b})", min(a.low, b.low), min(a.high, b.high))
        if kind == "x":
            return Index(f"max({a}, {b})", max(a.low, b.low), max(a.high, b.high))
        if kind == "c" and a.size < 128:
            return Index(f"((int)(signed char)({a}))", a.low, a.high)
        if kind == "z" and a.size < 1 << 15:
            return Index(f"((int)(short)({a}))", a.low, a.high)
        return a

    def condition(self, depth: int) -> str:
        a, b = self._index(depth), self._index(depth)
        if self.chance(0.1):
            return f"((unsigned)({a}) < {self.pick('4', '16', '32', '40')}u)"
        text = f"{a} {self.pick('<', '>', '<=', '==', '!=', '>=')} {b}"
        return f"({text}) {self.pick('&&', '||')} ({self.condition(0)})" if self.chance(0.2) else text

    def load(self) -> str:
        """A word of one of the arrays."""
        i = self.index
        made = {
            "plain": lambda: f"(unsigned){self.pick(*'abcd')}[{i()}]",
            "pair": lambda: f"(unsigned)v2[{i(2, 15000)}].{self.pick(*'xy')}",
            "four": lambda: f"(unsigned)v4[{i(2, 8000)}].{self.pick(*'xyzw')}",
            "struct": lambda: f"(unsigned)st[{i(2, 3000)}].{self.pick('a', 'b[0]', 'b[1]', 'd', 'e')}",
            "half": lambda: f"(unsigned)h[{i()}].x",
            "output": lambda: f"o[{i(2, self.written)}]",
            "long": lambda: f"(unsigned)a[{self.pick(*self.longs)} * {i(0, 100)} + {i(1, 3000)}]",
            "read-only": lambda: f"(unsigned)__ldg(&a[{i()}])",
            "cast": lambda: f"*(const unsigned*)(c + 4 * ({i(2, 7000)}))",
        }
        if self.has_local:
            made["local"] = lambda: f"loc[({i()}) & 7]"
        return made[self.pick("plain", "plain", "plain", *made)]()

    def word(self, depth: int = 2) -> str:
        """An unsigned word; it wraps."""
        if depth == 0 or self.chance(0.2):
            return self._word_alone()
        a, b, by = self.word(depth - 1), self.word(depth - 1), self.random.randint(1, 31)
        return self.pick(
            *(f"({a} {operator} {b})" for operator in "+-*^&|"),
            f"({a} {self.pick('<<', '>>')} {by})",
            f"(({a} << {by}) | ({b} >> {32 - by}))",
            f"({self.condition(1)} ? {a} : {b})",
            f"(unsigned)__popc({a})",
            f"__umulhi({a}, {b})",
            f"(unsigned)(((unsigned long long)({a}) * ({b})) >> {by})",
            f"(({a} >> {8 * self.random.randint(0, 3)}) & 0xff)",
            f"__float_as_uint({self.float(1)})",
            f"({a} {self.pick('/', '%')} {self.pick('3', '5', '7', '10', '16', '255')}u)",
            f"(unsigned)(((long long)(int)({a}) << {by // 2}) >> {by})",
        )

    def _word_alone(self) -> str:
        return self.pick(
            *(self.load() for _ in range(4)),
            *(self.pick(*self.words) for _ in range(3)),
            f"(unsigned)({self.index(1)})",
            f"{self.random.getrandbits(32)}u",
        )

    def float(self, depth: int) -> str:
        """A float: no two right compilers differ, as contraction is off."""
        if depth == 0 or self.chance(0.2):
            return self.pick(
                f"x[{self.index()}]", f"x[{self.index(1)}]", self.pick(*self.floats), f"(float)({self.index(1)})"
            )
        a, b = self.float(depth - 1), self.float(depth - 1)
        return self.pick(
            *(f"({a} {operator} {b})" for operator in "++-**"),
            f"({self.condition(1)} ? {a} : {b})",
            f"({a} < {b} ? {a} : {b})",
            f"({a} > {b} ? {a} : {b})",
            f"(-{a})",
        )
