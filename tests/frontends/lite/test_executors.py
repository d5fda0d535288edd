"""Loops whose groups have several executors: numbers on the CPU, partitions on GPUs, and what does not split.

The CPU leaves the loop as it is. The partitions that a GPU gets are run there too: the CPU takes them as those of
``warp_specialize``, in turns.
"""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton._C.libtriton import ir

import tle_raw
import tle_raw.language as tle
from tests.frontends.lite import executor_kernels as kernels
from tests.support import cause_of, compile_kernel
from tle_raw.flir.check_groups import without_markers
from tle_raw.flir.group_markers import holds_executors
from tle_raw.flir.nvidia.calls.triton_version import SPELLING
from tle_raw.flir.nvidia.specialise_executors import Machine, specialise_executors
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.targets.cpu import stages
from tle_raw.triton_version import VERSION

torch = pytest.importorskip("torch")
from tests.frontends.lite import executor_numbers as numbers  # noqa: E402

PRODUCT = {name: f"*fp{bits}" for name, bits in (("a_ptr", 16), ("b_ptr", 16), ("c_ptr", 32))}
PRODUCT |= dict.fromkeys(("M", "N", "K", "sa", "sb", "sc"), "i32")
TILES = dict.fromkeys(("a_desc", "b_desc"), "tensordesc<bf16[128, 64]>")
TILES |= {"c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32", "sc": "i32"}


@pytest.fixture
def as_partitions(monkeypatch, tmp_path):
    """The CPU gets the partitions that a GPU gets."""
    divided, left_out = [], stages.leave_out_groups

    def partitions(module):
        if not holds_executors(module.str()):
            return left_out(module)
        machine = Machine(90, 4, 3, SPELLING.memory_barrier, VERSION >= (3, 7), has_tma_copy=False)
        text, found = specialise_executors(generic_text(module, ir), machine)
        divided.append(found)
        return parse_module("\n".join(without_markers(text.splitlines())), module.context)

    monkeypatch.setattr(stages, "leave_out_groups", partitions)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))  # set as a knob it would stay behind, and hide the variable
    compiled_again()
    yield
    compiled_again()
    assert sum(divided)


def compiled_again():
    for kernel in vars(kernels).values():
        if isinstance(kernel, triton.JITFunction):
            kernel.device_caches.clear()


def test_the_cpu_leaves_such_loops_as_they_are():
    numbers.close(*numbers.product("cpu", (100, 70, 65), 3))
    numbers.close(*numbers.dequantised("cpu", 96))


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("slots", [1, 2, 3, 4])
def test_a_product_whose_loads_have_an_executor(as_partitions, slots):
    for sizes in ((100, 70, 65), (40, 70, 130)):
        numbers.close(*numbers.product("cpu", sizes, slots))


def test_a_product_by_descriptors_in_programs_that_stay(as_partitions):
    numbers.close(*numbers.product_of_tiles("cpu", (130, 100, 72), 2, 2))


def test_scalars_and_blocks_go_through_three_executors(as_partitions):
    for rows in (0, 2, 17):
        (stored, total), expected = numbers.gathered("cpu", rows, 2)
        numbers.close(stored, expected[0], 1e-6)
        numbers.close(total, expected[1], 1e-5)


def test_what_an_executor_computes_and_a_value_of_the_iteration_before(as_partitions):
    numbers.close(*numbers.dequantised("cpu", 96))


@pytest.mark.parametrize("kernel", [kernels.guarded, kernels.piped], ids=["barriers", "a pipe"])
def test_buffers_that_the_kernel_guards_itself(as_partitions, kernel):
    for rows in (0, 7):
        numbers.close(*numbers.rows_less_their_maxima(kernel, "cpu", rows, 3), 1e-6)


def test_two_loops_of_which_one_begins_with_what_the_other_made(as_partitions):
    for rows in (0, 2, 5):
        numbers.close(*numbers.chained("cpu", rows), 1e-5)


def test_attention_whose_loads_have_an_executor(as_partitions):
    numbers.close(*numbers.attention("cpu", 128, 2))


def compiled_product(capability=90, slots=4):
    constants = {"BM": 128, "BN": 128, "BK": 64, "S": slots, "SPLIT": True}
    return compile_kernel(kernels.product, PRODUCT, constants, capability, multiples=("M", "N", "K", "sa", "sb", "sc"))


def workers(kernel):
    return re.findall(r"partition\d+\(.*\) num_warps\((\d+)\)", kernel.asm["ttgir"])


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("capability", [80, 90])
def test_loads_by_pointers_are_copies_of_a_worker(capability):
    kernel = compiled_product(capability)
    ptx, ttgir = kernel.asm["ptx"], kernel.asm["ttgir"]
    assert workers(kernel) == ["4"] and "4x128x64xf16" in ttgir
    assert re.search(r"cp\.async\.c[ag]", ptx) and "ld.global" not in ptx
    product = "wgmma.mma_async" if capability == 90 else "mma.sync"
    assert product in ptx
    if capability == 90:  # copies of one step are under way where those of another are waited for, and one product
        assert re.search(r"cp\.async\.wait_group\s+1;", ptx) and "wgmma.wait_group.sync.aligned 1;" in ptx


def test_copies_by_descriptors_need_one_warp():
    kernel = compile_kernel(kernels.product_of_tiles, TILES, {"BM": 128, "BN": 128, "BK": 64, "S": 3, "WARPS": 4})
    ptx = kernel.asm["ptx"]
    assert workers(kernel) == ["1"] and "setmaxnreg.dec.sync.aligned.u32 \t40" in ptx
    assert ptx.count("cp.async.bulk.tensor") == 2 and ptx.count("expect_tx") == 1 and "ld.global" not in ptx


# --- what does not split ---------------------------------------------------------------------------------------------

SIGNATURE = {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32"}


@triton.jit
def step(x, o, n):
    for row in tle.range(n, executors=[0, 1]):  # in a partition
        with tle.pipeline_group(0):
            value = tl.load(x + row * 64 + tl.arange(0, 64))
        with tle.pipeline_group(1):
            tl.store(o + row * 64 + tl.arange(0, 64), value)


@triton.jit
def nothing(n):
    pass


@triton.jit
def wrong(x, y, o, n, WHAT: tl.constexpr):  # the comment stands where the error is
    i = tl.arange(0, 64)
    acc = tl.zeros((64,), tl.float32)
    other = tl.zeros((64,), tl.float32)
    weights = tl.load(y + i)
    if WHAT == "both ways":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i) * acc
            with tle.pipeline_group(1):
                acc = acc + tl.sqrt(value)  # both ways
    if WHAT == "two results":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                acc += tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                other += tl.load(y + row * 64 + i)  # two results
    if WHAT == "a store outside":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value
            tl.store(o + row * 64 + i, acc)  # a store outside
    if WHAT == "truth values":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
                if row > 3:  # truth values
                    chosen = value > 0
                else:
                    chosen = value < 0
            with tle.pipeline_group(1):
                acc += tl.where(chosen, 1.0, 0.0)
    if WHAT == "one memory":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(o + row * 64 + i)
            with tle.pipeline_group(1):
                tl.store(o + row * 64 + i, value * 2)  # one memory
    if WHAT == "one buffer":
        buffer = tle.gpu.alloc([64], tl.float32)
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                buffer.store(tl.load(x + row * 64 + i))
            with tle.pipeline_group(1):
                acc += buffer.load()  # one buffer
    if WHAT == "a block of before":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i) * weights  # a block of before
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "nothing to do":
        for row in tle.range(n, executors=[0, 1]):  # nothing to do
            with tle.pipeline_group(0):
                at = row * 64
            with tle.pipeline_group(1):
                acc += tl.load(x + at + i)
    if WHAT == "not the launch's":
        for row in tle.range(n, executors=[0, range(1, 3)]):  # not the launch's
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "shared warps":
        for _ in tle.range(n, executors=[range(4), range(3, 8)]):  # shared warps
            acc += 1
    if WHAT == "too few executors":
        for _ in tle.range(n, pipe_stages=[0, 1, 1], executors=[0, 1]):  # too few executors
            acc += 1
    if WHAT == "another order":
        for _ in tle.range(n, pipe_stages=[0, 0, 1], pipe_orders=[1, 0, 2], executors=[0, 0, 1]):  # another order
            acc += 1
    if WHAT == "a missing group":
        for _ in tle.range(n, executors=[0, 1]):  # a missing group
            with tle.pipeline_group(0):
                acc += 1
    if WHAT == "a run-time executor":
        for _ in tle.range(n, executors=[0, n]):  # a run-time executor
            acc += 1
    if WHAT == "reorder":
        for _ in tle.range(n, executors=[0, 1], reorder=True):  # reorder
            acc += 1
    if WHAT == "in a partition":
        tle.gpu.warp_specialize([(step, (x, o, n)), (nothing, (n,))], worker_num_warps=[1])
    if WHAT == "a loop in a group":
        for row in tle.range(n, executors=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                for again in tle.range(n, executors=[0, 1]):  # a loop in a group
                    with tle.pipeline_group(0):
                        more = tl.load(x + again * 64 + i)
                    with tle.pipeline_group(1):
                        acc += value * more
    tl.store(o + i, acc + other)


WRONG = [
    ("both ways", "executor 0 (group 0) and executor 1 (group 1)|which needs one of executor"),
    ("two results", "both add to variables that are used behind the loop"),
    ("a store outside", "tt.store stands outside of the groups"),
    ("truth values", "cannot be stored in shared memory"),
    ("one memory", "both touch the memory of `o`"),
    ("one buffer", "both touch the buffer `buffer`"),
    ("a block of before", "uses a block tensor that the kernel's own warps hold"),
    ("nothing to do", "executor 0 (group 0) has nothing to do"),
    ("not the launch's", "which makes what is used behind the loop"),
    ("shared warps", "range(0, 4) and range(3, 8)"),
    ("too few executors", "one stage and one executor for each group"),
    ("another order", "in the order of their numbers"),
    ("a missing group", "a group of executors does not stand in the loop"),
    ("a run-time executor", "like range(4, 8)"),
    ("reorder", "reorder and several executors"),
    ("in a partition", "stands in a partition, the default partition"),
    ("a loop in a group", "within a group of another"),
]


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("what, words", WRONG, ids=[case[0] for case in WRONG])
def test_what_does_not_split_is_a_named_error_at_its_line(what, words):
    with pytest.raises((triton.compiler.errors.CompilationError, tle_raw.TLEError)) as caught:
        compile_kernel(wrong, SIGNATURE, {"WHAT": what})
    cause = cause_of(caught.value)
    assert isinstance(cause, tle_raw.TLEError), cause
    assert any(each in str(cause) for each in words.split("|")), cause
    assert cause.context.call_site.file == __file__
    line = Path(__file__).read_text().splitlines()[cause.context.call_site.line - 1]
    assert line.endswith(f"# {what}"), line


def test_the_cpu_refuses_the_same():
    x = torch.ones(640)
    with pytest.raises(tle_raw.TLEError) as caught:
        wrong[(1,)](x, x, torch.zeros(640), 10, "one memory")
    assert "both touch the memory of `o`" in str(cause_of(caught.value))
