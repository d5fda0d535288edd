"""Compiling the programs of ``tests/frontends/dsa`` for a chip."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw.language as tle
from tests.frontends.dsa import kernels
from tests.frontends.dsa.test_compiled import CASES
from tle_raw.errors import ToolchainError
from tle_raw.targets.ascend.tool import Chip, find_compiler


@triton.jit
def softmax(x, o, n, total, B: tl.constexpr, C: tl.constexpr):
    """Of rows in UB; and the sum of everything."""
    r, c = tl.program_id(0) * B + tl.arange(0, B)[:, None], tl.arange(0, C)[None, :]
    u = tle.dsa.alloc([B, C], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(x + r * C + c, u, [n - tl.program_id(0) * B, C])
    v = tle.dsa.to_tensor(u)
    v = tl.exp(v - tl.max(v, axis=1)[:, None])
    v = v / tl.sum(v, axis=1)[:, None]
    tle.dsa.copy(tle.dsa.to_buffer(v, tle.dsa.ascend.UB), o + r * C + c, [n - tl.program_id(0) * B, C])
    tl.store(total + tl.program_id(0), tl.sum(v))


def compile_for(kernel, signature, constants, chip="910B3"):
    signature = {**signature, **dict.fromkeys(constants, "constexpr")}
    return triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("ascend", chip, 1))


def compile_case(case, chip="910B3", **changed):
    signature, constants = CASES[case]
    types = changed.pop("types", {})
    return compile_for(getattr(kernels, case.split()[0]), {**signature, **types}, {**constants, **changed}, chip)


def has_compiler():
    try:
        return bool(find_compiler(Chip("910B3")))
    except ToolchainError:
        return False


needs_compiler = pytest.mark.skipif(not has_compiler(), reason="the wheel ascendnpu-ir is not installed")
