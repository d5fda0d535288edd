"""Specialised warps: what they compile to, and what is refused."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.gpu import partition_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(5)

TILE = "tensordesc<fp16[128,64]>"
RING = {"x_ptr": "*fp32", "o_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "size": "i32"}


def compiled(name, signature, capability=90, **constants):
    kernel = compile_kernel(getattr(kernels, name), signature, constants, capability)
    assert not ptx_calls(kernel) and "cubin" in kernel.asm
    assert len(re.findall(r"\.entry\b", kernel.asm["ptx"])) == 1
    # A barrier of all threads would wait for those of other partitions.
    assert not re.search(r"\b(?:bar|barrier)\.sync(?:\.aligned)?\s+0;", kernel.asm["ptx"])
    return kernel


def waited_at(kernel):
    """The numbers and threads of the barriers that count."""
    return {tuple(map(int, found)) for found in re.findall(r"bar\.sync\s+(\d+), (\d+);", kernel.asm["ptx"])}


def before_arrivals(kernel, words):
    """Of each arrival, the last instruction before it of those that a pattern names, or the meeting of its warp."""
    found, last = [], ""
    for line in kernel.asm["ptx"].splitlines():
        if re.search(r"mbarrier\.arrive\.shared", line):
            found.append("bar.warp.sync" if "bar.warp.sync" in line else last)
        elif re.search(words, line):
            last = re.search(words, line)[0]
    return found


def counts(kernel):
    """How many arrivals the kernel's barriers count."""
    return sorted(int(count) for count in re.findall(r"mbarrier\.init\S* \[[^\]]*\], (\d+);", kernel.asm["ptx"]))


def test_a_gemm_whose_copies_have_a_warp_of_their_own():
    kernel = compiled(
        "gemm",
        {"a_desc": TILE, "b_desc": TILE, "c_ptr": "*fp32", "k": "i32"},
        M=128,
        N=128,
        K=64,
        S=3,
        AHEAD=1,
        WARPS=1,
    )
    ptx = kernel.asm["ptx"]
    assert kernel.metadata.num_warps == 8, "workers are started by fours"
    assert waited_at(kernel) == {(0, 128)}, "a worker of one warp has no barrier but its own"
    assert "setmaxnreg.dec.sync.aligned.u32 \t24;" in ptx
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d+)", ptx).count("1") == 1
    assert "cp.async.bulk.tensor" in ptx and "fence.proxy.async" not in ptx
    assert set(before_arrivals(kernel, r"bar\.sync|wgmma\.mma_async")) == {"bar.warp.sync"}
    assert counts(kernel) == [1, 1, 1, 4, 4, 4], "each of four warps arrives"


@pytest.mark.parametrize("capability", [80, 90])
def test_workers_of_several_warps_and_a_result(capability):
    kernel = compiled("through_ring", RING, capability, B=512, S=3, W1=2, W2=4, HOW="store")
    assert waited_at(kernel) == {(0, 128), (2, 64), (3, 128)}
    assert ("setmaxnreg" in kernel.asm["ptx"]) == (capability == 90)
    met = "bar.sync" if capability == 80 else "bar.warp.sync"
    assert set(before_arrivals(kernel, r"bar\.sync|[ls][dt]\.shared")) == {met}
    assert counts(kernel) == ([1] * 6 if capability == 80 else [2] * 3 + [4] * 3)


def test_workers_of_sm_100():
    compiled("through_ring", RING, 100, B=512, S=3, W1=2, W2=4, HOW="copy")


def test_pointers_into_a_buffer_that_a_worker_was_given():
    kernel = compiled("through_ring", RING, B=512, S=3, W1=2, W2=4, HOW="point")
    assert set(before_arrivals(kernel, r"bar\.sync|[ls][dt]\.\S*shared")) == {"bar.warp.sync"}
    rows = [line for line in kernel.asm["ptx"].splitlines() if re.search(r"\bst\.global", line)]
    assert len(rows) < 20, "stores into the buffer are none to global memory"


def test_arrivals_of_partitions_of_several_sizes():
    """Partitions of one, two and four warps arrive at one barrier: each makes as many arrivals as the largest."""
    kernel = compiled("met_by_all", {"o": "*i32", "n": "i32"})
    assert counts(kernel) == [12]
    arrivals = re.findall(r"mbarrier\.arrive\.shared::cta\.b64 _, \[\S+\], (\d);", kernel.asm["ptx"])
    assert sorted(arrivals) == ["1", "2", "4"]


def test_arrivals_outside_of_partitions_stay_as_they_are():
    kernel = compiled("met_before", {"o": "*i32", "n": "i32"})
    assert counts(kernel) == [2] and "elect.sync _|" not in kernel.asm["ptx"]


def test_without_the_pass_one_thread_arrives(monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    with tle_raw.knobs.scope() as knobs:
        knobs.disable_passes = "arrive-by-warps"
        kernel = compiled("met_by_all", {"o": "*i32", "n": "i32"})
    assert counts(kernel) == [3] and "elect.sync _|" not in kernel.asm["ptx"]


def test_for_racecheck_each_thread_arrives(monkeypatch):
    """It takes an arrival for that of the thread that makes it, and not of those that it met before."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    with tle_raw.knobs.scope() as knobs:
        knobs.racecheck = True
        kernel = compiled("met_by_all", {"o": "*i32", "n": "i32"})
    assert counts(kernel) == [12 * 32]
    ptx = kernel.asm["ptx"]
    assert "elect.sync _|" not in ptx
    arrivals = re.findall(r"(@%p\d+ )?mbarrier\.arrive\.shared::cta\.b64 _, \[\S+\], (\d);", ptx)
    assert sorted(arrivals) == [("", "1"), ("", "2"), ("", "4")]


def test_for_racecheck_who_begins_a_copy_arrives_for_as_many(monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    signature = {"x_desc": "tensordesc<fp16[64,64]>", "o": "*fp32"}
    assert counts(compiled("copied_and_stored", signature, N=64)) == [2]
    with tle_raw.knobs.scope() as knobs:
        knobs.racecheck = True
        kernel = compiled("copied_and_stored", signature, N=64)
    assert counts(kernel) == [2 * 64]
    ptx = kernel.asm["ptx"]
    arrivals = re.findall(r"(@%p\d+ )?mbarrier\.arrive\.shared::cta\.b64 _, \[\S+\], (\d+);", ptx)
    assert sorted(bool(predicate) * 100 + int(count) for predicate, count in arrivals) == [1, 163]
    assert ptx.index("], 63;") < ptx.index("arrive.expect_tx")


def test_tensor_cores_see_what_another_partition_stored():
    signature = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}
    kernel = compiled("multiply_stored", signature, M=128, K=64, S=2, WARPS=2)
    lines = [
        line for line in kernel.asm["ptx"].splitlines() if re.search(r"fence\.proxy|bar\.sync|st\.shared|arrive", line)
    ]
    text = "\n".join(lines)
    handed_over = r"st\.shared.*\n.*fence\.proxy\.async.*\n.*bar\.warp\.sync.*arrive"
    assert re.search(handed_over, text)


def test_copies_that_arrive_when_they_are_done():
    """Nobody waits for them but who multiplies, whose fence stands behind its wait."""
    signature = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}
    ptx = compiled("multiply_copied", signature, M=64, K=64, S=2, WARPS=4).asm["ptx"]
    assert ptx.count("cp.async.cg.shared.global") == 8 and "cp.async.wait" not in ptx
    words = (
        r"cp\.async\.mbarrier\.arrive\.shared\.b64",
        r"mbarrier\.(?:try_wait|arrive)",
        r"fence\.proxy",
        r"wgmma\.fence",
    )
    seen = " ".join(re.findall("|".join((*words, r"bar\.sync")), ptx))
    assert "mbarrier.try_wait fence.proxy wgmma.fence" in seen
    arrived = "cp.async.mbarrier.arrive.shared.b64 bar.sync mbarrier.arrive"
    assert arrived in seen, "all threads' copies are counted before one of them arrives, and no fence waits for them"


@pytest.mark.one_triton
def test_copies_are_waited_for_outside_of_partitions():
    ptx = compile_kernel(kernels.copied_alone, {"x_ptr": "*fp32", "o_ptr": "*fp32"}, {"B": 512}, 90).asm["ptx"]
    assert "cp.async.wait_group" in ptx and "cp.async.mbarrier" not in ptx


def test_partitions_one_after_the_other():
    kernel = compiled("paces", {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32", "times": "i32"})
    assert waited_at(kernel) >= {(0, 128), (3, 64), (4, 256)}


def test_named_barriers_between_partitions():
    kernel = compiled("in_turns", {"o": "*i32", "n": "i32"}, WARPS=2)
    ptx = kernel.asm["ptx"]
    # Triton's are 0, 1 and one for each worker; the first that is used gets the highest number.
    used = re.findall(r"bar\.(\w+) (\d+), (\d+);", ptx)
    assert sorted(used) == sorted(
        [("sync", "15", "192")] * 2 + [("arrive", "15", "192")] * 2 + [("sync", "14", "192"), ("arrive", "14", "192")]
    )
    assert "mbarrier.init" not in ptx, "they are no memory"


def test_named_barriers_count_warps_that_triton_may_take_away_on_sm_100():
    with pytest.raises(tle_raw.errors.RegionError, match="a worker with fewer warps than asked for") as raised:
        compile_kernel(kernels.in_turns, {"o": "*i32", "n": "i32"}, {"WARPS": 2}, 100)
    assert "partition_kernels.py" in str(raised.value)


def test_on_sm_100_one_thread_arrives_for_its_partition():
    kernel = compile_kernel(kernels.met_by_all, {"o": "*i32", "n": "i32"}, {}, 100)
    assert counts(kernel) == [3] and "elect.sync _|" not in kernel.asm["ptx"]


def test_a_named_barrier_that_is_chosen_at_run_time_is_refused():
    with pytest.raises(tle_raw.errors.ArgumentTypeError, match="must be known at compile time") as raised:
        compile_kernel(kernels.one_of_two, {"o": "*i32", "n": "i32"}, {})
    assert "partition_kernels.py" in str(raised.value)


def layout(warps):
    return tle.gpu.BlockEncoding([1, 4], [4, 8], [warps, 1], [1, 0])


def test_a_layout_of_registers_is_made_for_the_partitions_warps():
    constants = {"B": 32, "FOUR": layout(4), "TWO": layout(2)}
    kernel = compiled("sums_of_rows", {"x": "*fp32", "o": "*fp32"}, **constants)
    for warps in (2, 4):
        assert f"sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [{warps}, 1]" in kernel.asm["ttgir"]
    with pytest.raises(Exception) as raised:
        compile_kernel(kernels.sums_of_rows, {"x": "*fp32", "o": "*fp32"}, constants | {"TWO": layout(4)})
    assert "2 (of worker 0)" in str(cause_of(raised.value))


# --- what is refused -----------------------------------------------------------------------------------------------


@triton.jit
def nothing(x):
    pass


@triton.jit
def takes_two(x, n):
    tl.store(x, n)


@triton.jit
def takes_block(x, block):
    tl.store(x + tl.arange(0, 16), block)


@triton.jit
def returns(x):
    return tl.load(x)


@triton.jit
def divides(x):
    tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [1])


@triton.jit
def waits_without_phase(x, bar):
    tle.gpu.barrier_wait(bar)


@triton.jit(noinline=True)
def apart(x):
    tl.store(x, 1.0)


@triton.jit
def kernel(x, n, WHAT: tl.constexpr):  # one call a line: the error names it
    block = tl.load(x + tl.arange(0, 16))
    bar = tle.gpu.alloc_barrier(arrive_count=32)
    if WHAT == "no pairs":
        tle.gpu.warp_specialize(3, [1])
    if WHAT == "no worker":
        tle.gpu.warp_specialize([(nothing, (x,))], [])
    if WHAT == "no function":
        tle.gpu.warp_specialize([(3, (x,)), (nothing, (x,))], [1])
    if WHAT == "no tuple":
        tle.gpu.warp_specialize([(nothing, x), (nothing, (x,))], [1])
    if WHAT == "too few arguments":
        tle.gpu.warp_specialize([(nothing, (x,)), (takes_two, (x,))], [1])
    if WHAT == "too few warps":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,)), (nothing, (x,))], [1])
    if WHAT == "too many registers":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [1], [24, 24])
    if WHAT == "run-time warps":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [n])
    if WHAT == "five warps":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [5])
    if WHAT == "odd registers":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [1], [20])
    if WHAT == "a whole block more":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,)), (nothing, (x,))], [16, 16])
    if WHAT == "more than the launch's warps":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [4, 1], None, True)
    if WHAT == "a run-time flag":
        tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [1], None, n)
    if WHAT == "a block tensor":
        tle.gpu.warp_specialize([(nothing, (x,)), (takes_block, (x, block))], [1])
    if WHAT == "a worker's result":
        tle.gpu.warp_specialize([(nothing, (x,)), (returns, (x,))], [1])
    if WHAT == "partitions of partitions":
        tle.gpu.warp_specialize([(nothing, (x,)), (divides, (x,))], [1])
    if WHAT == "a named barrier":
        tle.gpu.warp_specialize([(nothing, (x,)), (waits_without_phase, (x, bar))], [2])


REFUSED = [
    ("no pairs", "ArgumentTypeError", "functions with their arguments"),
    ("no worker", "ArgumentTypeError", "and a worker's at least"),
    ("no function", "ArgumentTypeError", "a function and a tuple"),
    ("no tuple", "ArgumentTypeError", "a function and a tuple"),
    ("too few arguments", "ArgumentCountError", "`takes_two` is not called with its arguments"),
    ("too few warps", "ArgumentCountError", "a number for each worker"),
    ("too many registers", "ArgumentCountError", "a number for each worker"),
    ("run-time warps", "ArgumentTypeError", "known at compile time"),
    ("five warps", "ArgumentTypeError", "a power of two of warps"),
    ("odd registers", "ArgumentTypeError", "setmaxnreg does not have"),
    ("a whole block more", "ArgumentTypeError", "too few warps"),
    ("more than the launch's warps", "ArgumentTypeError", "the functions share the launch's warps"),
    ("a run-time flag", "ArgumentTypeError", "reuse_default_warps is known at compile time"),
    ("a block tensor", "ArgumentTypeError", "a block tensor is spread over the kernel's own warps"),
    ("a worker's result", "ArgumentTypeError", "a worker returns a value"),
    ("partitions of partitions", "RegionError", "not divided again"),
    ("a named barrier", "ArgumentTypeError", "counts fewer threads than come: all of worker 0 do"),
]
INSIDE = {  # the line of those whose fault stands in a partition's function
    "partitions of partitions": "tle.gpu.warp_specialize([(nothing, (x,)), (nothing, (x,))], [1])",
    "a named barrier": "tle.gpu.barrier_wait(bar)",
}


@pytest.mark.parametrize("what, error, message", REFUSED)
def test_refused(what, error, message):
    with pytest.raises(Exception) as raised:
        compile_kernel(kernel, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    found = cause_of(raised.value)
    assert type(found) is getattr(tle_raw.errors, error) and message in str(found), found
    lines = Path(__file__).read_text().splitlines()
    wanted = INSIDE.get(what) or lines[lines.index(f'    if WHAT == "{what}":') + 1]
    number = next(number for number, line in enumerate(lines, 1) if wanted in line)
    assert f"test_partitions.py:{number}" in str(found), found


def test_functions_that_share_the_launchs_warps_get_block_tensors():
    torch = pytest.importorskip("torch")
    x, o = torch.randn(512), torch.zeros(512)
    kernels.shared_warps[(1,)](x, o, 3.0, 256, 2, num_warps=4)
    halves = x.double().view(2, 256)
    assert torch.allclose(o.double().view(2, 256), halves * 3 - halves.flip(0).amax(1, keepdim=True), atol=1e-5)
    kernel = compile_kernel(kernels.shared_warps, {"x": "*fp32", "o": "*fp32", "scale": "fp32"}, {"N": 256, "WARPS": 2})
    assert re.findall(r"num_warps\((\d)\)", kernel.asm["ttgir"]) == ["2", "2"] and not ptx_calls(kernel)


@triton.jit
def beside(x, n, WHAT: tl.constexpr):
    if WHAT == "a function of its own":
        apart(x)
    tle.gpu.warp_specialize([(nothing, (x,)), (takes_two, (x, n))], [1])
    if WHAT == "Triton's own":
        for i in tl.range(n, warp_specialize=True):
            tl.store(x + i, tl.load(x + i) + 1)


@pytest.mark.parametrize(
    "what, message",
    [
        ("a function of its own", "a function that is not inlined"),
        ("Triton's own", "asks Triton to specialise warps"),
    ],
)
def test_refused_beside_partitions(what, message):
    with pytest.raises(tle_raw.errors.RegionError, match=message) as raised:
        compile_kernel(beside, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    assert "test_partitions.py:" in str(raised.value)


@pytest.mark.parametrize("warps", [1, 2])
def test_the_warps_of_the_launch_are_a_multiple_of_four(warps):
    with pytest.raises(Exception) as raised:
        compile_kernel(beside, {"x": "*fp32", "n": "i32"}, {"WHAT": ""}, num_warps=warps)
    assert "four of them or a multiple" in str(cause_of(raised.value))


@pytest.mark.parametrize("what", ["", "a fragment", "a function of its own", "a named barrier", "Triton's own"])
@pytest.mark.every_triton(2)
def test_on_the_cpu_more_may_stand_beside_partitions(what):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    x = torch.arange(8, dtype=torch.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        beside[(1,)](x, 5, WHAT=what)
    more = [1] * 5 + [0] * 3 if what == "Triton's own" else [0] * 8
    assert x.tolist() == [first + second for first, second in zip((5, 1, 2, 3, 4, 5, 6, 7), more)]


def test_targets_without_warps_refuse_them_by_name(monkeypatch):
    monkeypatch.setattr("tle_raw.frontends.gpu.partition_functions.compiled_target", lambda: "toy")
    with pytest.raises(Exception) as raised:
        compile_kernel(beside, {"x": "*fp32", "n": "i32"}, {"WHAT": ""})
    found = cause_of(raised.value)
    assert type(found) is tle_raw.errors.RegionError and "the target `toy` have no warps to divide" in str(found)
