"""Constructs that only TileLang's own lowering knows, or that depend on the architecture: one kernel each."""

import re

import pytest

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.linked import constructs
from tests.support import ptx_calls, report_of

pytestmark = pytest.mark.every_triton(3)

# What the machine code must hold, on sm_80 and on sm_90. None: it has no such numbers, Triton knows none, or the other
# holds the same.
CASES = {
    "imported": (constructs.imported, None, r"st\.global"),
    "synchronised": (constructs.synchronised, None, r"bar(rier)?\.\w*(sync|red)"),
    "dynamic_gemm": (constructs.dynamic_gemm, r"mma\.sync.*bf16", r"wgmma.*bf16"),
    "quantised": (constructs.quantised, None, r"cvt\.rn\.satfinite\.e4m3x2"),
    "quantised_e5m2": (lambda: constructs.quantised(dtype="float8_e5m2"), r"st\.global", r"cvt\.rn\.satfinite\.e5m2x2"),
    "gemm_of_fp8": (constructs.small_gemm, None, r"wgmma.*e4m3"),
    "gemm_of_int8": (lambda: constructs.small_gemm("int8"), r"mma\.sync.*s8", r"wgmma.*s8"),
}


READ = ("dynamic_gemm", "gemm_of_int8")  # their machine code, too
COMPILED = [(case, arch) for case, (_, *found) in CASES.items() for arch, text in zip((80, 90), found) if text]


@pytest.mark.parametrize("case, capability", COMPILED)
def test_one_kernel_with_the_architectures_own_instructions(case, capability):
    make, *patterns = CASES[case]
    pattern = patterns[capability == 90]
    compiled = compile_for_gpu(tle_raw.fragment(make(), route="linked"), capability)
    told, ptx = report_of(compiled, machine_code=case in READ), compiled.asm["ptx"]
    assert told.one_kernel and not ptx_calls(compiled) and compiled.asm["cubin"]
    assert all(region.route.startswith("linked") and region.inlined for region in told.regions)
    assert re.search(pattern, ptx) and ".local" not in ptx and told.stack in (0, None)


def test_threads_wait_by_barriers_of_their_own():
    ptx = compile_for_gpu(tle_raw.fragment(constructs.synchronised(), route="linked")).asm["ptx"]
    assert re.search(r"bar\.sync\s+(2|%r\d+), (64|%r\d+)", ptx) and "bar.warp.sync" in ptx and "popc" in ptx
