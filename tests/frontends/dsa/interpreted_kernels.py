"""The programs for TRITON_INTERPRET=1, run by test_interpreter in a process of their own: Triton decides at import."""

from __future__ import annotations

import torch
import triton

from tests.frontends.dsa import numbers
from tests.interpreting import run_chosen

# The interpreter of Triton 3.6 cannot count to a run-time number with NumPy 2.4.
COUNTS = not triton.__version__.startswith("3.6")


def test_a_chain():
    for dtype in (torch.float16, torch.float32, torch.int32):  # it computes with the bits of bf16
        numbers.check_chain(dtype, m=9, n=40)
    numbers.check_clamp(torch.int8, n=300)


def test_tensors():
    numbers.check_flow(n=300)
    numbers.check_slices()
    numbers.check_product()


def test_views():
    numbers.check_parts()


def test_loops():
    for kind in ("pipeline", "parallel", "range"):
        numbers.check_rows(kind)
    if COUNTS:
        numbers.check_carried()


if __name__ == "__main__":
    run_chosen(globals())
