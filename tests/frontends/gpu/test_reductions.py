"""Copies out of buffers that add to what global memory holds, or combine it otherwise."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.contracts.running import our_error
from tests.frontends.gpu import reduce_kernels as kernels
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, LayoutError
from tle_raw.flir.nvidia.join_tma_copies import laid_out

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.every_triton(4)

KINDS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
KINDS["xor"] = np.bitwise_xor
SHAPE = {"M": 16, "N": 32}
_ORDERED = re.compile(r"st\.shared|fence\.proxy\.async|bar\.sync|cp\.reduce|wait_group\.read")


@pytest.mark.parametrize(
    ("kind", "element"),
    [*((kind, "i32") for kind in KINDS), ("add", "fp16"), ("min", "fp16"), ("max", "fp16"), ("add", "fp32")],
)
def test_the_copy_engine_combines(kind, element):
    types = {"x_ptr": f"*{element}", "o_desc": f"tensordesc<{element}[16, 32]>"}
    kernel = compile_kernel(kernels.combined, types, {"KIND": kind, **SHAPE})
    assert f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{kind}" in kernel.asm["ptx"]


def accesses():
    """How often threads load from and store into shared memory to combine a tile."""
    types = {"x_ptr": "*fp32", "o_desc": "tensordesc<fp32[16, 32]>"}
    ptx = compile_kernel(kernels.combined, types, {"KIND": "add", **SHAPE}).asm["ptx"]
    return ptx.count("ld.shared"), ptx.count("st.shared")


def test_the_copy_engine_reads_the_buffer_where_it_lies():
    assert accesses() == (0, 1)
    with tle_raw.knobs.scope() as knobs, triton.knobs.compilation.scope():
        knobs.disable_passes = "store-in-place"
        triton.knobs.compilation.always_compile = True
        through_registers = accesses()
    assert through_registers == (1, 2)


def test_a_tile_that_the_copy_engine_brought_is_added_by_a_descriptor_of_the_same_type():
    types = {"x_desc": "tensordesc<fp32[16, 32]>", "o_desc": "tensordesc<fp32[16, 32]>"}
    ptx = compile_kernel(kernels.loaded, types, SHAPE).asm["ptx"]
    assert len(re.findall(r"cp\.(?:reduce\.)?async\.bulk\.tensor", ptx)) == 2 and "ld.shared" not in ptx


@pytest.mark.parametrize("form", ["!tt.tensordesc<{}>", "!tt.tensordesc<tensor<{}>>"])
def test_a_type_that_was_laid_out_before_keeps_its_layout(form):
    layout = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>"
    types, aliases = dict[str, str](), {"#mine": layout}
    for descriptor in (form.format(f"16x32xf32, {layout}"), form.format("16x32xf32, #mine")):
        laid_out(descriptor, "!ttg.memdesc<16x32xf32, #mine, #smem, mutable>", types, aliases)
        with pytest.raises(LayoutError, match="two copies by descriptors of one type"):
            laid_out(descriptor, "!ttg.memdesc<16x32xf32, #other, #smem, mutable>", types, aliases)
    assert not types


def test_a_buffer_is_written_again_behind_the_copy():
    types = {"x_ptr": "*fp32", "o_desc": "tensordesc<fp32[16, 32]>", "count": "i32"}
    ptx = compile_kernel(kernels.accumulated, types, SHAPE).asm["ptx"]
    handed_over = ["st.shared", "fence.proxy.async", "bar.sync", "cp.reduce"]
    assert _ORDERED.findall(ptx) == [*handed_over, "wait_group.read", "bar.sync"]


def test_tiles_through_one_buffer_on_the_cpu():
    x = np.random.default_rng(5).integers(-9, 9, (3, 4, 16, 32)).astype(np.float32)
    o = torch.zeros(16, 32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.accumulated[(3,)](torch.from_numpy(x), TensorDescriptor.from_tensor(o, [16, 32]), 4, **SHAPE)
    assert np.array_equal(o.numpy(), x.sum((0, 1)))


def on_cpu(x, o, kind):
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        descriptor = TensorDescriptor.from_tensor(o, [16, 32])
        kernels.combined[(x.shape[0],)](x, descriptor, KIND=kind, **SHAPE)


@pytest.mark.parametrize("rows", [18, 11])
@pytest.mark.parametrize("kind", KINDS)
def test_integers_on_the_cpu(kind, rows):
    """Of an array that ends within the tile only what it has is combined."""
    generator = np.random.default_rng(rows)
    x = generator.integers(-1000, 1000, (5, 16, 32), dtype=np.int32)
    before = generator.integers(-1000, 1000, (rows, 32), dtype=np.int32)
    o = torch.from_numpy(before.copy())
    on_cpu(torch.from_numpy(x), o, kind)
    expected = before.copy()
    for tile in x:
        expected[2:18] = KINDS[kind](expected[2:18], tile[: rows - 2])
    assert np.array_equal(o.numpy(), expected)


def test_sums_of_floats_on_the_cpu():
    generator = np.random.default_rng(3)
    x, o = generator.standard_normal((7, 16, 32)).astype(np.float32), torch.zeros(18, 32)
    on_cpu(torch.from_numpy(x), o, "add")
    np.testing.assert_allclose(o.numpy()[2:], x.astype(np.float64).sum(0), rtol=1e-4, atol=1e-5)
    assert not o[:2].any()


def refused(kind, element, capability=90):
    types = {"x_ptr": f"*{element}", "o_desc": f"tensordesc<{element}[16, 32]>"}
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernels.combined, types, {"KIND": kind, **SHAPE}, capability)
    error = our_error(caught.value)
    assert type(error) is ArgumentTypeError and "reduce=KIND" in error.context.call_site.text
    return str(error)


def test_what_cannot_be_combined_is_refused():
    assert '"xor"' in refused("mul", "fp32")
    assert "fp32" in refused("min", "fp32")
    assert "int8" in refused("add", "i8")
    assert "sm_90" in refused("max", "fp16", 80)
