"""Masked accesses that LLVM would divide itself, on a CPU with AVX and without AVX-512."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.cpu import host_cpu
from tle_raw.host.loader import load_object
from tle_raw.host.masked_pieces import divides_badly, in_pieces

pytestmark = pytest.mark.one_triton

CODE = """
define void @tle_launch(ptr %from, ptr %to, i64 %k) {{
  %c = icmp ult i64 %k, 12
  %i = insertelement <{n} x i1> poison, i1 %c, i64 0
  %all = shufflevector <{n} x i1> %i, <{n} x i1> poison, <{n} x i32> zeroinitializer
  %m = and <{n} x i1> %all, <{mask}>
  %v = call <{n} x {type}> @llvm.masked.load.v{n}{short}.p0(ptr align 4 %from, <{n} x i1> %m, <{n} x {type}> {other})
  call void @llvm.masked.store.v{n}{short}.p0(<{n} x {type}> %v, ptr align 4 %to, <{n} x i1> %all)
  ret void
}}
declare <{n} x {type}> @llvm.masked.load.v{n}{short}.p0(ptr, <{n} x i1>, <{n} x {type}>)
declare void @llvm.masked.store.v{n}{short}.p0(<{n} x {type}>, ptr, <{n} x i1>)
"""


def without_avx512():
    cpu = host_cpu()
    words = [word for word in cpu.features.split(",") if not word.lstrip("+-").startswith(("avx512", "avx10", "amx"))]
    return replace(cpu, name="haswell", features=",".join([*words, "-avx512f"]))


@pytest.mark.parametrize("count", [4, 20, 29, 32])
@pytest.mark.parametrize(
    ("kind", "short", "dtype", "other"),
    [
        ("float", "f32", np.float32, "zeroinitializer"),
        ("double", "f64", np.float64, "splat (double 2.0)"),
        ("i32", "i32", np.int32, "splat (i32 7)"),
        ("i64", "i64", np.int64, "zeroinitializer"),
    ],
)
def test_elements_of_a_mask_known_in_part(kind, short, dtype, other, count):
    cpu = without_avx512()
    if not divides_badly(cpu):
        pytest.skip("not an x86 processor with AVX")
    mask = ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(32))
    assembly = link_host_code(CODE.format(n=32, mask=mask, type=kind, short=short, other=other), cpu=cpu)
    code = load_object(assemble(assembly, cpu))
    launch = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address)
    x = np.random.default_rng(count).integers(1, 99, 32).astype(dtype)
    filled = {"double": 2, "i32": 7}.get(kind, 0)
    y = np.full(40, -1, dtype)
    launch(x.ctypes.data, y.ctypes.data, 3)
    np.testing.assert_array_equal(y[:count], x[:count])
    assert (y[count:32] == filled).all() and (y[32:] == -1).all()
    y[:] = -1
    launch(x.ctypes.data, y.ctypes.data, 12)
    assert (y == -1).all()


@pytest.mark.parametrize("n", [4, 8, 24, 32])
def test_elements_of_a_constant_mask(n):
    cpu = without_avx512()
    if not divides_badly(cpu):
        pytest.skip("not an x86 processor with AVX")
    mask = "<" + ", ".join(f"i1 {'true' if i % 5 < 3 else 'false'}" for i in range(n)) + ">"
    text = CODE.format(n=n, mask=mask[1:-1], type="float", short="f32", other="zeroinitializer")
    text = text.replace(f"<{n} x i1> %m,", f"<{n} x i1> {mask},").replace(f"<{n} x i1> %all)", f"<{n} x i1> {mask})")
    code = load_object(assemble(link_host_code(text, cpu=cpu), cpu))
    launch = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address)
    x, y = np.arange(1, n + 1, dtype=np.float32), np.full(n + 8, -1, np.float32)
    launch(x.ctypes.data, y.ctypes.data, 3)
    chosen = np.arange(n) % 5 < 3
    np.testing.assert_array_equal(y, np.concatenate([np.where(chosen, x, -1), np.full(8, -1)]))


def test_what_is_smaller_than_a_register_stays():
    text = CODE.format(n=4, mask=", ".join(["i1 true"] * 4), type="float", short="f32", other="zeroinitializer")
    assert in_pieces(text) == text


@pytest.mark.parametrize("n", [24, 40])
@pytest.mark.parametrize("metadata", ["", ", !nontemporal !0"])
def test_any_number_of_pieces_is_joined(n, metadata):
    call = f"call <{n} x float> @llvm.masked.load.v{n}f32.p0(ptr align 4 %p, <{n} x i1> %m, <{n} x float> poison)"
    pieces = in_pieces(f"  %v = notail {call}{metadata}")
    assert pieces.count("@llvm.masked.load.v8f32.p0(") == n // 8
    assert f"  %v = shufflevector <{4 * 8 if n > 32 else 16} x float>" in pieces and f"<{n} x i32> <i32 0," in pieces


@pytest.mark.parametrize("mask", ["%m", "<i1 false, i1 true, " + ", ".join(["i1 false"] * 13) + ", i1 true>"])
def test_pieces_claim_the_alignment_of_their_own_address(mask):
    """What is said of the whole holds for no element behind it: LLVM joins neighbours and trusts it."""
    load = f"call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 64 %p, <16 x i1> {mask}, <16 x float> poison)"
    store = f"call void @llvm.masked.store.v16f32.p0(<16 x float> %v, ptr align 64 %p, <16 x i1> {mask})"
    wanted = {"0": "64", "32": "32"} if mask == "%m" else {"4": "4", "60": "4"}
    for text in (f"  %v = {load}", f"  {store}"):
        lines = in_pieces(text).split("\n")
        places = [line.rpartition(" ")[2] for line in lines if "getelementptr" in line]
        claimed = [re.search(r"align (\d+)", line)[1] for line in lines if "align" in line]
        assert dict(zip(places, claimed, strict=True)) == wanted
