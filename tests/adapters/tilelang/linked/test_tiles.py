"""Buffers of tiles= by the linked route: the caller's block tensor takes the place of a piece of global memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tilelang.language as T
import triton
import triton.language as tl

from tests.adapters.tilelang.linked import tile_regions as regions
from tests.support import cause_of, compile_kernel, ptx_calls, report_of
from tle_raw.errors import SignatureError, UnsupportedFeatureError

pytestmark = pytest.mark.every_triton(4)

FLOATS, HALVES = dict.fromkeys("xy", "*fp32"), dict.fromkeys("xwy", "*fp16")
CASES = {
    "softmax": (regions.with_softmax, FLOATS),
    "product": (regions.with_product, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}),
    "through shared memory": (regions.with_shared, HALVES),
    "a padded tile": (regions.with_scaled, {**HALVES, "w": "*fp32"}),
    "read and written": (regions.with_accumulated, FLOATS),
    "guarded": (regions.with_guarded, {**FLOATS, "n": "i32"}),
    "a slice of four dims": (regions.with_picked, {"q": "*fp16", "o": "*fp16", "m": "i32"}),
    "a foreign call": (regions.with_call, {"a": "*fp32", "b": "*fp32"}),
}


# Only products and copies to shared memory differ before Hopper.
ON_SM_80 = ("product", "through shared memory")
READ = ("product", "a foreign call")  # their machine code, too


@pytest.mark.parametrize("case, capability", [*((case, 90) for case in CASES), *((case, 80) for case in ON_SM_80)])
def test_one_kernel_whose_tiles_stay_in_shared_memory(case, capability):
    kernel, signature = CASES[case]
    compiled = compile_kernel(kernel, signature, capability=capability)
    told, ptx = report_of(compiled, machine_code=case in READ), compiled.asm["ptx"]
    assert told.one_kernel and not ptx_calls(compiled) and compiled.asm["cubin"]
    assert [(region.route, region.inlined) for region in told.regions] == [("linked", True)]
    assert "ld.shared" in ptx and "st.shared" in ptx
    assert not re.search(r"\b(ld|st)\.(b|f|v|u|s)\d", ptx), "an access whose memory LLVM does not know"
    assert ".local" not in ptx and told.stack in (0, None)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("case, copies", [("softmax", 0), ("through shared memory", 0), ("product", 1)])
def test_a_tile_is_never_read_as_global_memory(case, copies):
    """The tile's own values come by Triton's loads; of the region, only what stays a pointer is loaded."""
    ptx = compile_kernel(*CASES[case]).asm["ptx"]
    assert ("cp.async" in ptx) == bool(copies) and "ld.global.nc" not in ptx
    of_region = [line for line in ptx.splitlines() if "ld.global" in line and "[ %" not in line]
    assert bool(of_region) == (case == "through shared memory"), of_region


EFFECTS = {
    "softmax": {"X": "In", "Y": "Out"},
    "product": {"C": "Out"},
    "through_shared": {"X": "In", "Y": "Out"},
    "scaled": {"X": "In", "Y": "Out"},
    "accumulated": {"Y": "InOut"},
    "guarded": {"X": "In", "Y": "Out"},
    "picked": {"Q": "In", "O": "Out"},
    "called": {"A": "In", "B": "Out"},
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_of_tiles_are_what_the_kernel_does_with_them(name):
    parameters = getattr(regions, name).signature.parameters
    assert {p.name: p.effect for p in parameters if p.type.kind == "tile"} == EFFECTS[name]


def test_what_cannot_be_traced_is_linked_with_its_tiles():
    (region,) = report_of(compile_kernel(*CASES["a foreign call"]), machine_code=False).regions
    assert region.route == "linked" and "call_extern" in region.reason


def test_elements_that_a_guard_keeps_from_being_written_start_as_zeros():
    zeros = "store i32 0, ptr"
    assert zeros in regions.guarded.compile("cuda:90").text and zeros in regions.scaled.compile("cuda:90").text
    assert (
        zeros not in regions.accumulated.compile("cuda:90").text
        and zeros not in regions.softmax.compile("cuda:90").text
    )


def line_of(text: str) -> int:
    """The one line of this file that holds a text, but for this call's own."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if text in line and "line_of(" not in line]
    return found


def refused(prim_func, words, line, *tiles):
    fragment = regions.linked(prim_func, *tiles)

    @triton.jit
    def kernel(b):
        fragment(tl.full((128,), 1.0, tl.float32), b)

    with pytest.raises(Exception, match=words) as caught:
        compile_kernel(kernel, {"b": "*fp32"})
    error = cause_of(caught.value)
    assert isinstance(error, UnsupportedFeatureError) and error.context.source.line == line


def test_an_address_of_a_tile_is_refused():
    @T.prim_func
    def addressed(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = T.call_extern("float32", "__ldcg", T.address_of(A[bx * 128 + i]))

    refused(addressed, "takes its address", line_of("__ldcg"), "A")


def test_an_asynchronous_copy_of_a_tile_is_refused():
    @T.prim_func
    def copied(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            a = T.alloc_shared((128,), "float32")
            T.async_copy(A[bx * 128 : bx * 128 + 128], a)  # in the background
            T.ptx_wait_group(0)
            T.sync_threads()
            T.copy(a, B[bx * 128])

    refused(copied, "takes its address", line_of("# in the background"), "A")


def test_a_view_of_a_tiles_memory_is_refused():
    @T.prim_func
    def viewed(A: T.Tensor((8, 128), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            flat = T.Tensor((1024,), "float32", A.data)
            for i in T.Parallel(128):
                B[bx * 128 + i] = flat[bx * 128 + i]  # by its memory

    with pytest.raises(SignatureError, match="through the view `flat`") as caught:
        regions.linked(viewed, "A")
    assert caught.value.context.source.line == line_of("# by its memory")
