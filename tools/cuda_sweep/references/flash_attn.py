"""Kernels of flash-attention beside its norms: what stands before and behind the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "flash_attn"


@reference(PACKAGE, "flash_bwd_clear_dkvaccum_kernel")
def _(g: Given) -> Any:
    zeros = np.zeros(g.B * g.H * g.R * 64)
    return {(0, "dk_accum_ptr"): zeros, (0, "dv_accum_ptr"): zeros}


def _order_of_sums() -> np.ndarray:
    """Where the sums of 128 rows of 64 lie: each thread's, in the order of its registers, eight rows further each.

    Of a tensor core's result a lane has two rows of two columns; four warps share the rows, two the columns.
    """
    thread, register = np.ogrid[:256, :32]
    warp, lane = thread // 32, thread % 32
    row = register // 4 % 2 * 64 + warp % 4 * 16 + lane // 4 + register // 2 % 2 * 8
    column = register // 8 * 16 + warp // 4 * 8 + lane % 4 * 2 + register % 2
    place = (thread // 32 + register % 16 * 8) * 64 + thread % 32 + register // 16 * 32
    order = np.empty((128, 64), np.int64)
    order[row, column] = place
    return order


@reference(PACKAGE, "flash_bwd_convert_dq_kernel")
def _(g: Given) -> Any:
    """The splits are added; rows that fill up the last block are left out."""
    sums = g[0]["dq_accum_ptr"].reshape(g.S, g.B, g.R // 128, 128, g.H, 64).sum(0).transpose(0, 1, 3, 2, 4)
    rows = sums.reshape(-1, 128 * 64)[:, _order_of_sums()].reshape(g.B, g.R // 128, g.H, 128, 64)
    return {(0, "dq_ptr"): rows.transpose(0, 1, 3, 2, 4).reshape(g.B, g.R, -1)[:, : g.M] * 0.125}
