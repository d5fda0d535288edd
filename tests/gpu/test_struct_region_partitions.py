"""Regions in partitions of specialised warps: every dialect, rings between languages, paces of their own; float64.

A kernel that hangs would hold the GPU for ever: after five minutes of one test the process ends (``hang_guard``).
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.contracts.running import SEED, check_numbers, dialect, pairs
from tests.contracts.subjects import SUBJECTS
from tests.frontends.gpu import region_partition_kernels as subjects
from tests.frontends.gpu import region_ring_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU, TIMES
from tests.gpu.test_warp_specialize import HOPPER, close
from tle_raw.adapters.numba.installed import load
from tle_raw.errors import CompilationFailed, ToolchainError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="specialised warps are for GPUs"),
]
needs_hopper = pytest.mark.skipif(not HOPPER, reason="the copy engine and wgmma: sm_90")
ROW = kernels.LARGEST


def _numba():
    """It may be older than the NumPy beside it: then it cannot be loaded (as in test_numba.py)."""
    pytest.importorskip("numba_cuda", exc_type=ImportError)
    try:
        load()
        importlib.import_module("tests.adapters.numba.programs")  # compiles
    except (ToolchainError, CompilationFailed) as missing:
        pytest.skip(str(missing))


def is_whole(kernel, regions):
    report = tle_raw.report(kernel)
    traced = {region.route for region in report.regions} == {"traced"}  # by the lines of their calls
    assert report.one_kernel and len(report.regions) == (1 if traced else regions)
    assert all(region.inlined for region in report.regions) and report.ptx_calls == () and not report.sass_calls


@pytest.mark.parametrize("name, subject", pairs())
def test_three_partitions_call_one_fragment(name, subject):
    """The blocks of a subject, each by another partition: of 4, 1 and 2 warps."""
    if name == "numba":
        _numba()
    case = SUBJECTS[subject]
    data = case.data(np.random.default_rng(SEED))
    for _ in range(3):
        arrays = {k: torch.from_numpy(v.copy()).to(DEVICE) for k, v in data.items() if isinstance(v, np.ndarray)}
        arguments = data | arrays
        fragment = dialect(name).SUBJECTS[subject]
        kernel = subjects.KERNELS[subject][(1,)](**arguments, FRAGMENT=fragment, **case.constants)
        if not COMPILE_ONLY:
            check_numbers(subject, {k: v.cpu().numpy() if torch.is_tensor(v) else v for k, v in arguments.items()})
    is_whole(kernel, 3)


def turned(rows, rounds, size):
    """Each row so many times as `TURN` turns it."""
    added = torch.arange(size, device=rows.device).double() % 7
    for row, count in enumerate(rounds):
        for _ in range(count):
            rows[row, :size] = rows[row, :size].flip(0) / 2 + added
    return rows


@pytest.mark.parametrize("name", kernels.TURNS)
def test_barriers_and_shared_memory_of_its_own(name):
    if name == "numba":
        _numba()
    if name == "cupy":
        pytest.importorskip("cupy")
    turn = kernels.TURNS[name]()
    programs = 132
    for size, rounds in ((256, 3), (1, 5), (217, 1), (33, 50), (200, 7)):
        y = torch.randn(programs, 4, ROW, device=DEVICE)
        expected = y.double()
        kernel = kernels.turns[(programs,)](y, size, rounds, turn, ROW, num_warps=4)
        counts = (rounds + 2, 3 * rounds, 2 * rounds, rounds + 1)
        for program in expected:
            turned(program, counts, size)
        close(y, expected, 1e-5)
    is_whole(kernel, 6)


def test_barriers_with_numbers_and_sums_of_what_they_count():
    programs = 132
    for size, rounds in ((256, 3), (1, 5), (217, 40)):
        y = torch.randn(programs, 3, ROW, device=DEVICE)
        expected, found = y.double(), torch.zeros(programs, 3, dtype=torch.int32, device=DEVICE)
        kernels.named[(programs,)](y, size, rounds, found, ROW, num_warps=4)
        counts = rounds, 3 * rounds, 2 * rounds
        for program in expected:
            turned(program, counts, size)
        close(y, expected, 1e-5)
        of_each = [count * (threads // 2 + 1000 + 10000) for count, threads in zip(counts, (128, 32, 64))]
        assert COMPILE_ONLY or (found == torch.tensor(of_each, device=DEVICE)).all()


@pytest.mark.parametrize("warps", [4, 8])
def test_tiles_in_loops(warps):
    for n, m, width in ((1, 16, 32), (7, 16, 32), (5, 1, 128), (3, 64, 16)):
        x = torch.randn(3 * n, m, width, device=DEVICE)
        o, means = torch.full_like(x, float("nan")), torch.full((3 * n,), float("nan"), device=DEVICE)
        kernels.centre[(1,)](x, o, means, n, m, width, num_warps=warps)
        wide = x.double()
        centred = wide - wide.mean(2, keepdim=True)
        close(o, centred - centred.amax(2, keepdim=True), 1e-5)
        close(means, wide[:, -1].mean(1), 1e-4)


def expected_ring(x, n, block):
    rows = torch.zeros(n * block, dtype=torch.float64, device=x.device)
    rows[: x.numel()] = x.double()
    rows = rows.view(n, block)
    return rows - rows.amax(1, keepdim=True)


@needs_hopper
@pytest.mark.parametrize("workers", [(1, 1), (1, 8), (4, 2), (8, 4)])
@pytest.mark.parametrize("producer, consumer", kernels.RINGS)
def test_rings_between_languages(producer, consumer, workers):
    (produce, fill), (consume, take) = kernels.PRODUCERS[producer], kernels.CONSUMERS[consumer]
    block = 512
    for n, cut in ((1, 0), (2, 5), (7, 1), (50, 511)):
        x = torch.randn(n * block - cut, device=DEVICE)
        for _ in range(3):
            o = torch.full((n * block,), float("nan"), device=DEVICE)
            kernels.through_ring[(1,)](
                x, o, n, x.numel(), produce, fill, consume, take, block, 3, *workers, num_warps=4
            )
            close(o.view(n, block), expected_ring(x, n, block), 1e-6)


@needs_hopper
@pytest.mark.parametrize("producers", [1, 2, 4, 8])
@pytest.mark.parametrize("warps", [4, 8])
def test_rows_that_cuda_code_gathers_are_multiplied_by_triton(warps, producers):
    for k in (1, 2, 3, 5, 40):
        table, b = torch.randn(300, k * 64, device=DEVICE).half(), torch.randn(128, k * 64, device=DEVICE).half()
        index = torch.randint(-20, 300, (128,), device=DEVICE, dtype=torch.int32)
        rows = torch.where(index[:, None] < 0, 0, table[index.long()].double())
        for _ in range(5):
            c = torch.full((128, 128), float("nan"), device=DEVICE)
            b_desc = TensorDescriptor.from_tensor(b, [128, 64])
            kernels.gathered_product[(1,)](table, index, b_desc, c, k, 128, 128, 64, 3, producers, num_warps=warps)
            close(c, rows @ b.double().T)


@needs_hopper
@pytest.mark.parametrize("first, warps", [(True, 1), (True, 4), (False, 4)])
def test_tiles_that_triton_copies_are_multiplied_by_cuda_code(first, warps):
    for k in (1, 2, 3, 40):
        a, b = (torch.randn(64, k * 64, device=DEVICE).half() for _ in range(2))
        tiles = [TensorDescriptor.from_tensor(each, [64, 64]) for each in (a, b)]
        for _ in range(5):
            c = torch.full((64, 64), float("nan"), device=DEVICE)
            kernels.product_by_cuda[(1,)](*tiles, c, k, first, warps, num_warps=4)
            close(c, a.double() @ b.double().T)


@needs_hopper
@pytest.mark.parametrize("warps", [1, 4])
def test_a_region_of_a_worker_copies_by_the_kernels_descriptor(warps):
    for n, cut in ((1, 0), (2, 3), (9, 63)):
        x = torch.randn(n * 64 - cut, 64, device=DEVICE).half()
        o = torch.full((n * 64, 64), float("nan"), device=DEVICE).half()
        kernels.fetched[(1,)](TensorDescriptor.from_tensor(x, [64, 64]), o, n, 64, 64, 3, warps, num_warps=4)
        expected = torch.zeros(n * 64, 64, dtype=torch.float64, device=DEVICE)
        expected[: x.shape[0]] = 2 * x.double()
        close(o, expected, 1e-6)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("name, arrivals, route", kernels.DOUBLERS)
def test_a_tilelang_kernel_between_two_partitions_of_triton(name, arrivals, route, slots):
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang import barrier_kernels

    double = getattr(barrier_kernels, name)(route)
    for n in (1, 2, 7, 50):
        x = torch.randn(n, 16, 32, device=DEVICE)
        for _ in range(3):
            y = torch.full_like(x, float("nan"))
            kernels.doubled_by_worker[(1,)](x, y, n, double, arrivals, 16, 32, slots, num_warps=4)
            assert COMPILE_ONLY or torch.equal(y, 2 * x)


@needs_hopper
def test_memory_that_regions_ask_for_is_each_partitions_own():
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang.barrier_kernels import copies_are_counted

    x = torch.randn(2, 16, 32, device=DEVICE)
    for _ in range(20):
        y = torch.full_like(x, float("nan"))
        kernels.copied_twice[(1,)](x, y, copies_are_counted(), 16, 32, num_warps=4)
        assert COMPILE_ONLY or torch.equal(y, x)


def test_thousands_of_launches():
    """No hang, and the same bits each time."""
    y = torch.randn(132, 4, ROW, device=DEVICE)
    seen = {}
    for number in range(TIMES):
        size, rounds = (217, 256, 31)[number % 3], number % 5
        made = y.clone()
        kernels.turns[(132,)](made, size, rounds, kernels.turn_all, ROW, num_warps=4)
        first = seen.setdefault((size, rounds), made)
        assert COMPILE_ONLY or torch.equal(first, made)
