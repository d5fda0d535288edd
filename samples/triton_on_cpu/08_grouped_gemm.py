"""Tutorial 08, grouped matrix products: a fixed number of programs works through products of many sizes.

Addresses, sizes and strides lie in arrays that the kernel reads. Matrices are row-major.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays


@triton.jit
def tile_by_pointers(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, tile_m, tile_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    k = tl.arange(0, BLOCK_K)
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        along = start + k
        a = tl.load(a_ptr + m * lda + along[None, :], mask=(m < M) & (along[None, :] < K), other=0.0)
        b = tl.load(b_ptr + along[:, None] * ldb + n, mask=(along[:, None] < K) & (n < N), other=0.0)
        c = tl.dot(a, b, c, input_precision="ieee")
    tl.store(c_ptr + m * ldc + n, c.to(c_ptr.dtype.element_ty), mask=(m < M) & (n < N))


@triton.jit
def tile_by_descriptors(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, tile_m, tile_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    a_tiles = tl.make_tensor_descriptor(a_ptr, [M, K], [lda, 1], [BLOCK_M, BLOCK_K])
    b_tiles = tl.make_tensor_descriptor(b_ptr, [K, N], [ldb, 1], [BLOCK_K, BLOCK_N])
    c_tiles = tl.make_tensor_descriptor(c_ptr, [M, N], [ldc, 1], [BLOCK_M, BLOCK_N])
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = a_tiles.load([tile_m * BLOCK_M, start])
        b = b_tiles.load([start, tile_n * BLOCK_N])
        c = tl.dot(a, b, c, input_precision="ieee")
    c_tiles.store([tile_m * BLOCK_M, tile_n * BLOCK_N], c.to(c_ptr.dtype.element_ty))


@triton.jit
def grouped_kernel(
    addresses_ptr, sizes_ptr, strides_ptr, products,
    ELEMENT: tl.constexpr, DESCRIPTORS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Tiles are numbered through all products; a program takes every ``num_programs``-th one."""
    tile = tl.program_id(0)
    before = 0  # the tiles of the products that were passed
    for product in range(products):
        M = tl.load(sizes_ptr + 3 * product)
        N = tl.load(sizes_ptr + 3 * product + 1)
        K = tl.load(sizes_ptr + 3 * product + 2)
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(M, BLOCK_M) * tiles_n
        while tile >= before and tile < before + tiles:
            a_ptr = tl.load(addresses_ptr + 3 * product).to(tl.pointer_type(ELEMENT))
            b_ptr = tl.load(addresses_ptr + 3 * product + 1).to(tl.pointer_type(ELEMENT))
            c_ptr = tl.load(addresses_ptr + 3 * product + 2).to(tl.pointer_type(ELEMENT))
            lda = tl.load(strides_ptr + 3 * product)
            ldb = tl.load(strides_ptr + 3 * product + 1)
            ldc = tl.load(strides_ptr + 3 * product + 2)
            m, n = (tile - before) // tiles_n, (tile - before) % tiles_n
            if DESCRIPTORS:
                tile_by_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, m, n, BLOCK_M, BLOCK_N, BLOCK_K)
            else:
                tile_by_pointers(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, m, n, BLOCK_M, BLOCK_N, BLOCK_K)
            tile += tl.num_programs(0)
        before += tiles


ELEMENTS = {"float16": tl.float16, "bfloat16": tl.bfloat16, "float32": tl.float32, "float64": tl.float64}


def grouped_matmul(
    pairs: Sequence[tuple[Any, Any]],
    programs: int = 8,
    descriptors: bool = False,
    blocks: tuple[int, int, int] = (32, 32, 32),
) -> list[Any]:
    """The product of each pair. ``descriptors``: rows must be multiples of 16 bytes."""
    first = pairs[0][0]
    results = [arrays.empty((a.shape[0], b.shape[1]), a) for a, b in pairs]
    triples = [(a, b, c) for (a, b), c in zip(pairs, results, strict=True)]
    addresses = _array([[arrays.address(t) for t in triple] for triple in triples], first, "int64")
    sizes = _array([[a.shape[0], b.shape[1], a.shape[1]] for a, b in pairs], first, "int32")
    strides = _array([[arrays.strides(t)[0] for t in triple] for triple in triples], first, "int32")
    element = ELEMENTS[str(first.dtype).removeprefix("torch.")]
    grouped_kernel[(programs,)](
        addresses, sizes, strides, len(pairs), ELEMENT=element, DESCRIPTORS=descriptors,
        BLOCK_M=blocks[0], BLOCK_N=blocks[1], BLOCK_K=blocks[2],
    )  # fmt: skip
    return results


def _array(rows: list[list[int]], like: Any, dtype: str) -> Any:
    if arrays.is_numpy(like):
        return np.array(rows, dtype)
    import torch

    return torch.tensor(rows, dtype=getattr(torch, dtype), device=like.device)


def check():
    import torch

    odd = [(33, 65, 17), (1, 1, 1), (128, 96, 64), (70, 3, 200)]
    even = [(33, 64, 16), (8, 8, 8), (128, 96, 64), (70, 24, 200)]
    for descriptors, sizes in ((False, odd), (True, even)):
        if descriptors and arrays.device() == "cuda":
            triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        pairs = [(torch.randn(m, k).half(), torch.randn(k, n).half()) for m, n, k in sizes]
        pairs = [(a.to(arrays.device()), b.to(arrays.device())) for a, b in pairs]
        for (a, b), c, size in zip(pairs, grouped_matmul(pairs, descriptors=descriptors), sizes, strict=True):
            what = f"{'descriptors' if descriptors else 'pointers'}, {'x'.join(map(str, size))}"
            yield what, arrays.largest_share(c, arrays.double(a) @ arrays.double(b), 2**-10, 1e-3)


if __name__ == "__main__":
    sys.exit(arrays.main("08 grouped matrix products", check))
