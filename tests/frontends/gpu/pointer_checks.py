"""What kernels with pointers into buffers give, against NumPy: on GPUs, on the CPU and in Triton's interpreter."""

from __future__ import annotations

import numpy as np
import torch

from tests.frontends.gpu import pointer_kernels as kernels

R, C = 32, 64
DTYPES = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f8e5m2": torch.float8_e5m2,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
FLOATS = ("f16", "bf16", "f32", "f64")
KINDS = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
ATOMICS = [("add", "f16"), ("add", "bf16"), ("add", "f32"), ("add", "f64"), ("max", "f32"), ("min", "f32")]
ATOMICS += [(kind, dtype) for kind in KINDS for dtype in ("i32", "u32", "i64", "u64")]
LOADED = ["i1", "i8", "i16", "i32", "i64", "u8", "f8e5m2", "f16", "bf16", "f32", "f64"]


class Checks:
    """Each method runs a kernel on a device, and compares.

    ``options`` are those of the launch; ``compares`` is False where nothing runs.
    """

    def __init__(self, device: str = "cpu", *, compares: bool = True, **options: int) -> None:
        self.device, self.compares, self.options = device, compares, options

    def _integers(self, low, high, size, seed=0):
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(low, high, (size,), generator=generator, dtype=torch.int32).to(self.device)

    def _random(self, dtype, *shape):
        generator = torch.Generator().manual_seed(1)
        if dtype == "i1":
            return torch.randint(0, 2, shape, generator=generator).bool().to(self.device)
        return (torch.randn(shape, generator=generator) * 50).to(DTYPES[dtype]).to(self.device)

    def _permutation(self, size, seed=0):
        return torch.randperm(size, generator=torch.Generator().manual_seed(seed)).to(torch.int32).to(self.device)

    def _empty(self, *shape, like):
        return torch.zeros(shape, dtype=like.dtype, device=self.device)

    def _same(self, got, expected):
        if self.compares:
            np.testing.assert_array_equal(_bytes(got), _bytes(expected))

    def histogram(self, bins, n):
        x = self._integers(0, bins, n)
        o = torch.empty(bins, dtype=torch.int32, device=self.device)
        kernels.histogram[(1,)](x, o, n, B=1024, N=bins, **self.options)
        self._same(o, torch.bincount(x.long(), minlength=bins).int())

    def any_element(self, layout, dtype, count=512):
        x = self._random(dtype, R * C + count)
        rows, columns = self._integers(0, R, count, 1), self._integers(0, C, count, 2)
        o = self._empty(count, like=x)
        kernels.gathered[(1,)](x, rows, columns, o, R=R, C=C, N=count, LAYOUT=layout, **self.options)
        tile = x[: R * C].reshape(R, C)
        self._same(o, tile[rows.long(), columns.long()])
        where = self._permutation(R * C, 3)[:count]
        rows, columns = where // C, where % C
        o = self._empty(R, C, like=x)
        kernels.scattered[(1,)](x, rows, columns, o, R=R, C=C, N=count, LAYOUT=layout, **self.options)
        expected = tile.clone()
        expected[rows.long(), columns.long()] = x[R * C :]
        self._same(o, expected)

    def masks(self, dtype, size):
        x = self._random(dtype, size)
        index = self._permutation(size)
        o = self._empty(size, like=x)
        n = size * 2 // 3 + 1
        kernels.masked[(1,)](x, index, o, n, N=size, **self.options)
        buffer, other = (_bytes(torch.full((size,), number).to(x.dtype)).copy() for number in (3, 10))
        wanted = np.arange(size) % 3 != 0
        buffer[index.cpu().numpy()[wanted]] = _bytes(x)[wanted]
        expected = np.where(np.arange(size)[:, None] < n, buffer[::-1], other)
        if self.compares:
            np.testing.assert_array_equal(_bytes(o), expected)

    def runs(self, dtype):
        x = self._random(dtype, R, C)
        o = self._empty(R + 1, C, like=x)
        kernels.reversed_rows[(1,)](x, o, R=R, C=C, **self.options)
        self._same(o[:R], x.view(torch.uint8).reshape(R, -1).flip(0).reshape(-1).view(x.dtype).reshape(R, C))
        self._same(o[R], x[1])

    def sums_of_beginnings(self, dtype, size):
        """Each step reads what others wrote in the step before: a barrier that is missing is seen."""
        x = self._integers(-50, 50, size).to(DTYPES[dtype])
        expected = torch.cumsum(x.double(), 0).to(x.dtype)
        steps = size.bit_length() - 1
        for run in (
            lambda o: kernels.scalars[(1,)](x, o, size, N=size, **self.options),
            lambda o: kernels.doubling_sums[(1,)](x, o, N=size, **self.options),
            lambda o: kernels.in_two_buffers[(1,)](x, o, steps, N=size, **self.options),
        ):
            o = torch.empty_like(x)
            run(o)
            self._same(o, expected)

    def many_blocks(self, times):
        x = self._integers(-50, 50, 1024)
        expected = torch.cumsum(x.double(), 0).int()
        for _ in range(times):
            o = torch.empty_like(x)
            kernels.doubling_sums[(512,)](x, o, N=1024, **self.options)
            self._same(o, expected)

    def views(self, dtype, size, plain):
        x = self._random(dtype, 3, size, size)
        o = self._empty(3, size, size, like=x)
        kernels.views[(1,)](x, o, B=size, PLAIN=plain, **self.options)
        half = size // 2
        self._same(o[0], x[1].T)
        part = x[1][half:, half:]
        self._same(o[1].reshape(4, half, half)[:2], torch.stack([part, part.T]))
        self._same(o[2], x[2].flip(1))

    def passed(self, n):
        x = self._permutation(256)
        o = torch.empty(2, 256, dtype=torch.int32, device=self.device)
        kernels.through_functions[(1,)](x, o, n, N=256, **self.options)
        a, b = torch.full_like(x, 11), torch.full_like(x, 22)
        first, second = (a, b) if n % 2 == 0 else (b, a)
        self._same(o[0], b if n > 2 else a)
        self._same(o[1], torch.where(x % 2 == 0, first, second))

    def atomics(self, kind, dtype, size, elements):
        low, high = (-3, 4) if dtype in FLOATS else (0, 1 << 30)
        x = self._integers(low, high, size + elements).long().to(DTYPES[dtype])
        index = self._integers(0, elements, size, 1)
        o, old = self._empty(elements, like=x), self._empty(size, like=x)
        kernels.reduced[(1,)](x, index, o, old, KIND=kind, N=size, M=elements, **self.options)
        values, taken = _wide(x), np.arange(size) % 7 != 3
        expected = values[size:].copy()
        KINDS[kind].at(expected, index.cpu().numpy()[taken], values[:size][taken])
        if self.compares:  # small numbers: sums of floats are exact too
            np.testing.assert_array_equal(_wide(o), expected)

    def exchanges(self, dtype, size=512, elements=32):
        x = (self._permutation(size + elements) + 1).to(DTYPES[dtype])
        index = self._integers(0, elements, size, 1)
        o, old = self._empty(elements, like=x), self._empty(size, like=x)
        kernels.reduced[(1,)](x, index, o, old, KIND="xchg", N=size, M=elements, **self.options)
        taken = torch.arange(size, device=self.device) % 7 != 3
        left, given = torch.cat([o, old[taken]]), torch.cat([x[size:], x[:size][taken]])
        self._same(left.sort().values, given.sort().values)

    def swaps(self, dtype, size=512, elements=64):
        x = (self._permutation(size) + 1).to(DTYPES[dtype])
        index = self._integers(0, elements, size, 1)
        o, old = self._empty(elements, like=x), self._empty(size, like=x)
        kernels.swapped[(1,)](x, index, o, old, N=size, M=elements, **self.options)
        if self.compares:
            won = old == 0
            self._same(index[won].sort().values, index.unique())
            self._same(o[index[won].long()], x[won])
            self._same(old[~won], o[index[~won].long()])

    def places(self, size, groups):
        keys = self._integers(0, groups, size)
        o = torch.zeros(size, dtype=torch.int32, device=self.device)
        kernels.ranked[(1,)](keys, o, N=size, M=groups, **self.options)
        if self.compares:
            self._same(o.sort().values, torch.arange(size, dtype=torch.int32))
            self._same(keys[o.long()], keys.sort().values)

    def written_between(self, what, size=128):
        x = self._integers(0, 1000, 2 * size).reshape(2, size)
        o = torch.zeros_like(x)
        kernels.written_between[(1,)](x, o, N=size, WHAT=what, **self.options)
        i = torch.arange(size, device=self.device)
        crossed = {"the buffer": (i ^ 1, i ^ 1), "a pointer": (i, i ^ 1), "both": (i ^ 1, i ^ 2)}[what]
        self._same(o, torch.stack([x[0][crossed[0]], x[1][crossed[1]]]))

    def scalar_atomics(self):
        x = self._integers(0, 1000, 40)
        o = torch.zeros(42, dtype=torch.int32, device=self.device)
        kernels.counted_scalar[(1,)](x, o, 40, N=1, **self.options)
        self._same(o[:41], torch.arange(41, dtype=torch.int32) * 2)
        self._same(o[41:], x.max()[None])

    def freed(self, size):
        x = self._integers(-9, 9, size).float()
        o = torch.empty_like(x)
        kernels.freed[(1,)](x, o, N=size, **self.options)
        self._same(o, (x.flip(0) + x.sum()).reshape(-1, 2).flip(1).reshape(-1))

    def products(self, how, size):
        x = torch.randn((3, size, size), generator=torch.Generator().manual_seed(0)).half().to(self.device)
        o = torch.empty_like(x[0])
        kernels.products[(1,)](x, o, 3, N=size, HOW=how, **self.options)
        values = x.double().cpu().numpy()
        swap = np.arange(size) ^ (1 if how == "others" else 0)
        total = np.zeros((size, size))
        for right in values[:, :, swap]:
            total += values[0][:, swap] @ right.T
            total += (total * 0.5).astype(np.float16).astype(np.float64) @ right
        if self.compares:
            np.testing.assert_allclose(o.double().cpu().numpy(), total, rtol=2e-2, atol=2e-3 * np.abs(total).max())

    def reductions(self, size):
        x = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(self.device)
        o = torch.empty_like(x)
        kernels.with_reductions[(1,)](x, o, 5, N=size, **self.options)
        values = x.double().cpu().numpy()
        for k in range(5):
            taken = np.roll(values, -k)
            values = np.cumsum(taken) / size + taken[k]
        if self.compares:
            np.testing.assert_allclose(o.double().cpu().numpy(), values, rtol=1e-4, atol=1e-4)


def _bytes(tensor):
    """Row by row, for NaN and what NumPy has no dtype for."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().reshape(flat.numel(), -1)


def _wide(tensor):
    """As NumPy computes with it: bits of integers, f64."""
    if tensor.is_floating_point():
        return tensor.double().cpu().numpy()
    return tensor.view(torch.int64 if tensor.dtype.itemsize == 8 else torch.int32).cpu().numpy()
