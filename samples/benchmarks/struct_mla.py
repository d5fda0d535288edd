"""Latent attention (MLA) by specialised warps against plain Triton's: decode, and attention to chosen keys."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import measure
import struct_plain_mla as plain
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

HEADS, LATENT, EXTRA = 128, 512, 64
WIDTH = LATENT + EXTRA
BUFFERS = 2
SCALE = WIDTH**-0.5 * 1.4426950408889634
# What TileLang's own decode of 128 tokens takes on an H200 with 8192 keys, in milliseconds (RESULTS.md).
PEER, PEER_GOAL, SPARSE_GOAL = 0.626, 1.0, 1.27
# What is changed of the samples' blocks.
DECODE: dict[str, dict[str, Any]] = {
    "as it is": {},
    "232 registers": {"REGISTERS": 232},
    "a program for each piece": {"programs": 2**20},
}
SPARSE: dict[str, dict[str, Any]] = {
    "as it is": {},
    "216 and 72 registers": {"REGISTERS": 216, "GATHER_REGISTERS": 72},
    "a program for each piece": {"programs": 2**20},
}
# Of plain Triton: heads of a program, keys of a tile, warps, stages, and whether by tensor descriptors.
PLAIN = ((64, 64, 8, 2), (64, 64, 8, 1), (64, 32, 8, 2), (64, 32, 8, 3), (64, 32, 8, 4), (64, 16, 8, 4), (32, 64, 4, 2))
PLAIN_DECODE = (*((*config, False) for config in PLAIN), *((*config, True) for config in PLAIN[:5]))


def processors(device: str) -> int:
    return torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132


def queries(count: int, heads: int, dtype: torch.dtype, device: str) -> list[torch.Tensor]:
    return [torch.randn(count, heads, WIDTH, device=device).to(dtype) for _ in range(BUFFERS)]


def attention(q: torch.Tensor, kv: torch.Tensor) -> torch.Tensor:
    """In double precision, of one token's heads to the rows of keys."""
    kv = kv.double()
    return (q.double() @ kv.T * WIDTH**-0.5).softmax(1) @ kv[:, :LATENT]


class Decode:
    """A query of each head of so many tokens, each with keys of its own."""

    goal: float | None = None

    def __init__(
        self,
        load: Callable[[str], Any],
        batch: int,
        keys: int,
        dtype: torch.dtype = torch.float16,
        device: str = "cuda",
    ) -> None:
        self.sample, self.batch, self.keys = load("15_mla_decode"), batch, keys
        kind = str(dtype).removeprefix("torch.")
        self.name = f"MLA decode {batch}×{HEADS}, {keys} keys of {LATENT}+{EXTRA} {kind}"
        self.processors = processors(device)
        self.q = queries(batch, HEADS, dtype, device)
        self.kv = [torch.randn(batch, keys, WIDTH, device=device, dtype=dtype) for _ in range(BUFFERS)]
        self.lengths = torch.full((batch,), keys, device=device, dtype=torch.int32)
        self.o: Any = None
        self.flops = 2 * batch * HEADS * keys * (WIDTH + LATENT)
        self.peer = PEER if (batch, keys, dtype) == (128, 8192, torch.float16) else None

    def ours(self, changed: dict[str, Any], i: int) -> object:
        blocks = self.sample.BLOCKS | changed
        options = {"programs": blocks.pop("programs", self.processors), "blocks": blocks}
        splits = self.sample.splits_of(self.batch, HEADS, self.keys, self.processors)
        kernel, self.o, _ = self.sample.launch(self.q[i], self.kv[i], self.lengths, splits=splits, **options)
        return kernel

    def triton(self, config: tuple[Any, ...], i: int) -> object:
        heads, keys, warps, stages, copies = config
        self.o = torch.empty((self.batch, HEADS, LATENT), device=self.q[i].device, dtype=self.q[i].dtype)
        grid = triton.cdiv(HEADS, heads), self.batch
        kv = self.kv[i]
        rows = [
            TensorDescriptor(kv, [self.batch * self.keys, WIDTH], [WIDTH, 1], [keys, width])
            for width in (LATENT, EXTRA)
        ]
        arguments = self.q[i], kv, *rows, self.lengths, self.o, HEADS, self.keys, SCALE
        sizes = {"HEADS": heads, "KEYS": keys, "LATENT": LATENT, "EXTRA": EXTRA, "COPIES": copies}
        return plain.decode[grid](*arguments, **sizes, num_warps=warps, num_stages=stages)

    def candidates(self) -> list[dict[str, measure.Launch]]:
        return [
            {name: functools.partial(self.ours, changed) for name, changed in DECODE.items()},
            {plain_name(config): functools.partial(self.triton, config) for config in PLAIN_DECODE},
        ]

    def expected(self) -> Any:
        return torch.stack([attention(self.q[0][b], self.kv[0][b]) for b in range(self.batch)])

    def found(self) -> Any:
        return self.o


class Sparse:
    """All heads of so many tokens, each of which attends to ``count`` of the keys."""

    goal: float | None = SPARSE_GOAL
    peer: float | None = None

    def __init__(
        self,
        load: Callable[[str], Any],
        tokens: int,
        keys: int,
        count: int = 2048,
        heads: int = HEADS,
        dtype: torch.dtype = torch.bfloat16,
        device: str = "cuda",
    ) -> None:
        self.sample, self.tokens, self.heads, self.keys = load("16_sparse_mla"), tokens, heads, keys
        kind = str(dtype).removeprefix("torch.")
        self.name = f"sparse MLA {tokens}×{heads}, {count} of {keys} keys of {LATENT}+{EXTRA} {kind}"
        self.processors = processors(device)
        self.q = queries(tokens, heads, dtype, device)
        self.kv = [torch.randn(keys, WIDTH, device=device).to(dtype) for _ in range(BUFFERS)]
        self.chosen = [
            torch.rand(tokens, keys, device=device).topk(count).indices.to(torch.int32) for _ in range(BUFFERS)
        ]
        self.some = torch.randint(tokens, (32,)).tolist()
        self.o: Any = None
        self.flops = 2 * tokens * heads * count * (WIDTH + LATENT)

    def ours(self, changed: dict[str, Any], i: int) -> object:
        blocks = self.sample.BLOCKS | changed
        programs = blocks.pop("programs", self.processors)
        kernel, self.o, _ = self.sample.launch(self.q[i], self.kv[i], self.chosen[i], programs, blocks=blocks)
        return kernel

    def triton(self, config: tuple[int, ...], i: int) -> object:
        heads, keys, warps, stages = config
        self.o = torch.empty((self.tokens, self.heads, LATENT), device=self.q[i].device, dtype=self.q[i].dtype)
        grid = triton.cdiv(self.heads, heads), self.tokens
        count = self.chosen[i].shape[1]
        arguments = self.q[i], self.kv[i], self.chosen[i], self.o, self.heads, self.keys, count, SCALE
        sizes = {"HEADS": heads, "KEYS": keys, "LATENT": LATENT, "EXTRA": EXTRA}
        return plain.sparse[grid](*arguments, **sizes, num_warps=warps, num_stages=stages)

    def candidates(self) -> list[dict[str, measure.Launch]]:
        return [
            {name: functools.partial(self.ours, changed) for name, changed in SPARSE.items()},
            {plain_name(config): functools.partial(self.triton, config) for config in PLAIN},
        ]

    def expected(self) -> Any:
        """Of some tokens."""
        return torch.stack([attention(self.q[0][t], self.kv[0][self.chosen[0][t].long()]) for t in self.some])

    def found(self) -> Any:
        return self.o[self.some]


def plain_name(config: tuple[Any, ...]) -> str:
    name = "{}×{}, {} warps, {} stages".format(*config)
    return name + (", TMA" if config[4:] == (True,) else "")


def rows_of(case: Any, quick: bool) -> list[measure.Row]:
    """The fastest of ours over the fastest of plain Triton, and over TileLang's figure."""
    expected = case.expected()
    half = case.q[0].dtype == torch.float16

    def check(name: str, launch: measure.Launch) -> None:
        launch(0)
        measure.check(name, case.found(), expected, 1e-3 if half else 8e-3)

    print(f"{case.name}: TFLOP/s of all that are right", flush=True)

    def speed(ms: float) -> str:
        return f"{case.flops / ms / 1e9:.1f}"

    ours, others = (measure.fastest(candidates, check, BUFFERS, speed) for candidates in case.candidates())
    times, noise = measure.compare({"ours": ours[1], "Triton": others[1]}, BUFFERS, quick)
    sides = {f"{side} ms": ms for side, ms in times.items()} | {"ours TFLOP/s": case.flops / times["ours"] / 1e9}
    note = f"ours {ours[0]}; Triton {others[0]}"
    what = f"{case.name}: specialised warps over plain Triton"
    rows = [measure.Row(what, times["Triton"] / times["ours"], "x", case.goal, True, sides, noise, note)]
    if case.peer:
        figure = {"ours ms": times["ours"], "TileLang's ms": case.peer}
        what = f"{case.name}: over TileLang's figure"
        rows.append(measure.Row(what, case.peer / times["ours"], "x", PEER_GOAL, True, figure, noise, ours[0]))
    return rows


def decodes(load: Callable[[str], Any]) -> list[Callable[[], Decode]]:
    """What makes each case; ``load`` gives a sample by its name."""
    sizes = ((128, 8192, torch.float16), (128, 8192, torch.bfloat16), (4, 16384, torch.bfloat16))
    return [functools.partial(Decode, load, *size) for size in sizes]


def sparse_ones(load: Callable[[str], Any]) -> list[Callable[[], Sparse]]:
    """The same for attention to chosen keys."""
    return [
        functools.partial(Sparse, load, 2048, keys, heads=heads)
        for keys, heads in ((8192, 128), (65536, 128), (8192, 64))
    ]
