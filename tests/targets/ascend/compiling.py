"""Compiling the programs of ``tests/frontends/dsa`` for a chip."""

from __future__ import annotations

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.frontends.dsa import kernels
from tests.frontends.dsa.test_compiled import CASES
from tle_raw.errors import ToolchainError
from tle_raw.targets.ascend.tool import Chip, find_compiler


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
