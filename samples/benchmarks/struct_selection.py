"""Pairs by experts, and the largest numbers: kernels of TLE-Struct, which count in shared memory, over plain Triton."""

from __future__ import annotations

from typing import Any

import measure
import struct_plain_moe
import struct_plain_topk
import torch
import triton

BUFFERS, GOAL = 2, 1.25
# Alignments begin while the ones before them end, as far as they are of one graph: in one of two only the second does.
ALIGN_BUFFERS = 16
EXPERTS, CHOICES, K = 256, 8, 2048
TOKENS = ((1024, 64), (4096, 64), (16_384, 128), (65_536, 128))  # with the size of a block
ROWS = ((1, 131_072), (8, 65_536), (64, 32_768), (64, 131_072))
# By how many tokens there are: CHUNK, warps of a program, the way, copies of counts.
OUR_ALIGNED = {
    1024: (
        *((256, 8, "clusters", 1), (256, 8, "each", 1), (256, 8, "each", 2), (128, 4, "each", 2)),
        (512, 8, "together", 1),
    ),
    4096: ((1024, 8, "together", 1), (512, 8, "together", 1)),
    16_384: ((2048, 8, "together", 1), (1024, 8, "together", 1)),
    65_536: ((4096, 8, "together", 1), (4096, 16, "together", 1)),
}
# CHUNK, warps, words from one counter to the next, whether pairs are sorted.
ALIGNED = {
    1024: ((512, 4, 8, False),),
    4096: ((512, 4, 1, True),),
    16_384: ((512, 4, 1, True),),
    65_536: ((1024, 8, 1, True),),
}
# CHUNK, warps of programs that wait for each other, how pairs get places, words between counters of eight experts.
TOGETHER = {
    1024: ((128, 4, "counted", 64), (256, 8, "counted", 64), (256, 4, "sorted", 8), (256, 8, "loaded", 64)),
    4096: ((512, 4, "counted", 64), (512, 8, "counted", 64), (512, 8, "sorted", 64), (512, 16, "loaded", 64)),
    16_384: ((1024, 8, "sorted", 64), (1024, 8, "sorted", 8), (1024, 8, "counted", 64), (512, 8, "sorted", 64)),
    65_536: ((1024, 8, "sorted", 64), (2048, 8, "counted", 64), (2048, 16, "loaded", 64)),
}
# The same of programs that count all pairs.
EACH = {1024: ((256, 8, "counted"),)}
ALONE = ((8192, 32), (32_768, 32))
# programs for a row, CHUNK, warps.
SELECTED = ((1, 8192, 32), (1, 16_384, 32), (4, 8192, 32), (8, 4096, 16), (16, 8192, 32), (32, 4096, 16))
# Of ours, by rows and columns.
OUR_SELECTED = {
    (1, 131_072): ((32, 4096, 16), (32, 4096, 32), (64, 2048, 16), (16, 8192, 32), (64, 2048, 8)),
    (8, 65_536): ((16, 4096, 16), (16, 4096, 32), (32, 2048, 16), (8, 8192, 32), (32, 2048, 8)),
    (64, 32_768): ((1, 8192, 32), (1, 16_384, 32), (4, 8192, 32), (8, 4096, 16), (2, 8192, 32), (4, 4096, 16)),
    (64, 131_072): ((1, 8192, 32), (2, 8192, 32), (4, 8192, 32), (4, 4096, 16), (4, 8192, 16), (8, 4096, 16)),
}


class Align:
    """Pairs of tokens and choices in the order of their experts, filled up to whole blocks."""

    buffers = ALIGN_BUFFERS

    def __init__(self, sample: Any, tokens: int, size: int, device: str = "cuda") -> None:
        self.sample, self.size, self.name = sample, size, f"MoE align, {tokens} tokens × {CHOICES}, blocks of {size}"
        self.experts = [
            torch.rand(tokens, EXPERTS, device=device).topk(CHOICES).indices.to(torch.int32).reshape(-1)
            for _ in range(ALIGN_BUFFERS)
        ]
        self.out = sample.results(self.experts[0], EXPERTS, size)
        self.n = self.experts[0].numel()
        self.space = sample.workspace(self.experts[0], EXPERTS)
        self.places = torch.empty_like(self.experts[0])
        self.alone_counts = torch.zeros(EXPERTS * 8, dtype=torch.int32, device=device)
        # By the words between counters: two rows of these, and how many launches there were. Rows for each program.
        self.counters = {
            apart: [torch.zeros(length, dtype=torch.int32, device=device) for length in (EXPERTS // 4 * apart, 1)]
            for apart in (8, 64)
        }
        self.own = torch.zeros(triton.cdiv(self.n, 128), EXPERTS, dtype=torch.int32, device=device)
        # Of the counts of each stride: they count on from launch to launch.
        self.counts = {stride: torch.zeros(EXPERTS * stride, dtype=torch.int32, device=device) for stride in (1, 8)}
        self.begins = {stride: torch.zeros(2, EXPERTS, dtype=torch.int32, device=device) for stride in (1, 8)}

    def ours(self, chunk: int, warps: int, way: str, copies: int, chained: bool) -> measure.Launch:
        out, space = self.out, self.space
        return lambda i: self.sample.launch(
            self.experts[i], EXPERTS, self.size, chunk, warps, way, copies, out=out, space=space, chained=chained
        )

    def one_launch(
        self, kernel: Any, space: list[Any], chunk: int, warps: int, chained: bool, **more: Any
    ) -> measure.Launch:
        grid = (triton.cdiv(self.n, chunk),)
        own = triton.next_power_of_2(triton.cdiv(EXPERTS, grid[0]))
        more |= {"EXPERTS": EXPERTS, "SIZE": self.size, "CHUNK": chunk, "OWN": own, "CHAINED": chained}
        more |= {"num_warps": warps} | ({"launch_pdl": True} if chained else {})
        return lambda i: kernel[grid](self.experts[i], *space, self.own, *self.out, self.n, **more)

    def together(self, chunk: int, warps: int, ranks: str, apart: int, chained: bool) -> measure.Launch:
        more = {"RANKS": ranks, "APART": apart, "WIDE": max(EXPERTS, 32 * warps), "launch_cooperative_grid": True}
        return self.one_launch(struct_plain_moe.align_together, self.counters[apart], chunk, warps, chained, **more)

    def each(self, chunk: int, warps: int, ranks: str, chained: bool) -> measure.Launch:
        tile = triton.next_power_of_2(self.n)
        return self.one_launch(struct_plain_moe.align_each, [], chunk, warps, chained, RANKS=ranks, TILE=tile)

    def plain(self, chunk: int, warps: int, stride: int, sort: bool, dependent: bool, chained: bool) -> measure.Launch:
        grid = (triton.cdiv(self.n, chunk),)
        sizes = {"EXPERTS": EXPERTS, "CHUNK": chunk, "STRIDE": stride, "DEPENDENT": dependent, "num_warps": warps}
        sizes["CHAINED"] = chained
        early = {"launch_pdl": True} if dependent else {}
        chain = {"launch_pdl": True} if chained else {}
        counts = self.counts[stride], self.begins[stride], self.places
        own = triton.next_power_of_2(triton.cdiv(EXPERTS, grid[0]))
        kernels = struct_plain_moe

        def launch(i: int) -> object:
            experts = self.experts[i]
            kernels.rank_pairs[grid](experts, *counts, self.n, SORT=sort, **sizes, **chain)
            return kernels.place_ranked[grid](
                experts, *counts, *self.out, self.n, SIZE=self.size, OWN=own, **sizes, **early
            )

        return launch

    def alone(self, chunk: int, warps: int, stride: int) -> measure.Launch:
        sizes = {"EXPERTS": EXPERTS, "SIZE": self.size, "CHUNK": chunk, "STRIDE": stride}
        kernel = struct_plain_moe.align_alone
        return lambda i: kernel[(1,)](self.experts[i], self.alone_counts, *self.out, self.n, **sizes, num_warps=warps)

    def candidates(self) -> tuple[dict[str, measure.Launch], dict[str, measure.Launch]]:
        ours, plain = {}, {}
        tokens = self.n // CHOICES
        for chained in (False, True):
            more = ", chained" * chained
            for chunk, warps, way, copies in OUR_ALIGNED[tokens]:
                if way == "clusters" and not self.sample.has_clusters():
                    continue
                name = f"{chunk} pairs, {warps} warps, {way}" + (f", {copies} counts" if way == "each" else "") + more
                ours[name] = self.ours(chunk, warps, way, copies, chained)
            for chunk, warps, stride, sort in ALIGNED[tokens]:
                form = "sorted" if sort else f"counters {4 * stride} bytes apart"
                name = f"{chunk} pairs, {warps} warps, {form}{more}"
                plain[name] = self.plain(chunk, warps, stride, sort, True, chained)
            for chunk, warps, ranks, apart in TOGETHER[tokens]:
                name = f"{chunk} pairs, {warps} warps, cooperative, {ranks}, counters {4 * apart} bytes apart{more}"
                plain[name] = self.together(chunk, warps, ranks, apart, chained)
            for chunk, warps, ranks in EACH.get(tokens, ()):
                plain[f"{chunk} pairs, {warps} warps, each, {ranks}{more}"] = self.each(chunk, warps, ranks, chained)
        for chunk, warps, stride, sort in ALIGNED[tokens][:1]:
            name = f"{chunk} pairs, {warps} warps, one after the other"
            plain[name] = self.plain(chunk, warps, stride, sort, False, False)
        for chunk, warps in ALONE:
            if chunk // 4 < self.n <= chunk:
                plain[f"alone, {warps} warps"] = self.alone(chunk, warps, 1)
        return ours, plain

    def check(self, name: str, launch: measure.Launch) -> None:
        """Twice: a launch leaves its counters as the next one needs them."""
        for _ in range(2):
            for out in self.out:
                out.fill_(-1)
            launch(0)
            for comparison in self.sample.wrong(name, self.experts[0], EXPERTS, self.size, *self.out):
                if not comparison.is_right:
                    raise SystemExit(str(comparison))


class Select:
    """Columns of the 2,048 largest of each row of f32."""

    buffers = BUFFERS

    def __init__(self, sample: Any, rows: int, columns: int, device: str = "cuda") -> None:
        self.sample, self.rows, self.columns = sample, rows, columns
        self.name = f"top {K} of {rows} × {columns}"
        self.x = [torch.randn(rows, columns, device=device) for _ in range(BUFFERS)]
        self.o = torch.empty(rows, K, dtype=torch.int32, device=device)
        self.space = sample.workspace(self.x[0])
        # Plain Triton's: a list, counts of at most 11 bits, and three ends.
        self.plain_space = (
            self.space[0],
            torch.zeros(rows, 2048, dtype=torch.int32, device=device),
            torch.zeros(rows, 3, dtype=torch.int32, device=device),
        )

    def ours(self, programs: int, chunk: int, warps: int) -> measure.Launch:
        return lambda i: self.sample.launch(self.x[i], K, programs, chunk, warps, space=self.space, o=self.o)

    def plain(self, programs: int, chunk: int, warps: int, bits: int, atomic: bool) -> measure.Launch:
        listed, counts, ends = self.plain_space
        kernels, columns = struct_plain_topk, self.columns
        part = triton.cdiv(triton.cdiv(columns, programs), chunk) * chunk
        grid = (self.rows, triton.cdiv(columns, part))
        sizes = {"BITS": bits, "CHUNK": chunk, "num_warps": warps}

        def launch(i: int) -> object:
            x = self.x[i]
            kernels.count_parts[grid](x, counts, columns, part, ATOMIC=atomic, **sizes)
            return kernels.select_parts[grid](
                x, self.o, listed, counts, ends, columns, K, part, WIDTH=bits, LISTED=1024, **sizes
            )

        return launch

    def row(self, chunk: int, warps: int, bits: int) -> measure.Launch:
        sizes = {"BITS": bits, "CHUNK": chunk, "WIDTH": bits, "LISTED": 1024, "num_warps": warps}
        kernel = struct_plain_topk.select_row
        return lambda i: kernel[(self.rows,)](self.x[i], self.o, self.space[0], self.columns, K, **sizes)

    def candidates(self) -> tuple[dict[str, measure.Launch], dict[str, measure.Launch]]:
        fitting = [config for config in SELECTED if self.rows * config[0] <= 1056 and config[1] <= self.columns]
        ours = {
            f"{programs} × {chunk}, {warps} warps": self.ours(programs, chunk, warps)
            for programs, chunk, warps in OUR_SELECTED[self.rows, self.columns]
        }
        plain = {}
        for programs, chunk, warps in fitting:
            for bits in (8, 11):
                name = f"{programs} × {chunk}, {warps} warps, {bits} bits"
                if programs == 1:
                    plain[name] = self.row(chunk, warps, bits)
                    continue
                plain[name] = self.plain(programs, chunk, warps, bits, False)
                if bits == 11:
                    plain[f"{name}, atomics"] = self.plain(programs, chunk, warps, bits, True)
        return ours, plain

    def check(self, name: str, launch: measure.Launch) -> None:
        """Twice: a launch leaves its counters as it found them."""
        for counted in (*self.space[1:], *self.plain_space[1:]):
            counted.zero_()
        want = self.x[0].topk(K).values
        for _ in range(2):
            self.o.fill_(-1)
            launch(0)
            if not (self.o.sort(1).values.diff(dim=1) > 0).all():
                raise SystemExit(f"{name}: a column stands twice, or none")
            found = self.x[0].gather(1, self.o.long().clamp(0, self.columns - 1))
            measure.check(name, found.sort(1, descending=True).values, want, 0.0)


def alignments(sample: Any) -> list[Any]:
    """What makes each case; ``sample`` loads a program of samples/tle_struct by its name."""
    align = sample("07_moe_align")
    return [lambda taken=taken: Align(align, *taken) for taken in TOKENS]


def selections(sample: Any) -> list[Any]:
    """As ``alignments``."""
    select = sample("08_topk_selector")
    return [lambda taken=taken: Select(select, *taken) for taken in ROWS]


def rows_of(case: Any, quick: bool) -> list[measure.Row]:
    """One row: the fastest of ours over the fastest of plain Triton's."""
    ours, others = (measure.fastest(candidates, case.check, case.buffers) for candidates in case.candidates())
    times, noise = measure.compare({"ours": ours[1], "Triton": others[1]}, case.buffers, quick)
    sides = {f"{side} µs": ms * 1e3 for side, ms in times.items()}
    what, note = f"{case.name}: local_ptr over plain Triton", f"ours {ours[0]}; Triton {others[0]}"
    return [measure.Row(what, times["Triton"] / times["ours"], "x", GOAL, True, sides, noise, note)]
