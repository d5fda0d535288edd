"""Rounding to bf16 on a CPU that has no instruction for it, against the definition in float64."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.cpu import host_cpu
from tle_raw.host.loader import load_object

CODE = """
define void @tle_launch(ptr %from, ptr %to, i64 %n) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %next = add i64 %i, 1
  %source = getelementptr {type}, ptr %from, i64 %i
  %x = load {type}, ptr %source
  %y = fptrunc {type} %x to bfloat
  %target = getelementptr i16, ptr %to, i64 %i
  store bfloat %y, ptr %target
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def nearest(x: np.ndarray) -> np.ndarray:
    """The bits of the nearest bf16, ties to even; only for numbers."""
    x = x.astype(np.float64)
    unit = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - 1, -126) - 7)
    rounded = np.where(np.isinf(x), x, np.rint(x / unit) * unit)
    return (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rounds_to_the_nearest(name, dtype):
    cpu = host_cpu()
    features = ",".join(word for word in cpu.features.split(",") if word.lstrip("+-") != "avx512bf16")
    cpu = replace(cpu, features=f"{features},-avx512bf16".lstrip(","))
    assembly = link_host_code(CODE.format(type=name), cpu=cpu)
    random = np.random.default_rng(5)
    singles = random.integers(0, 2**32, 20000, dtype=np.uint32)
    singles[:8] = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00008000, 0x7F7FFFFF]
    singles[8:4000] = singles[8:4000] & 0xFFFF0000 | 0x8000  # ties
    x = singles.view(np.float32).astype(dtype)
    if dtype == np.float64:  # beside ties by less than a float tells, and what is too large or small for a float
        x[4000:7992] = x[8:4000] * (1 + random.integers(-3, 4, 3992) * 2.0**-50)
        x[8000:12000] = random.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    y = np.zeros(len(x), np.uint16)
    code = load_object(assemble(assembly, cpu))
    launch = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address)
    launch(x.ctypes.data, y.ctypes.data, len(x))
    is_nan = np.isnan(x)
    assert ((y[is_nan] & 0x7FFF) > 0x7F80).all()
    np.testing.assert_array_equal(y[~is_nan], nearest(x[~is_nan]))
    assert is_nan.any() and (~is_nan).sum() > 15000
