"""Sample 06: an embedding bag. Inline PTX fetches the rows of a table; Triton weighs and adds them up."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Out, Pointer, Scalar, Tile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("cuda", file="gather_rows.cu")
def gather_rows(
    table: Pointer["f16"],
    index: Pointer["i32"],
    count: Scalar["i32"],
    first_column: Scalar["i32"],
    columns: Scalar["i32"],
    rows: Out[Tile["f16", "M", "N"]],
): ...


@triton.jit
def embedding_bag(table_ptr, index_ptr, weight_ptr, out_ptr, size, columns, M: tl.constexpr, N: tl.constexpr):
    """out[bag] = the sum over i of weight[bag, i] * table[index[bag, i]]; a bag holds ``size`` rows."""
    bag = tl.program_id(0)
    first_column = tl.program_id(1) * N
    total = tl.zeros((N,), dtype=tl.float32)
    for start in range(0, size, M):
        first = bag * size + start
        rows = gather_rows(table_ptr, index_ptr + first, size - start, first_column, columns, shape=(M, N))
        item = tl.arange(0, M)
        weight = tl.load(weight_ptr + first + item, mask=start + item < size, other=0.0)
        total += tl.sum(rows.to(tl.float32) * weight[:, None], axis=0)
    column = first_column + tl.arange(0, N)
    tl.store(out_ptr + bag * columns + column, total, mask=column < columns)


BLOCKS = {"M": 16, "N": 512}
# Columns that are no multiple of 8 take the other way through the fragment.
SIZES = ((3, 4, 1), (7, 19, 333), (1, 1, 8), (5, 16, 256), (33, 50, 1000), (64, 37, 512))


def compile_for(target):
    types = {"table_ptr": "*fp16", "index_ptr": "*i32", "weight_ptr": "*fp32", "out_ptr": "*fp32"}
    types |= {"size": "i32", "columns": "i32"}
    return [common.compile_ahead(embedding_bag, target, types, BLOCKS)]


def reference(table, index, weight):
    return (weight.double()[..., None] * table.double()[index.long()]).sum(1)


def check():
    import torch

    device = common.device()
    for bags, size, columns in common.sizes(gpu=SIZES, cpu=((7, 19, 333), (33, 50, 1000))):
        table = torch.randn(1000, columns, device=device).half()
        index = torch.randint(0, 1000, (bags, size), device=device, dtype=torch.int32)
        weight = torch.randn(bags, size, device=device)
        out = torch.empty(bags, columns, device=device)
        grid = (bags, triton.cdiv(columns, BLOCKS["N"]))
        compiled = embedding_bag[grid](table, index, weight, out, size, columns, **BLOCKS)
        # Float32 products and sums of up to 50 numbers of about 1.
        what = f"{bags} bags of {size} rows × {columns}"
        yield compiled, common.compare(what, out, reference(table, index, weight), relative=1e-5, absolute=2e-5)


if __name__ == "__main__":
    sys.exit(common.main("06 a raw producer: rows fetched with inline PTX", compile_for, check))
