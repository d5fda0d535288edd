"""The kernels of ``form_kernels.py`` with random arguments, and what they give: for CPUs and for GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tests.adapters.tilelang import form_kernels as kernels

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@dataclass(frozen=True)
class Case:
    """A PrimFunc, its arguments on the host, and by their numbers what is expected in them, exactly."""

    prim_func: Any
    arguments: tuple[Any, ...]
    expected: dict[int, np.ndarray]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator())


def narrow_copies(columns: int = 40) -> Case:
    codes = torch.randint(0, 256, (3, 6, columns), generator=generator()).to(torch.uint8)
    scales, (packed, small) = codes[0], codes[1:, :, : columns // 2].contiguous()
    scales[scales >= 254] = 0  # 255 is not a number, and twice 254 none of float32
    halves = np.stack([packed.numpy() & 15, packed.numpy() >> 4], -1).reshape(6, columns)
    whole = np.stack([small.numpy() & 15, small.numpy() >> 4], -1).reshape(6, columns).astype(np.int64)
    arguments = (
        scales.view(torch.float8_e8m0fnu),
        packed.view(torch.float4_e2m1fn_x2),
        small.view(torch.int8),
        torch.zeros(6, columns),
        torch.zeros(6, columns, dtype=torch.float16),
        torch.zeros(6, columns, dtype=torch.int32),
    )
    exponents = np.exp2(scales.numpy().astype(np.float64) - 126)
    numbers = np.where(halves & 8, -1.0, 1.0) * E2M1[halves & 7]
    return Case(
        kernels.narrow_copies(columns=columns),
        arguments,
        {3: exponents, 4: numbers, 5: np.where(whole > 7, whole - 16, whole)},
    )


def quantised(columns: int = 40) -> Case:
    x = normal(6, columns) * torch.exp2(torch.randint(-3, 4, (6, columns), generator=generator()))
    x[0, :9] = torch.tensor([0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 1e30])
    size = np.abs(x.double().numpy())
    ups = np.where(size > 0, np.ceil(np.log2(np.maximum(size, 2.0**-126))) + 127, 0)
    steps = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    even = np.array([False, True, False, True, False, True, False])
    codes = ((size[..., None] > steps) | ((size[..., None] == steps) & even)).sum(-1)
    codes |= np.where(np.signbit(x.numpy()), 8, 0)
    return Case(
        kernels.quantised(columns=columns),
        (x, torch.zeros(6, columns, dtype=torch.uint8), torch.zeros(6, columns // 2, dtype=torch.uint8)),
        {1: ups, 2: codes[:, ::2] | codes[:, 1::2] << 4},
    )


def unequal_boxes() -> Case:
    x = normal(12, 20)
    expected = np.zeros((24, 40))
    expected[:12, :20] = x.numpy()
    return Case(kernels.unequal_boxes(), (x, torch.ones(24, 40)), {1: expected})


def accumulated_rows() -> Case:
    x = normal(3, 2, 16)
    expected = np.full((4, 16), 3.0)
    expected[:2] = x[2].numpy()
    return Case(kernels.accumulated_rows(), (x, torch.zeros(4, 16)), {1: expected})


def split() -> Case:
    x = normal(240)
    return Case(kernels.composed("split"), (x, torch.zeros(12, 20)), {1: x.numpy().reshape(12, 20)})


def split_evenly() -> Case:
    x = normal(512)
    return Case(kernels.composed("split", 16, 32), (x, torch.zeros(16, 32)), {1: x.numpy().reshape(16, 32)})


def joined() -> Case:
    x = normal(12, 20)
    return Case(kernels.composed("joined"), (x, torch.zeros(240)), {1: x.numpy().reshape(240)})


def turned() -> Case:
    x = normal(12, 20)
    expected = x.numpy().reshape(3, 4, 20).transpose(0, 2, 1)[:, ::-1]
    return Case(kernels.composed("turned"), (x, torch.zeros(3, 20, 4)), {1: expected})


def guarded() -> Case:
    x = normal(240)
    expected = np.where(x.numpy() > 0, x.numpy(), 9.0).reshape(12, 20)
    return Case(kernels.composed("guarded"), (x, torch.zeros(12, 20)), {1: expected})


def bits(dtype: str) -> Callable[[], Case]:
    def make() -> Case:
        width = np.dtype(dtype).itemsize
        data = torch.randint(0, 256, (60 * width,), generator=generator()).to(torch.uint8)
        data[: 8 * width] = 0
        data[4] = 1
        x = torch.from_numpy(data.numpy().view(dtype).copy())
        words = [int(v) for v in data.numpy().view(f"uint{8 * width}")]
        ones = np.array([word.bit_count() for word in words])
        zeros = np.array([8 * width - word.bit_length() for word in words])
        out = [torch.zeros(60, dtype=torch.int32) for _ in range(2)]
        return Case(kernels.bits(dtype), (x, *out), {1: ones, 2: zeros})

    return make


def questions() -> Case:
    x = torch.zeros(4, 24, dtype=torch.int32)
    x[1, 5], x[2] = -3, 4
    return Case(kernels.questions(), (x, torch.zeros(1, dtype=torch.int32)), {1: np.array([1 << 4 | 3 << 8])})


def scalars() -> Case:
    expected = np.tile([1.5, 1 / 3, -5.0], (7, 1))
    return Case(kernels.scalars(), (1.5, 1 / 3, -5, torch.zeros(7, 3, dtype=torch.float64)), {3: expected})


def bound_again() -> Case:
    expected = np.repeat([[10.0], [21.0]], 32, axis=1)
    return Case(kernels.bound_again(), (5.0, 7.0, torch.zeros(2, 32)), {2: expected})


def said_before() -> Case:
    x = normal(100)
    return Case(kernels.said_before(), (x, torch.zeros(100)), {1: 2 * x.numpy()})


def across_blocks() -> Case:
    x = normal(4, 64)
    return Case(kernels.across_blocks(), (x, torch.zeros(4, 64), torch.zeros(4, 64)), {2: 2 * x.numpy()[::-1]})


def clustered(cluster: int = 2) -> Case:
    x = torch.randint(0, 100, (8, 64), generator=generator()).float()
    ranks = np.arange(8)[:, None] % cluster
    return Case(kernels.clustered(8, cluster=cluster), (x, torch.zeros(8, 64)), {1: x.numpy() + ranks})


def odd_block() -> Case:
    x = normal(48)
    return Case(kernels.odd_block(), (x, torch.zeros(48)), {1: x.numpy()[::-1]})


def open_sizes() -> Case:
    starts = torch.tensor([0, 3, 5, 6, 20, 20], dtype=torch.int32)
    expected = np.zeros((10, 21))
    expected[::2] = 2 * np.diff(starts.numpy())[:, None]
    return Case(kernels.open_sizes(), (starts, torch.zeros(10, 21), 2), {1: expected})


def booleans() -> Case:
    a = torch.rand(2, 64, generator=generator()) < 0.5
    expected = np.stack([a.any(0).numpy(), a.all(0).numpy()])
    return Case(kernels.booleans(), (a, torch.zeros(2, 64, dtype=torch.bool)), {1: expected})


TRACED: dict[str, Callable[[], Case]] = {
    "narrow copies": narrow_copies,
    "quantised": quantised,
    "unequal boxes": unequal_boxes,
    "accumulated rows": accumulated_rows,
    "split": split,
    "split evenly": split_evenly,
    "joined": joined,
    "turned": turned,
    "guarded": guarded,
    **{f"bits of {dtype}": bits(dtype) for dtype in ("int16", "uint32", "int64")},
    "questions": questions,
    "scalars": scalars,
    "said before": said_before,
    "bound again": bound_again,
    "open sizes": open_sizes,
    "booleans": booleans,
}
LINKED: dict[str, Callable[[], Case]] = {
    "across blocks": across_blocks,
    "clusters of two": clustered,
    "clusters of four": lambda: clustered(4),
    "odd block": odd_block,
    "narrow copies": lambda: narrow_copies(64),
    "quantised": lambda: quantised(64),
}
