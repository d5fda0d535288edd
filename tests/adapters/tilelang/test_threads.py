"""What every thread of a block does, and branches that some of them take, traced: numbers against torch in float64."""

import pytest
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.test_numbers import agree, random, run
from tle_raw.errors import UntraceableError

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize("threads", [96, 128])
def test_an_atomic_update_outside_of_parallel_loops_is_done_by_every_thread(threads):
    @T.prim_func
    def updates(A: T.Tensor((3,), "float32"), B: T.Tensor((6,), "float32")):
        with T.Kernel(3, threads=threads) as bx:
            tx = T.get_thread_binding()
            T.atomic_add(B[0], A[bx])
            if tx == 0:
                T.atomic_add(B[1], A[bx])
            if tx < 40:
                T.atomic_add(B[2], A[bx])
            else:
                T.atomic_add(B[3], A[bx])
                if tx % 2 == 0:
                    T.atomic_add(B[4], A[bx])
            if tx < 0:
                T.atomic_add(B[5], A[bx])

    a, b = random(3), torch.zeros(6)
    run(updates, a, b)
    times = torch.tensor([threads, 1, 40, threads - 40, (threads - 40) // 2, 0]).double()
    torch.testing.assert_close(b.double(), times * a.double().sum(), rtol=1e-5, atol=1e-5)


def test_the_largest_of_all_threads_is_one_value():
    @T.prim_func
    def largest(A: T.Tensor((5,), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(5, threads=64) as bx:
            T.atomic_max(B[0], A[bx])
            T.atomic_min(B[1], A[bx])

    a, b = random(5), torch.tensor([-9.0, 9.0])
    run(largest, a, b)
    assert torch.equal(b, torch.stack([a.max(), a.min()]))


def test_what_an_update_gives_back_belongs_to_one_thread():
    @T.prim_func
    def counter(A: T.Tensor((7,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(7, threads=64):
            old = T.alloc_shared((1,), "int32")
            if T.get_thread_binding() == 0:
                old[0] = T.atomic_add(B[0], 1, return_prev=True)
            A[old[0]] = old[0] + 5

    a, b = torch.zeros(7, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    run(counter, a, b)
    assert b.item() == 7 and torch.equal(a, torch.arange(7, dtype=torch.int32) + 5)

    @T.prim_func
    def counters(A: T.Tensor((7,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(7, threads=64) as bx:
            A[bx] = T.atomic_add(B[0], 1, return_prev=True)

    with pytest.raises(UntraceableError, match="whose result each of 64 threads has"):
        traced(counters)


@pytest.mark.parametrize("rows, columns", [(5, 40), (3, 12)])
def test_updates_of_two_and_four_neighbours(rows, columns):
    @T.prim_func
    def neighbours(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns + 4), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((rows, columns), "float32")
            T.copy(A, tile)
            for i, j in T.Parallel(rows, columns // 4):
                T.atomic_addx4(B[i, j * 4 + 3], tile[i, j * 4])
            for i, j in T.Parallel(rows, columns // 2):
                T.atomic_addx2(B[i, j * 2 + 1], A[i, j * 2])

    a, b = random(rows, columns), random(rows, columns + 4, seed=1)
    expected = b.double()
    expected[:, 3 : columns + 3] += a.double()
    expected[:, 1 : columns + 1] += a.double()
    run(neighbours, a, b)
    agree(b, expected, 1e-6)


@pytest.mark.parametrize("columns", [40, 64])
def test_parts_of_the_threads_do_tile_operations(columns):
    """Each of two groups of warps reduces its own tile; what they keep in registers has one name in both."""

    @T.prim_func
    def roles(A: T.Tensor((9, columns), "float32"), S: T.Tensor((9,), "float32"), M: T.Tensor((9,), "float32")):
        with T.Kernel(9, threads=96) as bx:
            row = T.alloc_shared((columns,), "float32")
            T.copy(A[bx, 0], row)
            if T.get_thread_binding() < 32:
                values, total = T.alloc_fragment((columns,), "float32"), T.alloc_fragment((1,), "float32")
                T.copy(row, values)
                T.reduce_sum(values, total)
                T.copy(total, S[bx])
            else:
                doubled, most = T.alloc_fragment((columns,), "float32"), T.alloc_fragment((1,), "float32")
                for i in T.Parallel(columns):
                    doubled[i] = row[i] * 2
                T.reduce_max(doubled, most)
                T.copy(most, M[bx])

    a, s, m = random(9, columns), torch.zeros(9), torch.zeros(9)
    run(roles, a, s, m)
    agree(s, a.double().sum(1), 1e-5)
    assert torch.equal(m, a.max(1).values * 2)


def test_registers_that_some_threads_write_are_not_seen_by_the_others():
    @T.prim_func
    def differ(A: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=64):
            mine = T.alloc_local((1,), "float32")
            mine[0] = 1.0
            if T.get_thread_binding() < 32:
                mine[0] = 2.0
            for i in T.Parallel(16):
                A[i] = mine[0]

    with pytest.raises(UntraceableError, match="`mine`, which some of the threads write"):
        traced(differ)


def test_registers_of_both_sides_of_a_branch():
    @T.prim_func
    def sides(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=64):
            mine = T.alloc_local((1,), "float32")
            mine[0] = 1.0
            if T.get_thread_binding() < 32:
                mine[0] = mine[0] + 2.0
                for i in T.Parallel(16):
                    A[i] = mine[0]
            else:
                mine[0] = mine[0] * 5.0
                for i in T.Parallel(16):
                    B[i] = mine[0]

    a, b = torch.zeros(16), torch.zeros(16)
    run(sides, a, b)
    assert torch.equal(a, torch.full((16,), 3.0)) and torch.equal(b, torch.full((16,), 5.0))


def traced(prim_func):
    """Compile by the traced route; the error of ours that stands behind Triton's."""
    try:
        return compile_for_gpu(tle_raw.fragment(prim_func, route="traced"))
    except Exception as error:
        while not isinstance(error, UntraceableError):
            error = error.__cause__ or error.__context__
        raise error from None


def test_the_index_of_a_thread_has_several_names_and_axes():
    @T.prim_func
    def corners(A: T.Tensor((3,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(3, threads=(8, 4)) as bx:
            row, column = T.get_thread_binding(1), T.get_thread_binding(0)
            if row == 1:
                T.atomic_add(B[0], A[bx])
            if column < 3 and row < 2:
                T.atomic_add(B[1], A[bx])
            if T.get_thread_binding(0) == column:
                T.atomic_add(B[2], A[bx])
            if T.get_thread_binding(0) != column:
                T.atomic_add(B[3], A[bx])

    a, b = random(3), torch.zeros(4)
    run(corners, a, b)
    times = torch.tensor([8, 6, 32, 0]).double()
    torch.testing.assert_close(b.double(), times * a.double().sum(), rtol=1e-5, atol=1e-5)
