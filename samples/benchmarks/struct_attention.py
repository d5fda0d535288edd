"""Attention by specialised warps against cuDNN's and FlashAttention's, by torch."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

import measure
import struct_attention_ahead
import torch
import triton
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import tle_raw

BATCH, HEADS, LENGTH, DIM = 4, 16, 4096, 128
BUFFERS = 2
# Over cuDNN; and what TLX's tutorial reaches on an H200, in TFLOP/s (RESULTS.md).
GOALS = {False: 1.03, True: 1.0}
PEER, PEER_GOAL = 573.6, 1.07
# What is changed of the sample's blocks: of all kinds, and of those whose rows see the keys before them alone.
CONFIGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "two slots for keys": {"K_SLOTS": 2},
    "without turns": {"TURNS": False},
    "waits behind sums": {"BEHIND": True},
    "a program for each tile": {"programs": 2**20},
    "232 registers": {"REGISTERS": 232},
    "block barriers before arrivals": {"disabled": "arrive-by-warps"},
    "all of Triton's block barriers": {"disabled": "arrive-by-warps,order-copies"},
}
NARROW = {
    "dynamic order": {"ORDER": "dynamic"},
    "64 keys, 4 slots": {"BLOCK_N": 64, "K_SLOTS": 4, "V_SLOTS": 4},
    "64 keys, 5 slots": {"BLOCK_N": 64, "K_SLOTS": 5, "V_SLOTS": 5},
}
# Of the kernel that computes the first scores of a tile beside the tile before.
AHEAD: dict[str, dict[str, Any]] = {
    "first scores ahead": {},
    "first scores ahead, without turns": {"TURNS": False},
    "first scores ahead, waits behind sums": {"BEHIND": True},
}
SECTIONS = {f"sections of {heads} heads": {"SECTION": heads} for heads in (4, 8, 32)}
SECTIONS["static order, one section"] = {"SECTION": HEADS * BATCH, "ORDER": "static"}


class Attention:
    """One forward pass of heads of 4096 rows."""

    def __init__(
        self, load: Callable[[], Any], dtype: torch.dtype, causal: bool, device: str = "cuda", length: int = LENGTH
    ) -> None:
        self.load, self.sample = load, load()
        self.dtype, self.causal, self.length = dtype, causal, length
        kind = str(dtype).removeprefix("torch.")
        self.name = f"attention {BATCH}×{HEADS}×{length}×{DIM} {kind}" + (", causal" if causal else "")
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132
        shape = BATCH, HEADS, length, DIM
        self.q, self.k, self.v = (
            [torch.randn(shape, device=device).to(dtype) for _ in range(BUFFERS)] for _ in range(3)
        )
        self.o: Any = None
        self.flops = 4 * BATCH * HEADS * length**2 * DIM / (2 if causal else 1)

    def ours(self, changed: dict[str, Any]) -> measure.Launch:
        blocks = self.sample.BLOCKS | changed
        programs, disabled = blocks.pop("programs", self.processors), blocks.pop("disabled", "")

        if not disabled:
            return functools.partial(self._launch, self.sample, programs, blocks)
        # Triton's caches do not know by which passes a kernel was made: another copy of it, and another folder.
        sample, folder = self.load(), tempfile.mkdtemp()

        def launch(i: int) -> object:
            with tle_raw.knobs.scope() as knobs, triton.knobs.cache.scope():
                knobs.disable_passes, triton.knobs.cache.dir = disabled, folder
                return self._launch(sample, programs, blocks, i)

        return launch

    def _launch(self, sample: Any, programs: int, blocks: dict[str, Any], i: int) -> object:
        kernel, self.o, _ = sample.launch(self.q[i], self.k[i], self.v[i], self.causal, programs, blocks)
        return kernel

    def torch(self, backend: SDPBackend) -> measure.Launch:
        def launch(i: int) -> object:
            with sdpa_kernel(backend):
                self.o = scaled_dot_product_attention(self.q[i], self.k[i], self.v[i], is_causal=self.causal)
            return self.o

        return launch

    def candidates(self) -> dict[str, measure.Launch]:
        found = CONFIGS | (SECTIONS if self.causal else NARROW)
        if self.dtype != torch.float16:
            found = {name: changed for name, changed in found.items() if "disabled" not in changed}
        made = {name: self.ours(changed) for name, changed in found.items()}
        return made | {name: self.ahead(changed) for name, changed in AHEAD.items()}

    def ahead(self, changed: dict[str, Any]) -> measure.Launch:
        blocks = struct_attention_ahead.BLOCKS | changed
        return functools.partial(self._launch, struct_attention_ahead, self.processors, blocks)

    def expected(self) -> Any:
        """In double precision, head by head."""
        found = torch.empty(BATCH, HEADS, self.length, DIM, device=self.q[0].device, dtype=torch.float64)
        for batch in range(BATCH):
            for head in range(HEADS):
                one = (x[0][batch, head] for x in (self.q, self.k, self.v))
                found[batch, head] = self.sample.expected(*one, self.causal)[0]
        return found

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        launch(0)
        measure.check(name, self.o, expected, 1e-3 if self.dtype == torch.float16 else 8e-3)


def rows_of(case: Attention, quick: bool) -> list[measure.Row]:
    """The fastest of ours over cuDNN's, over FlashAttention's, and over what TLX reaches."""
    expected = case.expected()
    check = functools.partial(case.check, expected=expected)
    others = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
    sides: dict[str, measure.Launch] = {name: case.torch(backend) for name, backend in others.items()}
    for name, launch in list(sides.items()):
        try:
            check(name, launch)
        except RuntimeError as error:
            print(f"  {name}: {str(error)[:150]}", flush=True)
            del sides[name]
    print(f"{case.name}: TFLOP/s of all that are right", flush=True)
    best = measure.fastest(case.candidates(), check, BUFFERS, lambda ms: f"{case.flops / ms / 1e9:.1f}")
    del expected
    rows = []
    for reference, side in sides.items():
        times, noise = measure.compare({"ours": best[1], reference: side}, BUFFERS, quick)
        speed = {name: case.flops / ms / 1e9 for name, ms in times.items()}
        goal = GOALS[case.causal] if reference == "cuDNN" else None
        tflops = {f"{name} TFLOP/s": value for name, value in speed.items()}
        what = f"{case.name}: specialised warps over {reference}"
        rows.append(measure.Row(what, speed["ours"] / speed[reference], "x", goal, True, tflops, noise, best[0]))
    if rows and not case.causal and case.dtype == torch.float16:
        ours = rows[0].sides["ours TFLOP/s"]
        rows.append(measure.Row(f"{case.name}: over TLX's figure", ours / PEER, "x", PEER_GOAL, True, {"TLX": PEER}))
    return rows


def makers(load: Callable[[], Any], device: str = "cuda", length: int = LENGTH) -> list[Callable[[], Attention]]:
    """What makes each case; ``load`` gives a new copy of the sample."""
    kinds = [(torch.float16, False), (torch.float16, True), (torch.bfloat16, False), (torch.bfloat16, True)]
    return [functools.partial(Attention, load, *kind, device, length) for kind in kinds]
