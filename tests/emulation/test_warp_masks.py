"""Debug: operations of a warp whose mask does not name the caller, or the lane whose value it takes."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import Pointer, Scalar
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton

WRONG = {
    "out[i] = __shfl_down_sync(0xffff, i, 1);": "thread 15, lane 15 .* value of lane 16 by __shfl_down_sync with",
    "if (i < 16) out[i] = __shfl_xor_sync(0xffff, i, 16);": "mask 0xffff, which does not name that lane",
    "if (i < 4) out[i] = __shfl_sync(0xf, i, 7);": "takes the value of lane 7 by __shfl_sync with the mask 0xf,",
    "if (i == 37) return; out[i] = __shfl_up_sync(~0u, i, 1);": "thread 38, lane 6 .* that lane has returned",
    "out[i] = __ballot_sync(0xfffe, i);": "thread 0, .* __ballot_sync with the mask 0xfffe, which does not name it",
    "out[i] = __any_sync(0x7fffffff, i);": "thread 31, lane 31 .* __any_sync with the mask 0x7fffffff, which",
    "out[i] = __reduce_add_sync(0xff, i);": "thread 8, .* a reduction of the warp with the mask 0xff, which",
    "if (i) __syncwarp(1); out[i] = 0;": "thread 1, lane 1 .* __syncwarp with the mask 0x1, which does not name it",
    'asm("shfl.sync.idx.b32 %0, %1, 9, 31, 255;" : "=r"(out[i]) : "r"(i));': "value of lane 9 by .* not name that lane",
}
RIGHT = (
    "if (i >= 120) return; out[i] = __ballot_sync(~0u, 1);",  # nobody waits for lanes that have returned
    "out[i] = __shfl_down_sync(~0u, i, 9);",  # beyond the warp's end a lane keeps its own
    "if (i % 32 < 16) out[i] = __shfl_down_sync(0xffff, i, 9, 16);",
    "const unsigned m = __activemask(); out[i] = __shfl_xor_sync(m, i, 1);",
)
STATEMENTS = (*WRONG, *RIGHT)


@pytest.fixture(scope="module")
def fragment(tmp_path_factory):
    """One fragment for all: ``which`` is the statement that it runs, on line ``which`` + 2."""

    def f(out: Pointer["i32"], which: Scalar["i32"]): ...

    cases = "\n".join(f"case {k}: {{ {statement} return; }}" for k, statement in enumerate(STATEMENTS))
    path = tmp_path_factory.mktemp("masks") / "fragment.cu"
    head = "__device__ void f(int* out, int which) { const int i = threadIdx.x; switch (which) {"
    path.write_text(f"{head}\n{cases}\n}} }}")
    return tle_raw.fragment(path, signature=f)


@pytest.mark.parametrize("statement", WRONG)
def test_debug_reports_a_mask_that_does_not_name_a_lane(fragment, statement):
    which = STATEMENTS.index(statement)
    with knobs.scope(), pytest.raises(KernelFailed, match=WRONG[statement]) as caught:
        knobs.debug = True
        run(fragment, out=np.zeros(128, "i4"), which=which)
    assert caught.value.kind == "warp_mask"
    assert caught.value.context.source is not None and caught.value.context.source.line == which + 2


@pytest.mark.parametrize("statement", RIGHT)
def test_debug_lets_correct_masks_pass(fragment, statement):
    with knobs.scope():
        knobs.debug = True
        run(fragment, out=np.zeros(128, "i4"), which=STATEMENTS.index(statement))


def test_lanes_that_never_arrive_are_told_with_the_mask():
    @tle_raw.dialect(
        "cuda",
        source="""__device__ void f(int* out) {
  if (threadIdx.x < 5) *out = __shfl_xor_sync(~0u, *out, 1);
  else __syncthreads();
}""",
    )
    def f(out: Pointer["i32"]): ...

    with pytest.raises(KernelFailed, match=r"no thread can go on; .* thread 0 wants the lanes of the mask 0xffffffff"):
        run(f, out=np.zeros(128, "i4"))
