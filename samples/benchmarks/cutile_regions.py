"""cuTile kernels through Triton against the same kernels written in Triton: same tiles, grid, warps, stages and inputs.

"kernel" is a whole cuTile kernel by ``as_kernel()``, on Hopper with a warp that copies alone, "warps alike" the same
with ``specialise=False``, "region" a Triton kernel whose middle is cuTile's, "Triton" all of it written by hand in
``triton_kernels``. Needs cuTile; nothing is compiled by cuTile itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import compile_only
import cutile_kernels
import measure
import torch
import triton
import triton_kernels
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw

BUFFERS = 4
GOAL = 1.05
PRODUCT, GROUP = (128, 256, 64), 8
ATTENTION, WIDTH = (128, 64), 128
GROUPS = 64


@dataclass
class Case:
    """Each launch writes its side's output of one buffer set; ``expected`` gives the references of the outputs.

    ``launches`` of cuTile are named "kernel", "warps alike" or "region", the hand-written one "Triton".
    """

    name: str
    launches: dict[str, Callable[[int], Any]]
    outputs: dict[str, list[tuple[torch.Tensor, ...]]]
    expected: Callable[[int], tuple[torch.Tensor, ...]]
    tolerance: float = 5e-3
    options: dict[str, int] = field(default_factory=dict)


def whole(kernel: Any, specialise: bool | None = None) -> Any:
    return tle_raw.fragment(kernel, specialise=specialise).as_kernel()


def random(shape: tuple[int, ...], device: str, factor: float = 1.0) -> list[torch.Tensor]:
    return [(torch.randn(shape, device=device) * factor).half() for _ in range(BUFFERS)]


def outputs(sides: tuple[str, ...], *shapes: tuple[int, ...], device: str) -> dict[str, list[tuple[torch.Tensor, ...]]]:
    """Half floats, but for what has one dim: sums."""

    def one(shape: tuple[int, ...]) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.float16 if len(shape) > 1 else torch.float32, device=device)

    return {side: [tuple(map(one, shapes)) for _ in range(BUFFERS)] for side in sides}


def product_case(size: int, device: str) -> Case:
    """The grid has one dim: blocks in groups of rows share what they read."""
    a, b = random((size, size), device), random((size, size), device)
    out = outputs(("kernel", "warps alike", "Triton"), (size, size), device=device)
    grid = (triton.cdiv(size, PRODUCT[0]) * triton.cdiv(size, PRODUCT[1]),)
    options = {"num_warps": 8, "num_stages": 3}
    kernel, alike = whole(cutile_kernels.matmul), whole(cutile_kernels.matmul, specialise=False)

    def by_hand(i: int) -> Any:
        (c,) = out["Triton"][i]
        strides = *a[i].stride(), *b[i].stride(), *c.stride()
        return triton_kernels.matmul[grid](a[i], b[i], c, size, size, size, *strides, *PRODUCT, GROUP, **options)

    launches = {
        "kernel": lambda i: kernel[grid](a[i], b[i], *out["kernel"][i], *PRODUCT, GROUP, **options),
        "warps alike": lambda i: alike[grid](a[i], b[i], *out["warps alike"][i], *PRODUCT, GROUP, **options),
        "Triton": by_hand,
    }
    name = f"GEMM {size}x{size}x{size} f16"
    return Case(name, launches, out, lambda i: (a[i].double() @ b[i].double(),), options=options)


def described_case(size: int, device: str) -> Case:
    """The same by TMA: the arrays are tensor descriptors."""
    a, b = random((size, size), device), random((size, size), device)
    out = outputs(("kernel", "Triton"), (size, size), device=device)
    tm, tn, tk = PRODUCT
    grid = (triton.cdiv(size, tm) * triton.cdiv(size, tn),)
    options = {"num_warps": 8, "num_stages": 3}
    describe = TensorDescriptor.from_tensor
    inputs = [(describe(x, [tm, tk]), describe(y, [tk, tn])) for x, y in zip(a, b)]
    results = {side: [describe(c, [tm, tn]) for (c,) in out[side]] for side in out}
    kernel = whole(cutile_kernels.matmul)

    def by_hand(i: int) -> Any:
        c = results["Triton"][i]
        return triton_kernels.matmul_by_descriptors[grid](*inputs[i], c, size, size, *PRODUCT, GROUP, **options)

    launches = {
        "kernel": lambda i: kernel[grid](*inputs[i], results["kernel"][i], *PRODUCT, GROUP, **options),
        "Triton": by_hand,
    }
    name = f"GEMM {size}x{size}x{size} f16, TMA"
    return Case(name, launches, out, lambda i: (a[i].double() @ b[i].double(),), options=options)


def epilogue_case(size: int, device: str) -> Case:
    """A product whose bias and ReLU are Triton's."""
    a, b = random((size, size), device), random((size, size), device)
    bias = random((size,), device, factor=20)
    out = outputs(("region", "Triton"), (size, size), device=device)
    grid = (triton.cdiv(size, PRODUCT[0]) * triton.cdiv(size, PRODUCT[1]),)
    options = {"num_warps": 8, "num_stages": 3}

    def launch(side: str) -> Callable[[int], Any]:
        def run(i: int) -> Any:
            (c,) = out[side][i]
            strides = *a[i].stride(), *b[i].stride(), *c.stride()
            sizes = size, size, size
            return triton_kernels.matmul_bias_relu[grid](
                a[i], b[i], bias[i], c, *sizes, *strides, *PRODUCT, GROUP, REGION=side == "region", **options
            )

        return run

    def expected(i: int) -> tuple[torch.Tensor, ...]:
        return ((a[i].double() @ b[i].double() + bias[i].double()).relu(),)

    name = f"GEMM {size}x{size}x{size} f16, bias and ReLU"
    return Case(name, {side: launch(side) for side in out}, out, expected, options=options)


def attention_case(heads: int, length: int, device: str, causal: bool) -> Case:
    shape = (heads, length, WIDTH)
    q, k, v = (random(shape, device, 0.5) for _ in range(3))
    out = outputs(("kernel", "warps alike", "region", "Triton"), shape, device=device)
    scale, grid = WIDTH**-0.5, (triton.cdiv(length, ATTENTION[0]), heads)
    options = {"num_warps": 8, "num_stages": 3}
    kernel, alike = whole(cutile_kernels.attention), whole(cutile_kernels.attention, specialise=False)
    settings = scale, *ATTENTION, WIDTH, causal

    def in_triton(side: str) -> Callable[[int], Any]:
        def run(i: int) -> Any:
            (o,) = out[side][i]
            strides = [s for x in (q[i], k[i], v[i], o) for s in x.stride()[:2]]
            return triton_kernels.attention[grid](
                q[i], k[i], v[i], o, length, *strides, scale, *ATTENTION, WIDTH, causal, heads, side == "region",
                **options,
            )  # fmt: skip

        return run

    def expected(i: int) -> tuple[torch.Tensor, ...]:
        found = torch.empty_like(q[i], dtype=torch.float64)
        for head in range(heads):  # all at once would not fit in memory as float64
            scores = q[i][head].double() @ k[i][head].double().T * scale
            if causal:
                scores.masked_fill_(~torch.ones(length, length, device=device).tril().bool(), float("-inf"))
            found[head] = torch.softmax(scores, dim=-1) @ v[i][head].double()
        return (found,)

    launches = {
        "kernel": lambda i: kernel[grid](q[i], k[i], v[i], *out["kernel"][i], *settings, **options),
        "warps alike": lambda i: alike[grid](q[i], k[i], v[i], *out["warps alike"][i], *settings, **options),
        "region": in_triton("region"),
        "Triton": in_triton("Triton"),
    }
    name = f"attention {heads}x{length}x{WIDTH} f16{', causal' if causal else ''}"
    return Case(name, launches, out, expected, options=options)


def norm_case(rows: int, width: int, device: str) -> Case:
    x = random((rows, width), device)
    w, b = random((width,), device), random((width,), device)
    out = outputs(("kernel", "Triton"), (rows, width), (rows,), (rows,), device=device)
    tile, epsilon, options = triton.next_power_of_2(width), 1e-5, {"num_warps": 8}
    kernel = whole(cutile_kernels.layer_norm)

    def by_hand(i: int) -> Any:
        y, mean, rstd = out["Triton"][i]
        return triton_kernels.layer_norm[(rows,)](
            x[i], w[i], b[i], y, mean, rstd, width, width, width, epsilon, tile, **options
        )

    def expected(i: int) -> tuple[torch.Tensor, ...]:
        wide = x[i].double()
        mean = wide.mean(1)
        rstd = (wide.var(1, unbiased=False) + epsilon).rsqrt()
        return ((wide - mean[:, None]) * rstd[:, None] * w[i].double() + b[i].double(), mean, rstd)

    launches = {
        "kernel": lambda i: kernel[rows](x[i], w[i], b[i], *out["kernel"][i], epsilon, tile, **options),
        "Triton": by_hand,
    }
    return Case(f"layer norm {rows}x{width} f16", launches, out, expected, options=options)


def gradient_case(rows: int, width: int, device: str) -> Case:
    """Two kernels, and locks that are made zero before."""
    x, dy, w = random((rows, width), device), random((rows, width), device), random((width,), device)
    mean = [t.float().mean(1) for t in x]
    rstd = [(t.float().var(1, unbiased=False) + 1e-5).rsqrt() for t in x]
    out = outputs(("kernel", "Triton"), (rows, width), (width,), (width,), device=device)
    dw, db = (torch.empty(GROUPS, width, device=device) for _ in range(2))
    locks = torch.zeros(2 * GROUPS, dtype=torch.int32, device=device)
    tile, sums, options = triton.next_power_of_2(width), (32, 128), {"num_warps": 8}
    one, two = whole(cutile_kernels.layer_norm_gradients), whole(cutile_kernels.sum_partial_gradients)
    last = (triton.cdiv(width, sums[1]),)

    def by_cutile(i: int) -> Any:
        dx, *final = out["kernel"][i]
        locks.zero_()
        first = one[rows](dy[i], x[i], w[i], mean[i], rstd[i], dx, dw, db, locks, GROUPS, tile, **options)
        two[last](dw, db, *final, *sums, **options)
        return first

    def by_hand(i: int) -> Any:
        dx, *final = out["Triton"][i]
        locks.zero_()
        strides = (width,) * 5
        first = triton_kernels.layer_norm_gradients[(rows,)](
            dy[i], x[i], w[i], mean[i], rstd[i], dx, dw, db, locks, width, *strides, GROUPS, tile, **options
        )
        triton_kernels.sum_partial_gradients[last](dw, db, *final, GROUPS, width, width, width, *sums, **options)
        return first

    def expected(i: int) -> tuple[torch.Tensor, ...]:
        normal = (x[i].double() - mean[i].double()[:, None]) * rstd[i].double()[:, None]
        weighted = w[i].double() * dy[i].double()
        dx = weighted - normal * (normal * weighted).mean(1, keepdim=True) - weighted.mean(1, keepdim=True)
        return dx * rstd[i].double()[:, None], (dy[i].double() * normal).sum(0), dy[i].double().sum(0)

    name = f"layer norm {rows}x{width} f16, gradients"
    return Case(name, {"kernel": by_cutile, "Triton": by_hand}, out, expected, options=options)


def cases(device: str, small: bool) -> list[Callable[[], Case]]:
    size, length, heads, rows, width = (512, 512, 4, 256, 1024) if small else (8192, 4096, 64, 8192, 8192)
    return [
        lambda: product_case(size, device),
        lambda: product_case(size // 2, device),
        lambda: described_case(size, device),
        lambda: epilogue_case(size, device),
        lambda: attention_case(heads, length, device, causal=False),
        lambda: attention_case(heads, length, device, causal=True),
        lambda: norm_case(rows, width, device),
        lambda: gradient_case(rows, width, device),
    ]


def rows_of(case: Case, quick: bool) -> list[measure.Row]:
    """Numbers first, then times: one row for each of cuTile's sides."""
    kernels = {side: launch(0) for side, launch in case.launches.items()}
    for i in range(BUFFERS):
        expected = case.expected(i)
        for side, launch in case.launches.items():
            for out in case.outputs[side][i]:
                out.fill_(float("nan"))
            launch(i)
            torch.cuda.synchronize()
            for number, (got, want) in enumerate(zip(case.outputs[side][i], expected)):
                measure.check(f"{case.name}, {side}, output {number}", got, want, case.tolerance)
    by_hand, rows = f"{kernels['Triton'].n_regs} by hand", []
    for side, times, noise in measure.each_against("Triton", case.launches, BUFFERS, quick):
        sides = {f"{name} ms": time for name, time in times.items()}
        name, note = f"cuTile, {case.name}, {side}", f"{kernels[side].n_regs} registers, {by_hand}"
        rows.append(measure.Row(name, times[side] / times["Triton"], "x", GOAL, False, sides, noise, note))
    return rows


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    if options.compile_only:
        compile_only.install()
        for make_case in cases("cpu", small=True):
            case = make_case()
            for side, launch in case.launches.items():
                if side != "Triton":
                    print(f"{case.name}\n{tle_raw.report(launch(0))}", flush=True)
        return
    rows, failed = measure.rows_of_all(cases("cuda", small=options.quick), rows_of, options.quick)
    measure.report("cuTile through Triton against Triton", rows, options)
    sys.exit("\n".join(failed) or None)


if __name__ == "__main__":
    main()
