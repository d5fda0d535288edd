"""Forms of TileLang one by one: traced, with numbers on the CPU; linked where only that has them; and their errors."""

import numpy as np
import pytest
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang import form_kernels as kernels
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.form_cases import LINKED, TRACED, Case
from tests.support import TRITON, cause_of
from tle_raw.errors import (
    ArgumentTypeError,
    CompilationFailed,
    LaunchError,
    RegionError,
    ShapeError,
    UnsupportedFeatureError,
)
from tle_raw.target import parse_target

pytestmark = pytest.mark.every_triton(6)


def check(case: Case) -> None:
    for number, expected in case.expected.items():
        np.testing.assert_array_equal(case.arguments[number].double().numpy(), expected)


@pytest.mark.parametrize("name", TRACED)
def test_numbers(on_cpu, name):
    case = TRACED[name]()
    tle_raw.fragment(case.prim_func).as_kernel()(*case.arguments)
    check(case)


@pytest.mark.parametrize("name", ["narrow copies", "quantised", "split", "turned", "bits of int64"])
def test_on_a_gpu_they_are_traced(name):
    kernel = tle_raw.fragment(TRACED[name]().prim_func).as_kernel()
    kernel.compile("cuda:90")
    assert kernel.untraceable is None


@pytest.mark.one_triton
def test_on_a_gpu_a_count_of_ones_is_one_instruction():
    assert "popc.b32" in compile_for_gpu(tle_raw.fragment(kernels.bits("int32"))).asm["ptx"]


@pytest.mark.one_triton  # test_narrow_regions.py has them on every Triton
@pytest.mark.parametrize("name", ["narrow copies", "quantised"])
def test_narrow_elements_are_linked(name):
    region = tle_raw.report(compile_for_gpu(tle_raw.fragment(LINKED[name]().prim_func, route="linked"))).regions[0]
    assert region.route == "linked"


@pytest.mark.one_triton
def test_a_barrier_of_the_grid_is_launched_cooperatively():
    compiled = compile_for_gpu(tle_raw.fragment(LINKED["across blocks"]().prim_func))
    assert compiled.metadata.launch_cooperative_grid and "%envreg" in compiled.asm["ptx"]


@pytest.mark.one_triton
def test_a_block_that_is_no_whole_warps_ends_with_its_threads():
    compiled = compile_for_gpu(tle_raw.fragment(LINKED["odd block"]().prim_func))
    assert compiled.metadata.num_warps == 2 and "bar.sync \t15" not in compiled.asm["ptx"]


@pytest.mark.one_triton
@pytest.mark.parametrize("name", ["open sizes", "booleans"])
def test_linked_on_a_cpu_they_are_the_same(on_cpu, name):
    case = TRACED[name]()
    tle_raw.fragment(case.prim_func, route="linked").as_kernel()(*case.arguments)
    check(case)


@pytest.mark.one_triton
def test_the_grid_meets_on_a_cpu(on_cpu):
    case = LINKED["across blocks"]()
    tle_raw.fragment(case.prim_func).as_kernel()(*case.arguments)
    check(case)


def test_clusters_are_refused_on_a_gpu():
    with pytest.raises(Exception) as caught:
        compile_for_gpu(tle_raw.fragment(kernels.clustered(), route="linked"))
    assert isinstance(cause_of(caught.value), UnsupportedFeatureError if TRITON >= (3, 9) else RegionError)


@pytest.mark.one_triton
def test_a_grid_is_whole_clusters():
    kernel = tle_raw.fragment(kernels.clustered(blocks=3), route="linked").as_kernel()
    with pytest.raises(LaunchError, match="no whole number of clusters"):
        kernel._in_clusters((3,), kernel._cluster("linked", parse_target("cuda:90")))


@pytest.mark.one_triton
def test_clusters_are_refused_on_a_cpu(on_cpu):
    with pytest.raises(UnsupportedFeatureError, match="in clusters of blocks, and on the CPU each block stands alone"):
        tle_raw.fragment(kernels.clustered(), route="linked").as_kernel()(torch.zeros(4, 64), torch.zeros(4, 64))


@pytest.mark.one_triton
def test_a_barrier_of_the_grid_takes_every_thread_of_the_launch():
    with pytest.raises(UnsupportedFeatureError, match=r"wait for each other at T\.sync_grid"):
        compile_for_gpu(tle_raw.fragment(kernels.across_blocks(n=48)))


@pytest.mark.one_triton
def test_a_source_larger_than_its_target_is_refused_as_by_tilelang(on_cpu):
    @T.prim_func
    def larger(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((16, 64), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((16, 64), "float32")
            T.copy(X[0:32, 0:64], s[0:16, 0:64])
            T.copy(s, Y)

    traced = tle_raw.fragment(larger, route="traced").as_kernel()
    with pytest.raises(Exception, match=r"a copy between boxes of the shapes \[32, 64\] and \[16, 64\]") as caught:
        traced(torch.zeros(32, 64), torch.zeros(16, 64))
    assert "nearer to the registers" in str(caught.value)
    with pytest.raises(CompilationFailed, match="smaller than original src range"):
        compile_for_gpu(tle_raw.fragment(larger))


@pytest.mark.one_triton
def test_half_a_byte_alone_is_not_written(on_cpu):
    @T.prim_func
    def alone(Y: T.Tensor((8, 4), "float4_e2m1fn")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                Y[i, 1] = T.Cast("float4_e2m1fn", 1.0)

    with pytest.raises(Exception, match="one half of a byte of `Y` is written alone") as caught:
        tle_raw.fragment(alone, route="traced").as_kernel()(torch.zeros(8, 2, dtype=torch.uint8))
    assert "T.copy" in str(caught.value)


@pytest.mark.one_triton
def test_arrays_of_narrow_elements_are_checked():
    kernel = tle_raw.fragment(kernels.quantised()).as_kernel()
    x, s = torch.zeros(6, 40), torch.zeros(6, 40, dtype=torch.float8_e8m0fnu)
    with pytest.raises(ArgumentTypeError, match="`Q` has another dtype") as caught:
        kernel(x, s, torch.zeros(6, 20))
    assert "float4_e2m1fn_x2 or uint8 or int8" in str(caught.value)
    with pytest.raises(ShapeError) as caught:
        kernel(x, s, torch.zeros(6, 40, dtype=torch.uint8))
    assert "(6, 80)" in str(caught.value)


@pytest.mark.one_triton
def test_arithmetic_of_narrow_elements_is_refused(on_cpu):
    @T.prim_func
    def added(S: T.Tensor((32,), "float8_e8m0fnu"), Y: T.Tensor((32,), "float8_e8m0fnu")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[i] = T.max(S[i], T.Cast("float8_e8m0fnu", 2.0))

    with pytest.raises(Exception, match="values of type float8_e8m0fnu"):
        tle_raw.fragment(added, route="traced").as_kernel()(*(torch.zeros(32, dtype=torch.uint8) for _ in range(2)))


def test_none_leaves_a_size_open_that_nothing_asks_for(on_cpu):
    n = T.dynamic("n")

    @T.prim_func
    def unasked(X: T.Tensor((64,), "float32"), S: T.Tensor((n,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[i] = X[i]

    x, y = torch.rand(64), torch.zeros(64)
    tle_raw.fragment(unasked).as_kernel()(x, None, y)
    assert torch.equal(x, y)
