"""What is equal is compiled once, and what is edited is compiled again: by Triton's cache and by the fragments' own."""

from __future__ import annotations

from random import SystemRandom

import numpy as np
import pytest
import triton

from tests.contracts.running import DIALECTS, SEED, compiled, dialect, ran, run_on_cpu
from tests.contracts.subjects import SUBJECTS
from tests.support import compile_kernel

pytestmark = pytest.mark.every_triton(3)

# The others are traced into the kernel: nothing of theirs is compiled but the kernel.
COMPILED_APART = ("cuda", "llvm", "mlir", "edsl", "numba", "cupy", "pycuda")
CASE = SUBJECTS["element"]


@pytest.fixture
def hits(monkeypatch):
    """Whether each kernel came from Triton's cache, in the order of their compilations."""
    found: list[bool] = []
    earlier = triton.knobs.compilation.listener

    def listener(**event):
        found.append(event["cache_hit"])
        if earlier:
            earlier(**event)

    monkeypatch.setattr(triton.knobs.compilation, "listener", listener)
    return found


def compile_element(fragment, block=256):
    return compile_kernel(CASE.kernel, CASE.types, {"FRAGMENT": fragment, "B": block})


@pytest.mark.parametrize("name", DIALECTS)
def test_an_equal_fragment_is_a_hit_and_an_edited_one_a_miss(name, hits, monkeypatch):
    product = dialect(name).product
    before = compiled(name, "element")
    hits.clear()
    first = product(3.0)
    adapter, runs = type(first._adapter), []
    compile_once = adapter.compile
    monkeypatch.setattr(adapter, "compile", lambda *a: runs.append(1) or compile_once(*a))
    again = compile_element(first)
    assert hits == [True] and runs == [] and before.asm["ptx"] == again.asm["ptx"]
    # Sessions may share their compiled fragments, one for each Triton: this one none of them has.
    edited = compile_element(product(SystemRandom().randrange(4, 100_000) + 0.5))
    assert hits == [True, False] and edited.asm["ptx"] != before.asm["ptx"]
    if name in COMPILED_APART:
        assert len(runs) == 1
        compile_element(product(3.0), block=512)  # another kernel, the same fragment
        assert hits == [True, False, False] and len(runs) == 1


@pytest.mark.parametrize("name", DIALECTS)
def test_an_edited_fragment_gives_its_own_numbers(name):
    product = dialect(name).product
    data = CASE.data(np.random.default_rng(SEED))
    x, w = data["x"].astype(np.float64), data["w"]
    ran(name, "element")  # of 3.0, which is not to come again
    _, found = run_on_cpu("element", product(4.5))
    np.testing.assert_allclose(found["y"], x * w - 4.5 * x, 1e-6, 1e-5)
