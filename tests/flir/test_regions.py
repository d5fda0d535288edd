"""What FLIR makes of regions: buffers, barriers, refusals."""

import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice

import tle_raw
from tests.support import compile_kernel, ptx_calls, report_of, ttgir_lines
from tle_raw import InOut, Out, Pointer, Scalar, Tile
from tle_raw.flir.nvidia.replace_ports import shared_type

SOURCE = r"""
template <int M> __device__ void twice(float* t) { for (int i = threadIdx.x; i < M; i += blockDim.x) t[i] *= 2; }
template <int M> __device__ float first(const float* t) { return t[0]; }
template <int M> __device__ void fill(float* t, float v) { for (int i = threadIdx.x; i < M; i += blockDim.x) t[i] = v; }
__device__ int next(const int* p) {
  __shared__ int value;
  if (threadIdx.x == 0) value = p[0];
  __syncthreads();
  return value;
}
__device__ float big_scratch(float* p) {
  __shared__ float scratch[60 * 1024];
  scratch[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  return scratch[0];
}
__device__ void matrix_block(float* p) { p[threadIdx.y * blockDim.x + threadIdx.x] = threadIdx.y; }
"""


def cuda(stub, **options):
    return tle_raw.dialect("cuda", source=SOURCE, **options)(stub)


@cuda
def twice(t: InOut[Tile["f32", "M"]]): ...


@cuda
def first(t: Tile["f32", "M"]) -> Scalar["f32"]: ...


@cuda
def fill(t: Out[Tile["f32", "M"]], v: Scalar["f32"]): ...


@cuda
def next(p: Pointer["i32"]) -> Scalar["i32"]: ...


@cuda
def big_scratch(p: InOut[Pointer["f32"]]) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source=SOURCE, block=(16, 8))
def matrix_block(p: InOut[Pointer["f32"]]): ...


VECTOR = {"x": "*fp32", "o": "*fp32"}


def compiled(kernel, signature=VECTOR, constants=None, **options):
    return compile_kernel(kernel, signature, {"B": 256} if constants is None else constants, **options)


@triton.jit
def chain(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = twice(twice(twice(tl.load(x + i))))
    tl.store(o + i, v + first(v))


def test_consecutive_regions_on_one_tile_share_its_buffer():
    kernel = compiled(chain)
    assert len(ttgir_lines(kernel, "ttg.local_alloc")) == 1
    assert len(ttgir_lines(kernel, "ttg.local_store ")) == 1
    assert len(ttgir_lines(kernel, "ttg.local_load ")) == 1
    assert kernel.metadata.shared == 256 * 4


def test_consecutive_regions_share_the_barrier_between_them():
    calls = len(report_of(compiled(chain), machine_code=False).regions)
    assert calls == 4
    assert len(ttgir_lines(compiled(chain), "gpu.barrier", "ttg.barrier local")) <= calls + 2


@triton.jit
def used_again(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = twice(tl.load(x + i))
    tl.store(o + i, twice(v) + v)


def test_a_value_that_is_used_again_keeps_its_own_buffer():
    assert len(ttgir_lines(compiled(used_again), "ttg.local_alloc")) == 2


@triton.jit
def only_read(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, i + first(tl.load(x + i)))


def test_a_tile_that_is_only_read_is_not_copied_back():
    assert ttgir_lines(compiled(only_read), "ttg.local_load ") == []


def test_a_buffer_lives_until_its_call_is_done():
    lines = ttgir_lines(compiled(only_read), 'symbol = "tle_raw_', "ttg.local_dealloc")
    assert "tle_raw_" in lines[0] and "local_dealloc" in lines[1]


@triton.jit
def out_only(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, fill(2.5, M=B))


def test_an_out_tile_starts_without_a_copy():
    assert ttgir_lines(compiled(out_only), "ttg.local_store ") == []


@triton.jit
def scratch_only(x, o, B: tl.constexpr):
    tl.store(o, next(x) + next(x + 1))


def test_static_scratch_is_guarded_by_barriers_between_its_uses():
    kernel = compiled(scratch_only, {"x": "*i32", "o": "*i32"})
    assert len(ttgir_lines(kernel, "gpu.barrier", "ttg.barrier local")) == 4
    assert tle_raw.report(kernel).static_shared == 4


@triton.jit
def address_from_region(x, p, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    where = tl.zeros((B,), tl.float32)
    for k in range(n):
        a = tl.load(x + where.to(tl.int32)[None, :] + i[:, None] * n * B)
        b = tl.load(x + k * B * B + i[:, None] * B + i[None, :])
        acc = tl.dot(a, b, acc)
        where = twice(where + k)
    tl.store(o + i[:, None] * B + i[None, :], acc)


def test_a_loop_whose_loads_depend_on_a_region_is_not_pipelined():
    signature = {"x": "*fp16", "p": "*i32", "o": "*fp32", "n": "i32"}
    kernel = compiled(address_from_region, signature, {"B": 32}, num_stages=3)
    assert ttgir_lines(kernel, "async_copy_global_to_local") == []
    assert ptx_calls(kernel) == []


@triton.jit
def too_much_shared(x, o, B: tl.constexpr):
    tl.store(o, big_scratch(x))


def test_static_shared_memory_is_held_against_the_device_limit():
    with pytest.raises(tle_raw.errors.SharedMemoryError) as caught:
        compiled(too_much_shared, capability=90)
    assert "49152" in str(caught.value) and "scratch" in str(caught.value) and "245760" in str(caught.value)


@triton.jit
def with_block(x, o, B: tl.constexpr):
    matrix_block(o)


def test_a_block_shape_must_match_the_warps():
    assert ptx_calls(compiled(with_block, num_warps=4)) == []
    with pytest.raises(tle_raw.errors.RegionError, match="block of another size") as caught:
        compiled(with_block, num_warps=8)
    assert "num_warps=4" in str(caught.value)
    assert "with_block" not in str(caught.value.context.call_site) and "matrix_block(o)" in str(caught.value)


def test_a_cluster_is_refused():
    with pytest.raises(tle_raw.errors.RegionError, match="works on one block"):
        compiled(chain, num_ctas=2)


@triton.jit
def specialised(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, n, warp_specialize=True, num_stages=2):
        t = tl.load(x + k * B * B + i[:, None] * B + i[None, :])
        acc = tl.dot(t, t, acc)
    tl.store(o + i, twice(tl.sum(acc, 0)))


def test_beside_warp_specialisation_by_triton_on_sm_90_a_region_is_refused():
    signature = {"x": "*fp16", "o": "*fp32", "n": "i32"}
    with pytest.raises(tle_raw.errors.RegionError, match="specialises the kernel's warps by itself") as caught:
        compiled(specialised, signature, {"B": 64}, capability=90)
    assert "tle.gpu.warp_specialize([(multiply" in str(caught.value)


@triton.jit
def divided_by_triton(a_desc, b_desc, x, n, B: tl.constexpr, INSIDE: tl.constexpr):
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, n, warp_specialize=True, num_stages=2):
        acc = tl.dot(a_desc.load([0, k * B]), b_desc.load([0, k * B]).T, acc)
        if INSIDE:
            acc += twice(tl.sum(acc, 0))[None, :]
    tl.store(x + tl.arange(0, B), twice(tl.sum(acc, 0)))


def test_on_sm_100_a_region_behind_such_a_loop_has_the_threads_of_the_launch():
    tiles = dict.fromkeys(("a_desc", "b_desc"), "tensordesc<fp16[128, 128]>") | {"x": "*fp32", "n": "i32"}
    kernel = compiled(divided_by_triton, tiles, {"B": 128, "INSIDE": False}, capability=100)
    assert "ttg.warp_specialize" in kernel.asm["ttgir"] and kernel.metadata.num_warps > 4
    assert ptx_calls(kernel) == [] and "bar.sync \t0, 128;" in kernel.asm["ptx"]
    with pytest.raises(tle_raw.errors.RegionError, match="specialises the kernel's warps by itself"):
        compiled(divided_by_triton, tiles, {"B": 128, "INSIDE": True}, capability=100)


def test_warp_specialisation_that_the_target_ignores_is_no_hindrance():
    signature = {"x": "*fp16", "o": "*fp32", "n": "i32"}
    assert ptx_calls(compiled(specialised, signature, {"B": 64}, capability=80)) == []


@triton.jit
def address_free_loop(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        tl.store(o + k * B + i, twice(tl.load(x + k * B + i)))


def test_modules_are_shown_after_each_pass(monkeypatch, capsys):
    monkeypatch.setenv("TLE_RAW_PRINT_AFTER", "all")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    compiled(address_free_loop, VECTOR | {"n": "i32"})
    shown = capsys.readouterr().err
    for name in ("replace-ports", "insert-barriers", "link-fragments"):
        assert f"// ----- tle_raw after {name} -----" in shown


@triton.jit
def with_libdevice(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = libdevice.asin(tl.load(x + i)) + tl.sin(tl.load(x + i)) + tl.rand(3, i) + tl.erf(tl.load(x + i))
    tl.store(o + i, twice(v))


def test_libdevice_is_linked_where_the_kernel_needs_it(monkeypatch):
    report = tle_raw.report(compiled(with_libdevice))
    assert report.one_kernel and report.ptx_calls == ()
    monkeypatch.setattr("tle_raw.flir.nvidia.calls.llvm_ir.may_need_libdevice", lambda text: False)
    report = tle_raw.report(compiled(with_libdevice, num_warps=2))
    assert report.one_kernel and report.ptx_calls == (), "what is missed at first is linked after all"


@pytest.mark.parametrize("dims, order", [("64", "[0]"), ("64x32", "[1, 0]"), ("2x4x8x16", "[3, 2, 1, 0]")])
def test_a_tile_lies_row_by_row_in_shared_memory(dims, order):
    found = shared_type(f"tensor<{dims}xf32, #blocked>")
    assert found.startswith(f"!ttg.memdesc<{dims}xf32, ") and f"order = {order}" in found and "maxPhase = 1" in found
