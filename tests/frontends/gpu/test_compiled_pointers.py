"""What kernels with pointers into buffers compile to: instructions for shared memory, and barriers where needed."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.frontends.gpu import pointer_kernels as kernels
from tests.support import compile_kernel, ptx_calls
from tle_raw.flir.nvidia.calls import layouts, triton_ttgir

pytestmark = pytest.mark.every_triton(9)

SUMS = {"x": "*i32", "o": "*i32"}


def count(kernel, pattern):
    return len(re.findall(pattern, kernel.asm["ptx"]))


def barriers(kernel):
    return count(kernel, r"bar\.sync")


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_histogram_is_loads_atomics_and_two_barriers(capability):
    """A thread counts what it has loaded: nothing moves between threads, and nothing is in order among atomics."""
    kernel = compile_kernel(kernels.histogram, SUMS, {"n": 1 << 16, "B": 1024, "N": 256}, capability)
    assert not ptx_calls(kernel) and "cubin" in kernel.asm
    assert count(kernel, r"\b(?:atom|red)\.shared\.cta\.relaxed\.add\.u32") == 8
    assert not count(kernel, r"\b(?:atom|red)\.global")
    assert barriers(kernel) == 2
    assert kernel.metadata.shared == 256 * 4
    assert count(kernel, r"st\.shared|stmatrix") <= 2 and not count(kernel, r"shfl")


@pytest.mark.parametrize("name", ["gathered", "scattered"])
@pytest.mark.parametrize(
    "layout, capability",
    [
        *((layout, 90) for layout in kernels.LAYOUTS),
        *((layout, c) for layout in kernels.LAYOUTS[::3] for c in (80, 100)),
    ],
)
@pytest.mark.every_triton(4)
def test_every_layout_is_accessed_in_shared_memory(layout, name, capability):
    signature = {"x": "*fp16", "rows": "*i32", "columns": "*i32", "o": "*fp16"}
    constants = {"R": 32, "C": 64, "N": 512, "LAYOUT": layout}
    kernel = compile_kernel(getattr(kernels, name), signature, constants, capability)
    assert "cubin" in kernel.asm and not ptx_calls(kernel)
    assert not count(kernel, r"ld\.volatile|\.cs\.L1::evict_last")
    # what is read at given places comes with one load for each element that a thread has
    assert count(kernel, r"(?:ld|st)\.shared(?:::cta)?\.b16") >= 4


def test_stores_that_cross_alone_are_closed_in_the_module(monkeypatch):
    """Nothing of such a kernel is printed and read again behind the conversion."""
    monkeypatch.setattr(layouts, "close_crossings", None)
    signature = {"x": "*fp32", "index": "*i32", "o": "*fp32", "n": "i32"}
    kernel = compile_kernel(kernels.masked, signature, {"N": 256})
    assert "ttg.local_store" in kernel.asm["ttgir"] and "tle.crossing" not in kernel.asm["ttgir"]
    assert "cubin" in kernel.asm and not ptx_calls(kernel)


INDEXED = {"x": "*i32", "index": "*i32", "o": "*i32", "old": "*i32"}


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    "name, signature, constants",
    [
        ("histogram", SUMS, {"n": 1 << 16, "B": 1024, "N": 256}),
        ("masked", {"x": "*fp32", "index": "*i32", "o": "*fp32", "n": "i32"}, {"N": 256}),
        ("reduced", INDEXED, {"KIND": "max", "N": 256, "M": 64}),
        ("reduced", INDEXED, {"KIND": "add", "N": 256, "M": 64}),
        ("claimed", INDEXED, {"N": 256, "M": 64}),
        ("freed", SUMS, {"N": 256}),
    ],
)
@pytest.mark.every_triton(4)
def test_accesses_in_order_are_shown_in_the_module(monkeypatch, name, signature, constants, capability):
    """Nothing of a kernel that does nothing else with buffers is printed and read again behind Triton's stage."""
    monkeypatch.setattr(triton_ttgir, "order_pointers", None)
    kernel = compile_kernel(getattr(kernels, name), signature, constants, capability)
    assert "tle_access" not in kernel.asm["ttgir"] and "tle_access" not in kernel.asm["llir"]
    assert "cubin" in kernel.asm and not ptx_calls(kernel)
    assert count(kernel, r"(?:ld|st|atom|red)\.shared|stmatrix")


def test_a_barrier_in_a_loop_does_not_keep_the_pipeliner_away():
    """Triton runs no loads of a loop ahead in which it sees a barrier: there the order is decided behind it."""

    @triton.jit
    def scattered(x, o, n, N: tl.constexpr):
        i = tl.arange(0, N)
        a = tle.gpu.alloc([N], tl.float32)
        for k in tl.range(0, n, num_stages=3):
            tl.store(tle.gpu.local_ptr(a, (i ^ 1,)), tl.load(x + k * N + i))
            tl.store(tle.gpu.local_ptr(a, (i ^ 2,)), tl.load(x + (n + k) * N + i))
        tl.store(o + i, tl.load(tle.gpu.local_ptr(a)))

    kernel = compile_kernel(scattered, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"N": 512})
    assert count(kernel, r"cp\.async\.c") and "cubin" in kernel.asm


def test_rows_are_read_in_wide_accesses():
    kernel = compile_kernel(kernels.reversed_rows, {"x": "*fp16", "o": "*fp16"}, {"R": 32, "C": 64})
    assert count(kernel, r"ld\.shared\.v4\.b32") == 2  # 16 elements of a thread
    assert barriers(kernel) == 1


@pytest.mark.parametrize("capability", [90, 100])
def test_additions_of_floats_are_not_joined(capability):
    """No instruction adds several numbers in shared memory, as there are some for global memory."""

    @triton.jit
    def added(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        sums = tle.gpu.alloc([N], tl.float32, init_value=0)
        tl.atomic_add(tle.gpu.local_ptr(sums), tl.load(x + i))
        tl.atomic_add(o + i, sums.load())

    kernel = compile_kernel(added, {"x": "*fp32", "o": "*fp32"}, {"N": 1024}, capability)
    assert count(kernel, r"(?:atom|red)\.shared\.cta\.relaxed\.add\.f32") == 8
    assert count(kernel, r"(?:atom|red)\.global\S*\.v4\.f32") == 2


def test_the_kernels_own_atomics_stay_in_global_memory():
    @triton.jit
    def both(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        counts = tle.gpu.alloc([N], tl.int32, init_value=0)
        tl.atomic_add(tle.gpu.local_ptr(counts, (tl.load(x + i),)), 1)
        tl.atomic_add(o + i, 1, sem="relaxed", scope="cta")
        tl.atomic_max(o + i, 5, sem="relaxed", scope="gpu")
        tl.store(o + N + i, counts.load())

    kernel = compile_kernel(both, SUMS, {"N": 128})
    assert count(kernel, r"(?:atom|red)\.shared") == 1
    assert count(kernel, r"(?:atom|red)\.global\.gpu\.relaxed") == 2


# --- barriers -----------------------------------------------------------------------------------------------------


def test_each_step_of_a_sum_in_place_has_two_barriers():
    """One between its loads and its stores, one before the next step's; none behind the loop but the latter."""
    kernel = compile_kernel(kernels.doubling_sums, SUMS, {"N": 1024})
    assert barriers(kernel) == 3


def test_each_step_from_one_slot_to_the_other_has_two_barriers():
    """Slots of one allocation are not told apart."""
    kernel = compile_kernel(kernels.in_two_buffers, SUMS, {"n": 10, "N": 1024})
    assert barriers(kernel) == 3


@triton.jit
def two_buffers(x, o, n, N: tl.constexpr):
    """Only the second access to each of them needs a barrier, and one does for both."""
    i = tl.arange(0, N)
    a, b = tle.gpu.alloc([N], tl.int32), tle.gpu.alloc([N], tl.int32)
    tl.store(tle.gpu.local_ptr(a, (N - 1 - i,)), tl.load(x + i))
    tl.store(tle.gpu.local_ptr(b, (i ^ 1,)), tl.load(x + N + i))
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a)) + b.load())


@triton.jit
def only_reads(x, o, n, N: tl.constexpr):
    """What nobody writes in a loop is read in it without a barrier."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32)
    tl.store(tle.gpu.local_ptr(a, (N - 1 - i,)), tl.load(x + i))
    total = tl.zeros([N], tl.int32)
    for k in range(n):
        total += tl.load(tle.gpu.local_ptr(a, ((i + k) % N,))) + tl.load(tle.gpu.local_ptr(a, ((i * 3 + k) % N,)))
    tl.store(o + i, total)


@triton.jit
def counts_of_two_kinds(x, o, n, N: tl.constexpr):
    """Additions come in any order; the largest of the sums does not."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32, init_value=0)
    for k in range(n):
        tl.atomic_add(tle.gpu.local_ptr(a, (tl.load(x + k * N + i),)), 1)
    tl.atomic_max(tle.gpu.local_ptr(a), 3)
    tl.store(o + i, a.load())


@triton.jit
def a_branch(x, o, n, N: tl.constexpr):
    """The barrier stands in the branch that writes, and behind the branch."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32)
    a.store(tl.load(x + i))
    before = tl.load(tle.gpu.local_ptr(a, (i ^ 3,)))
    if n > 3:
        tl.store(tle.gpu.local_ptr(a, (i ^ 1,)), before)
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a)))


@triton.jit
def own_barriers(x, o, n, N: tl.constexpr):
    """Where the kernel has one, none is added."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32)
    tl.store(tle.gpu.local_ptr(a, (N - 1 - i,)), tl.load(x + i))
    tl.debug_barrier()
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a)))


@triton.jit
def after_a_copy(x, o, n, N: tl.constexpr):
    """What came by an asynchronous copy is there behind its wait and a barrier."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32)
    tle.gpu.copy(x + i, a, [N])
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a, (N - 1 - i,))))


@triton.jit
def own_parts(x, o, n, N: tl.constexpr):
    """Each store has elements of its own, which constants tell; loads of others wait for none of them."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([4 * N], tl.int32)
    for k in tl.static_range(4):
        tl.store(tle.gpu.local_ptr(a, (4 * (i ^ 1) + k,)), tl.load(x + k * N + i))
    total = tl.load(tle.gpu.local_ptr(a, (i,)))
    tl.store(tle.gpu.local_ptr(a, (3 * N + i,)), total)
    tl.store(o + i, total + tl.load(tle.gpu.local_ptr(a, (N + (i ^ 5),))))


@triton.jit
def one_element(x, o, n, N: tl.constexpr):
    """Two stores that share an element are in order."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([2 * N], tl.int32)
    tl.store(tle.gpu.local_ptr(a, (2 * i + 1,)), 1)
    tl.store(tle.gpu.local_ptr(a, (i + N - 1,)), 2)
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a, (N + i,))))


@pytest.mark.parametrize(
    "kernel, wanted",
    [
        (own_parts, 1),
        (one_element, 2),
        (two_buffers, 1),
        (only_reads, 1),
        (counts_of_two_kinds, 3),
        (a_branch, 3),
        (own_barriers, 1),
        (after_a_copy, 1),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.every_triton(4)
def test_barriers_stand_where_they_are_needed(kernel, wanted):
    assert barriers(compile_kernel(kernel, SUMS | {"n": "i32"}, {"N": 256})) == wanted


def test_what_products_read_is_fenced():
    """Tensor cores read behind a fence and a barrier what threads wrote by pointers."""

    @triton.jit
    def multiplied(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        at = i[:, None] * N + i[None, :]
        a, b = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N, N], tl.float16)
        values = tl.load(x + at)
        tl.store(tle.gpu.local_ptr(a), values)
        tl.store(tle.gpu.local_ptr(b, (i[None, :], i[:, None])), values)
        tl.store(o + at, tl.dot(a.load(), b.load()))

    ptx = compile_kernel(multiplied, {"x": "*fp16", "o": "*fp32"}, {"N": 64}).asm["ptx"]
    store, fence = ptx.rindex("st.shared", 0, ptx.index("wgmma.mma_async")), ptx.rindex("fence.proxy.async")
    assert store < fence < ptx.index("bar.sync", fence) < ptx.index("wgmma.mma_async")


@pytest.mark.parametrize("what", ["the buffer", "a pointer", "both"])
def test_equal_loads_are_not_joined_over_a_store(what):
    kernel = compile_kernel(kernels.written_between, SUMS, {"N": 256, "WHAT": what})
    assert count(kernel, r"ld\.shared|ldmatrix") >= 2 and barriers(kernel) == 3


# --- layouts of values --------------------------------------------------------------------------------------------


@triton.jit
def scattered_twice(x, o, N: tl.constexpr, M: tl.constexpr):
    """The results of one atomic operation, in two layouts."""
    i = tl.arange(0, N)
    counts = tle.gpu.alloc([M], tl.int32, init_value=0)
    place = tl.atomic_add(tle.gpu.local_ptr(counts, (i % M,)), 1)
    tl.store(o + i, place + tl.load(x + i))
    tl.store(o + N + i * 3, place)


@pytest.mark.parametrize("hidden", [False, True])
def test_an_atomic_operation_is_done_once(monkeypatch, hidden):
    """Also where Triton would repeat it for another layout."""
    from tle_raw.flir.nvidia import pipeline

    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    enter = pipeline.Compilation.__init__

    def begun(self, *arguments):
        enter(self, *arguments)
        self.hide_used = hidden

    monkeypatch.setattr(pipeline.Compilation, "__init__", begun)
    kernel = compile_kernel(scattered_twice, SUMS, {"N": 2048, "M": 64})
    assert count(kernel, r"(?:atom|red)\.shared") == 2048 // 128


def test_pointers_do_not_move_between_threads():
    """Keys, counts and places stay with the thread that loaded them."""
    kernel = compile_kernel(kernels.ranked, {"keys": "*i32", "o": "*i32"}, {"N": 1024, "M": 64})
    assert not re.search(r"convert_layout.*!tt\.ptr", kernel.asm["ttgir"])


@pytest.mark.parametrize("stages", [1, 3])
def test_a_pipelined_loop_reads_in_order(stages):
    """Loads by pointers are never run ahead of what the turn before writes."""

    @triton.jit
    def chained(x, o, n, N: tl.constexpr, S: tl.constexpr):
        i = tl.arange(0, N)
        a = tle.gpu.alloc([N], tl.int32, init_value=0)
        for k in tl.range(0, n, num_stages=S):
            at = tl.load(tle.gpu.local_ptr(a, (i ^ 1,)))
            tl.store(tle.gpu.local_ptr(a), tl.load(x + at) + k)
        tl.store(o + i, a.load())

    kernel = compile_kernel(chained, SUMS | {"n": "i32"}, {"N": 128, "S": stages})
    assert not count(kernel, r"cp\.async") and barriers(kernel) == 3
    assert count(kernel, r"ld\.shared|ldmatrix") == 2 and count(kernel, r"st\.shared|stmatrix") == 2


@pytest.mark.parametrize("capability", [80, 90])
def test_operands_that_pointers_name_are_no_copies(capability):
    """Triton's software pipeliner would make asynchronous copies of what it takes for loads from global memory."""

    @triton.jit
    def looked_up(x, o, K, N: tl.constexpr):
        i = tl.arange(0, N)
        table, rows = tle.gpu.alloc([256], tl.float16), tle.gpu.alloc([N, N], tl.float16)
        table.store(tl.load(x + tl.arange(0, 256)))
        rows.store(tl.load(x + i[:, None] * N + i[None, :]))
        acc = tl.zeros([N, N], tl.float32)
        for k in tl.range(0, K, N, num_stages=3):
            at = tl.load(x + (k + i[:, None]) * N + i[None, :]).to(tl.int32) & 255
            b = tl.load(tle.gpu.local_ptr(table, (at,)))
            acc += tl.dot(tl.load(tle.gpu.local_ptr(rows, (i[:, None], i[None, :] ^ 1))), b)
        tl.store(o + i[:, None] * N + i[None, :], acc)

    kernel = compile_kernel(looked_up, {"x": "*fp16", "o": "*fp32", "K": "i32"}, {"N": 64}, capability)
    assert not count(kernel, r"cp\.async") and "cubin" in kernel.asm


def test_places_that_loads_need_stay_in_order():
    """An atomic operation on whose result a load depends is not run ahead with it."""

    @triton.jit
    def drawn(x, o, n, N: tl.constexpr):
        i = tl.arange(0, N)
        counts = tle.gpu.alloc([N], tl.int32, init_value=0)
        total = tl.zeros([N], tl.float32)
        for _ in tl.range(0, n, num_stages=3):
            place = tl.atomic_add(tle.gpu.local_ptr(counts, ((i * 5) % N,)), 1)
            total += tl.load(x + place * N + i)
        tl.store(o + i, total)

    kernel = compile_kernel(drawn, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"N": 128})
    assert not count(kernel, r"cp\.async") and count(kernel, r"(?:atom|red)\.shared") == 1


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_loads_of_a_loop_that_counts_are_run_ahead(capability):
    """Atomics whose results nobody uses, and stores, leave the loop to Triton's software pipeliner."""

    @triton.jit
    def counted(x, o, n, B: tl.constexpr, N: tl.constexpr):
        i = tl.arange(0, B)
        counts = tle.gpu.alloc([N], tl.int32, init_value=0)
        last = tle.gpu.alloc([B], tl.int32)
        for start in tl.range(0, n, B, num_stages=3):
            values = tl.load(x + start + i)
            tl.atomic_add(tle.gpu.local_ptr(counts, (values,)), 1)
            tl.store(tle.gpu.local_ptr(last, (i ^ 1,)), values)
        tl.store(o + tl.arange(0, N), counts.load())
        tl.store(o + N + i, last.load())

    kernel = compile_kernel(counted, SUMS | {"n": "i32"}, {"B": 1024, "N": 256}, capability, multiples=("n",))
    assert count(kernel, r"cp\.async\.c[ag]") and count(kernel, r"(?:atom|red)\.shared") == 8


# --- what products read in place ----------------------------------------------------------------------------------


HALVES = {"x": "*fp16", "o": "*fp16"}


def test_products_read_whole_buffers_and_rectangles_by_pointers_in_place():
    """What is stored into shared memory is what the kernel stores; it is ordered and fenced."""
    N = 64
    sizes = {"N": N, "n": 3}
    given = {h: compile_kernel(kernels.products, HALVES, {**sizes, "HOW": h}) for h in ("whole", "rectangles")}
    others = compile_kernel(kernels.products, HALVES, {**sizes, "HOW": "others"})
    for kernel in given.values():
        ttgir, ptx = kernel.asm["ttgir"], kernel.asm["ptx"]
        assert "cubin" in kernel.asm and not ptx_calls(kernel)
        assert ttgir.count("ttng.warp_group_dot %") == 2 and "local_load" not in ttgir
        assert not re.search(r"ttg\.local_alloc %", ttgir)  # of no tensor
        assert count(kernel, r"st\.shared") < count(others, r"st\.shared")
        store = ptx.rindex("st.shared", 0, ptx.index("wgmma.mma_async"))
        fence = ptx.index("fence.proxy.async", store)
        assert store < fence < ptx.index("bar.sync", fence) < ptx.index("wgmma.mma_async")
        assert barriers(kernel) >= 2  # before the stores of a turn as well, which the last one's products read
    assert re.search(r"memdesc_subslice .*\[0, 64\]", given["rectangles"].asm["ttgir"])
    assert "ttg.local_alloc %" in others.asm["ttgir"]


def test_a_load_that_is_no_rectangle_or_masked_stays_one_by_pointers():
    @triton.jit
    def masked(x, o, n, N: tl.constexpr):
        i = tl.arange(0, N)
        at = i[:, None] * N + i[None, :]
        a = tle.gpu.alloc([N, N], tl.float16)
        tl.store(tle.gpu.local_ptr(a), tl.load(x + at))
        p = tle.gpu.local_ptr(a)
        tile = tl.load(p, mask=at < n, other=0)
        tl.store(o + at, tl.dot(tile, tl.load(p, volatile=True)).to(tl.float16))

    kernel = compile_kernel(masked, HALVES | {"n": "i32"}, {"N": 64})
    assert "ttg.local_load" not in kernel.asm["ttgir"] and "cubin" in kernel.asm


def test_a_buffer_that_changes_between_its_load_and_the_product_is_copied():
    @triton.jit
    def overwritten(x, o, n, N: tl.constexpr):
        i = tl.arange(0, N)
        at = i[:, None] * N + i[None, :]
        a = tle.gpu.alloc([N, N], tl.float16)
        p = tle.gpu.local_ptr(a)
        tl.store(p, tl.load(x + at))
        before = tl.load(p)
        tl.store(p, tl.load(x + N * N + at))
        tl.store(o + at, tl.dot(before, tl.load(p)).to(tl.float16))

    ttgir = compile_kernel(overwritten, HALVES | {"n": "i32"}, {"N": 64}).asm["ttgir"]
    loaded, stored = ttgir.index("ttg.local_load"), ttgir.rindex("tt.store", 0, ttgir.index("ttng.warp_group_dot %"))
    assert loaded < stored
