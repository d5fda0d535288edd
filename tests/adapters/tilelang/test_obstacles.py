"""What cannot be traced is told whole: tracing goes on behind each obstacle."""

import copy
import inspect
import sys
from typing import Any

import pytest
import tilelang.language as T

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tle_raw.errors import UntraceableError


def obstacles_of(prim_func: Any) -> UntraceableError:
    with pytest.raises(Exception) as caught:
        compile_for_gpu(tle_raw.fragment(prim_func, route="traced"))
    error: Any = caught.value
    while not isinstance(error, UntraceableError):
        error = error.__cause__ or error.__context__
    return error


def told(error: UntraceableError) -> list[tuple[str, str]]:
    """The mark behind each obstacle's line, and its words."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    found = [e.context.source for e in (error, *error.others)]
    marks = [lines[place.line - 1].rpartition("# ")[2] for place in found if place is not None]
    return list(zip(marks, [e.message.rpartition(": ")[2] for e in (error, *error.others)]))


def test_each_obstacle_of_a_line_and_of_a_body_that_was_not_reached():
    @T.prim_func
    def obstacles(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = T.call_extern("float32", "tanf", A[i]) * T.warp_reduce_sum(A[i])  # two of them
            for i in T.Parallel(n):  # open
                A[i] = T.call_extern("float32", "tanf", A[i])  # inside the open loop
            if T.call_extern("int32", "first", A[0]) > 3:  # a choice
                A[5] = T.call_extern("float32", "tanf", A[1])  # under the choice
            while T.call_extern("int32", "go_on", A[1]) > 3:  # a condition
                A[3] = T.warp_reduce_sum(A[3])  # in the loop
                A[5] = 2.0
                for i in T.Parallel(64):
                    A[i] = T.call_extern("float32", "tanf", A[i])  # deep in the loop

    function = "the function tirx.call_extern"
    error = obstacles_of(obstacles)
    assert told(error) == [
        ("two of them", function),
        ("two of them", "the function tl.warp_reduce_sum"),
        ("open", "n"),
        ("inside the open loop", function),
        ("a choice", function),
        ("under the choice", function),
        ("a condition", function),
        ("in the loop", "the function tl.warp_reduce_sum"),
        ("deep in the loop", function),
    ]
    assert str(error).count("  | ") == 8


def test_what_does_not_stand_behind_an_obstacle_is_none():
    @T.prim_func
    def one(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_fragment((64,), "float32")
            for k in T.serial(4):
                for i in T.Parallel(n):  # the only one
                    x[i] = A[i] + k
                T.copy(x, A)

    assert [mark for mark, _ in told(obstacles_of(one))] == ["the only one"]


def test_obstacles_survive_a_copy():
    first, second = UntraceableError("a"), UntraceableError("b")
    first.others = (second,)
    assert [e.message for e in copy.deepcopy(first).others] == ["b"]
