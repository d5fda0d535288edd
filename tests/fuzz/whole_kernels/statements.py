"""Statements of a random kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fuzz.whole_kernels.expressions import Expressions, Index

DEEPEST = 3


class Statements(Expressions):
    """A kernel's body as it grows."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lines: list[str] = []
        self.depth, self.loops, self.names = 1, 0, 0

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def scope(self, opening: str, *known: Index, loop: bool = False) -> Iterator[None]:
        """A block in braces; what is declared inside ends with it."""
        saved = [list(names) for names in (self.ints, self.words, self.floats, self.longs)]
        self.emit(opening + " {")
        self.depth, self.loops = self.depth + 1, self.loops + loop
        self.ints.extend(known)
        yield
        self.depth, self.loops = self.depth - 1, self.loops - loop
        self.emit("}")
        self.ints, self.words, self.floats, self.longs = saved

    def some(self, most: int) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement()

    def statement(self) -> None:
        kinds = [self.number, self.number, self.add, self.add, self.add, self.store, self.real, self.own_array]
        kinds += [self.pointer, self.copy, self.long, self.flag, self.shared]
        if self.depth <= DEEPEST:
            kinds += [self.branch, self.loop, self.loop, self.while_loop]
        self.random.choice(kinds)()

    def number(self) -> None:
        if self.chance(0.4):
            name = self.name("w")
            self.emit(f"unsigned {name} = {self.word()};")
            self.words.append(name)
            return
        name, value = self.name("k"), self.index(3)
        self.emit(f"int {name} = {value};")
        self.ints.append(Index(name, value.low, value.high))

    def add(self) -> None:
        self.emit(f"acc {self.pick('^=', '+=', '= acc * 31 +')} {self.word()};")

    def real(self) -> None:
        if self.chance(0.5):
            name = self.name("g")
            self.emit(f"float {name} = {self.float(2)};")
            self.floats.append(name)
        else:
            self.emit(f"f0 = {self.pick('f0 + ', 'f0 * 0.5f + ', 'f0 - ')}{self.float(1)};")

    def store(self) -> None:
        if self.chance(0.2):
            self.emit(f"((uint2*)o)[{self.index(2, self.written)}] = make_uint2({self.word(1)}, {self.word(1)});")
        else:
            self.emit(f"o[{self.index(2, self.written)}] {self.pick('=', '=', '+=', '^=')} {self.word()};")

    def branch(self) -> None:
        with self.scope(f"if ({self.condition(2)})"):
            self.some(3)
            if self.loops and self.chance(0.15):
                self.emit(self.pick("continue;", "break;"))
            elif not self.at_once and self.chance(0.05):
                self.emit("o[i] ^= acc; return;")
        if self.chance(0.5):
            with self.scope("else"):
                self.some(3)

    def loop(self) -> None:
        name, by = self.name("j"), self.random.choice([2, 4, 16, 32])
        count = self.random.choice([2, 3, 4, 5, 8, 16])
        begin, end = self.index(1, 60), self.pick("n", "m")
        known, head = self.random.choice(
            [
                (Index(name, 0, count - 1), f"int {name} = 0; {name} < {count}; {name}++"),
                (Index(name, 0, 11), f"int {name} = 0; {name} < {end}; ++{name}"),
                (
                    Index(name, 0, 70),
                    f"int {name} = {self.pick('0', 'tid', 'i % 4')}; {name} < {self.pick('q', '64', 'n * 4')}; "
                    f"{name} += {by}",
                ),
                (
                    Index(name, 0, 12),
                    f"int {name} = n; {name} > 0; {name} {self.pick('-= 1', '/= 2', '>>= 1', '-= 2')}",
                ),
                (
                    Index(name, begin.low, begin.high + count),
                    f"int {name} = {begin}, {name}e = {name} + {count}; {name} < {name}e; {name}++",
                ),
            ]
        )
        unroll = self.pick("", "", "#pragma unroll", "#pragma unroll 2", "#pragma unroll 1", "#pragma unroll 4")
        if unroll:
            self.emit(unroll)
        with self.scope(f"for ({head})", known, known, known, loop=True):
            self.some(4)

    def while_loop(self) -> None:
        name = self.name("t")
        self.emit(f"int {name} = {self.index(1, 40)};")
        with self.scope(f"while ({name} > 0)", Index(name, -3, 40), loop=True):
            self.emit(f"{name} {self.pick('-= 3', '/= 2', '>>= 1', '-= 1')};")
            self.some(2)

    def own_array(self) -> None:
        if self.has_local:
            self.emit(f"loc[({self.index()}) & 7] {self.pick('=', '^=', '+=')} {self.word(1)};")
        elif self.depth == 1:
            self.emit(f"unsigned loc[8]; for (int z = 0; z < 8; z++) loc[z] = {self.word(1)} + z;")
            self.has_local = True

    def pointer(self) -> None:
        name, at = self.name("p"), self.index(1, 4000)
        self.emit(f"const int* {name} = a + {self.index(2, 20000)};")
        self.emit(f"acc += (unsigned){name}[{at}] ^ (unsigned){name}[{at} + {self.pick('1', '4', '32')}];")
        if self.chance(0.4):
            step = self.pick("m", "s", "8")
            self.emit(
                f"for (int z = 0; z < {self.pick('n', '4')}; z++, {name} += {step}) acc = acc * 3 + (unsigned)*{name};"
            )

    def copy(self) -> None:
        at = self.index(1, self.written // 4)
        self.emit(f"*(uint4*)(o + 4 * ({at})) = *(const uint4*)(a + 4 * ({self.index(1, 6000)}));")

    def long(self) -> None:
        name, value = self.name("L"), self.index(2)
        self.emit(f"long long {name} = {self.pick('(long long)', '1LL * ')}{value}; acc += (unsigned)a[{name}];")
        if value.size < 100:
            self.longs.append(name)

    def flag(self) -> None:
        self.emit(f"if ({self.condition(1)}) acc {self.pick('^=', '+=')} {self.word(1)};")

    def shared(self) -> None:
        places = [f"sh[tid * 4 + (({self.index(1)}) & 3)]" for _ in range(2)]
        self.emit(f"{places[0]} {self.pick('=', '+=')} {self.word(1)}; acc += {places[1]};")
