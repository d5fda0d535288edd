"""Traced kernels become one entry of machine code, without calls, and with the tensor cores' own instructions."""

from __future__ import annotations

import re

import pytest

import tle_raw
from tests.adapters.tilelang import kernels
from tests.adapters.tilelang.conftest import compile_for_gpu

pytestmark = pytest.mark.every_triton(1)

KERNELS = {
    "add": (lambda: kernels.add(1024, 1024), ""),
    "scaled_add": (kernels.scaled_add, ""),
    "gemm": (lambda: kernels.gemm(256, 256, 256, 128, 128, 32), "wgmma"),
    "gemm_turned": (lambda: kernels.gemm(256, 256, 256, 64, 64, 64, turn_a=True, turn_b=True), "wgmma"),
    "gemm_with_epilogue": (kernels.gemm_with_epilogue, "wgmma"),
    "gemm_split_k": (kernels.gemm_split_k, "mma"),
    "gemm_stream_k": (kernels.gemm_stream_k, "mma"),
    "gemm_int4": (kernels.gemm_int4, "mma"),
    "attention": (lambda: kernels.attention(rows=256, width=64, bm=64, bn=64), "wgmma"),
    "attention_causal": (lambda: kernels.attention(rows=256, width=64, bm=64, bn=64, causal=True), "wgmma"),
    "sparse_attention": (kernels.sparse_attention, "mma"),
    "mla_decode": (kernels.mla_decode, "mma"),
    "softmax": (kernels.softmax, ""),
    "online_softmax": (kernels.online_softmax, ""),
    "rms_norm": (kernels.rms_norm, ""),
    "layer_norm": (kernels.layer_norm, ""),
    "convolution": (kernels.convolution, "mma"),
    "convolution_by_im2col": (kernels.convolution_by_im2col, "mma"),
    "top_k": (kernels.top_k, ""),
    "linear_attention": (kernels.linear_attention, "mma"),
    "selective_scan": (kernels.selective_scan, ""),
    "histogram": (kernels.histogram, ""),
}


@pytest.mark.parametrize("name", KERNELS)
def test_one_entry_and_no_call(name):
    make, product = KERNELS[name]
    kernel = compile_for_gpu(tle_raw.fragment(make()))
    ptx = kernel.asm["ptx"]
    assert ptx.count(".entry") == 1 and not re.search(r"^\s*call", ptx, re.M) and ".func" not in ptx
    assert kernel.asm["cubin"]
    assert product == "" or re.search(rf"^\s*(@\S+ )?{product}\.", ptx, re.M)


def test_a_pipelined_gemm_copies_ahead():
    kernel = compile_for_gpu(tle_raw.fragment(kernels.gemm(256, 256, 256, 128, 128, 32, stages=3)))
    assert "cp.async" in kernel.asm["ptx"]
    tiles = 2 * 128 * 32 * 2  # bytes of the two operands
    assert kernel.metadata.shared >= 3 * tiles


def test_what_the_grid_proves_is_not_checked():
    exact = compile_for_gpu(tle_raw.fragment(kernels.add(1024, 1024))).asm["ttir"]
    ragged = compile_for_gpu(tle_raw.fragment(kernels.add(1000, 1024))).asm["ttir"]
    assert "arith.cmpi" not in exact and "arith.cmpi" in ragged


def test_loads_are_wide():
    assert "ld.global.v4" in compile_for_gpu(tle_raw.fragment(kernels.add(1024, 1024))).asm["ptx"]


def test_the_report_says_traced():
    report = tle_raw.report(compile_for_gpu(tle_raw.fragment(kernels.softmax())))
    (region,) = report.regions
    assert (region.name, region.route, region.inlined) == ("softmax", "traced", True)
    assert region.parameters == ("X: Pointer[f32]", "Y: Pointer[f32]")
    assert region.instructions and report.one_kernel
    assert "traced" in str(report)
