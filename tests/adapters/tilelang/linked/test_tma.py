"""TMA and warps that only load: TileLang's own lowering, for a caller that passes descriptors."""

import re

import pytest
import torch

import tle_raw
from tests.adapters.tilelang.linked import kernels, tma_kernels
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


def test_a_block_that_is_no_power_of_two_gets_idle_warps():
    kernel = compiled(kernels.gemm(256, 512, 256, (128, 256, 64), threads=256))
    text = body(kernel)
    assert ".reqntid 512" in text and ".maxnreg 128" in text
    assert "setmaxnreg.inc.sync.aligned.u32 232" in text and "setmaxnreg.dec.sync.aligned.u32 24" in text
    assert "bar.sync \t15, 384" in text.replace("bar.sync 15", "bar.sync \t15")
    sass = kernel.asm["sass"]
    assert "USETMAXREG" in sass and "HGMMA" in sass and "UTMALDG" in sass
    assert tle_raw.report(kernel).stack == 0


def test_before_hopper_there_is_no_tma_and_no_descriptor():
    kernel = compiled(kernels.gemm(256, 256, 256, (128, 128, 32)), 80)
    assert tle_raw.report(kernel).regions[0].route == "linked" and "bulk" not in body(kernel)


def test_tma_can_be_left_out():
    kernel = compiled(kernels.gemm(256, 256, 256, (128, 128, 64)), tma=False)
    assert tle_raw.report(kernel).regions[0].route == "linked" and "bulk.tensor" not in body(kernel)


def test_barriers_end_with_the_region():
    text = body(compiled(kernels.gemm(256, 256, 256, (128, 128, 64), stages=2)))
    assert text.count("mbarrier.inval") == text.count("mbarrier.init")
    assert text.index("fence.proxy.async") < text.index("cp.async.bulk.tensor")


def test_descriptors_tell_tilelangs_own_numbers():
    (a, b) = lower(kernels.gemm(256, 512, 128, (128, 128, 64)), "sm_90a", tma=True).descriptors
    assert (a.kind, a.buffer, b.buffer) == (TILED, "A", "B")
    fields = a.fields({})
    assert fields.sizes == (128, 256) and fields.strides == (256,) and fields.steps == (1, 1)
    assert fields.box == (64, 128) and fields.swizzle == 3 and fields.dtype == 6


def test_descriptors_of_open_sizes():
    x, _ = lower(tma_kernels.dynamic_gemm(), "sm_90a", tma=True).descriptors
    fields = x.fields({"m": 100, "n": 64, "k": 96})
    assert fields.sizes == (96, 100) and fields.strides == (192,)


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


def test_explicit_tma_without_descriptors_is_refused():
    fragment = tle_raw.fragment(tma_kernels.explicit_tma(), route="linked")
    with pytest.raises(UnsupportedFeatureError, match="TMA descriptors") as caught:
        fragment.compile("cuda:90")
    assert "tma=True" in str(caught.value)
    text = body(compiled(tma_kernels.explicit_tma()))
    assert "cp.async.bulk.tensor" in text and text.count(".entry") == 1


def test_what_tma_cannot_copy_is_refused_by_name():
    fields = lower(kernels.gemm(256, 256, 256, (128, 128, 64)), "sm_90a", tma=True).descriptors[0].fields({})
    with pytest.raises(LaunchError, match="array of `A`") as caught:
        encode("A", fields, 0x1008)
    assert "0x1008" in str(caught.value)


def test_the_warps_must_be_those_of_the_lowered_kernel():
    whole = tle_raw.fragment(kernels.gemm(256, 256, 256, (128, 128, 64)), route="linked").as_kernel()
    with pytest.raises(RegionError, match="another size") as caught:
        whole.compile("cuda:90", num_warps=4)
    assert "num_warps=8" in str(caught.value)
    wide = tle_raw.fragment(kernels.gemm(256, 512, 256, (128, 256, 64), threads=256), route="linked").as_kernel()
    with pytest.raises(RegionError, match="registers") as caught:
        wide.compile("cuda:90", maxnreg=64)
    assert "128" in str(caught.value)


def test_the_name_of_the_descriptors_is_taken():
    with pytest.raises(SignatureError, match="tma"):
        tle_raw.fragment(tma_kernels.named_tma(), tma=True)


def test_a_tile_of_the_caller_beside_tma():
    fragment = tle_raw.fragment(kernels.gemm(256, 256, 256, (128, 128, 64)), route="linked", tma=True, tiles=["C"])
    assert [p.name for p in fragment.signature.parameters] == ["A", "B", "C", "tma"]
    text = fragment.compile("cuda:90").text
    assert "cp.async.bulk.tensor" in text and "wgmma" in text
    a = torch.zeros(256, 256, dtype=torch.float16)
    assert fragment.descriptors(a, a).dtype == torch.uint8
