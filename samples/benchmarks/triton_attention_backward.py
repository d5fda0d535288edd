"""The gradients of attention in plain Triton, as a side of benchmarks: lengths are multiples of the blocks.

Gradients of keys and values by programs that own keys and walk over queries; those of queries by programs that own
queries, or by additions to global memory of the former. Tiles are loaded by the copy engine or by pointers.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2E = 1.4426950408889634
# BLOCK_M, BLOCK_N, warps, stages, by the copy engine: of programs that own keys, the four of 18 that were near the best
# on an H200 by either Triton (the others have 32 or 128 queries, or other stages) ...
KEYS = (
    *((64, 64, 4, 2, tma) for tma in (True, False)),
    *((64, 128, 8, 3, tma) for tma in (True, False)),
)
# ... that own queries, of 14 ...
QUERIES = (
    *((128, 64, 8, 3, tma) for tma in (True, False)),
    *((128, 128, 8, 2, True), (64, 64, 4, 3, True), (128, 32, 4, 3, False)),
)
# ... and of those that own keys and add queries' gradients.
ADDING = ((64, 128, 8, 3, True, True), (64, 128, 8, 2, True, True))


@triton.jit
def rows_of_products(o_ptr, do_ptr, delta_ptr, BLOCK: tl.constexpr, DIM: tl.constexpr):
    """The sum of o * do of each row."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = rows[:, None] * DIM + tl.arange(0, DIM)[None, :]
    o, do = tl.load(o_ptr + at).to(tl.float32), tl.load(do_ptr + at).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(o * do, 1))


@triton.jit
def tile(source, row, ROWS: tl.constexpr, DIM: tl.constexpr, TMA: tl.constexpr):
    if TMA:
        value = source.load([row, 0])
    else:
        value = tl.load(source + (row + tl.arange(0, ROWS))[:, None] * DIM + tl.arange(0, DIM)[None, :])
    return value


@triton.jit
def by_queries(
    k, v, dk, dv, q, do, dq, lse_ptr, delta_ptr, top, column, begin, end, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, TMA: tl.constexpr, MASKED: tl.constexpr,
    ADD: tl.constexpr,
):  # fmt: skip
    """Rows begin to end of a head, which begins at row ``top``; logarithms and scores are to the base 2."""
    for row in range(begin, end, BLOCK_M):
        rows = row + tl.arange(0, BLOCK_M)
        queries = tile(q, top + row, BLOCK_M, DIM, TMA)
        p = tl.math.exp2(tl.dot(k, tl.trans(queries)) * scale - tl.load(lse_ptr + top + rows)[None, :])
        if MASKED:
            p = tl.where((column + tl.arange(0, BLOCK_N))[:, None] <= rows[None, :], p, 0.0)
        gradients = tile(do, top + row, BLOCK_M, DIM, TMA)
        dv += tl.dot(p.to(gradients.dtype), gradients)
        dp = tl.dot(v, tl.trans(gradients))
        ds = (p * (dp - tl.load(delta_ptr + top + rows)[None, :])).to(queries.dtype)
        dk += tl.dot(ds, queries)
        if ADD:
            dq.atomic_add([top + row, 0], tl.dot(tl.trans(ds), k))
    return dk, dv


@triton.jit
def keys_kernel(
    q, k, v, do, dq, dk_ptr, dv_ptr, lse_ptr, delta_ptr, length, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr, TMA: tl.constexpr,
    ADD: tl.constexpr,
):  # fmt: skip
    top, column = tl.program_id(1) * length, tl.program_id(0) * BLOCK_N
    keys, values = tile(k, top + column, BLOCK_N, DIM, TMA), tile(v, top + column, BLOCK_N, DIM, TMA)
    dk, dv = tl.zeros((BLOCK_N, DIM), tl.float32), tl.zeros((BLOCK_N, DIM), tl.float32)
    begin = 0
    if CAUSAL:
        begin = column + BLOCK_N
        dk, dv = by_queries(
            keys, values, dk, dv, q, do, dq, lse_ptr, delta_ptr, top, column, column, begin, scale,
            BLOCK_M, BLOCK_N, DIM, TMA, True, ADD,
        )  # fmt: skip
    dk, dv = by_queries(
        keys, values, dk, dv, q, do, dq, lse_ptr, delta_ptr, top, column, begin, length, scale,
        BLOCK_M, BLOCK_N, DIM, TMA, False, ADD,
    )  # fmt: skip
    at = (top + column + tl.arange(0, BLOCK_N))[:, None] * DIM + tl.arange(0, DIM)[None, :]
    tl.store(dv_ptr + at, dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + at, (dk * (scale / 1.4426950408889634)).to(dk_ptr.dtype.element_ty))


@triton.jit
def by_keys(
    q, do, dq, k, v, lse, delta, top, row, begin, end, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, TMA: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for column in range(begin, end, BLOCK_N):
        keys, values = tile(k, top + column, BLOCK_N, DIM, TMA), tile(v, top + column, BLOCK_N, DIM, TMA)
        p = tl.math.exp2(tl.dot(q, tl.trans(keys)) * scale - lse[:, None])
        if MASKED:
            columns = column + tl.arange(0, BLOCK_N)
            p = tl.where(columns[None, :] <= (row + tl.arange(0, BLOCK_M))[:, None], p, 0.0)
        dp = tl.dot(do, tl.trans(values))
        dq += tl.dot((p * (dp - delta[:, None])).to(keys.dtype), keys)
    return dq


@triton.jit
def queries_kernel(
    q, k, v, do, dq_ptr, lse_ptr, delta_ptr, length, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    top, row = tl.program_id(1) * length, tl.program_id(0) * BLOCK_M
    if CAUSAL:  # the longest first
        row = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    queries, gradients = tile(q, top + row, BLOCK_M, DIM, TMA), tile(do, top + row, BLOCK_M, DIM, TMA)
    rows = top + row + tl.arange(0, BLOCK_M)
    lse, delta = tl.load(lse_ptr + rows), tl.load(delta_ptr + rows)
    dq = tl.zeros((BLOCK_M, DIM), tl.float32)
    end = length
    if CAUSAL:
        end = row // BLOCK_N * BLOCK_N
    dq = by_keys(queries, gradients, dq, k, v, lse, delta, top, row, 0, end, scale, BLOCK_M, BLOCK_N, DIM, TMA, False)
    if CAUSAL:
        dq = by_keys(
            queries, gradients, dq, k, v, lse, delta, top, row, end, row + BLOCK_M, scale,
            BLOCK_M, BLOCK_N, DIM, TMA, True,
        )  # fmt: skip
    at = rows[:, None] * DIM + tl.arange(0, DIM)[None, :]
    tl.store(dq_ptr + at, (dq * (scale / 1.4426950408889634)).to(dq_ptr.dtype.element_ty))


@triton.jit
def rounded(sum_ptr, dq_ptr, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dq_ptr + i, (tl.load(sum_ptr + i) * scale).to(dq_ptr.dtype.element_ty))


class Backward:
    """Gradients of one set of operands [batch, heads, length, dim]. ``lse`` is to the base 2."""

    def __init__(self, q: Any, k: Any, v: Any, o: Any, lse: Any, do: Any, causal: bool) -> None:
        import torch

        self.q, self.k, self.v, self.o, self.lse, self.do, self.causal = q, k, v, o, lse, do, causal
        self.dq, self.dk, self.dv = (torch.empty_like(x) for x in (q, k, v))
        self.delta = torch.empty_like(lse)
        self.length, self.dim = q.shape[-2:]
        self.heads = q.shape[0] * q.shape[1]
        self.scale = self.dim**-0.5
        self._sums: Any = None

    @property
    def sums(self) -> Any:
        """Of queries' gradients, f32."""
        import torch

        if self._sums is None:
            self._sums = torch.empty(self.q.shape, device=self.q.device, dtype=torch.float32)
        return self._sums

    def prepare(self) -> None:
        rows_of_products[(self.heads * self.length // 64,)](self.o, self.do, self.delta, BLOCK=64, DIM=self.dim)

    def keys(self, m: int, n: int, warps: int, stages: int, tma: bool, add: bool = False) -> Any:
        """The gradients of keys and values; of queries, too, where it adds."""
        given = [self._source(x, rows, tma) for x, rows in ((self.q, m), (self.k, n), (self.v, n), (self.do, m))]
        sums: Any = 0
        if add:
            self.sums.zero_()
            sums = self._source(self.sums, m, True)
        kernel = keys_kernel[(self.length // n, self.heads)](
            *(*given, sums, self.dk, self.dv, self.lse, self.delta),
            *(self.length, self.scale * LOG2E),
            BLOCK_M=m,
            BLOCK_N=n,
            DIM=self.dim,
            CAUSAL=self.causal,
            TMA=tma,
            ADD=add,
            num_warps=warps,
            num_stages=stages,
        )
        if add:
            rounded[(self.sums.numel() // 4096,)](self.sums, self.dq, self.scale, BLOCK=4096)
        return kernel

    def queries(self, m: int, n: int, warps: int, stages: int, tma: bool) -> Any:
        sizes = (m, n, n, m)
        return queries_kernel[(self.length // m, self.heads)](
            *(self._source(x, rows, tma) for x, rows in zip((self.q, self.k, self.v, self.do), sizes)),
            *(self.dq, self.lse, self.delta, self.length, self.scale * LOG2E),
            BLOCK_M=m,
            BLOCK_N=n,
            DIM=self.dim,
            CAUSAL=self.causal,
            TMA=tma,
            num_warps=warps,
            num_stages=stages,
        )

    def _source(self, x: Any, rows: int, tma: bool) -> Any:
        flat = x.view(-1, self.dim)
        return TensorDescriptor(flat, [*flat.shape], [self.dim, 1], [rows, self.dim]) if tma else x
