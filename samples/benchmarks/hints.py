"""Kernels with and without ``#@hint:`` comments: rows staged through shared memory, and runs that are promised."""

from __future__ import annotations

import measure
import torch
import triton
import triton.language as tl
from struct_kernels import sum_of_exponentials

import tle_raw.language as tle  # noqa: F401  (Triton's stages know hints from then on)

BUFFERS = 3
PROGRAMS, ROWS, BLOCK = 1056, 48, 1024
ENTRIES, WIDTH, PAGES = 1 << 17, 8, 1 << 16


@triton.jit
def staged_sum_of_exponentials(x_ptr, o_ptr, count, BLOCK: tl.constexpr):
    """As ``sum_of_exponentials``, the rows some iterations ahead."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(count):  # @hint: num_stages=6
        total += tl.exp(tl.load(x_ptr + (tl.program_id(0) * count + row) * BLOCK + i))  # @hint: shared_memory
    tl.store(o_ptr + tl.program_id(0) * BLOCK + i, total)


@triton.jit
def gather(x_ptr, at_ptr, o_ptr, width, BLOCK: tl.constexpr):
    """``o[e] = x[at[e // width] + e % width]``: short runs, whose places the compiler knows nothing of."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + e, tl.load(x_ptr + tl.load(at_ptr + e // width) + e % width))


@triton.jit
def promised_gather(x_ptr, at_ptr, o_ptr, width, BLOCK: tl.constexpr):
    """The same; each run begins at a multiple of eight elements, and has eight."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x_ptr + tl.load(at_ptr + e // width) + e % width)  # @hint: vectorise=8
    tl.store(o_ptr + e, values)


def sums(quick: bool) -> measure.Row:
    x = [torch.randn(PROGRAMS, ROWS, BLOCK, device="cuda") for _ in range(BUFFERS)]
    o = torch.empty(PROGRAMS, BLOCK, device="cuda")
    kernels = {"plain": sum_of_exponentials, "hinted": staged_sum_of_exponentials}
    sides = {name: lambda i, k=kernel: k[(PROGRAMS,)](x[i], o, ROWS, BLOCK) for name, kernel in kernels.items()}
    expected = x[0].double().exp().sum(1)
    return row("sums of rows: shared_memory over none", sides, o, expected, quick)


def gathers(quick: bool) -> measure.Row:
    x = [torch.randn(PAGES * WIDTH, device="cuda", dtype=torch.float16) for _ in range(BUFFERS)]
    at = (torch.randint(PAGES, (ENTRIES,), device="cuda") * WIDTH).to(torch.int32)
    o = torch.empty(ENTRIES * WIDTH, device="cuda", dtype=torch.float16)
    grid = (ENTRIES * WIDTH // 2048,)
    kernels = {"plain": gather, "hinted": promised_gather}
    sides = {name: lambda i, k=kernel: k[grid](x[i], at, o, WIDTH, 2048) for name, kernel in kernels.items()}
    expected = x[0].reshape(PAGES, WIDTH)[at.long() // WIDTH].reshape(-1).double()
    return row("gathered runs of 16 bytes: vectorise over none", sides, o, expected, quick)


def row(
    name: str, sides: dict[str, measure.Launch], o: torch.Tensor, expected: torch.Tensor, quick: bool
) -> measure.Row:
    for side, launch in sides.items():
        o.fill_(float("nan"))
        launch(0)
        measure.check(f"{name}, {side}", o, expected, 1e-5)
    times, noise = measure.compare(sides, BUFFERS, quick)
    told = {f"{side} ms": ms for side, ms in times.items()}
    return measure.Row(name, times["plain"] / times["hinted"], "x", 1.0, True, told, noise)


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    measure.report("hints in comments", [sums(options.quick), gathers(options.quick)], options)


if __name__ == "__main__":
    main()
