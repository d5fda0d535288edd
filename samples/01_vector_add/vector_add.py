"""Sample 01: vector add. A fragment that does its own memory accesses with half2, and one for each element."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("cuda", file="vector_add.cu")
def add_pairs(
    a: Pointer["f16"],
    b: Pointer["f16"],
    c: InOut[Pointer["f16"]],  # the memory behind it is written
    start: Scalar["i32"],
    stop: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", file="vector_add.cu")
def add_one(a: Element["f16"], b: Element["f16"]) -> Element["f16"]: ...


@triton.jit
def add_by_pointers(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    add_pairs(a_ptr, b_ptr, c_ptr, start, tl.minimum(start + BLOCK, n))


@triton.jit
def add_by_elements(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    c = add_one(tl.load(a_ptr + index, inside), tl.load(b_ptr + index, inside))
    tl.store(c_ptr + index, c, inside)


KERNELS = (add_by_pointers, add_by_elements)
BLOCK = 2048
# (n, first): `first` elements are cut off the front, so that half2 does not fit.
SIZES = ((1, 0), (2, 0), (2049, 0), (1 << 20, 0), (2047, 0), (1_000_003, 0), (99_999, 1))


def compile_for(target):
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "n": "i32"}
    return [common.compile_ahead(kernel, target, types, {"BLOCK": BLOCK}) for kernel in KERNELS]


def reference(a, b):
    return a.double() + b.double()


def check():
    import torch

    device = common.device()
    for kernel in KERNELS:
        for n, first in common.sizes(gpu=SIZES, cpu=SIZES[-3:]):
            a, b, c = (torch.randn(n + first, device=device).half()[first:] for _ in range(3))
            compiled = kernel[(triton.cdiv(n, BLOCK),)](a, b, c, n, BLOCK=BLOCK)
            # A half has 11 bits: the right rounding is off by half of the last one at most.
            what = f"{kernel.__name__}, n = {n}{', unaligned' * bool(first)}"
            yield compiled, common.compare(what, c, reference(a, b), relative=2**-11, absolute=2**-25)


if __name__ == "__main__":
    sys.exit(common.main("01 vector add with half2", compile_for, check))
