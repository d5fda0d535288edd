"""Stretches of code in the shapes that the passes of whole kernels look for, of random detail."""

from __future__ import annotations

from tests.fuzz.whole_kernels.expressions import Index
from tests.fuzz.whole_kernels.statements import Statements


class Shapes(Statements):
    """Statements, and those shapes. Warps meet in some, where threads run at once."""

    def statement(self) -> None:
        shapes = [self.rows, self.tile, self.best, self.halves, self.walk, self.field]
        if self.at_once and self.depth == 1:
            shapes += [self.butterfly, self.warp_loop, self.warp_loop, self.neighbours, self.vote, self.slices]
        if self.chance(0.3):
            self.random.choice(shapes)()
        else:
            super().statement()

    def rows(self) -> None:
        """``constant-factors``, ``constant-offsets``: rows of an unrolled loop."""
        base, step, column, name = self.index(1, 200), self.index(0, 100), self.index(1, 200), self.name("j")
        self.emit("#pragma unroll")
        value = self.pick(
            f"acc ^= (unsigned)a[({base} + {name}) * {step} + {column}] * {self.pick('3', '5')}u;",
            f"f0 += x[({base} + {name}) * {step} + {column}];",
        )
        self.emit(f"for (int {name} = 0; {name} < {self.pick('2', '3', '4', '8')}; {name}++) {value}")

    def tile(self) -> None:
        """``constant-factors``: such rows within a loop; what the loop does not change is added up before it."""
        size = self.random.choice([4, 8])
        first, turn, row = self.name("b"), self.name("z"), self.name("j")
        self.emit(f"int {first} = {self.pick(f'tid * {size}', f'(tid & 7) * {size}', f'(q & 7) * {size}')};")
        factor, column = self.pick("n", "m", "s", "q"), self.index(1, 80)
        value = self.pick(
            f"acc = acc * 3 + (unsigned)a[(({turn} + {first}) + {row}) * {factor} + {column}];",
            f"f0 += x[({first} + {row} + {turn}) * {factor} + {column}];",
            f"acc ^= (unsigned)v2[(({first} + {row}) + {turn}) * {factor} + {column}].x;",
        )
        self.emit(f"for (int {turn} = 0; {turn} < {self.pick('n', '4', 'm')}; {turn} += {self.pick('1', '1', '4')}) {{")
        self.emit("#pragma unroll")
        self.emit(f"for (int {row} = 0; {row} < {size}; {row}++) {value} }}")

    def best(self) -> None:
        """``choose-values``: the larger of pairs, by threads that have a neighbour."""
        value, place, turn = self.name("best"), self.name("at"), self.name("z")
        self.emit(f"float {value} = {self.float(1)}; int {place} = {self.index(1)};")
        better = f"ov {self.pick(*'<>')} {value} || (ov == {value} && oi < {place})"
        body = f"float ov = {self.float(1)}; int oi = {self.index(1)}; if ({better}) {{ {value} = ov; {place} = oi; }}"
        if self.chance(0.5):
            body += f" else if (oi == {place}) acc ^= {self.pick(*self.words)};"
        head = f"for (int {turn} = 1; {turn} < {self.pick(f'16; {turn} *= 2', f'n; {turn}++')})"
        self.emit(f"{head} if (tid + {turn} < {self.pick('32', 'q')}) {{ {body} }}")
        self.emit(f"acc += (unsigned){place} ^ __float_as_uint({value});")

    def halves(self) -> None:
        """``words-of-halves``: halves that are read in a branch, or else zeros."""
        name, size, at, z = self.name("hv"), self.random.choice([2, 4, 8]), self.index(1, 3000), self.name("z")
        self.emit(f"unsigned short {name}[{size}];")
        each = f"for (int {z} = 0; {z} < {size}; {z}++) {name}[{z}] ="
        words = f"const uint2 t = *(const uint2*)(h + ({at}) * 4);"
        parts = " ".join(
            f"{name}[{n}] = (unsigned short)(t.{'xy'[n // 2 % 2]} >> {16 * (n % 2)});" for n in range(size)
        )
        load = self.pick(f"{each} h[({at}) * {size} + {z}].x;", f"{words} {parts}")
        self.emit(
            f"if ({self.condition(1)}) {{ {load} }} else {{ {each} {self.pick('0', '0', '(unsigned short)acc')}; }}"
        )
        for _ in range(self.random.randint(1, size)):
            one, other = (f"{name}[{self.random.randrange(size)}]" for _ in range(2))
            more = self.pick("", f" * {other}", f" + (short){other}")
            self.emit(f"acc {self.pick('^=', '+=', '= acc * 5 +')} (unsigned){one}{more};")
        if self.chance(0.5):
            place = f"2 * ({self.index(1, self.written)}) + {self.pick('0', '1')}"
            self.emit(f"((unsigned short*)o)[{place}] = {name}[{self.random.randrange(size)}];")

    def walk(self) -> None:
        """``join-pointers``, ``plain-loops``: pointers that a loop moves."""
        names = [self.name("p") for _ in range(self.random.choice([2, 3, 3, 4]))]
        step, turn = self.random.choice([1, 2, 32, 64, -1, -32, -64]), self.name("z")
        for name in names:
            self.emit(f"const int* {name} = a + {self.index(2, 12000)};")
        head = f"for (int {turn} = 0; {turn} < {self.pick('n', 'q / 4', 'm')}; {turn}++)"
        with self.scope(head, Index(turn, 0, 17)):
            for name in names:
                self.emit(f"acc = acc * 7 + (unsigned){name}[{self.pick('0', '1', '2', '3', '8')}];")
            for _ in range(self.random.choice([0, 2, 5])):
                self.add()
            for name in names:
                self.emit(f"{name} += {step * self.random.choice([1, 1, 1, 1, 2])};")

    def field(self) -> None:
        """``launched-structs``: a field by an index of run time."""
        index = self.pick("n % 3", "tid % 3", "(q & 1) + 1", f"(({self.index(1)}) & 1)")
        self.emit(f"acc += (unsigned)w.b[{index}];")

    # --- where the threads of a warp meet -------------------------------------------------------------------------

    def butterfly(self) -> None:
        shuffled = self.pick(
            "__shfl_xor_sync(~0u, acc, z)", "__shfl_down_sync(~0u, acc, z, 16)", "__shfl_up_sync(~0u, acc, z)"
        )
        loop = self.pick("int z = 16; z > 0; z >>= 1", "int z = 1; z < 16; z *= 2")
        self.emit(f"for ({loop}) acc {self.pick('^=', '+=', '= acc * 3 +')} {shuffled};")

    def warp_loop(self) -> None:
        """``unroll-warp-loops``: as many turns for every thread."""
        name, end, step = (
            self.name("j"),
            self.pick("n", "m", "q", "q / 2", "(int)gridDim.x * m"),
            self.pick("1", "1", "2", "3"),
        )
        begin = self.pick("0", "0", "(int)blockIdx.x", "1")
        with self.scope(f"for (int {name} = {begin}; {name} < {end}; {name} += {step})", Index(name, 0, 70)):
            for _ in range(self.random.randint(1, 3)):
                self.random.choice([self.add, self.flag, self.real, self.store])()
            lane = self.pick(f"(tid + {name}) & 31", "0", f"{name} & 31", "tid ^ 1")
            self.emit(f"acc = acc * 5 + __shfl_sync(~0u, {self.word(1)}, {lane});")
            if self.chance(0.4):
                self.emit(f"if (__any_sync(~0u, ({self.condition(1)}))) acc += 3;")

    def neighbours(self) -> None:
        other = self.pick("tid ^ 1", "31 - tid", "(tid + 1) & 31")
        self.emit(f"__syncthreads(); sh[tid * 4] = {self.word(1)};")
        self.emit(f"__syncthreads(); acc += sh[4 * ({other})]; __syncthreads();")

    def vote(self) -> None:
        question = self.pick("__any_sync(~0u, {})", "__all_sync(~0u, {})", "(__ballot_sync(~0u, {}) & 0xff0f)")
        self.emit(f"acc += {question.format(f'({self.condition(1)})')};")

    def slices(self) -> None:
        """``ask-once``: slices that are read but for the first, with divisions in each part."""
        name, size = self.name("j"), self.pick("3", "4", "6")
        place = f"((int)blockIdx.x * 7 + {name} + m) / max(n, 1)"
        with self.scope(f"for (int {name} = {self.pick('n', 'm', '(int)blockIdx.x')}; {name} >= 0; {name}--)"):
            self.emit(f"bool first = {name} == {self.pick('0', 'm', 'n')};")
            self.emit(f"unsigned got[{size}];")
            reads = f"got[z] = 0; if (!first) got[z] = (unsigned)a[{place} + z / m];"
            adds = f"int at = (z + {place}) % 64; if (!first) acc += got[z] * o[at]; o[at] = acc + z;"
            for stretch in (reads, adds):
                self.emit("#pragma unroll")
                self.emit(f"for (int z = 0; z < {size}; z++) {{ {stretch} }}")
