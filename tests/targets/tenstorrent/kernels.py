"""Twenty TileLang kernels in TileLang's usual forms, each in even sizes and odd ones."""

from tests.targets.tenstorrent.case import Case
from tests.targets.tenstorrent.elementwise_kernels import (
    add,
    axpy,
    chain,
    integers,
    masked,
    outer,
    transpose,
    two_outputs,
)
from tests.targets.tenstorrent.product_kernels import batched_gemm, gemm, gemm_epilogue
from tests.targets.tenstorrent.row_kernels import attention, layer_norm, reduction, rms_norm, softmax, sum_in_steps

__all__ = [
    "Case",
    "add",
    "attention",
    "axpy",
    "batched_gemm",
    "cases",
    "chain",
    "gemm",
    "gemm_epilogue",
    "integers",
    "layer_norm",
    "masked",
    "outer",
    "reduction",
    "rms_norm",
    "softmax",
    "sum_in_steps",
    "transpose",
    "two_outputs",
]


def cases() -> list[Case]:
    """The twenty kernels, in sizes that are multiples of the blocks, and odd ones, and in their dtypes."""
    found = []
    half, brain, full = "float16", "bfloat16", "float32"
    for m, n in ((64, 128), (100, 70)):
        for dtype in (half, brain, full):
            found += [add(m, n, dtype), chain(m, n, dtype)]
        found += [integers(m, n), axpy(m, n, full), axpy(m, n, half), two_outputs(m, n, brain), two_outputs(m, n, full)]
        found += [masked(m, n, half), masked(m, n, full)]
        found += [transpose(m, n, half), transpose(m, n, full), outer(m, n, half), outer(m, n, full)]
    for m, n, k in ((128, 128, 96), (100, 70, 50)):
        for dtype in (half, brain, full):
            found.append(gemm(m, n, k, dtype))
        found += [gemm(m, n, k, half, turn_b=True, name="gemm, B turned")]
        found += [gemm(m, n, k, half, turn_a=True, name="gemm, A turned")]
        found += [gemm_epilogue(m, n, k, half, kind) for kind in ("relu", "gelu", "scale and residual")]
        found += [gemm_epilogue(m, n, k, brain, "gelu")]
    found += [batched_gemm(2, 64, 64, 64, half), batched_gemm(3, 50, 70, 40, brain)]
    for m, n in ((64, 128), (100, 70)):
        for axis in (1, 0):
            found += [reduction(m, n, half, "sum", axis), reduction(m, n, full, "max", axis)]
            found += [reduction(m, n, full, "min", axis), reduction(m, n, half, "absmax", axis)]
        found += [sum_in_steps(m, n, half), softmax(m, n, half), softmax(m, n, full), softmax(m, n, brain)]
        found += [rms_norm(m, n, half), rms_norm(m, n, full), layer_norm(m, n, half), layer_norm(m, n, full)]
    for length in (128, 100):
        found += [attention(1, 2, length, 64, half, causal) for causal in (False, True)]
    found.append(attention(2, 1, 75, 40, brain, False))
    return found
