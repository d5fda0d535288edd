"""What Triton's pipeliner makes of groups gives right numbers however long copies and products take."""

import numpy as np
import pytest

from tests.flir.ttgir_machine import Machine
from tests.frontends.lite import pipeline_kernels as kernels
from tests.frontends.lite.test_range import FLASH, PRODUCT, ROWS, check_loops
from tests.support import compile_kernel

pytestmark = pytest.mark.every_triton(4)


def random(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def run(kernel, arrays, scalars, is_late, grid=(1, 1)):
    flat = [array.reshape(-1) for array in arrays]
    arguments = [("p", place) for place in range(len(arrays))] + [("s", np.int32(n)) for n in scalars]
    ahead = 0
    for x in range(grid[0]):
        for y in range(grid[1]):
            machine = Machine(flat, is_late, (x, y, 0))
            machine.run(kernel.asm["ttgir"], arguments)
            ahead = max(ahead, machine.loads_ahead)
    return ahead


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    "stages, orders", [((0, 0, 1), (0, 1, 2)), ((0, 0, 3), (1, 0, 2)), ((0, 2, 3), None), ((0, 1, 2), (2, 1, 0))]
)
def test_products(stages, orders, capability, is_late):
    m, n, k = 33, 47, 200
    constants = {"B": 32 if capability == 80 else 64, "STAGES": stages, "ORDERS": orders}
    kernel = compile_kernel(kernels.product, PRODUCT, constants, capability, multiples=("n", "k"))
    a, b, o = random(m, k, dtype=np.float16), random(k, n, dtype=np.float16), np.zeros((m, n), np.float32)
    block = constants["B"]
    ahead = run(kernel, [a, b, o], [m, n, k], is_late, (-(-m // block), -(-n // block)))
    np.testing.assert_allclose(o, a.astype("d") @ b.astype("d"), rtol=1e-4, atol=1e-4)
    assert stages[0] != stages[1] or ahead == 2 * (stages[2] - 1)


def test_a_wait_that_leaves_too_much_under_way_is_noticed():
    constants = {"B": 64, "STAGES": (0, 0, 2), "ORDERS": None}
    kernel = compile_kernel(kernels.product, PRODUCT, constants, multiples=("n", "k"))
    assert "num = 2 : i32" in kernel.asm["ttgir"]
    a, b, o = random(64, 256, dtype=np.float16), random(256, 64, dtype=np.float16), np.zeros((64, 64), np.float32)
    arguments = [("p", 0), ("p", 1), ("p", 2), ("s", np.int32(64)), ("s", np.int32(64)), ("s", np.int32(256))]
    machine = Machine([each.reshape(-1) for each in (a, b, o)], is_late=True)
    machine.run(kernel.asm["ttgir"].replace("num = 2 : i32", "num = 4 : i32"), arguments)
    assert not np.allclose(o, a.astype("d") @ b.astype("d"), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("stages", [(0, 1, 2), (0, 2, 4), (0, 0, 1), (0, 1, 1)])
def test_chains_of_loads(stages, count, is_late):
    signature = {"x": "*fp32", "index": "*i32", "o": "*fp32", "n": "i32", "width": "i32"}
    constants = {"B": 128, "STAGES": stages, "ASYNC": True}
    kernel = compile_kernel(kernels.gathered, signature, constants)
    x, index = random(501), np.random.default_rng(1).integers(0, 501, (7, 100)).astype(np.int32)
    o = np.zeros((7, 100), np.float32)
    run(kernel, [x, index, o], [count, 100], is_late)
    np.testing.assert_allclose(o[:count], x.astype("d")[index].cumsum(0)[:count], rtol=1e-5, atol=1e-5)
    assert not o[count:].any()


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("stages", [(0, 0, 1, 1), (0, 0, 1, 2), (0, 1, 2, 4)])
def test_products_in_two_stages(stages, capability, is_late):
    kernel = compile_kernel(kernels.attention, FLASH, {"B": 64, "STAGES": stages}, capability)
    q, kv = random(64, 64, dtype=np.float16), random(8, 64, 64, dtype=np.float16)
    o = np.zeros((64, 64), np.float32)
    run(kernel, [q, kv, o], [4], is_late)
    keys, values = (part.astype("d").reshape(-1, 64) for part in (kv[:4], kv[4:]))
    scores = q.astype("d") @ keys.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(o, weights @ values / weights.sum(1, keepdims=True), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("is_late", [False, True])
def test_loops_of_every_kind(is_late):
    def launch(name, x, o, n, **constants):
        kernel = compile_kernel(getattr(kernels, name), ROWS, {"B": 64, **constants})
        run(kernel, [x, o], [n], is_late)
        return o

    check_loops(launch)
