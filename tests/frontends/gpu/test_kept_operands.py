"""Products read an operand where it lies although the kernel arrives at barriers in between: where a pipe keeps it."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.frontends.gpu import kept_operand_kernels as kernels
from tests.support import compile_kernel

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.every_triton(4)

B = 64


def copies(kernel, **constants):
    """How many tiles are stored into memory of their own for a product."""
    types = {"x_ptr": "*fp16", "o_ptr": "*fp32", "count": "i32"}
    ttgir = compile_kernel(kernel, types, {**constants, "B": B}).asm["ttgir"]
    assert "ttng.warp_group_dot " in ttgir
    return sum("ttg.local_alloc %" in line and f"-> !ttg.memdesc<{B}x{B}xf16" in line for line in ttgir.splitlines())


def test_another_pipes_slot_is_given_back_between_load_and_product():
    """The operand is not copied. It is where its own slot was given back before, or where a pipe has several slots,
    whose numbers nobody follows.
    """
    in_place = copies(kernels.kept, SLOTS=1, HOW="")
    assert copies(kernels.kept, SLOTS=1, HOW="given back before") == in_place + 1
    assert copies(kernels.kept, SLOTS=2, HOW="") == in_place + 1


def test_the_other_half_of_a_buffer_is_another_pipes():
    """Where it is not known which half that pipe's writer fills, the operand is copied."""
    assert copies(kernels.halves, HOW="") + 1 == copies(kernels.halves, HOW="where the kernel says")


@pytest.mark.parametrize("slots, how", [(1, ""), (1, "given back before"), (2, "")])
def test_numbers_on_the_cpu(slots, how):
    x = np.random.default_rng(7).integers(-4, 5, (5, B, B))
    o = torch.zeros(B, B)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.kept[(1,)](torch.from_numpy(x).half(), o, 5, SLOTS=slots, HOW=how, B=B)
    expected = sum(np.broadcast_to(tile.max(1)[:, None], (B, B)) @ tile for tile in x)
    assert np.array_equal(o.numpy(), expected)


@pytest.mark.parametrize("how", ["", "where the kernel says"])
def test_numbers_of_halves_on_the_cpu(how):
    x = np.random.default_rng(8).integers(-2, 3, (5, 2, B, B))
    o = torch.zeros(B, B)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.halves[(1,)](torch.from_numpy(x).half(), o, 5, HOW=how, B=B)
    expected = sum(np.broadcast_to(left.sum(1)[:, None], (B, B)) @ right for left, right in x)
    assert np.array_equal(o.numpy(), expected)
