"""TMA and warps that only load: TileLang's own lowering, for a caller that passes descriptors."""

import re

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from samples.benchmarks.tilelang_kernels import mla_decode
from tests.adapters.tilelang import kernels as traced_kernels
from tests.adapters.tilelang.linked import kernels, tma_kernels, tma_regions
from tests.support import report_of
from tle_raw.adapters.tilelang.linked import lower
from tle_raw.adapters.tilelang.linked.descriptors import BYTES, IM2COL, TILED
from tle_raw.adapters.tilelang.linked.encode_descriptor import encode
from tle_raw.errors import DialectError, LaunchError, RegionError, SignatureError, UnsupportedFeatureError


def compiled(prim_func, capability=90, **options):
    return tle_raw.fragment(prim_func, route="linked", **options).as_kernel().compile(f"cuda:{capability}")


def body(kernel):
    """The PTX without its directives for a debugger."""
    return "\n".join(line for line in kernel.asm["ptx"].splitlines() if not line.lstrip().startswith((".loc", ".b8")))


def test_a_whole_kernel_keeps_tma_and_its_loading_warps():
    kernel = compiled(kernels.gemm(256, 256, 256, (128, 128, 64), threads=128))
    found = tle_raw.report(kernel)
    assert found.regions[0].route == "linked, with TMA" and found.spills == found.stack == 0
    text = body(kernel)
    assert text.count("cp.async.bulk.tensor.2d") >= 2 and "wgmma" in text and "mbarrier.try_wait" in text
    assert ".reqntid 256" in text and "setmaxnreg" not in text  # 128 threads that compute, 128 that load
    assert text.count(".entry") == 1 and "call" not in re.findall(r"^\s+(\w+)", text, re.MULTILINE)


@pytest.mark.one_triton
def test_a_kernel_without_tensors_has_the_warps_that_tilelang_has():
    kernel = compiled(kernels.gemm(256, 512, 256, (128, 256, 64), threads=256))
    text, sass = body(kernel), kernel.asm["sass"]
    assert kernel.metadata.num_warps == 12 and ".reqntid 384" in text and ".maxnreg 168" in text
    assert "setmaxnreg.inc.sync.aligned.u32 240" in text and "setmaxnreg.dec.sync.aligned.u32 24" in text
    assert "USETMAXREG" in sass and "HGMMA" in sass and "UTMALDG" in sass
    assert tle_raw.report(kernel).stack == 0


def test_among_tensors_the_other_warps_stand_idle():
    kernel = compile_kernel(tma_regions.persistent_squares, rows=4, columns=3, width=768, num_warps=16)
    text = body(kernel)
    assert kernel.metadata.num_warps == 16 and ".reqntid 512" in text and ".maxnreg 128" in text
    assert "setmaxnreg.inc.sync.aligned.u32 232" in text and re.search(r"bar\.sync\s+15, 384", text)
    assert tle_raw.report(kernel).stack == 0


@pytest.mark.one_triton
def test_products_that_do_not_fit_among_idle_warps():
    fragment = tle_raw.fragment(kernels.gemm(256, 512, 256, (128, 512, 32), threads=256), route="linked", tma=True)
    with pytest.raises(UnsupportedFeatureError, match="registers") as caught:
        fragment.compile("cuda:90")
    assert "154" in str(caught.value) and "128" in str(caught.value)
    assert tle_raw.report(compiled(kernels.gemm(256, 512, 256, (128, 512, 32), threads=256, stages=2))).registers == 168


def compile_kernel(kernel, num_warps, **constants):
    types = {name: "constexpr" if name in constants else "*fp16" for name in kernel.arg_names}
    types |= {name: type_ for name, type_ in (("tma", "*u8"), ("out", "*fp32")) if name in types}
    aligned = {(n,): [["tt.divisibility", 16]] for n, name in enumerate(kernel.arg_names) if name not in constants}
    source = ASTSource(kernel, types, constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": num_warps})


@pytest.mark.one_triton
def test_before_hopper_there_is_no_tma_and_no_descriptor():
    kernel = compiled(kernels.gemm(256, 256, 256, (128, 128, 32)), 80)
    assert report_of(kernel, machine_code=False).regions[0].route == "linked" and "bulk" not in body(kernel)


@pytest.mark.one_triton
def test_tma_can_be_left_out():
    kernel = compiled(kernels.gemm(256, 256, 256, (128, 128, 64)), tma=False)
    assert report_of(kernel, machine_code=False).regions[0].route == "linked" and "bulk.tensor" not in body(kernel)


def test_among_other_code_a_region_leaves_everything_in_order():
    text = body(compile_kernel(tma_regions.persistent_squares, rows=4, columns=3, width=768, num_warps=16))
    assert text.count("mbarrier.inval") == text.count("mbarrier.init") > 0
    assert text.index("fence.proxy.async") < text.index("cp.async.bulk.tensor")
    assert "setmaxnreg.dec.sync.aligned.u32 128" in text and "setmaxnreg.inc.sync.aligned.u32 128" in text


def test_alone_it_does_no_more_than_tilelang_does():
    kernel = compiled(kernels.gemm(256, 512, 256, (128, 256, 64), threads=256))
    text = body(kernel)
    assert "mbarrier.inval" not in text and "fence.proxy.async" not in text and text.count("setmaxnreg") == 2
    assert "MEMBAR" not in kernel.asm["sass"]


@pytest.mark.one_triton
def test_a_region_that_is_declared_alone_must_be():
    product = tle_raw.fragment(kernels.gemm(256, 256, 256, (128, 128, 64)), route="linked", alone=True)

    @triton.jit
    def twice(A, B, C):
        product(A, B, C)
        product(A, B, C)

    @triton.jit
    def stored(A, B, C):
        product(A, B, C)
        tl.store(C, 0.0)

    for kernel, company in ((twice, "another region"), (stored, "tt.store")):
        with pytest.raises(RegionError, match="alone") as caught:
            compile_kernel(kernel, num_warps=4)
        assert company in str(caught.value) and caught.value.context.call_site.text.strip() == "product(A, B, C)"


@pytest.mark.one_triton
def test_descriptors_tell_tilelangs_own_numbers():
    (a, b) = lower(kernels.gemm(256, 512, 128, (128, 128, 64)), "sm_90a", tma=True).descriptors
    assert (a.kind, a.buffer, b.buffer) == (TILED, "A", "B")
    fields = a.fields({})
    assert fields.sizes == (128, 256) and fields.strides == (256,) and fields.steps == (1, 1)
    assert fields.box == (64, 128) and fields.swizzle == 3 and fields.dtype == 6


@pytest.mark.one_triton
def test_descriptors_of_open_sizes():
    x, _ = lower(tma_kernels.dynamic_gemm(), "sm_90a", tma=True).descriptors
    fields = x.fields({"m": 100, "n": 64, "k": 96})
    assert fields.sizes == (96, 100) and fields.strides == (192,)


@pytest.mark.one_triton
def test_descriptors_of_a_convolution():
    found = lower(kernels.convolution(), "sm_90a", tma=True).descriptors
    columns = [d for d in found if d.kind == IM2COL]
    assert len(columns) == 1
    fields = columns[0].fields({})
    assert len(fields.sizes) == 4 and len(fields.lower) == len(fields.upper) == 2
    assert fields.channels > 0 and fields.pixels > 0 and fields.lower == (-1, -1)


def test_a_region_asks_for_its_descriptors():
    fragment = tle_raw.fragment(kernels.gemm(256, 256, 256, (128, 128, 64)), route="linked", tma=True)
    assert [p.name for p in fragment.signature.parameters] == ["A", "B", "C", "tma"]
    memory = fragment.descriptors(*(torch.zeros(256, 256, dtype=torch.float16) for _ in range(3)))
    assert memory.dtype == torch.uint8 and memory.numel() % BYTES == 0  # on no GPU: nothing to encode for
    with pytest.raises(DialectError, match="tma=True"):
        tle_raw.fragment(kernels.gemm(256, 256, 256), route="linked").descriptors()


@pytest.mark.one_triton
def test_explicit_tma_without_descriptors_is_refused():
    fragment = tle_raw.fragment(tma_kernels.explicit_tma(), route="linked")
    with pytest.raises(UnsupportedFeatureError, match="TMA descriptors") as caught:
        fragment.compile("cuda:90")
    assert "tma=True" in str(caught.value)
    text = body(compiled(tma_kernels.explicit_tma()))
    assert "cp.async.bulk.tensor" in text and text.count(".entry") == 1


@pytest.mark.one_triton
def test_what_tma_cannot_copy_is_refused_by_name():
    fields = lower(kernels.gemm(256, 256, 256, (128, 128, 64)), "sm_90a", tma=True).descriptors[0].fields({})
    with pytest.raises(LaunchError, match="array of `A`") as caught:
        encode("A", fields, 0x1008)
    assert "0x1008" in str(caught.value)


def test_the_warps_must_be_those_of_the_lowered_kernel():
    with pytest.raises(RegionError, match="another size") as caught:
        compile_kernel(tma_regions.persistent_squares, rows=4, columns=3, width=768, num_warps=4)
    assert "num_warps=16" in str(caught.value)
    whole = tle_raw.fragment(kernels.gemm(256, 512, 256, (128, 256, 64), threads=256), route="linked").as_kernel()
    with pytest.raises(RegionError, match="registers") as caught:
        whole.compile("cuda:90", maxnreg=64)
    assert "168" in str(caught.value)


@pytest.mark.one_triton
def test_what_tilelang_cannot_specialise_is_lowered_with_less():
    kernel = compiled(traced_kernels.gemm_stream_k())
    assert tle_raw.report(kernel).stack == 0 and "mma.sync" in body(kernel)


@pytest.mark.one_triton
def test_barriers_count_where_a_block_must_ask_for_its_shared_memory():
    """Triton's launcher asks for more than 48 KiB by the dynamic memory alone; here the barriers make it more."""
    kernel = compiled(kernels.attention(2, 3, 512, 64, False, (128, 64), 256))
    found = tle_raw.report(kernel)
    assert found.regions[0].dynamic_shared == 49152 and found.static_shared > 0
    assert 49152 < kernel.metadata.shared <= 49152 + 16


def test_the_name_of_the_descriptors_is_taken():
    with pytest.raises(SignatureError, match="tma"):
        tle_raw.fragment(tma_kernels.named_tma(), tma=True)


@pytest.mark.one_triton
def test_a_tile_of_the_caller_beside_tma():
    fragment = tle_raw.fragment(kernels.gemm(256, 256, 256, (128, 128, 64)), route="linked", tma=True, tiles=["C"])
    assert [p.name for p in fragment.signature.parameters] == ["A", "B", "C", "tma"]
    text = fragment.compile("cuda:90").text
    assert "cp.async.bulk.tensor" in text and "wgmma" in text
    a = torch.zeros(256, 256, dtype=torch.float16)
    assert fragment.descriptors(a, a).dtype == torch.uint8


@pytest.mark.one_triton
def test_products_that_begin_at_zero_take_no_accumulator():
    """ptxas then need not clear 64 registers in each round of the loop."""
    sass = compiled(kernels.attention(1, 2, 512, 128, False, (128, 128), 256)).asm["sass"]
    first = next(line for line in sass.splitlines() if "HGMMA" in line)
    assert "RZ" in first


@pytest.mark.one_triton
def test_descriptors_of_products_are_two_words_where_registers_hold_them():
    attention = compiled(kernels.attention(1, 2, 512, 128, False, (128, 128), 256))
    assert len(re.findall(r"mov\.b64 %rd\d+, \{%?\w+, high\}", attention.asm["ptx"])) == 24
    many = compiled(mla_decode(2, 128, 256, 512, 64, 1, (64, 64), 256))
    assert many.asm["ptx"].count("wgmma.mma_async") == 40 and ", high}" not in many.asm["ptx"]
    assert tle_raw.report(attention).stack == tle_raw.report(many).stack == 0
