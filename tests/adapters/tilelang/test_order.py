"""TileLang regions and global memory: barriers between them and what may touch the same memory, by either route."""

from __future__ import annotations

import re

import pytest
import tilelang.language as T
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, report_of

TYPES = {"x": "*fp32", "y": "*fp32", "z": "*fp32"}


@T.prim_func
def doubled(X: T.Tensor((4096,), "float32"), Y: T.Tensor((4096,), "float32")):
    with T.Kernel(4, threads=128) as b:
        for i in T.Parallel(1024):
            Y[b * 1024 + i] = X[b * 1024 + i] * 2.0


@T.prim_func
def reversed_(Y: T.Tensor((4096,), "float32"), Z: T.Tensor((4096,), "float32")):
    with T.Kernel(4, threads=128) as b:
        for i in T.Parallel(1024):
            Z[b * 1024 + i] = Y[b * 1024 + 1023 - i]


def order(kernel, types=TYPES):
    """What the PTX does to global memory between its barriers."""
    sections = compile_kernel(kernel, types).asm["ptx"].split("bar.sync")
    return [" ".join(sorted(set(re.findall(r"\b(ld|st)\.global", section)))) for section in sections]


def fragments(**options):
    return tle_raw.fragment(doubled, **options), tle_raw.fragment(reversed_, **options)


@pytest.mark.parametrize("route", ["traced", "linked"])
def test_what_one_region_wrote_the_next_one_reads_behind_a_barrier(route):
    first, second = fragments(route=route)

    @triton.jit
    def kernel(x, y, z):
        first(x, y)
        second(y, z)

    assert order(kernel) == ["ld st", "ld st"]


def test_regions_that_promise_to_meet_nothing_have_no_barrier():
    first, second = fragments(ordered=False)

    @triton.jit
    def kernel(x, y, z):
        first(x, y)
        second(y, z)

    assert order(kernel) == ["ld st"]


def test_tritons_own_code_is_in_order_with_a_region():
    first, _ = fragments()

    @triton.jit
    def kernel(x, y, z):
        tl.store(x + tl.arange(0, 1024), 1.0)
        first(x, y)
        tl.store(z + tl.arange(0, 1024), tl.load(y + 1023 - tl.arange(0, 1024)))

    assert order(kernel) == ["st", "ld st", "ld st"]


def test_a_region_that_is_a_whole_kernel_has_no_barrier():
    first, _ = fragments()
    assert "bar.sync" not in first.as_kernel().compile("cuda:90").asm["ptx"]


def test_a_traced_and_a_linked_region_are_in_order():
    first, _ = fragments(route="traced")
    _, second = fragments(route="linked")

    @triton.jit
    def kernel(x, y, z):
        first(x, y)
        second(y, z)

    compiled = compile_kernel(kernel, TYPES)
    assert order(kernel) == ["ld st", "ld st"]
    assert {r.route for r in report_of(compiled, machine_code=False).regions} == {"traced", "linked"}
