"""A TileLang kernel as a region of a Triton kernel, against TileLang alone: same PrimFunc, grid, block and inputs.

TileLang alone is compiled by nvcc with TileLang's own settings: TMA, and warps of their own that load, where it likes.
The last row is a sample that calls two TileLang kernels in one launch, against the two launches of TileLang alone.
Needs TileLang; the regions need no clang where a cache of compiled fragments is filled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compile_only
import measure
import torch
import triton
from tilelang_kernels import attention, dequantise_gemm, gemm, mla_decode

import tle_raw

sys.path.append(str(Path(__file__).resolve().parents[1]))
import common

BUFFERS = 4
GOAL = 1.05
SIDES = ("linked", "traced", "alone")


@dataclass
class Case:
    """``region``, ``traced`` and ``alone`` write one buffer set's output; ``expected`` is its reference."""

    name: str
    prim_func: Any
    grid: tuple[int, ...]
    warps: int
    inputs: list[tuple[torch.Tensor, ...]]
    outputs: dict[str, list[torch.Tensor]]
    expected: Callable[[int], torch.Tensor]

    def region(self, route: str) -> Callable[[int], Any]:
        """The region in a Triton kernel that is nothing else."""
        kernel = tle_raw.fragment(self.prim_func, route=route).as_kernel()
        return lambda b: kernel(*self.inputs[b], self.outputs[route][b])

    def alone(self) -> Callable[[int], Any]:
        import tilelang

        compiled = tilelang.compile(self.prim_func)
        return lambda b: compiled(*self.inputs[b], self.outputs["alone"][b])


def sets(shape: tuple[int, ...], device: str, factor: float = 1.0) -> list[torch.Tensor]:
    return [(torch.randn(shape, device=device) * factor).half() for _ in range(BUFFERS)]


def empties(shape: tuple[int, ...], device: str) -> dict[str, list[torch.Tensor]]:
    return {side: [torch.empty(shape, dtype=torch.float16, device=device) for _ in range(BUFFERS)] for side in SIDES}


def gemm_case(size: int, device: str) -> Case:
    tile = (128, 256, 64)
    a, b = sets((size, size), device), sets((size, size), device)
    return Case(
        f"GEMM {size}x{size}x{size} f16",
        gemm(size, size, size, tile, threads=256),
        (triton.cdiv(size, tile[1]), triton.cdiv(size, tile[0])),
        8,
        list(zip(a, b)),
        empties((size, size), device),
        lambda i: a[i].double() @ b[i].double(),
    )


def dequantise_case(size: int, device: str) -> Case:
    rows, tile = min(size, 1024), (128, 128, 64)
    a = sets((rows, size), device)
    packed = [torch.randint(0, 256, (size, size // 2), device=device).to(torch.uint8) for _ in range(BUFFERS)]

    def expected(i: int) -> torch.Tensor:
        numbers = torch.stack([packed[i] & 15, packed[i] >> 4], dim=2).reshape(size, size).double() - 8
        return a[i].double() @ numbers.T

    return Case(
        f"int4 GEMM {rows}x{size}x{size} f16",
        dequantise_gemm(rows, size, size, tile),
        (triton.cdiv(size, tile[1]), triton.cdiv(rows, tile[0])),
        4,
        list(zip(a, packed)),
        empties((rows, size), device),
        expected,
    )


def attention_case(length: int, device: str, causal: bool) -> Case:
    batch, heads, dim, tile = 4, 16, 128, (128, 128)
    shape = (batch, length, heads, dim)
    q, k, v = (sets(shape, device, 0.5) for _ in range(3))

    def expected(i: int) -> torch.Tensor:
        query, key, value = (x[i].double().transpose(1, 2) for x in (q, k, v))
        found = torch.empty_like(query)
        for b in range(batch):  # all at once would not fit in memory as float64
            scores = query[b] @ key[b].transpose(1, 2) / dim**0.5
            if causal:
                scores.masked_fill_(~torch.ones(length, length, device=device).tril().bool(), float("-inf"))
            found[b] = torch.softmax(scores, dim=-1) @ value[b]
        return found.transpose(1, 2)

    return Case(
        f"attention {batch}x{heads}x{length}x{dim} f16{', causal' if causal else ''}",
        attention(batch, heads, length, dim, causal, tile, threads=256),
        (triton.cdiv(length, tile[0]), heads, batch),
        8,
        list(zip(q, k, v)),
        empties(shape, device),
        expected,
    )


def mla_case(batch: int, length: int, device: str) -> Case:
    """Heads, dims and tiles are those of DeepSeek's models, and of TileLang's own example."""
    heads, dim, extra, tile = 128, 512, 64, (64, 64)
    q, q_pe = sets((batch, heads, dim), device), sets((batch, heads, extra), device)
    kv, k_pe = sets((batch, length, 1, dim), device), sets((batch, length, 1, extra), device)

    def expected(i: int) -> torch.Tensor:
        found = torch.empty_like(q[i], dtype=torch.float64)
        for b in range(batch):  # all at once would not fit in memory as float64
            keys, positions = kv[i][b, :, 0].double(), k_pe[i][b, :, 0].double()
            scores = (q[i][b].double() @ keys.T + q_pe[i][b].double() @ positions.T) / (dim + extra) ** 0.5
            found[b] = torch.softmax(scores, dim=-1) @ keys
        return found

    return Case(
        f"MLA decode {batch}x{heads}, {length} keys of {dim}+{extra} f16",
        mla_decode(batch, heads, length, dim, extra, 1, tile, threads=256),
        (heads // tile[0], batch),
        8,
        list(zip(q, q_pe, kv, k_pe)),
        empties((batch, heads, dim), device),
        expected,
    )


def cases(device: str, small: bool) -> list[Callable[[], Case]]:
    size, length = (512, 512) if small else (8192, 4096)
    batch, keys = (4, 256) if small else (128, 8192)
    return [
        lambda: gemm_case(size, device),
        lambda: gemm_case(size // 2, device),
        lambda: dequantise_case(size, device),
        lambda: attention_case(length, device, causal=False),
        lambda: attention_case(length, device, causal=True),
        lambda: mla_case(batch, keys, device),
    ]


class Router:
    """The sample: two TileLang kernels and Triton code in one launch."""

    def __init__(self, tokens: int, device: str) -> None:
        self.sample = common.load("tilelang_in_triton/03_router.py")
        self.tokens = tokens
        dim, experts, chosen = self.sample.DIM, self.sample.EXPERTS, self.sample.CHOSEN
        self.x, self.w = sets((tokens, dim), device), (torch.randn(dim, experts, device=device) / dim**0.5).half()
        self.bias = torch.randn(experts, device=device)
        self.scores = torch.empty(tokens, experts, device=device)
        self.values = [torch.empty(tokens, chosen, device=device) for _ in range(BUFFERS)]
        self.places = [torch.empty(tokens, chosen, device=device, dtype=torch.int32) for _ in range(BUFFERS)]

    def one(self, b: int) -> Any:
        return self.sample.launch(self.x[b], self.w, self.bias, self.values[b], self.places[b])

    def two(self) -> Callable[[int], Any]:
        launches = self.sample.tilelang_alone()
        return lambda b: launches(self.x[b], self.w, self.scores, self.values[b], self.places[b])

    def best(self, b: int, bias: torch.Tensor | float) -> torch.Tensor:
        scores = self.x[b].double() @ self.w.double() + bias
        return scores.topk(self.sample.CHOSEN).values

    def row(self, quick: bool) -> measure.Row:
        launches = {"one launch": self.one, "two launches": self.two()}
        report = tle_raw.report(self.one(0))
        torch.cuda.synchronize()
        measure.check("router, weights", self.values[0], self.best(0, self.bias.double()).softmax(1), 1e-4)
        launches["two launches"](0)
        torch.cuda.synchronize()
        measure.check("router by TileLang alone, scores", self.values[0], self.best(0, 0.0), 1e-4)
        times, noise = measure.compare(launches, BUFFERS, quick)
        ratio = times["two launches"] / times["one launch"]
        sides = {f"{side} ms": time for side, time in times.items()}
        note = f"{report.registers} registers; the two do neither the bias nor the weights"
        name = f"router, {self.tokens} tokens: TileLang's two launches over one"
        return measure.Row(name, ratio, "x", 1.0, True, sides, noise, note)


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    if options.compile_only:
        compile_only.install()
        for make_case in cases("cpu", small=True):
            case = make_case()
            print(f"{case.name}\n{tle_raw.report(case.region('linked')(0))}", flush=True)
        for make_case in cases("meta", small=False):  # these shapes go into the cache; their arrays are never made
            tle_raw.fragment(make_case().prim_func, route="linked").as_kernel().compile("cuda:90")
        print(tle_raw.report(Router(64, "cpu").one(0)))
        return
    rows, failed = measure.rows_of_all(cases("cuda", small=options.quick), rows_of, options.quick)
    rows.append(Router(4096 if options.quick else 65536, "cuda").row(options.quick))
    measure.report("TileLang region against TileLang alone", rows, options)
    sys.exit("\n".join(failed) or None)


def rows_of(case: Case, quick: bool) -> list[measure.Row]:
    launches = {"linked": case.region("linked"), "alone": case.alone()}
    found = tle_raw.report(launches["linked"](0))
    note = f"{found.regions[0].route}: {found.registers} registers, {found.stack} bytes of stack"
    try:
        launches["traced"] = case.region("traced")
        launches["traced"](0)
    except Exception as error:  # a kernel that cannot be traced, or not compiled, is told and left out
        note += f"; traced: {type(error).__name__}"
        del launches["traced"]
    for b in range(BUFFERS):
        expected = case.expected(b)
        for side, launch in launches.items():
            launch(b)
            torch.cuda.synchronize()
            measure.check(f"{case.name}, {side}", case.outputs[side][b], expected, 5e-3)
    rows = []
    for side, times, noise in measure.each_against("alone", launches, BUFFERS, quick):
        sides = {f"{name} ms": time for name, time in times.items()}
        ratio = times[side] / times["alone"]
        words = note if side == "linked" else ""
        rows.append(measure.Row(f"{case.name}, {side}", ratio, "x", GOAL, False, sides, noise, words))
    return rows


if __name__ == "__main__":
    main()
