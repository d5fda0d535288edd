"""Pipes: what they compile to, their numbers on CPUs, and what is refused."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.gpu import partition_kernels, pipe_kernels
from tests.support import cause_of, compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(4)

TILE = "tensordesc<fp16[128,64]>"
PRODUCT = {"a_desc": TILE, "b_desc": TILE, "c_ptr": "*fp32", "k": "i32"}
POINTERS = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}
ROWS = {"x_ptr": "*fp32", "o_ptr": "*fp32", "p_ptr": "*fp32", "n": "i32"}
LOOP = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32", "size": "i32"}
INSTRUCTIONS = (
    *("mbarrier.init", "mbarrier.try_wait", "mbarrier.arrive.shared::cta", "mbarrier.arrive.expect_tx"),
    *("cp.async.bulk.tensor", "fence.proxy.async", "wgmma.mma_async", "wgmma.wait_group", "ld.shared", "st.shared"),
)


def compiled(kernel, signature, capability=90, **constants):
    made = compile_kernel(kernel, signature, constants, capability)
    assert not ptx_calls(made) and "cubin" in made.asm
    assert len(re.findall(r"\.entry\b", made.asm["ptx"])) == 1
    return made


def counted(kernel, *instructions):
    return [kernel.asm["ptx"].count(text) for text in instructions]


def test_a_gemm_has_the_instructions_of_one_with_barriers_of_its_own():
    constants = {"M": 128, "N": 128, "K": 64, "S": 3, "AHEAD": 1, "WARPS": 1}
    by_pipe = compiled(pipe_kernels.gemm, PRODUCT, **constants)
    by_hand = compiled(partition_kernels.gemm, PRODUCT, **constants)
    assert counted(by_pipe, *INSTRUCTIONS) == counted(by_hand, *INSTRUCTIONS)
    counts = re.findall(r"mbarrier\.init\S+ \[\S+\], (\d+);", by_pipe.asm["ptx"])
    assert sorted(counts) == ["1"] * 3 + ["4"] * 3, "each of the four warps that multiply gives a slot back"
    assert re.findall(r"expect_tx\S* _, \[\S+\], (\d+);", by_pipe.asm["ptx"]) == [str(2 * 128 * 64 * 2)]
    assert by_pipe.metadata.shared == by_hand.metadata.shared
    assert not re.search(r"\b(?:bar|barrier)\.sync(?:\.aligned)?\s+0;", by_pipe.asm["ptx"])


@pytest.mark.parametrize("how", ["copy", "store", "both"])
@pytest.mark.parametrize("capability", [80, 90])
def test_operands_from_pointers(capability, how):
    kernel = compiled(pipe_kernels.gemm_by_pointers, POINTERS, capability, M=64, K=64, S=3, WARPS=4, HOW=how)
    ptx = kernel.asm["ptx"]
    in_background = "cp.async.mbarrier.arrive.shared" in ptx
    assert in_background == (capability == 80 and how != "store"), "tensor cores of sm_90 see memory another way"
    assert ("cp.async.wait" in ptx) == (capability == 90 and how != "store")
    assert ("wgmma" in ptx) == ("fence.proxy.async" in ptx) == (capability == 90)
    if how != "store":
        assert "cp.async.cg.shared.global" in ptx


@pytest.mark.parametrize("how", ["copy", "store", "point"])
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_two_readers_and_a_closed_end(capability, how):
    kernel = compiled(pipe_kernels.rows_to_two, ROWS, capability, B=256, S=3, W1=2, W2=4, HOW=how)
    counts = re.findall(r"mbarrier\.init\S+ \[\S+\], (\d+);", kernel.asm["ptx"])
    # On sm_90 each warp arrives by itself: of readers, and of a writer that stores.
    by_warps = capability == 90
    full, empty = "4" if by_warps and how != "copy" else "1", "8" if by_warps else "2"
    assert sorted(counts) == [full] * 3 + [empty] * 3, "a slot is empty when both have given it back"
    assert ("cp.async.mbarrier.arrive.shared" in kernel.asm["ptx"]) == (how == "copy")


@pytest.mark.parametrize("how", ["copy", "store", "point"])
@pytest.mark.parametrize("capability", [80, 90])
def test_one_loop(capability, how):
    kernel = compiled(pipe_kernels.one_loop, LOOP, capability, B=512, S=3, HOW=how)
    assert ("cp.async.ca.shared.global" in kernel.asm["ptx"]) == (how == "copy")
    assert "noinc" not in kernel.asm["ptx"], "a thread's arrival would be one too many"


def test_a_pipe_that_nobody_closes_reads_no_flags():
    kernel = compiled(pipe_kernels.one_loop, LOOP, B=512, S=3, HOW="copy")
    flags = re.search(r'(%\S+) = ttg\.local_alloc \{tle\.name = "p\.closed"\}', kernel.asm["ttir"])
    assert flags and not [
        line for line in kernel.asm["ttir"].splitlines() if flags[1] in line and "memdesc_index" in line
    ]


def test_cursors_go_round_without_divisions():
    kernel = compiled(pipe_kernels.by_cursor, {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}, B=256, S=3)
    assert not re.search(r"arith\.(rem|div)", kernel.asm["ttir"])
    numbers = compiled(pipe_kernels.two_readers_in_turn, {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}, B=256, S=3)
    assert re.search(r"arith\.remui", numbers.asm["ttir"])


@pytest.mark.parametrize("capability", [80, 90])
def test_slots_that_are_filled_once_have_no_barriers_to_give_them_back(capability):
    for kernel, more in ((pipe_kernels.once, {}), (pipe_kernels.once_across, {"W": 2})):
        made = compiled(kernel, {"x_ptr": "*fp32", "o_ptr": "*fp32"}, capability, B=256, S=3, **more)
        assert made.asm["ptx"].count("mbarrier.init") == 3 and "closed" not in made.asm["ttir"]


@pytest.mark.parametrize("capability", [80, 90])
def test_rows_of_two_axes_in_the_layout_of_tensor_cores(capability):
    types = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
    kernel = compiled(pipe_kernels.two_readers_in_turn, types, capability, B=256, S=8)
    assert "nvmma_shared" in kernel.asm["ttir"] and kernel.asm["ptx"].count("mbarrier.init") == 16


@pytest.mark.parametrize("capability", [80, 90])
def test_names_that_a_loop_gives_other_slots(capability):
    kernel = compiled(
        pipe_kernels.by_pointers, {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}, capability, B=256, S=2
    )
    assert kernel.asm["ptx"].count("mbarrier.init") == 4


@pytest.mark.parametrize("capability", [80, 90])
def test_two_variables_that_are_one_value_in_front_of_the_loop(capability):
    kernel = compiled(pipe_kernels.one_behind, {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}, capability, B=256, S=2)
    assert kernel.asm["ptx"].count("mbarrier.init") == 4


@pytest.mark.parametrize("capability", [80, 90])
def test_a_fragment_fills_a_slot(capability):
    types = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
    kernel = compiled(pipe_kernels.by_fragment, types, capability, R=16, C=32, S=2)
    assert "cp.async.mbarrier.arrive.shared" in kernel.asm["ptx"] and "fetch_tile" in str(tle_raw.report(kernel))


def test_three_transports_make_one_arrival():
    types = {"x_desc": "tensordesc<fp32[32,32]>", "s_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
    ptx = compiled(pipe_kernels.mixed, types, R=32, C=32, S=3, W=2).asm["ptx"]
    assert ptx.count("mbarrier.arrive.expect_tx") == ptx.count("cp.async.mbarrier.arrive.shared") == 1
    handed_over = (
        r"st\.shared.*\n(?:.*\n)*?.*fence\.proxy\.async.*\n(?:.*\n)*?.*bar\.sync\s+2, 64;\n(?:.*\n)*?.*expect_tx"
    )
    assert re.search(handed_over, ptx), "all threads are done before one of them arrives"


# --- numbers on CPUs ----------------------------------------------------------------------------------------------


@pytest.fixture
def on_the_cpu():
    pytest.importorskip("torch_mlir")
    pytest.importorskip("torch")
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield knobs


@pytest.mark.parametrize("debug", [False, pytest.param(True, marks=pytest.mark.one_triton)])
def test_numbers_on_the_cpu(on_the_cpu, debug):
    from tests.frontends.gpu import pipe_numbers as numbers

    on_the_cpu.debug = debug
    for n in (0, 1, 2, 3, 7, 50):
        for how in ("copy", "store", "point"):
            numbers.check(numbers.one_loop("cpu", how, 3, n, 128, cut=5))
        numbers.check(numbers.one_loop("cpu", "copy", 2, n, 128, cut=127))
        numbers.check(numbers.by_cursor("cpu", 3, n))
        numbers.check(numbers.two_readers_in_turn("cpu", 8 if n > 8 else 2, n))
        numbers.check(numbers.by_pointers("cpu", 2, n + 1))
        numbers.check(numbers.one_behind("cpu", 2, n))
        numbers.check(numbers.by_fragment("cpu", 2, n))
        numbers.check(numbers.tiles_by_descriptor("cpu", 2, n))
    for slots in (1, 2, 5):
        numbers.check(numbers.once("cpu", slots))


# --- what is refused ----------------------------------------------------------------------------------------------


@triton.jit
def nothing(x):
    pass


@triton.jit
def writes(writer):
    slot = writer.acquire(0)
    slot.a.store(1.0)
    writer.commit(0)


@triton.jit
def writes_of(pipe):
    writes(pipe.writer())


@triton.jit
def multiplies(reader, x, PENDING: tl.constexpr):
    slot = reader.wait(0).slot
    acc = tle.gpu.wgmma(slot.square, slot.square)
    acc = tle.gpu.wgmma_wait(PENDING, acc)
    reader.release(0)
    acc = tle.gpu.wgmma_wait(0, acc)
    tl.store(x + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], acc)


@triton.jit
def reads(reader, x):
    tl.store(x, tl.max(reader.wait(0).slot.a.load(), 0))
    reader.release(0)


@triton.jit
def stores(buffer):
    buffer.store(1.0)


@triton.jit
def given(x, buffer):
    tle.pipe(capacity=2, a=buffer)  # wrong: given


@triton.jit
def kernel(x, d, n, WHAT: tl.constexpr):
    i = tl.arange(0, 32)
    a = tle.gpu.alloc([2, 32], tl.float32)
    b = tle.gpu.alloc([2, 32], tl.float32)
    tiles = tle.gpu.alloc([2, 16, 32], tl.float32)
    if WHAT == "a capacity of the launch":
        tle.pipe(capacity=n, a=a)
    if WHAT == "no capacity":
        tle.pipe(capacity=0, a=a)
    if WHAT == "another capacity":
        tle.pipe(capacity=3, a=a)
    if WHAT == "another scope":
        tle.pipe(capacity=2, scope="cluster", a=a)
    if WHAT == "no fields":
        tle.pipe(capacity=2)
    if WHAT == "no buffer":
        tle.pipe(capacity=2, a=x)
    if WHAT == "one axis":
        tle.pipe(capacity=32, a=a[0])
    if WHAT == "a name of a slot's own":
        tle.pipe(capacity=2, type=a)
    if WHAT == "a reserved name":
        tle.pipe(capacity=2, fields=a)
    if WHAT == "a hidden name":
        tle.pipe(capacity=2, _a=a)
    if WHAT == "readers that are none":
        tle.pipe(capacity=2, readers=("left", "left"), a=a)
    if WHAT == "a number for a name":
        tle.pipe(capacity=2, name=3, a=a)
    if WHAT == "one memory for two fields":
        tle.pipe(capacity=2, a=a, b=a)
    if WHAT == "one memory for two pipes":
        tle.pipe(capacity=2, a=a)
        tle.pipe(capacity=2, b=a)
    if WHAT == "two views of one memory":
        tle.pipe(capacity=2, a=a, b=tle.gpu.alloc([2, 32], tl.float32, alias=a))
    if WHAT == "memory that is not known":
        given(x, a)
    if WHAT == "a pipe in a loop":
        for _ in range(n):
            tle.pipe(capacity=2, a=a)
    if WHAT == "the buffer beside the pipe":
        tle.pipe(capacity=2, a=a)
        a[0].store(1.0)
    if WHAT == "the buffer beside the pipe in a partition":
        p = tle.pipe(capacity=2, a=a)
        tle.gpu.warp_specialize([(nothing, (p.writer(),)), (stores, (a,))], [1])
    if WHAT == "no such reader":
        p = tle.pipe(capacity=2, readers=("left", "right"), a=a)
        p.reader("middle")
    if WHAT == "a reader without a name":
        p = tle.pipe(capacity=2, readers=("left", "right"), a=a)
        p.reader()
    if WHAT == "a name too many":
        p = tle.pipe(capacity=2, a=a)
        p.reader("left")
    if WHAT == "no such fields":
        p = tle.pipe(capacity=2, a=a)
        p.reader(fields=("b",))
    p = tle.pipe(capacity=2, name="rows", readers=("left", "right"), a=b, tile=tiles)
    writer, left, right = p.writer(), p.reader("left"), p.reader("right", fields=("tile",))
    if WHAT == "a block of iterations":
        writer.acquire(i)
    if WHAT == "a negative iteration":
        writer.acquire(-1)
    if WHAT == "a field that is not seen":
        right.wait(n).slot.a.load()
    if WHAT == "a field that is none":
        writer.acquire(n).c.store(1.0)
    if WHAT == "a commit of nothing":
        writer.commit(n)
    if WHAT == "a commit of another slot":
        writer.acquire(0)
        writer.commit(1)
    if WHAT == "a commit in another block":
        writer.acquire(0)
        if n > 3:
            writer.commit(0)
    if WHAT == "a slot behind its commit":
        slot = writer.acquire(n)
        writer.commit(n)
        slot.a.store(1.0)
    if WHAT == "a slot behind its release":
        ready = left.wait(n)
        left.release(n)
        x += tl.max(ready.slot.a.load(), 0).to(tl.int32)
    if WHAT == "a view behind its release":
        view = left.wait(n).slot.tile.subslice(0, 8, 0)
        left.release(n)
        x += tl.max(tl.max(view.load(), 0), 0).to(tl.int32)
    if WHAT == "a pointer behind its release":
        pointers = tle.gpu.local_ptr(left.wait(n).slot.a)
        left.release(n)
        x += tl.max(tl.load(pointers), 0).to(tl.int32)
    if WHAT == "a pointer behind its commit":
        pointers = tle.gpu.local_ptr(writer.acquire(n).a, (i,))
        writer.commit(n)
        tl.store(pointers, 1.0)
    if WHAT == "a release of nothing":
        right.release(n)
    if WHAT == "a copy into a reader's slot":
        tle.gpu.copy(x + i, left.wait(n).slot.a, [32])
    if WHAT == "a barrier of its own":
        bar = tle.gpu.alloc_barrier(expect_bytes=2048)
        tle.gpu.copy(d, writer.acquire(n).tile, [16, 32], [0, 0], bar)
    if WHAT == "bytes that are not known":
        slot = writer.acquire(n)
        for k in range(n):
            tle.gpu.copy(d, slot.tile, [16, 32], [k, 0])
    if WHAT == "more than it holds":
        for k in tl.static_range(3):
            writer.acquire(k)
            writer.commit(k)
        left.wait(0)
    if WHAT == "a loop of more than it holds":
        for k in range(3):
            writer.acquire(k)
            writer.commit(k)
        for k in range(3):
            left.wait(k)
    if WHAT == "a loop that nobody counts":
        for k in range(n):
            writer.acquire(k)
            writer.commit(k)
        for k in range(n):
            left.wait(k)
    if WHAT == "two writers":
        tle.gpu.warp_specialize([(nothing, (x,)), (writes, (writer,)), (writes, (writer,))], [1, 1])
    if WHAT == "two writers of one pipe":
        tle.gpu.warp_specialize([(nothing, (x,)), (writes_of, (p,)), (writes_of, (p,))], [1, 1])
    if WHAT == "one reader twice":
        tle.gpu.warp_specialize([(nothing, (x,)), (reads, (left, x)), (reads, (left, x))], [2, 2])
    if WHAT == "a slot that a product reads":
        squares = tle.pipe(capacity=1, name="rows", square=tle.gpu.alloc([1, 64, 64], tl.float16))
        multiplies(squares.reader(), x, 1)
    once = tle.pipe(capacity=2, one_shot=True, a=a)
    if WHAT == "once more":
        once.writer().acquire(2)
    if WHAT == "the end of what ends anyway":
        once.writer().close(1)
    if WHAT == "a cursor of another pipe":
        many = tle.pipe(capacity=4, a=tle.gpu.alloc([4, 32], tl.float32))
        writer.acquire(many.writer().cursor())


ARGUMENT, SHAPE, PIPE = "ArgumentTypeError", "ShapeError", "PipeError"
REFUSED = {
    "a capacity of the launch": (ARGUMENT, "capacity is known at compile time"),
    "no capacity": (ARGUMENT, "a pipe has slots"),
    "another capacity": (SHAPE, "the first axis of a field counts the slots"),
    "another scope": (ARGUMENT, "the threads of one block"),
    "no fields": (ARGUMENT, "one field at least"),
    "no buffer": (ARGUMENT, "tle.gpu.pipe takes a buffer"),
    "one axis": (SHAPE, "the first axis of a field counts the slots"),
    "a name of a slot's own": (ARGUMENT, "one of a slot's own"),
    "a reserved name": (ARGUMENT, "names as variables do"),
    "a hidden name": (ARGUMENT, "names as variables do"),
    "readers that are none": (ARGUMENT, "readers have names of their own"),
    "a number for a name": (ARGUMENT, "a name is a text"),
    "one memory for two fields": (PIPE, "is a pipe's"),
    "one memory for two pipes": (PIPE, "is a pipe's"),
    "two views of one memory": (PIPE, "is a pipe's"),
    "memory that is not known": (PIPE, "cannot be seen here"),
    "a pipe in a loop": (PIPE, "is made in a loop"),
    "the buffer beside the pipe": (PIPE, "is a pipe's"),
    "the buffer beside the pipe in a partition": (PIPE, "is a pipe's"),
    "no such reader": (ARGUMENT, "no such reader"),
    "a reader without a name": (ARGUMENT, "no such reader"),
    "a name too many": (ARGUMENT, "no such reader"),
    "no such fields": (ARGUMENT, "fields of the pipe, each once"),
    "a block of iterations": (ARGUMENT, "by the number of the iteration"),
    "a negative iteration": (ARGUMENT, "by the number of the iteration"),
    "a commit of nothing": (PIPE, "no slot of `rows` was acquired here"),
    "a commit of another slot": (PIPE, "no slot of `rows` was acquired here"),
    "a commit in another block": (PIPE, "no slot of `rows` was acquired here"),
    "a slot behind its commit": (PIPE, "is used behind its commit"),
    "a slot behind its release": (PIPE, "is used behind its release"),
    "a view behind its release": (PIPE, "is used behind its release"),
    "a pointer behind its release": (PIPE, "a slot of the pipe `rows` is used behind its release"),
    "a pointer behind its commit": (PIPE, "a slot of the pipe `rows` is used behind its commit"),
    "a release of nothing": (PIPE, "has waited for no slot"),
    "a copy into a reader's slot": (PIPE, "that a reader was given"),
    "a barrier of its own": (PIPE, "completes the pipe's own barrier"),
    "bytes that are not known": (PIPE, "how many bytes come"),
    "more than it holds": (PIPE, "`rows` would come to a standstill"),
    "a loop of more than it holds": (PIPE, "`rows` would come to a standstill"),
    "a loop that nobody counts": (PIPE, "`rows` would come to a standstill"),
    "two writers": (PIPE, "the writer of `rows` is used in two partitions"),
    "two writers of one pipe": (PIPE, "the writer of `rows` is used in two partitions"),
    "one reader twice": (PIPE, "reader `left` of `rows` is used in two partitions"),
    "a slot that a product reads": (PIPE, "while a product may still read it"),
    "once more": (PIPE, "is filled once"),
    "the end of what ends anyway": (PIPE, "nothing follows anyway"),
    "a cursor of another pipe": (PIPE, "the cursor is one of another pipe"),
}


def line_of(function, text):
    first = function.starting_line_number
    return next(first + number for number, line in enumerate(function.raw_src) if text in line)


KERNEL_LINE, OTHER_LINES = (
    line_of(kernel, "def kernel"),
    (
        line_of(writes, "writer.acquire"),
        line_of(multiplies, "reader.release"),
    ),
)


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    with pytest.raises(Exception) as raised:
        compile_kernel(kernel, {"x": "*fp32", "d": "tensordesc<fp32[16,32]>", "n": "i32"}, {"WHAT": what})
    found, (error, message) = cause_of(raised.value), REFUSED[what]
    assert type(found) is getattr(tle_raw.errors, error) and message in str(found), repr(found)
    lines = Path(__file__).read_text().splitlines()
    begin = lines.index(f'    if WHAT == "{what}":')
    end = next(number for number in range(begin + 1, len(lines)) if not lines[number].startswith("        "))
    places = [int(number) for number in re.findall(r"test_pipes\.py:(\d+)", str(found))]
    given_line = next(number for number, line in enumerate(lines, 1) if line.endswith("# wrong: given"))
    if not places:  # one of Triton's own functions was called, and its error says where
        places = [int(re.search(r"at (\d+):", str(raised.value))[1]) + KERNEL_LINE - 1]
    elsewhere = (given_line, *OTHER_LINES)
    assert all(begin < place <= end or place in elsewhere for place in places), found


@pytest.mark.parametrize("what, field", [("a field that is not seen", "a"), ("a field that is none", "c")])
def test_a_field_that_is_not_there(what, field):
    with pytest.raises(triton.CompilationError, match=f"a slot has no field `{field}`"):
        compile_kernel(kernel, {"x": "*fp32", "d": "tensordesc<fp32[16,32]>", "n": "i32"}, {"WHAT": what})


@triton.jit
def one_behind_the_other(x, o, N: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, 16)
    p = tle.pipe(capacity=S, x=tle.gpu.alloc([S, 16], tl.float32))
    writer, reader = p.writer(), p.reader()
    for k in range(N):
        slot = writer.acquire(k)
        slot.x.store(tl.load(x + k * 16 + i))
        writer.commit(k)
    for k in range(N):
        tl.store(o + k * 16 + i, reader.wait(k).slot.x.load())
        reader.release(k)


def test_a_producer_in_front_of_its_consumer_has_a_slot_for_each_row():
    compiled(one_behind_the_other, {"x": "*fp32", "o": "*fp32"}, N=4, S=4)
    with pytest.raises(Exception) as raised:
        compile_kernel(one_behind_the_other, {"x": "*fp32", "o": "*fp32"}, {"N": 5, "S": 4})
    assert "at most 4, the capacity  5; the last at" in str(cause_of(raised.value))
