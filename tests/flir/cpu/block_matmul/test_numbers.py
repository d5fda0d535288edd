"""Blocked products give NumPy's numbers, for every pair of element types and any shape."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.flir.cpu.block_matmul.compiled_products import (
    RESULT_TYPES,
    STORED,
    Shape,
    exact,
    product_text,
    random_operand,
    run_product,
)

pytestmark = pytest.mark.one_triton
ELEMENTS = list(RESULT_TYPES)
WIDTHS = [16, 32, 64]
MARGIN = 64  # elements before and after C that no product may touch

TILES = [
    Shape(64, 64, 32),
    Shape(16, 16, 16),
    Shape(16, 256, 8),
    Shape(1, 64, 128),
    Shape(128, 16, 64),
    Shape(32, 128, 256),
    Shape(16, 32, 16, batch=4),
]
lengths = st.integers(1, 70) | st.sampled_from([128, 256])


# Each shape with each element, by turns in each width: each element and each shape has all of them.
OF_KERNELS = [
    (shape, element, WIDTHS[(i + j) % len(WIDTHS)])
    for i, shape in enumerate(TILES)
    for j, element in enumerate(ELEMENTS)
]


@pytest.mark.parametrize("shape, element, width", OF_KERNELS, ids=str)
def test_the_tiles_of_kernels(shape, element, width):
    check(shape, element, width)


@pytest.mark.parametrize("element", ELEMENTS)
@settings(max_examples=12, deadline=None)
@given(st.builds(Shape, lengths, lengths, lengths, st.integers(0, 3)), st.sampled_from(WIDTHS), st.integers(0, 2**32))
def test_any_shape(element, shape, width, seed):
    check(shape, element, width, seed)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_short_k(k, element):
    check(Shape(5, 37, k), element, 64)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_largest_products_of_bytes_are_exact(width):
    shape = Shape(9, 33, 101)
    a, b = (numpy.full(s, -128, "i1") for s in ((shape.m, shape.k), (shape.k, shape.n)))
    c = numpy.zeros((shape.m, shape.n), "i4")
    run_product(product_text(shape, "i8"), width, a, b, c)
    assert (c == 128 * 128 * shape.k).all()


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_infinities_and_nans_arrive_where_they_belong(element):
    shape = Shape(8, 40, 16)
    random = numpy.random.default_rng(0)
    a, b = (random_operand(random, s, element) for s in ((shape.m, shape.k), (shape.k, shape.n)))
    infinity, nan = {"f32": (numpy.inf, numpy.nan), "f16": (numpy.inf, numpy.nan), "bf16": (0x7F80, 0x7FC0)}[element]
    a[2, 3], b[5, 7] = infinity, nan
    c = numpy.zeros((shape.m, shape.n), "f4")
    run_product(product_text(shape, element), 64, a, b, c)
    assert numpy.isnan(c[:, 7]).all()
    assert numpy.isinf(numpy.delete(c[2], 7)).all()
    assert numpy.isfinite(numpy.delete(numpy.delete(c, 2, 0), 7, 1)).all()


@pytest.mark.parametrize("element", ELEMENTS)
def test_rows_may_lie_apart(element):
    """Operands that are parts of wider buffers."""
    random = numpy.random.default_rng(3)
    result = RESULT_TYPES[element]
    text = f"""
    func.func @product(%a: memref<20x64x{element}>, %b: memref<30x128x{element}>, %c: memref<20x128x{result}>) {{
      %x = memref.subview %a[3, 8] [16, 24] [1, 1]
        : memref<20x64x{element}> to memref<16x24x{element}, strided<[64, 1], offset: 200>>
      %y = memref.subview %b[2, 32] [24, 50] [1, 1]
        : memref<30x128x{element}> to memref<24x50x{element}, strided<[128, 1], offset: 288>>
      %z = memref.subview %c[1, 64] [16, 50] [1, 1]
        : memref<20x128x{result}> to memref<16x50x{result}, strided<[128, 1], offset: 192>>
      linalg.matmul ins(%x, %y : memref<16x24x{element}, strided<[64, 1], offset: 200>>,
                                 memref<24x50x{element}, strided<[128, 1], offset: 288>>)
                    outs(%z : memref<16x50x{result}, strided<[128, 1], offset: 192>>)
      return
    }}"""
    a, b, c = (
        random_operand(random, s, t) for s, t in (((20, 64), element), ((30, 128), element), ((20, 128), result))
    )
    before = c.copy()
    run_product(text, 64, a, b, c)
    changed = (slice(1, 17), slice(64, 114))
    assert_close(c[changed], a[3:19, 8:32], b[2:26, 32:82], before[changed], element)
    c[changed] = before[changed]
    assert (c == before).all()


def check(shape, element, width, seed=0):
    random = numpy.random.default_rng(seed)
    result = RESULT_TYPES[element]
    a = random_operand(random, shape.of(shape.m, shape.k), element)
    b = random_operand(random, shape.of(shape.k, shape.n), element)
    before = random_operand(random, shape.of(shape.m, shape.n), result)
    memory = numpy.full(before.size + 2 * MARGIN, 77, STORED[result])
    c = memory[MARGIN:-MARGIN].reshape(before.shape)
    c[...] = before
    run_product(product_text(shape, element), width, a, b, c)
    assert_close(c, a, b, before, element)
    assert (memory[:MARGIN] == 77).all() and (memory[-MARGIN:] == 77).all()


def assert_close(c, a, b, before, element):
    """Exact for integers, modulo 2**32; within the rounding of K additions for floats."""
    result = RESULT_TYPES[element]
    x, y, start = exact(a, element), exact(b, element), exact(before, result)
    expected = start + x @ y
    if result == "i32":
        assert (c == expected.astype("i4")).all()
        return
    scale = abs(start) + abs(x) @ abs(y)
    assert (abs(c - expected) <= (a.shape[-1] + 1) * numpy.finfo(c.dtype).eps * scale).all()
