"""What is wrong with a loop's groups is said before Triton's pipeliner sees them, at the kernel's line."""

from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel

SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32"}


@triton.jit
def with_group(x):
    with tle.pipeline_group(0):
        x += 1
    return x


@triton.jit
def arguments(x, o, n, WHAT: tl.constexpr):  # one loop head a line: the error names it
    acc = tl.zeros((64,), tl.float32)
    if WHAT == "another number of stages":
        for _ in tle.range(n, num_stages=4, pipe_stages=[0, 1]):
            acc += 1
    if WHAT == "two numbers":
        for _ in tle.range(n, num_stages=4, pipe_stages=3):
            acc += 1
    if WHAT == "no stage":
        for _ in tle.range(n, pipe_stages=0):
            acc += 1
    if WHAT == "too few orders":
        for _ in tle.range(n, pipe_stages=[0, 1], pipe_orders=[1]):
            acc += 1
    if WHAT == "orders alone":
        for _ in tle.range(n, pipe_orders=[0, 1]):
            acc += 1
    if WHAT == "from 1":
        for _ in tle.range(n, pipe_stages=[1, 1]):
            acc += 1
    if WHAT == "negative":
        for _ in tle.range(n, pipe_stages=[0, -1]):
            acc += 1
    if WHAT == "a run-time stage":
        for _ in tle.range(n, pipe_stages=[0, n]):
            acc += 1
    if WHAT == "an empty list":
        for _ in tle.range(n, pipe_stages=[]):
            acc += 1
    if WHAT == "orders that are a number":
        for _ in tle.range(n, pipe_stages=[0, 1], pipe_orders=1):
            acc += 1
    if WHAT == "a run-time reorder":
        for _ in tle.range(n, reorder=n):
            acc += 1
    if WHAT == "reorder and stages":
        for _ in tle.range(n, reorder=True, pipe_stages=[0, 1]):
            acc += 1
    if WHAT == "flatten":
        for _ in tle.range(n, pipe_stages=[0, 1], flatten=True):
            acc += 1
    if WHAT == "warp_specialize":
        for _ in tle.range(n, pipe_stages=[0, 1], warp_specialize=True):
            acc += 1
    if WHAT == "an unknown argument":
        for _ in tle.range(n, stages=[0, 1]):
            acc += 1
    if WHAT == "no bounds":
        for _ in tle.range(pipe_stages=[0, 1]):
            acc += 1
    if WHAT == "a missing group":
        for _ in tle.range(n, pipe_stages=[0, 1, 1]):
            with tle.pipeline_group(0):
                acc += 1
            with tle.pipeline_group(1):
                acc += 1
    if WHAT == "no head of a loop":
        acc += tle.range(3)
    tl.store(o + tl.arange(0, 64), acc)


ARGUMENTS = [
    ("another number of stages", "ScheduleError", "num_stages is the number of the stages"),
    ("two numbers", "ScheduleError", "pipe_stages as a number is num_stages"),
    ("no stage", "ArgumentTypeError", "a positive constant, or a list"),
    ("too few orders", "ScheduleError", "one stage and one order for each group"),
    ("orders alone", "CallError", "there is no list of stages"),
    ("from 1", "ScheduleError", "stages count from 0"),
    ("negative", "ArgumentTypeError", "a list of constants, 0 or more"),
    ("a run-time stage", "ArgumentTypeError", "[0, int32]"),
    ("an empty list", "ArgumentTypeError", "one for each group"),
    ("orders that are a number", "ArgumentTypeError", "pipe_orders"),
    ("a run-time reorder", "ArgumentTypeError", "True or False"),
    ("reorder and stages", "CallError", "reorder puts all loads first"),
    ("flatten", "ScheduleError", "flatten and stages of groups"),
    ("warp_specialize", "ScheduleError", "warp_specialize and stages of groups"),
    ("an unknown argument", "ArgumentCountError", "pipe_stages, pipe_orders, executors"),
    ("no bounds", "ArgumentCountError", "missing a required argument: 'arg1'"),
    ("a missing group", "ScheduleError", "0 to 2    0, 1"),
    ("no head of a loop", "RegionError", "head of a for statement"),
]


def refused(kernel, what, **constants):
    with pytest.raises((triton.compiler.errors.CompilationError, tle_raw.TLEError)) as caught:
        compile_kernel(kernel, SIGNATURE, {"WHAT": what, **constants})
    cause = cause_of(caught.value)
    assert isinstance(cause, tle_raw.TLEError), cause
    assert cause.context.call_site.file == __file__
    return cause, Path(__file__).read_text().splitlines()[cause.context.call_site.line - 1]


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("what, error, words", ARGUMENTS, ids=[case[0] for case in ARGUMENTS])
def test_a_wrong_argument_is_a_named_error_at_its_line(what, error, words):
    cause, line = refused(arguments, what)
    assert type(cause).__name__ == error and words in str(cause)
    lines = Path(__file__).read_text().splitlines()
    assert lines[cause.context.call_site.line - 2].strip() == f'if WHAT == "{what}":' and "range" in line


@triton.jit
def groups(x, o, n, WHAT: tl.constexpr):  # the comment stands where the error is
    acc = tl.zeros((64,), tl.float32)
    if WHAT == "no loop":
        with tle.pipeline_group(0):  # no loop
            acc += 1
    if WHAT == "another loop":
        for _ in range(n):
            with tle.pipeline_group(0):  # another loop
                acc += 1
    if WHAT == "a branch":
        for i in tle.range(n, pipe_stages=[0, 1]):
            if i > 3:
                with tle.pipeline_group(0):  # a branch
                    acc += 1
    if WHAT == "a loop within":
        for _ in tle.range(n, pipe_stages=[0, 1]):
            for _ in range(n):
                with tle.pipeline_group(0):  # a loop within
                    acc += 1
    if WHAT == "a group within":
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0), tle.pipeline_group(1):  # a group within
                acc += 1
    if WHAT == "no such group":
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(2):  # no such group
                acc += 1
    if WHAT == "a negative group":
        for _ in tle.range(n):
            with tle.pipeline_group(-1):  # a negative group
                acc += 1
    if WHAT == "a run-time group":
        for i in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(i):  # a run-time group
                acc += 1
    if WHAT == "no number":
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group():  # no number
                acc += 1
    tl.store(o + tl.arange(0, 64), acc)


GROUPS = [
    ("no loop", "RegionError", "directly in the body"),
    ("another loop", "RegionError", "directly in the body"),
    ("a branch", "RegionError", "not in a branch"),
    ("a loop within", "RegionError", "another loop within it"),
    ("a group within", "RegionError", "group 1 stands within group 0"),
    ("no such group", "ArgumentTypeError", "0 to 1: pipe_stages has 2 entries"),
    ("a negative group", "ArgumentTypeError", "0 or more"),
    ("a run-time group", "ArgumentTypeError", "numbered at compile time"),
    ("no number", "ArgumentCountError", "missing a required argument: 'group'"),
]


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("what, error, words", GROUPS, ids=[case[0] for case in GROUPS])
def test_a_group_in_a_wrong_place_is_a_named_error_at_its_line(what, error, words):
    cause, line = refused(groups, what)
    assert type(cause).__name__ == error and words in str(cause) and line.endswith(f"# {what}")


@triton.jit
def called(x, o, n, WHAT: tl.constexpr):
    acc = tl.zeros((64,), tl.float32)
    for _ in tle.range(n, pipe_stages=[0, 1]):
        acc = with_group(acc)
    tl.store(o + tl.arange(0, 64), acc)


def test_a_group_in_a_function_that_the_loop_calls():
    cause, line = refused(called, "")
    assert "nor in a function that it calls" in cause.hint and line.strip() == "with tle.pipeline_group(0):"


@triton.jit
def schedules(x, o, n, WHAT: tl.constexpr):  # the comment stands where the error is
    i = tl.arange(0, 64)
    acc = tl.zeros((64,), tl.float32)
    last = tl.full((64,), 1.0, tl.float32)
    older = tl.full((64,), 2.0, tl.float32)
    if WHAT == "backwards":
        for row in tle.range(n, pipe_stages=[1, 0]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value  # backwards
    if WHAT == "order":
        for row in tle.range(n, pipe_stages=[0, 0, 1], pipe_orders=[1, 0, 2]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                value *= 2  # order
            with tle.pipeline_group(2):
                acc += value
    if WHAT == "carried":
        for row in tle.range(n, pipe_stages=[0, 2]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i) + acc  # carried
            with tle.pipeline_group(1):
                acc = value * 2
    if WHAT == "by way of what has no group":
        for row in tle.range(n, pipe_stages=[0, 0, 1], pipe_orders=[1, 0, 2]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            value *= 2
            with tle.pipeline_group(1):
                value += 1  # by way of what has no group
            with tle.pipeline_group(2):
                acc += value
    if WHAT == "a store outside":
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value
            tl.store(o + row * 64 + i, acc)  # a store outside
    if WHAT == "compare and swap":
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
                tl.atomic_cas(o + i, value, value)  # compare and swap
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "printing":
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
                tl.device_print("value", value)  # printing
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "a loop ahead":
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
                for _ in range(row):  # a loop ahead
                    value += tl.load(x + i)
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "the other branch":
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                value = acc * 0
                if row > 3:  # the other branch
                    value += 1
                else:
                    value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value
    if WHAT == "two iterations":
        for row in tle.range(n, pipe_stages=[0, 1]):  # two iterations
            with tle.pipeline_group(0):
                value = tl.load(x + row * 64 + i)
            with tle.pipeline_group(1):
                acc += value * older
                older = last
                last = value
    if WHAT == "a buffer":
        buffer = tle.gpu.alloc([64], tl.float32)
        for row in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                buffer.store(tl.load(x + row * 64 + i))  # a buffer
            with tle.pipeline_group(1):
                acc += buffer.load()
    if WHAT == "turned buffers":
        buffer = tle.gpu.alloc([64], tl.float32)
        for row in tle.range(n, pipe_stages=[0, 0], pipe_orders=[1, 0]):
            with tle.pipeline_group(0):
                buffer.store(tl.load(x + row * 64 + i))
            with tle.pipeline_group(1):
                acc += buffer.load()  # turned buffers
    tl.store(o + i, acc)


SCHEDULES = [
    ("backwards", "group 1 (stage 0, order 1) needs a value of group 0 (stage 1, order 0) of the same iteration"),
    ("order", "group 1 (stage 0, order 0) needs a value of group 0 (stage 0, order 1)"),
    ("carried", "group 0 (stage 0, order 0) needs a value of group 1 (stage 2, order 1) of the iteration before"),
    ("by way of what has no group", "needs a value of group 0 (stage 0, order 1)"),
    ("a store outside", "tt.store stands outside of the groups"),
    ("compare and swap", "tt.atomic_cas cannot run iterations ahead"),
    ("printing", "tt.print cannot run iterations ahead"),
    ("a loop ahead", "scf.for cannot run iterations ahead"),
    ("the other branch", "scf.if cannot run iterations ahead"),
    ("two iterations", "older than one iteration"),
    ("a buffer", "ttg.local_store cannot run iterations ahead"),
    ("turned buffers", "keep their order"),
]


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("what, words", SCHEDULES, ids=[case[0] for case in SCHEDULES])
def test_what_cannot_run_in_its_stage_is_refused_at_its_line(what, words):
    cause, line = refused(schedules, what)
    assert type(cause).__name__ == "ScheduleError" and words in str(cause)
    assert line.endswith(f"# {what}"), line


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("what, words", [SCHEDULES[0], SCHEDULES[5], SCHEDULES[9]])
def test_the_cpu_refuses_the_same(what, words):
    pytest.importorskip("torch_mlir")
    with pytest.raises(tle_raw.errors.ScheduleError) as caught:
        schedules[(1,)](np.zeros(512, np.float32), np.zeros(512, np.float32), 8, WHAT=what)
    assert words in str(caught.value) and caught.value.context.call_site.file == __file__


@triton.jit
def matrices(x, o, n, WHAT: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc, other = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
    if WHAT == "two stages":
        for i in tle.range(n, pipe_stages=[0, 1, 2]):
            with tle.pipeline_group(0):
                a = tl.load(x + i * B * B + at)  # two stages
            with tle.pipeline_group(1):
                acc = tl.dot(a, a, acc)
            with tle.pipeline_group(2):
                other = tl.dot(a, a, other)
    if WHAT == "a descriptor":
        rows = tl.make_tensor_descriptor(x, [n * B, B], [B, 1], [B, B])
        for i in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                a = rows.load([i * B, 0]).to(tl.float32)  # a descriptor
            with tle.pipeline_group(1):
                acc += a
    if WHAT == "waits of its own":
        buffer = tle.gpu.alloc([B, B], tl.float16)
        for i in tle.range(n, pipe_stages=[0, 1]):  # waits of its own
            with tle.pipeline_group(0):
                a = tl.load(x + i * B * B + at)
            with tle.pipeline_group(1):
                buffer.store(a)
                acc = tle.gpu.wgmma(buffer, buffer, acc)
                acc = tle.gpu.wgmma_wait(0, acc)
    tl.store(o + at, acc + other)


MATRICES = [
    ("two stages", "used in several stages"),
    ("a descriptor", "used in its own stage"),
    ("waits of its own", "no software pipeliner"),
]


@pytest.mark.parametrize("what, words", MATRICES, ids=[case[0] for case in MATRICES])
def test_what_the_pipeliner_of_a_gpu_cannot_do_is_refused(what, words):
    with pytest.raises(tle_raw.errors.ScheduleError) as caught:
        compile_kernel(matrices, SIGNATURE | {"x": "*fp16"}, {"WHAT": what, "B": 64})
    site = caught.value.context.call_site
    assert words in str(caught.value) and site.file == __file__ and site.text.endswith(f"# {what}")


@triton.jit
def accepted(x, o, n, B: tl.constexpr, ONE: tl.constexpr):
    """The documents' own arguments, for one executor."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tle.range(
        0,
        n,
        B,
        num_stages=2,
        pipe_stages=[0, 0, 1] if ONE else [0, 1, 1],
        pipe_orders=[0, 1, 2],
        executors=[0, 0, 0] if ONE else [0, 0, range(1, 31)],
    ):
        with tle.pipeline_group(0):
            a = tl.load(x + k + i)
        with tle.pipeline_group(1):
            b = tl.load(x + k + i + 1)
        with tle.pipeline_group(2):
            acc += a * b
    tl.store(o + i, acc)


@pytest.mark.parametrize("one", [True, False])
def test_the_arguments_of_the_documents_are_taken(one):
    kernel = compile_kernel(accepted, SIGNATURE, {"B": 1024, "ONE": one})
    assert "cp.async" in kernel.asm["ptx"] and ("partition0(" in kernel.asm["ttgir"]) != one
