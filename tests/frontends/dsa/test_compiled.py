"""The same programs for NVIDIA GPUs, compiled to machine code: buffers are shared memory."""

import pytest

from tests.frontends.dsa import kernels
from tests.support import compile_kernel

pytestmark = pytest.mark.every_triton(3)

F = "*fp32"
CASES = {
    "chain": ({"x_ptr": F, "y_ptr": F, "out_ptr": F, "m": "i32", "n": "i32", "stride": "i32"}, {"XB": 16, "YB": 64}),
    "chain of halves": (
        {"x_ptr": "*fp16", "y_ptr": "*fp16", "out_ptr": "*fp16", "m": "i32", "n": "i32", "stride": "i32"},
        {"XB": 16, "YB": 64},
    ),
    "clamp": ({"x_ptr": "*i8", "low_ptr": "*i8", "high_ptr": "*i8", "out_ptr": "*i8", "n": "i32"}, {"B": 128}),
    "flow": ({"x_ptr": F, "out_ptr": F, "n": "i32"}, {"B": 256}),
    "rows": (
        {"x_ptr": F, "out_ptr": F, "m": "i32", "n": "i32", "stride": "i32"},
        {"KIND": "pipeline", "B": 128},
    ),
    "parts": ({"x_ptr": F, "out_ptr": F, "at": "i32"}, {"B": 16}),
    "slices": ({"x_ptr": F, "out_ptr": F, "element_ptr": F, "row": "i32", "column": "i32"}, {"B": 16}),
    "product": (
        {"a_ptr": "*fp16", "b_ptr": "*fp16", "out_ptr": F},
        {"M": 64, "N": 64, "K": 32, "ON_GPU": True},
    ),
    "carried": ({"x_ptr": F, "out_ptr": F, "n": "i32", "steps": "i32"}, {"B": 128}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_machine_code(case):
    signature, constants = CASES[case]
    compiled = compile_kernel(getattr(kernels, case.split()[0]), signature, constants)
    assert compiled.asm["cubin"]
    assert "st.shared" in compiled.asm["ptx"] or "cp.async" in compiled.asm["ptx"]
    assert "tle.dsa" not in compiled.asm["ttgir"]


def test_buffers_take_their_bytes():
    signature, constants = CASES["chain"]
    compiled = compile_kernel(kernels.chain, signature, constants)
    assert compiled.metadata.shared >= 3 * 16 * 64 * 4  # and what Triton needs between layouts


def test_whole_buffers_are_copied_asynchronously():
    signature, constants = CASES["product"]
    assert "cp.async" in compile_kernel(kernels.product, signature, constants).asm["ptx"]
