"""TileLang kernels become programs whose numbers, in the simulator, are those of NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tilelang")

from tests.targets.tenstorrent import kernels
from tests.targets.tenstorrent.run_kernel import lower, rounded, run_kernel

pytestmark = pytest.mark.one_triton

# Against the largest number of the result. Products and reductions pass the matrix unit, which has 19 bits a number.
BOUNDS = {"float32": 1e-3, "float16": 2e-3, "bfloat16": 1.5e-2, "int32": 0.0}


def inputs_of(case: kernels.Case, seed: int = 7) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    made = {}
    for name, (shape, dtype) in case.inputs.items():
        drawn = random.integers(-1000, 1000, shape) if dtype == "int32" else random.uniform(case.low, -case.low, shape)
        made[name] = rounded(np.asarray(drawn), dtype)
    return made


def error_of(case: kernels.Case, folder, **options) -> float:
    """The largest difference to float64, against the largest number of the result."""
    inputs = inputs_of(case)
    got = run_kernel(case.prim_func, inputs, folder, **options)
    wide = {n: v.astype(np.int64 if v.dtype == np.int32 else np.float64) for n, v in inputs.items()}
    expected = case.reference(**wide)
    expected = expected if isinstance(expected, dict) else {next(iter(got)): expected}
    assert set(got) == set(expected)
    return max(float(np.abs(got[n].astype(np.float64) - e).max() / np.abs(e).max()) for n, e in expected.items())


# Made by the tests: TileLang takes a tenth of a second to read a kernel, and every worker reads this file.
ODD = {
    "chain": lambda: kernels.chain(100, 70, "bfloat16"),
    "integers": lambda: kernels.integers(100, 70),
    "product and gelu": lambda: kernels.gemm_epilogue(100, 70, 50, "float16", "gelu"),
    "smallest of columns": lambda: kernels.reduction(100, 70, "float32", "min", 0),
    "causal attention": lambda: kernels.attention(1, 2, 75, 40, "float16", True),
}


@pytest.mark.parametrize("name", ODD)
def test_the_numbers_of_odd_sizes(name, tmp_path):
    case = ODD[name]()
    assert error_of(case, tmp_path) <= BOUNDS[case.dtype]


def test_shards_in_l1_are_computed_where_they_lie(tmp_path):
    case = kernels.gemm(128, 128, 64, "float16")
    layouts = {"A": {"memory": "L1", "shard": (2, 2)}, "C": {"memory": "L1", "layout": "sharded", "shard": (2, 2)}}

    assert error_of(case, tmp_path, partition="local_shard", core_grid=(2, 2), layouts=layouts) < 2e-3


def test_block_floats_in_memory(tmp_path):
    case = kernels.gemm(100, 70, 50, "bfloat16")

    error = error_of(case, tmp_path, layouts={"A": {"format": "bfp8_b"}, "B": {"format": "bfp8_b"}})

    assert 2e-3 < error < 1.5e-2  # seven bits and a sign, with an exponent for each sixteen


def test_the_older_release_computes_the_same(tmp_path):
    assert error_of(kernels.softmax(100, 70, "float16"), tmp_path, api="0.70.1", core_grid=(2, 1)) < 2e-3


def test_each_kernel_covers_its_blocks_once_and_fits():
    for case in kernels.cases():
        module = lower(case.prim_func)
        covered = sorted((i.batch, i.io, i.jo) for core in module.cores for i in core.items)
        columns, rows, batches = module.grid
        assert covered == [(b, i, j) for b in range(batches) for i in range(rows) for j in range(columns)], str(case)
        assert set(module.kernels) == {"reader", "compute", "writer"}, str(case)
        assert all(kernel.body for kernel in module.kernels.values()), str(case)


def test_products_alone_need_no_vector_unit():
    from tle_raw.targets.tenstorrent.ir import Call, walk
    from tle_raw.targets.tenstorrent.kernel_api import operation

    module = lower(kernels.gemm(100, 70, 50, "float16").prim_func)
    called = {s.operation for s in walk(module.kernels["compute"].body) if isinstance(s, Call)}

    assert "matmul_tiles" in called
    assert not [name for name in called if operation(name).needs_vector_headers]
