"""Specialised warps on the CPU: partitions take turns on one thread. NumPy in float64 says what is right."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.flir.cpu.convert import partition_kernels as kernels

pytestmark = [pytest.mark.usefixtures("checked"), pytest.mark.every_triton(4)]


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def run_rings(programs, rows, block, slots, consumers, cut=0, seed=0):
    """Runs `rings`; compares what its consumers wrote, and what the default partition returned."""
    x = numbers(programs, rows, block, seed=seed)
    o = torch.full((programs, consumers, rows, block), float("nan"))
    counts, lasts = torch.full((programs,), -1, dtype=torch.int32), torch.full((programs, block), float("nan"))
    kernels.rings[(programs,)](x, o, counts, lasts, rows, rows * block - cut, block, slots, consumers)
    given = x.double().numpy().copy()
    given.reshape(programs, -1)[:, rows * block - cut :] = 0
    wanted = np.stack([given - number * given.sum(2, keepdims=True) for number in range(consumers)], 1)
    np.testing.assert_allclose(o.numpy(), wanted, rtol=1e-4, atol=1e-4)
    assert counts.tolist() == [rows] * programs
    assert np.array_equal(lasts.numpy(), given[:, -1] if rows else np.zeros((programs, block)))


@pytest.mark.parametrize(
    "rows, block, slots, cut, consumers",
    [(7, 32, 3, 5, 1), (7, 32, 3, 5, 2), (7, 32, 3, 5, 3), (2, 64, 5, 1, 3), (0, 16, 2, 0, 2), (1, 16, 1, 16, 1)],
)
def test_rows_through_a_ring(rows, block, slots, cut, consumers):
    run_rings(1, rows, block, slots, consumers, cut)


@pytest.mark.parametrize("seed", range(6))
def test_rings_of_random_sizes(seed):
    random = np.random.default_rng(100 + seed)
    rows, slots = int(random.integers(0, 40)), int(random.integers(1, 9))
    block, consumers = 1 << int(random.integers(0, 10)), int(random.integers(1, 4))
    cut = int(random.integers(0, rows * block + 1))
    run_rings(int(random.integers(1, 5)), rows, block, slots, consumers, cut, seed)


def test_many_programs_on_several_threads():
    run_rings(3000, 3, 64, 2, 2, seed=3)


@pytest.mark.parametrize("m, n, k, programs", [(64, 64, 64, 1), (200, 136, 72, 3), (65, 36, 40, 2), (129, 8, 200, 5)])
def test_a_product_whose_copies_have_warps_of_their_own(m, n, k, programs):
    a, b = numbers(m, k).half(), numbers(n, k, seed=1).half()
    c, steps = torch.full((m, n), float("nan")), torch.zeros(programs, dtype=torch.int32)
    sizes = {"M": 64, "N": 32, "K": 32, "S": 3}
    tiles = [TensorDescriptor.from_tensor(x, list(box)) for x, box in ((a, (64, 32)), (b, (32, 32)), (c, (64, 32)))]
    kernels.persistent_product[(programs,)](*tiles, steps, m, n, k, **sizes)
    np.testing.assert_allclose(c.numpy(), a.double().numpy() @ b.double().numpy().T, rtol=1e-3, atol=1e-3)
    assert steps.sum() == -(-m // 64) * -(-n // 32) * -(-k // 32)


def test_pointers_into_buffers_of_other_partitions():
    x = numbers(9, 64).abs() * 100
    o, counts = torch.zeros(9, 64), torch.zeros(16, dtype=torch.int32)
    kernels.pointers[(1,)](x, o, counts, 9, B=64, S=2, BINS=16)
    assert torch.equal(o, 2 * x.flip(1))
    assert counts.tolist() == np.bincount(x.numpy().astype(int).reshape(-1) % 16, minlength=16).tolist()


@pytest.mark.parametrize("rows", [0, 1, 2, 11])
def test_asynchronous_copies_of_a_worker(rows):
    x, o = numbers(rows, 32), torch.full((rows, 32), float("nan"))
    kernels.copies[(1,)](x, o, rows, rows * 32, B=32, S=3)
    assert torch.equal(o, x)


def test_each_partition_has_memory_of_its_own():
    x, o = numbers(3, 32, 32), torch.full((4, 5, 32, 32), float("nan"))
    kernels.several_times[(1,)](x, o, 3, 3, B=32)
    product = np.einsum("rik,rjk->ij", x.double().numpy(), x.double().numpy())
    for time in range(3):
        for number, wanted in enumerate((product, 2 * product, x[0].double().numpy() + time)):
            np.testing.assert_allclose(o[time, number].numpy(), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(o[3, 0].numpy(), 3 * product, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(o[3, 1].numpy(), 4 * product, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_early_returns_and_functions_that_are_not_inlined(n):
    x, o = numbers(8), torch.full((4,), -1.0)
    kernels.functions[(1,)](x, o, n)
    values = x.double()
    wanted = [values[0] + n if n else -1, values[0] + n - 1 if n != 1 else -1, values[:n].sum(), values[:2].sum()]
    np.testing.assert_allclose(o.numpy(), np.array([float(value) for value in wanted]), rtol=1e-5)


def test_partitions_that_wait_in_memory_let_the_others_run():
    flags, o = torch.zeros(3, dtype=torch.int32), torch.ones(1)
    kernels.rounds_by_flags[(1,)](flags, o, 5)
    assert flags.tolist() == [5, 5, 5] and o.item() == 4**5 + sum(4**n for n in range(5))


@pytest.mark.parametrize("programs", [1, 2, 5])
def test_a_worker_that_waits_for_another_program_lets_it_begin(programs):
    flags = torch.zeros(programs + 1, dtype=torch.int32)
    kernels.chain_of_programs[(programs,)](flags)
    assert flags.tolist() == [1] * programs + [0]


@pytest.mark.parametrize("rows", [1, 6])
def test_partitions_have_buffers_descriptors_and_loops_of_their_own(rows):
    x, o = numbers(rows, 64), torch.zeros(4, rows, 64)
    kernels.all_of_the_language[(1,)](x, o, rows, 0, B=64)
    assert not o.any()
    kernels.all_of_the_language[(1,)](x, o, rows, 1, B=64)
    assert torch.equal(o, torch.stack([x.sort(1).values, 2 * x, x.sort(1).values, x + 1]))
