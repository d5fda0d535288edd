"""A kernel with a cuTile function on tiles: the traced route."""

import cuda.tile as ct
import triton
import triton.language as tl

import tle_raw


@tle_raw.dialect("cutile")
def softmax(x):
    e = ct.exp(x - ct.max(x))
    return e / ct.sum(e)


@triton.jit
def kernel(x_ptr, bias_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + at, softmax(tl.load(x_ptr + at) + tl.load(bias_ptr + tl.arange(0, N))))


SIGNATURE = {"x_ptr": "*fp32", "bias_ptr": "*fp32", "y_ptr": "*fp32", "N": "constexpr"}
