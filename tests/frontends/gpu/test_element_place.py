"""Where a kernel finds an element of a buffer is where Triton puts it: the formulas against Triton's own layouts."""

import numpy as np
import pytest
import triton.language as tl
from triton._C.libtriton import gluon_ir, ir
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend

import tle_raw.language as tle
from tle_raw.errors import LayoutError
from tle_raw.frontends.gpu.buffered_tensor import BufferType
from tle_raw.frontends.gpu.element_place import place_in_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.triton_version import VERSION

pytestmark = pytest.mark.every_triton(16)

SHAPES = [(64, 64), (8, 256), (256, 8), (32, 128)]


def swizzled(vector, per_phase, phases, order):
    return lambda shape, dtype: tle.gpu.swizzled_shared_layout(vector, per_phase, phases, order)


def mma(order, swizzled):
    return lambda shape, dtype: tle.gpu.nv_mma_shared_layout(list(shape), order, dtype, swizzled=swizzled)


LAYOUTS = {
    "rows": swizzled(1, 1, 1, [1, 0]),
    "columns": swizzled(1, 1, 1, [0, 1]),
    "swizzled rows": swizzled(4, 2, 2, [1, 0]),
    "swizzled columns": swizzled(2, 1, 4, [0, 1]),
    "mma": mma([1, 0], True),
    "mma columns": mma([0, 1], True),
    "mma unswizzled": mma([1, 0], False),
}


class OnArrays:
    """What arithmetic on indices asks of Triton's semantic object, on NumPy's integers."""

    add = staticmethod(lambda a, b, sanitize: a + b)
    mul = staticmethod(lambda a, b, sanitize: a * b)
    floordiv, mod, xor_ = np.floor_divide, np.mod, np.bitwise_xor
    cast = staticmethod(lambda value, dtype: value)
    to_tensor = staticmethod(np.asarray)
    full = staticmethod(lambda shape, value, dtype: np.asarray(value))


@pytest.fixture(scope="module")
def context():
    """It must outlive the builders."""
    made = ir.context()
    ir.load_dialects(made)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(made)
    return made


def places(layout, shape, dtype, at):
    """As a kernel computes them; ``at`` are the indices."""
    return place_in_layout(BufferType(dtype, shape, shape, shape, layout), list(at), OnArrays())


def fits(name, shape, dtype):
    try:
        LAYOUTS[name](shape, dtype).check(shape, memory_bits(dtype))
    except LayoutError:
        return False
    return True


@pytest.mark.skipif(VERSION < (3, 9), reason="this Triton does not tell the layouts of shared memory")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [tl.int8, tl.float16, tl.float32, tl.float64])
@pytest.mark.parametrize("name", LAYOUTS)
def test_places_are_tritons(name, dtype, shape, context):
    if not fits(name, shape, dtype):
        pytest.skip("the layout does not hold such a tile")
    layout, b = LAYOUTS[name](shape, dtype), gluon_ir.GluonOpBuilder(context)
    linear = b.to_linear_layout(layout.to_ir(b), list(shape))
    at = np.zeros((2, shape[0] * shape[1]), np.int64)
    for number in range(at.shape[1]):
        for bit, base in enumerate(linear.offset_bases):
            if number >> bit & 1:
                at[:, number] ^= base
    np.testing.assert_array_equal(places(layout, shape, dtype, at), np.arange(at.shape[1]))


@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
def test_gaps_are_where_the_intervals_end(order):
    layout = tle.gpu.padded_shared_layout([[8, 2], [64, 4]], [16, 32], order)
    rows, columns = np.divmod(np.arange(512), 32)
    linear = rows * 32 + columns if order == [1, 0] else columns * 16 + rows
    got = places(layout, (16, 32), tl.float32, np.stack([rows, columns]))
    np.testing.assert_array_equal(got, linear + linear // 8 * 2 + linear // 64 * 4)
    assert len(set(got)) == 512 and got.max() < layout.bytes((16, 32), 32) // 4


def test_slots_lie_behind_each_other():
    layout = tle.gpu.swizzled_shared_layout(4, 1, 4, [1, 0])
    type_ = BufferType(tl.float16, (3, 8, 32), (3, 8, 32), (3, 8, 32), layout)
    slot = BufferType(tl.float16, (8, 32), (8, 32), (8, 32), layout)
    for number in range(3):
        got = place_in_layout(type_, [number, 5, 17], OnArrays())
        assert got == number * 256 + place_in_layout(slot, [5, 17], OnArrays())
