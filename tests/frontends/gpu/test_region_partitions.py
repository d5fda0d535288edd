"""Regions in partitions of specialised warps: what they compile to in every dialect, and what is refused."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import dialect, pairs
from tests.contracts.subjects import SUBJECTS
from tests.frontends.gpu import region_partition_kernels as subjects
from tests.frontends.gpu import region_ring_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls, report_of
from tle_raw import InOut, Out, Pointer, Scalar, Tile

pytestmark = pytest.mark.every_triton(4)

TURNS = {"y": "*fp32", "size": "i32", "rounds": "i32"}
RING = {"x": "*fp32", "o": "*fp32", "n": "i32", "size": "i32"}


def compiled(kernel, signature, capability=90, **constants):
    made = compile_kernel(kernel, signature, constants, capability)
    ptx = made.asm["ptx"]
    assert not ptx_calls(made) and "cubin" in made.asm and len(re.findall(r"\.entry\b", ptx)) == 1
    # All threads of the block meet where workers begin and end, and nowhere else.
    assert not re.search(r"\b(?:bar|barrier)\.(?:cta\.)?sync(?:\.aligned)?\s+(?!1;)\d+;", ptx)
    return made


def waited_at(kernel):
    """The numbers and threads of the barriers that count."""
    found = re.findall(r"\bbar(?:rier\.cta)?\.(?:sync|red\.\w+\.\w+)\s+(?:%?\w+, )?(\d+), (\d+)[,;]", kernel.asm["ptx"])
    return {tuple(map(int, each)) for each in found}


# Whose machine code is read, too.
READ = [("cuda", "tile"), ("llvm", "scalar"), ("edsl", "pointer"), ("tilelang", "tile"), ("cutile", "tile")]


@pytest.mark.parametrize("name, subject", pairs())
def test_three_partitions_call_one_fragment(name, subject):
    case = SUBJECTS[subject]
    constants = {"FRAGMENT": dialect(name).SUBJECTS[subject], **case.constants}
    kernel = compiled(subjects.KERNELS[subject], case.types, **constants)
    assert waited_at(kernel) <= {(0, 128), (2, 32), (3, 64)} and kernel.metadata.num_warps == 8
    report = report_of(kernel, machine_code=(name, subject) in READ)
    traced = {region.route for region in report.regions} == {"traced"}
    assert report.one_kernel and len(report.regions) == (1 if traced else 3)


def functions_of(kernel):
    """The names of the fragment's entries."""
    return {region.entry for region in report_of(kernel, machine_code=False).regions}


@pytest.mark.parametrize("name", kernels.TURNS)
def test_each_partition_has_barriers_and_shared_memory_of_its_own(name):
    if name in ("cupy", "numba"):
        pytest.importorskip({"numba": "numba_cuda"}.get(name, name), exc_type=ImportError)
    kernel = compiled(kernels.turns, TURNS, TURN=kernels.TURNS[name](), B=256)
    assert waited_at(kernel) == {(0, 128), (2, 32), (3, 64), (4, 256)}
    shared = re.findall(r"\.shared .*?([\w$.]+)\[1024\]", kernel.asm["ptx"])
    assert len(shared) == len(set(shared)) == 4, "calls before and after are of the default partition's threads"
    report = report_of(kernel, machine_code=name in ("cuda", "cupy"))
    assert len({region.entry for region in report.regions}) == 4 and report.static_shared == 4096
    assert report.one_kernel
    assert kernel.metadata.num_warps == 16


def first_threads(kernel):
    """What thread numbers are reduced by."""
    llvm = kernel.asm["llir"]
    return set(re.findall(r"(?:add|sub) nsw i32 %\w+, (-?\d+)", llvm))


def test_thread_numbers_begin_at_the_partition_in_whatever_order_triton_puts_them():
    """The worker of eight warps comes first, and that of one warp last: (4, 12, 14) in warps."""
    kernel = compiled(kernels.turns, TURNS, TURN=kernels.turn_all, B=256)
    ptx = kernel.asm["ptx"]
    assert ptx.count("%tid.x") >= 1 and {"-384", "-448"} <= first_threads(kernel)


def test_barriers_with_numbers_get_free_ones():
    kernel = compiled(kernels.named, TURNS | {"counts": "*i32"}, B=256)
    ptx = kernel.asm["ptx"]
    assert {(0, 128), (2, 32), (3, 64), (15, 64), (11, 64)} <= waited_at(kernel)
    numbers = {int(n) for n in re.findall(r"\b(?:bar|barrier\.cta)\.(?:sync|arrive)\s+(\d+),", ptx)}
    assert numbers <= {0, 2, 3, *range(10, 16)}
    assert ptx.count("bar.red.popc.u32") == 3 and ptx.count("bar.red.or.pred") == 3
    assert ptx.count(".visible .global .align 4 .u32 turns$") == 1, "what is not shared memory is one for all"


def test_barriers_of_the_kernel_and_of_fragments_are_not_the_same():
    kernel = compiled(kernels.named_in_turn, TURNS | {"counts": "*i32"}, B=256)
    found = re.findall(r"\b(?:bar|barrier\.cta)\.(?:sync|arrive)\s+(\d+), (\d+);", kernel.asm["ptx"])
    of_kernel, of_fragments = ({int(n) for n, count in found if (int(count) == 192) == own} for own in (True, False))
    assert len(of_kernel) == 2 and len(of_fragments) > 3 and not of_kernel & of_fragments


def test_tiles_are_laid_out_for_the_partitions_warps():
    signature = {"x": "*fp32", "o": "*fp32", "means": "*fp32", "n": "i32"}
    kernel = compiled(kernels.centre, signature, M=16, N=32)
    assert waited_at(kernel) == {(0, 128), (2, 128), (3, 32)}
    tiles = re.findall(r"%(tle_buffer_\d+_0) = ttg\.local_alloc", kernel.asm["ttgir"])
    assert kernel.metadata.shared >= 3 * 16 * 32 * 4, tiles


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("producer, consumer", kernels.RINGS)
def test_rings_between_languages(producer, consumer, capability):
    (produce, fill), (consume, take) = kernels.PRODUCERS[producer], kernels.CONSUMERS[consumer]
    kernel = compiled(
        kernels.through_ring, RING, capability,
        PRODUCE=produce, FILL=fill, CONSUME=consume, TAKE=take, B=512, S=3, W1=1, W2=4,
    )  # fmt: skip
    fewer = {(3, 32)} if capability == 100 else set()  # where Triton needs no more warps for its tensors
    assert waited_at(kernel) <= {(0, 128), (2, 32), (3, 128)} | fewer
    assert "mbarrier.arrive" in kernel.asm["ptx"]


def test_cuda_code_gathers_rows_for_wgmma_of_triton():
    signature = {"a_ptr": "*fp16", "index_ptr": "*i32", "b_desc": "tensordesc<fp16[128,64]>", "c_ptr": "*fp32"}
    kernel = compiled(kernels.gathered_product, signature | {"k": "i32"}, M=128, N=128, K=64, S=3, WARPS=4)
    ptx = kernel.asm["ptx"]
    assert waited_at(kernel) == {(0, 128), (2, 128)} and "wgmma.mma_async" in ptx and "st.shared.v4" in ptx
    written = r"st\.shared\.v4(?:(?!mbarrier\.arrive).)*fence\.proxy\.async(?:(?!mbarrier\.arrive).)*bar\.sync\s+2, 128"
    assert re.search(written, ptx, re.DOTALL)


@pytest.mark.parametrize("first, warps", [(True, 1), (False, 4)])
def test_triton_copies_tiles_for_wgmma_of_cuda_code(first, warps):
    signature = dict.fromkeys(("a_desc", "b_desc"), "tensordesc<fp16[64,64]>") | {"c_ptr": "*fp32", "k": "i32"}
    kernel = compiled(kernels.product_by_cuda, signature, CONSUMER_FIRST=first, WARPS=warps)
    assert kernel.asm["ptx"].count("wgmma.mma_async") >= 4 and "cp.async.bulk.tensor" in kernel.asm["ptx"]


@pytest.mark.parametrize("warps", [1, 4])
def test_a_worker_copies_by_the_kernels_descriptor(warps):
    signature = {"x_desc": "tensordesc<fp16[64,64]>", "o": "*fp16", "n": "i32"}
    kernel = compiled(kernels.fetched, signature, M=64, N=64, S=3, WARPS=warps)
    assert "cp.async.bulk.tensor" in kernel.asm["ptx"]


@pytest.mark.parametrize("name, arrivals, route", kernels.DOUBLERS)
def test_a_tilelang_kernel_between_two_partitions_of_triton(name, arrivals, route):
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang import barrier_kernels

    double = getattr(barrier_kernels, name)(route)
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32"}
    kernel = compiled(kernels.doubled_by_worker, signature, DOUBLE=double, ARRIVALS=arrivals, M=16, N=32, S=2)
    assert waited_at(kernel) <= {(0, 128), (2, 64), (3, 128)}


def test_memory_that_regions_ask_for_is_each_partitions_own():
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang.barrier_kernels import copies_are_counted

    signature = {"x": "*fp32", "y": "*fp32"}
    kernel = compiled(kernels.copied_twice, signature, COPY=copies_are_counted(), M=16, N=32)
    report = tle_raw.report(kernel)
    assert report.dynamic_shared + report.static_shared >= 2 * 16 * 32 * 4 + 16


# --- two fragments, and code around partitions ----------------------------------------------------------------------


@tle_raw.dialect("cuda", source="""
__device__ void add(float* x, float s) { for (int i = threadIdx.x; i < 64; i += blockDim.x) x[i] += s; }
""")  # fmt: skip
def add(x: InOut[Pointer["f32"]], s: Scalar["f32"]): ...


@triton.jit
def add_rows(x, n):
    for _ in range(n):
        add(x, 1.0)
        tl.store(x + 1, tl.load(x) + 1)


@triton.jit
def repeated(x, n):
    """Two divisions of the kernel's warps, one in a loop, and regions between them."""
    add(x, 2.0)
    for _ in range(n):
        tle.gpu.warp_specialize([(add_rows, (x, n)), (add_rows, (x + 64, n))], [2])
        add(x, 3.0)
    tle.gpu.warp_specialize([(add_rows, (x, n)), (add_rows, (x + 64, n)), (add_rows, (x + 128, n))], [1, 4])


def test_partitions_after_each_other_and_regions_between_them():
    kernel = compiled(repeated, {"x": "*fp32", "n": "i32"})
    assert len(functions_of(kernel)) == 4, "the kernel's own warps, and three workers of two divisions"
    assert {(0, 128), (2, 64), (3, 128)} <= waited_at(kernel), "loads and stores between regions are in order"


@triton.jit
def adds(x):
    add(x, 1.0)


@triton.jit
def doubles(x):
    tl.store(x + 2, 2 * tl.load(x))


@triton.jit
def adds_and_doubles(x):
    add(x, 1.0)
    doubles(x)


@triton.jit
def beside(x, BOTH: tl.constexpr):
    add(x, 2.0)
    if BOTH:
        tle.gpu.warp_specialize([(adds_and_doubles, (x,)), (adds_and_doubles, (x,))], [2])
    else:
        tle.gpu.warp_specialize([(adds, (x,)), (doubles, (x,))], [2])
    doubles(x)


def test_global_memory_is_ordered_within_a_partition_and_where_all_begin_and_end():
    assert waited_at(compiled(beside, {"x": "*fp32"}, BOTH=False)) == set()
    assert waited_at(compiled(beside, {"x": "*fp32"}, BOTH=True)) == {(0, 128), (2, 64)}


def test_a_kernel_without_partitions_has_no_copies():
    @triton.jit
    def plain(x):
        add(x, 2.0)

    kernel = compile_kernel(plain, {"x": "*fp32"})
    (entry,) = functions_of(kernel)
    assert not re.search(r"_at\d+$", entry)


HIDDEN = """static __device__ int hidden = 3;
__constant__ float table[4] = {1, 2, 3, 4};"""


@triton.jit
def three(x, FRAGMENT: tl.constexpr):
    tle.gpu.warp_specialize([(part, (x, FRAGMENT)), (part, (x + 8, FRAGMENT)), (part, (x + 16, FRAGMENT))], [1, 2])


def test_variables_of_the_device_are_one_for_all_partitions():
    body = "__shared__ int s; s = threadIdx.x; __syncthreads(); atomicAdd(&hidden, 1); x[0] = table[s & 3] + hidden;"
    ptx = compiled(three, {"x": "*fp32"}, FRAGMENT=of_pointer(body, HIDDEN)).asm["ptx"]
    assert len(re.findall(r"^\.weak \.global .*hidden\S* = 3;", ptx, re.MULTILINE)) == 1
    assert len(re.findall(r"^\.visible \.const .*table\$", ptx, re.MULTILINE)) == 1
    assert len(re.findall(r"\.shared .*\bu32 ", ptx)) == 3


# --- what is refused -------------------------------------------------------------------------------------------------


def of_pointer(body, head="", name="f"):
    source = f"{head}\n__device__ void f(float* x) {{ {body} }}"
    return tle_raw.dialect("cuda", source=source, symbol="f")(_stub)


def _stub(x: InOut[Pointer["f32"]]): ...


@triton.jit
def part(x, FRAGMENT: tl.constexpr):
    FRAGMENT(x)


@triton.jit
def nothing(x):
    pass


@triton.jit
def called(x, FRAGMENT: tl.constexpr, WARPS: tl.constexpr):
    tle.gpu.warp_specialize([(nothing, (x,)), (part, (x, FRAGMENT))], [WARPS])


REFUSED = {
    "registers": ('asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");', "hands registers from warps to others"),
    "clusters": ('asm volatile("barrier.cluster.arrive.aligned;");', "all threads of a cluster"),
    "number": ('asm volatile("bar.sync %0, 64;" :: "r"((int)x[0]));', "chooses its barriers at run time"),
    "threads": ('asm volatile("bar.sync 3, 256;");', "more threads than its partition has"),
    "vector": ('int a, b; asm("{.reg .u32 c;\\n mov.v4.u32 {%0, %1, c, c}, %%tid;\\n}" : "=r"(a), "=r"(b)); x[a] = b;',
               "three coordinates"),
    "wgmma": ('asm volatile("wgmma.fence.sync.aligned;");', "four warps do together"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    body, message = REFUSED[what]
    with pytest.raises(tle_raw.errors.RegionError, match=message) as raised:
        compile_kernel(called, {"x": "*fp32"}, {"FRAGMENT": of_pointer(body), "WARPS": 2})
    text = str(raised.value)
    line = 1 + Path(__file__).read_text().splitlines().index("    FRAGMENT(x)")
    assert f"test_region_partitions.py:{line}" in text and "hint:" in text
    if what in ("threads", "wgmma"):
        assert re.search(r"expected +got", text) and "64" in text


def test_more_barriers_than_there_are():
    body = " ".join(f'asm volatile("bar.sync {number}, 64;");' for number in range(1, 16))
    with pytest.raises(tle_raw.errors.RegionError, match="more barriers than a block has"):
        compile_kernel(called, {"x": "*fp32"}, {"FRAGMENT": of_pointer(body), "WARPS": 2})


@tle_raw.dialect("cuda", source="__device__ void f(float* x) { x[threadIdx.y] = 0; }", symbol="f", block=(32, 4))
def for_128(x: InOut[Pointer["f32"]]): ...


def test_a_block_of_another_size_than_the_partition():
    with pytest.raises(tle_raw.errors.RegionError, match="a block of another size") as raised:
        compile_kernel(called, {"x": "*fp32"}, {"FRAGMENT": for_128, "WARPS": 2})
    assert "128 (block=(32, 4))" in str(raised.value) and "64 (2 warps of worker 0)" in str(raised.value)
    assert "give worker 0 4 warps" in str(raised.value)
    compiled(called, {"x": "*fp32"}, FRAGMENT=for_128, WARPS=4)


def test_a_tilelang_kernel_has_its_own_threads():
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang.barrier_kernels import copies_are_counted

    fragment = copies_are_counted()
    signature = {"x": "*fp32", "y": "*fp32"}
    kernel = compiled(copied_by_tilelang, signature, COPY=fragment, WARPS=4)
    assert "cp.async" in kernel.asm["ptx"]
    with pytest.raises(tle_raw.errors.RegionError, match="a block of another size") as raised:
        compile_kernel(copied_by_tilelang, signature, {"COPY": fragment, "WARPS": 2})
    assert "64 (2 warps of worker 0)" in str(raised.value)


@triton.jit
def copy_part(x, y, full, COPY: tl.constexpr):
    COPY(x, y, full=full)


@triton.jit
def copied_by_tilelang(x, y, COPY: tl.constexpr, WARPS: tl.constexpr):
    full = tle.gpu.alloc_barrier(128)
    tle.gpu.warp_specialize([(nothing, (x,)), (copy_part, (x, y, full, COPY))], [WARPS])


@tle_raw.dialect("cuda", source="""
#include <tle_raw/tile.h>
template <int N> __device__ void negated(tle::tile<const float, N> x, tle::tile<float, N> y) {
  for (int i : y.indices()) y[i] = -x[i];
}
""")  # fmt: skip
def negated(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]]): ...


@triton.jit
def by_triton(x, n, B: tl.constexpr):
    for i in tl.range(n, warp_specialize=True):
        at = i * B + tl.arange(0, B)
        tl.store(x + at, negated(tl.load(x + at)))


def test_where_triton_divides_by_itself_the_error_names_the_way():
    with pytest.raises(tle_raw.errors.RegionError, match="Triton specialises the kernel's warps by itself") as raised:
        compile_kernel(by_triton, {"x": "*fp32", "n": "i32"}, {"B": 64})
    assert "tle.gpu.warp_specialize" in str(raised.value)


@triton.jit
def hinted_part(x, n, B: tl.constexpr):
    for i in tl.range(n, num_stages=3):
        at = i * B + tl.arange(0, B)
        tl.store(x + at, tle.call(negated, [tl.load(x + at)], hint="pipeline"))


@triton.jit
def hinted(x, n, B: tl.constexpr):
    tle.gpu.warp_specialize([(nothing, (x,)), (hinted_part, (x, n, B))], [2])


def test_a_hint_has_no_effect():
    with pytest.warns(tle_raw.errors.PipelineHintWarning, match="warps are specialised"):
        compile_kernel(hinted, {"x": "*fp32", "n": "i32"}, {"B": 64})


def test_the_error_of_a_call_names_the_partitions_line():
    @tle_raw.dialect("cuda", source="__device__ void f(float* x) { x[0] = undeclared; }", symbol="f")
    def wrong(x: InOut[Pointer["f32"]]): ...

    with pytest.raises(Exception) as raised:
        compile_kernel(called, {"x": "*fp32"}, {"FRAGMENT": wrong, "WARPS": 1})
    assert "undeclared" in str(cause_of(raised.value)) and "test_region_partitions.py" in str(cause_of(raised.value))
