"""set_layout: Triton's passes leave a tensor in the layout that the kernel says."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.frontends.gpu import layout_kernels as kernels
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, LayoutError

pytestmark = pytest.mark.every_triton(4)

G = tle.gpu
ROWS = G.BlockEncoding([2, 2], [8, 4], [2, 2], [1, 0])
COLUMNS = G.BlockEncoding([1, 64], [32, 1], [1, 4], [0, 1])
MMA = G.MmaEncoding(2, [2, 2], [16, 8])
WGMMA = G.MmaEncoding([3, 0], [4, 1], [16, 64, 16])
LAYOUTS = {
    "rows": ROWS,
    "columns": COLUMNS,
    "mma": MMA,
    "wgmma": WGMMA,
    "left": G.DotOperandEncoding(0, MMA, 1),
    "right": G.DotOperandEncoding(1, MMA, 1),
    "left of wgmma": G.DotOperandEncoding(0, WGMMA, 1),
}


def layout_of_products(kernel):
    """The layout of the multiplication, its alias resolved."""
    text = kernel.asm["ttgir"]
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", text, re.MULTILINE))
    (found,) = re.findall(r"arith\.mulf .* : tensor<64x64xf32, (.*)> loc", text)
    return re.sub(r"#\w+\b(?!\.)", lambda match: aliases.get(match[0], match[0]), found)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("capability", [80, 90])
def test_what_is_computed_from_a_tensor_has_its_layout(name, capability):
    constants = {"L": LAYOUTS[name], "N": 64}
    kernel = compile_kernel(kernels.laid_out, {"x": "*fp32", "y": "*fp32"}, constants, capability)
    assert layout_of_products(kernel).replace(" ", "") == LAYOUTS[name].text.replace(" ", "")


def test_no_element_changes_places():
    """Triton may give a reshape with free order two layouts; what is left of ours are conversions."""
    for name, layout in LAYOUTS.items():
        constants = {"L": layout, "N": 64}
        kernel = compile_kernel(kernels.laid_out, {"x": "*fp32", "y": "*fp32"}, constants)
        assert "tt.reshape" not in kernel.asm["ttgir"] and "tle.layout" not in kernel.asm["ttgir"], name


@triton.jit
def scaled_product(x_ptr, y_ptr, L: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = G.alloc([N, N], tl.float16)
    x.store(tl.load(x_ptr + at))
    left = G.set_layout(x.load(), L)
    y = G.wgmma_wait(0, G.wgmma(left * left, x, tl.zeros((N, N), tl.float32), trans_b=True))
    tl.store(y_ptr + at, y)


def test_a_buffer_is_loaded_in_the_layout_that_is_wanted():
    """An operand of wgmma in registers, by ldmatrix: it does not go through shared memory once more."""
    constants = {"L": G.DotOperandEncoding(0, WGMMA, 2), "N": 64}
    kernel = compile_kernel(scaled_product, {"x_ptr": "*fp16", "y_ptr": "*fp32"}, constants)
    loads = [line for line in kernel.asm["ttgir"].splitlines() if "ttg.local_load" in line]
    assert len(loads) == 1 and "#ttg.dot_op<{opIdx = 0" in loads[0]
    assert kernel.asm["ptx"].count("ldmatrix.sync") == 4


@triton.jit
def sums(x_ptr, n, L: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    total = G.set_layout(tl.zeros((N,), tl.float32), L)
    for row in range(n):
        total += tl.load(x_ptr + row * N + i)
    tl.store(x_ptr + i, total)


def test_a_tensor_of_equal_elements_may_have_a_layout():
    constants = {"L": G.BlockEncoding([1], [32], [4], [0]), "N": 128}
    kernel = compile_kernel(sums, {"x_ptr": "*fp32", "n": "i32"}, constants)
    assert "tle.layout" not in kernel.asm["ttgir"] and "cubin" in kernel.asm


@pytest.mark.parametrize("axis", [0, 1])
def test_a_reduction_takes_the_tensor_in_its_layout(axis):
    constants = {"L": ROWS, "AXIS": axis, "N": 64}
    kernel = compile_kernel(kernels.summed_at_once, {"x": "*fp32", "y": "*fp32"}, constants)
    text = kernel.asm["ttgir"]
    assert "tt.reshape" not in text and "ttg.convert_layout" in text
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", text, re.MULTILINE))
    (reduced,) = re.findall(r"\}\) : \(tensor<64x64xf32, (#\w+)>\) ->", text)
    assert aliases[reduced].replace(" ", "") == ROWS.text.replace(" ", "")


def test_a_slice_of_a_layout():
    sliced = G.SlicedEncoding(1, ROWS)
    types = {"x": "*fp32", "y": "*fp32"}
    kernel = compile_kernel(kernels.summed, types, {"L": ROWS, "R": sliced, "N": 64})
    assert layout_of_products(kernel).replace(" ", "") == ROWS.text.replace(" ", "")
    assert "#ttg.slice<{dim = 1" in kernel.asm["ttgir"]


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("element", ["fp16", "i8", "i64", "i1"])
def test_small_tensors_and_other_dtypes(element, size):
    for layout in (ROWS, COLUMNS, MMA, WGMMA):
        kernel = compile_kernel(kernels.laid_out, {"x": f"*{element}", "y": f"*{element}"}, {"L": layout, "N": size})
        assert kernel.asm["cubin"]


def test_elsewhere_it_is_the_tensor():
    x = np.random.default_rng(2).standard_normal((32, 32)).astype(np.float32)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.laid_out[(1,)](x, y, ROWS, 32)
    np.testing.assert_allclose(y, x.astype(np.float64) ** 2 + 1, rtol=1e-6)


@triton.jit
def wrong(x, WHAT: tl.constexpr):
    value = tl.load(x + tl.arange(0, 64)[:, None] + tl.arange(0, 64)[None, :])
    if WHAT == "no layout":
        tle.gpu.set_layout(value, tle.gpu.swizzled_shared_layout.make_default(2))
    if WHAT == "no block":
        tle.gpu.set_layout(1.0, tle.gpu.BlockEncoding([1], [32], [4], [0]))
    if WHAT == "another rank":
        tle.gpu.set_layout(value, tle.gpu.BlockEncoding([1], [32], [4], [0]))
    if WHAT == "other warps":
        tle.gpu.set_layout(value, tle.gpu.BlockEncoding([1, 1], [1, 32], [8, 1], [1, 0]))
    if WHAT == "another width":
        tle.gpu.set_layout(value, tle.gpu.DotOperandEncoding(0, tle.gpu.MmaEncoding(2, [4, 1], [16, 8]), 2))


@pytest.mark.parametrize(
    ("what", "type_", "words"),
    [
        ("no layout", LayoutError, "a layout of registers"),
        ("no block", ArgumentTypeError, "block"),
        ("another rank", LayoutError, "another rank"),
        ("other warps", LayoutError, "4 (num_warps)"),
        ("another width", LayoutError, "1 of fp32"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_kernels_line(what, type_, words):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(wrong, {"x": "*fp32"}, {"WHAT": what})
    error = our_error(caught.value)
    assert type(error) is type_ and words in str(error) and error.context.call_site.file == __file__


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: G.BlockEncoding([1], [16], [4], [0]), "a warp has 32 threads"),
        (lambda: G.BlockEncoding([1, 1], [32], [4], [0]), "one number for each axis"),
        (lambda: G.BlockEncoding([3], [32], [4], [0]), "powers of two"),
        (lambda: G.BlockEncoding([1], [32], [4], [1]), "axes in some order"),
        (lambda: G.BlockEncoding([1], [32], [4], [0], [[0]]), "one block"),
        (lambda: G.MmaEncoding(1, [4, 1], [16, 8]), "2 or 3"),
        (lambda: G.MmaEncoding(3, [2, 2], [16, 64, 16]), "a multiple of 4"),
        (lambda: G.MmaEncoding(3, [4, 1], [16, 512, 16]), "[16, N, K]"),
        (lambda: G.DotOperandEncoding(1, WGMMA, 2), "operand_index"),
        (lambda: G.DotOperandEncoding(0, ROWS, 2), "a MmaEncoding"),
        (lambda: G.DotOperandEncoding(0, MMA, 8), "32 bits"),
        (lambda: G.SlicedEncoding(2, ROWS), "no such axis"),
        (lambda: G.SlicedEncoding(0, G.SlicedEncoding(0, ROWS)), "two axes or more"),
    ],
)
def test_what_is_no_layout_is_refused_where_it_is_made(make, words):
    with pytest.raises(LayoutError) as caught:
        make()
    assert words in str(caught.value) + str(caught.value.hint)


def test_tma_has_the_layout_of_tensor_cores():
    assert G.nv_tma_shared_layout.make_default([64, 64], tl.float16) == G.nv_mma_shared_layout(
        [64, 64], None, tl.float16
    )
