"""Random programs of ``tle.dsa``, run-time sizes and views among them, against NumPy: the same bits."""

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("torch_mlir")
pytest.importorskip("llvmlite")

import tle_raw
import tle_raw.language as tle

KINDS = ("add", "sub", "mul", "max", "min")
BUFFERS = 3


@triton.jit
def _step(KIND: tl.constexpr, a, b, out):
    if KIND == 0:
        tle.dsa.add(a, b, out)
    elif KIND == 1:
        tle.dsa.sub(a, b, out)
    elif KIND == 2:
        tle.dsa.mul(a, b, out)
    elif KIND == 3:
        tle.dsa.max(a, b, out)
    else:
        tle.dsa.min(a, b, out)


@triton.jit
def program(x, o, m, n, at, STEPS: tl.constexpr, COUNT: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Each number of STEPS is a kind, two operands, a result, and whether parts of rows of the three are meant."""
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    first = tle.dsa.alloc([R, C], dtype=x.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    second = tle.dsa.alloc([R, C], dtype=x.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    third = tle.dsa.to_buffer(tl.full([R, C], 3, x.dtype.element_ty))
    buffers = (first, second, third)
    tle.dsa.copy(x + r * C + c, first, [R, C])
    tle.dsa.copy(first, second, [R, C])
    for s in tl.static_range(COUNT):
        a, b, out = buffers[STEPS[s] // 5 % 3], buffers[STEPS[s] // 15 % 3], buffers[STEPS[s] // 45 % 3]
        if STEPS[s] // 135 == 0:
            _step(STEPS[s] % 5, a, b, out)
        else:
            a = tle.dsa.subview(a, [at, 0], [R // 2, C // 2], [1, 2])
            b = tle.dsa.subview(b, [0, 1], [R // 2, C // 2], [2, 1])
            out = tle.dsa.subview(out, [0, at], [R // 2, C // 2], [2, 1])
            _step(STEPS[s] % 5, a, b, out)
    for i in tl.static_range(3):
        tle.dsa.copy(buffers[i], o + (i * R + r) * C + c, [m, n])


def _expected(x, m, n, at, steps):
    rows, columns = x.shape
    buffers = [x.copy(), x.copy(), np.full_like(x, 3)]
    functions = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
    for step in steps:
        a, b, out = (buffers[step // divisor % 3] for divisor in (5, 15, 45))
        if step // 135:
            a, b = a[at : at + rows // 2, ::2], b[::2, 1 : 1 + columns // 2]
            out = out[::2, at : at + columns // 2]
        out[...] = functions[step % 5](a, b).copy()
    result = np.zeros((3, rows, columns), x.dtype)
    for kept, buffer in zip(result, buffers):
        kept[:m, :n] = buffer[:m, :n]
    return result


@pytest.mark.one_triton
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    random = np.random.default_rng(seed)
    rows, columns = (int(random.choice((2, 4, 8))), int(random.choice((4, 16, 32))))
    dtype = (np.float32, np.int32, np.int16)[seed % 3]
    x = random.integers(-3, 4, (rows, columns)).astype(dtype)
    m, n = (int(random.integers(0, dim + 2)) for dim in (rows, columns))
    at = int(random.integers(0, min(rows, columns) // 2 + 1))
    steps = tuple(int(step) for step in random.integers(0, 270, 7))
    with tle_raw.knobs.scope():
        tle_raw.knobs.target, tle_raw.knobs.debug = "cpu", bool(seed % 2)
        result = np.zeros((3, rows, columns), dtype)
        # Floats that stay whole numbers below 2^24, and integers that wrap: no rounding, whatever is fused.
        with np.errstate(all="ignore"):
            expected = _expected(x, m, n, at, steps)
        program[(1,)](x, result, m, n, at, STEPS=steps, COUNT=len(steps), R=rows, C=columns, enable_fp_fusion=False)
    assert np.array_equal(result, expected), (seed, steps, m, n, at)
