"""Functions inside kernels: on the CPU by their numbers, for GPUs one entry without calls; both builders alike."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls, report_of
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile, mlir
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.every_triton(2)

POINTERS = {"x": "*fp32", "v": "*fp32", "n": "i32"}


@mlir.function
def gelu(x):
    if x > 6.0:
        return x
    return 0.5 * x * (1.0 + math.erf(x * 0.7071067811865476))


@tle_raw.dialect("mlir")
def scale(t: InOut[Tile["f32", "M", "N"]], v: Pointer["f32"], n: Scalar["i32"], k: Const["K"]) -> Scalar["f32"]:
    partial = mlir.shared("f32", 32)
    total = 0.0
    for i in range(mlir.thread_id(), M * N, mlir.block_dim()):
        r, c = i // N, i % N
        t[r, c] = gelu(t[r, c] * v[c]) + n * k
        total += t[r, c]
    total += mlir.shuffle_xor(total, 16)
    total += mlir.shuffle_xor(total, 8)
    total += mlir.shuffle_xor(total, 4)
    total += mlir.shuffle_xor(total, 2)
    total += mlir.shuffle_xor(total, 1)
    if mlir.lane_id() == 0:
        partial[mlir.warp_id()] = total
    mlir.barrier()
    whole = 0.0
    for w in range(mlir.block_dim() // 32):
        whole += partial[w]
    return whole


@triton.jit
def scale_kernel(x, v, n, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    t, s = scale(tl.load(x + offsets), v, n, 3)
    tl.store(x + offsets, t + s)


def whole(kernel) -> None:
    """One entry and nothing called, in the PTX and in the SASS."""
    assert len(re.findall(r"\.entry\b", kernel.asm["ptx"])) == 1
    assert not ptx_calls(kernel) and ".func" not in kernel.asm["ptx"]
    facts = read_cubin(kernel.asm["cubin"])
    assert not facts.reason and len(facts.entries) == 1 and not facts.calls


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_kernel_for_gpus_is_one_entry(capability):
    kernel = compile_kernel(scale_kernel, POINTERS, {"M": 16, "N": 32}, capability)
    whole(kernel)
    assert "shfl.sync.bfly" in kernel.asm["ptx"] and "bar.sync" in kernel.asm["ptx"]
    assert report_of(kernel, machine_code=False).regions[0].inlined


def test_the_lines_of_the_function_are_in_the_ptx():
    kernel = compile_kernel(scale_kernel, POINTERS, {"M": 16, "N": 32})
    ptx = kernel.asm["ptx"]
    (file,) = re.findall(rf'\.file\s+(\d+)\s+"{re.escape(__file__)}"', ptx)
    lines = Path(__file__).read_text().splitlines()
    found = {lines[int(n) - 1].strip() for n in re.findall(rf"\.loc\s+{file}\s+(\d+)", ptx)}
    assert "return 0.5 * x * (1.0 + math.erf(x * 0.7071067811865476))" in found, "of the function that is called"
    assert {"total += mlir.shuffle_xor(total, 16)", "whole += partial[w]"} <= found


@pytest.mark.one_triton
def test_a_kernel_on_the_cpu_has_the_right_numbers():
    torch = pytest.importorskip("torch")
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        x = torch.randn(16, 32)
        v = torch.randn(32)
        y = (x.double() * v.double()).numpy()
        y = np.where(y > 6, y, 0.5 * y * (1 + np.vectorize(math.erf)(y * 0.7071067811865476))) + 6
        scale_kernel[(1,)](x, v, 2, M=16, N=32)
    np.testing.assert_allclose(x.numpy(), y + y.sum(), rtol=1e-5)


def both(t: InOut[Tile["T", "M", "N"]], p: InOut[Pointer["f32"]], n: Scalar["i32"], o: Out[Tile["i32", "N"]]):
    i = mlir.thread_id()
    while i < M * N:
        v = float(t.flat[i])
        for j in range(n, 0, -2):
            if j == 3:
                continue
            v += p[j] if j % 2 else v
            if v > 100:
                break
        t.flat[i] = mlir.exp(v) / 3
        i += mlir.block_dim()
    if mlir.thread_id() < N:
        o[mlir.thread_id()] = mlir.atomic_add(p, 0, 1.0)
        assert n > 0, "n"
        mlir.printf("%d %f\n", n, p[0])


def one(x: Element["T"], s: Scalar["i64"]) -> Element["T"]:
    return math.tanh(x) if s > 3 else x // 2.0


def kernel_of_both(function):
    @triton.jit
    def kernel(x, p, n, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        t, o = function(tl.load(x + offsets), p, n)
        tl.store(x + offsets, t + o[None, :])

    return kernel


def kernel_of_one(function):
    @triton.jit
    def kernel(x, p, n, M: tl.constexpr, N: tl.constexpr):
        tl.store(x + tl.arange(0, M * N), function(tl.load(x + tl.arange(0, M * N)), n.to(tl.int64)))

    return kernel


def kernel_of_scale(function):
    @triton.jit
    def kernel(x, p, n, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        t, s = function(tl.load(x + offsets), p, n, 3)
        tl.store(x + offsets, t + s)

    return kernel


def code(ptx: str) -> list[str]:
    """The instructions, without debug information, and with one name for the entry of the region."""
    text = re.sub(r"tle_raw_\w+", "entry", ptx).partition(".section\t.debug")[0]
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("//", ".loc", ".file", "$L__tmp"))]


@pytest.mark.parametrize(
    ("function", "make", "dtype"),
    [
        (scale._declaration.function, kernel_of_scale, "fp32"),
        *((both, kernel_of_both, dtype) for dtype in ("fp16", "bf16", "fp32", "fp64")),
        *((one, kernel_of_one, dtype) for dtype in ("fp16", "fp32", "fp64")),
    ],
)
def test_both_builders_give_the_same_ptx(function, make, dtype):
    pytest.importorskip("torch_mlir.ir")
    texts = []
    for route in ("libtriton", "torch_mlir"):
        fragment = tle_raw.dialect("mlir", route=route)(function)
        kernel = compile_kernel(make(fragment), {"x": f"*{dtype}", "p": "*fp32", "n": "i32"}, {"M": 4, "N": 32})
        assert report_of(kernel, machine_code=False).regions[0].inlined
        texts.append(code(kernel.asm["ptx"]))
    assert len(texts[0]) > 20
    assert texts[0] == texts[1]
