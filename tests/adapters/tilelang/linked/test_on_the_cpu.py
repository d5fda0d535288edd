"""TileLang's own lowering on the CPU: kernels of threads, of copies and barriers by hand, of warps; and products."""

import pytest
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang.linked import constructs, thread_kernels, tile_regions, tma_kernels
from tests.adapters.tilelang.test_numbers import agree, integers, random
from tle_raw.errors import KernelFailed, UnsupportedFeatureError

pytestmark = [pytest.mark.usefixtures("on_cpu"), pytest.mark.every_triton(1)]


def run(prim_func, *arguments, told="linked", **options):
    """By the linked route, which its report tells."""
    compiled = tle_raw.fragment(prim_func, **options).as_kernel()(*arguments)
    assert [region.route for region in tle_raw.report(compiled).regions] == [told]


@pytest.mark.parametrize(
    ("dtype", "threads"),
    [("float64", 32), ("bfloat16", 96), ("float8_e4m3fn", 64), ("int8", 128), ("int64", 32), ("bool", 64)],
)
def test_threads_by_their_indices(dtype, threads):
    a = (random(3, threads) * 20).to(getattr(torch, dtype))
    b = torch.zeros_like(a)
    run(thread_kernels.mirrored(3, threads, dtype), a, b)
    assert torch.equal(b.float(), a.float().flip(1))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-3), ("float32", 1e-7)])
@pytest.mark.parametrize("n", [1, 63, 1001])
def test_sizes_of_the_call(dtype, tolerance, n):
    a = random(n, dtype=dtype, seed=n)
    room = torch.full((n + 64,), 5.0).to(a.dtype)
    run(thread_kernels.scaled(dtype), a, room[:n], 0.3)
    agree(room[:n], a.double() * 0.3, tolerance)
    assert (room[n:] == 5).all()


@pytest.mark.parametrize(("dtype", "threads"), [("float32", 96), ("int32", 64)])
def test_shuffles_and_reductions_of_a_warp(dtype, threads):
    a = (random(5, threads) * 9).to(getattr(torch, dtype))
    found = torch.zeros(5, threads // 32, 4, dtype=a.dtype)
    run(thread_kernels.warp_sums(5, threads, dtype), a, found)
    whole = a.double().view(5, -1, 32)
    agree(found[..., :3], whole.sum(-1, keepdim=True).expand(-1, -1, 3), 1e-6 if dtype == "float32" else 0.0)
    assert torch.equal(found[..., 3].double(), whole.amax(-1))


@pytest.mark.one_triton
def test_votes():
    a, found = random(64), torch.zeros(64, 4, dtype=torch.int32)
    a[32:] = a[32:].abs() + 0.1
    run(thread_kernels.votes(), a, found)
    bits = (a.view(2, 32) > 0).long()
    ballots = (bits << torch.arange(32)).sum(1)
    assert torch.equal(found[:, 0].long() % 2**32, ballots.repeat_interleave(32))
    assert torch.equal(found[:, 2], torch.tensor([0, 1]).repeat_interleave(32).int())
    assert (found[:, 1] == 1).all() and (found[:, 3] == bits.sum()).all()


@pytest.mark.parametrize(("tiles", "stages"), [(7, 3)])
def test_a_pipeline_of_copies_in_the_background(tiles, stages):
    a, b = random(tiles, 256), torch.zeros(256)
    run(thread_kernels.pipeline(tiles, stages), a, b)
    agree(b, a.double().sum(0), 1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize(("tiles", "stages", "dtype"), [(9, 2, "float32"), (3, 1, "int32")])
def test_warps_that_meet_at_barriers_in_shared_memory(tiles, stages, dtype):
    a = (random(tiles, 32) * 9).to(getattr(torch, dtype))
    b = torch.zeros_like(a)
    run(thread_kernels.handed_over(tiles, stages, dtype), a, b)
    assert torch.equal(b, a.flip(1) + 1)


@pytest.mark.one_triton
@pytest.mark.parametrize(("dtype", "m", "panels"), [("bfloat16", 77, 0), ("float16", 1, 0), ("float32", 165, 2)])
def test_products_of_floats(dtype, m, panels):
    a, b = random(m, 96, dtype=dtype, seed=1), random(96, 128, dtype=dtype, seed=2)
    room = torch.full((m + 64, 128), 7.0)
    run(constructs.dynamic_gemm(dtype=dtype, panels=panels), a, b, room[:m], route="linked")
    agree(room[:m], a.double() @ b.double(), 1e-3 if dtype == "float32" else 1e-5)  # of float32, tf32 is read
    assert (room[m:] == 7).all()


@pytest.mark.one_triton
def test_products_read_registers_as_another_type():
    a, b, c = random(32, 32, seed=1), random(32, 32, seed=2), torch.zeros(32, 32)
    run(constructs.tiny_product(), a, b, c, route="linked")
    agree(c, a.double() @ b.double(), 1e-3)


@pytest.mark.one_triton
def test_products_that_ask_for_wgmma():
    a, b, c = random(64, 128, dtype="float16", seed=1), random(96, 128, dtype="float16", seed=2), torch.zeros(64, 96)
    run(constructs.named_products(), a, b, c)
    agree(c, a.double() @ b.double().T, 1e-5)


@pytest.mark.one_triton
def test_products_of_eight_bits():
    a, b = integers(-128, 128, 128, 128, dtype="int8", seed=1), integers(-128, 128, 128, 128, dtype="int8", seed=2)
    c = torch.zeros(128, 128, dtype=torch.int32)
    run(constructs.small_gemm("int8"), a, b, c, route="linked")
    assert torch.equal(c.long(), a.long() @ b.long().T)
    a, b = (random(128, 128, dtype="float8_e4m3fn", seed=seed) for seed in (3, 4))
    c = torch.zeros(128, 128)
    run(constructs.small_gemm("float8_e4m3"), a, b, c, route="linked")
    agree(c, a.double() @ b.double().T, 1e-5)


def test_tiles_of_a_triton_kernel():
    x, w = random(128, 64, dtype="float16", seed=4), random(64, 64, dtype="float16", seed=5)
    y = torch.zeros_like(x)
    compiled = tile_regions.with_shared[(2,)](x, w, y, num_warps=4)
    assert [region.route for region in tle_raw.report(compiled).regions] == ["linked"]
    agree(y, 4 * (x.double() @ w.double()), 1e-3)


@pytest.mark.parametrize("n", [1, 127, 300])
def test_what_a_guard_leaves_out_of_a_tile_is_zero(n):
    x, y = random(512), torch.full((512,), 9.0)
    tile_regions.with_guarded[(4,)](x, y, n, num_warps=4)
    agree(y, torch.where(torch.arange(512) < n, 3 * x, 0), 1e-6)


def test_debug_finds_a_read_of_what_nobody_wrote():
    words = "thread 0 reads shared memory that nothing has been written to"
    with tle_raw.knobs.scope(), pytest.raises(KernelFailed, match=words) as caught:
        tle_raw.knobs.debug = True
        run(thread_kernels.shared(first=3), torch.zeros(64), torch.zeros(64))
    found = caught.value.context.source
    assert found is not None and found.file == thread_kernels.__file__ and "# read" in found.text


@pytest.mark.one_triton
def test_debug_lets_a_right_kernel_pass():
    a, b = random(64), torch.zeros(64)
    with tle_raw.knobs.scope():
        tle_raw.knobs.debug = True
        run(thread_kernels.shared(), a, b)
    assert torch.equal(a, b)


@pytest.mark.one_triton
def test_copies_of_the_bulk_copy_engine():
    a = random(200, 136, dtype="float16")
    b = torch.zeros_like(a)
    run(tma_kernels.explicit_tma(200, 136), a, b, told="linked, with TMA")
    assert torch.equal(b, a * 2)
    a, b = random(100, 72, dtype="float16", seed=1), random(72, 136, dtype="float16", seed=2)
    c = torch.zeros(100, 136, dtype=torch.float16)
    run(tma_kernels.product_of_tma_copies(), a, b, c, told="linked, with TMA")
    agree(c, a.double() @ b.double(), 1e-3)


def test_what_only_a_launch_of_its_own_has_is_named():
    a = torch.zeros(256, 256, dtype=torch.float16)
    with pytest.raises(
        UnsupportedFeatureError, match="takes 1 TMA descriptors, which are made at its launch"
    ) as caught:
        run(tma_kernels.explicit_tma(), a, a.clone(), tma=False)
    assert "tma=True" in caught.value.hint


def test_what_only_a_gpu_has_is_named():
    @T.prim_func
    def of_four_bits(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            T.import_source('static __device__ void fence() { asm volatile("wgmma.fence.sync.aligned;"); }')
            T.call_extern("handle", "fence")
            A[T.get_thread_binding()] = 1.0

    with pytest.raises(UnsupportedFeatureError, match=r"the PTX instruction `wgmma\.fence\.sync\.aligned` cannot"):
        run(of_four_bits, torch.zeros(64))
