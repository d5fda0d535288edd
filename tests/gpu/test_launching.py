"""Everything around a launch: tuning, graphs, streams, caches, edits, FlagTree's calls, repetition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import (
    COMPILE_ONLY,
    check_close,
    check_norm,
    needs_device,
    numbers,
    poisoned,
    random,
)
from tle_raw import InOut, Pointer, Scalar, Tile

pytestmark = pytest.mark.gpu


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void soften(tle::tile<float, N> t, const float* scale) {
  __shared__ float part[32];
  float top = -1e30f;
  for (int i : t.indices()) top = fmaxf(top, t[i] *= scale[i % 7]);
  for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = top;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) top = fmaxf(top, part[w]);
  for (int i : t.indices()) t[i] -= top;
}
""",
)
def soften(t: InOut[Tile["f32", "N"]], scale: Pointer["f32"]): ...


def softened(x: np.ndarray, scale: np.ndarray, block: int) -> np.ndarray:
    rows = x.reshape(-1, block) * scale[np.arange(block) % 7]
    return (rows - rows.max(axis=1, keepdims=True)).reshape(x.shape)


@triton.jit
def soften_kernel(x_ptr, y_ptr, scale_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + offsets, soften(tl.load(x_ptr + offsets), scale_ptr))


def data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = random("f32", (64, 512))
    return x, poisoned(x), random("f32", (7,), seed=1)


def test_under_autotune():
    @triton.autotune([triton.Config({}, num_warps=w, num_stages=s) for w in (2, 4, 8) for s in (1, 2)], key=["N"])
    @triton.jit
    def kernel(x_ptr, y_ptr, scale_ptr, N: tl.constexpr):
        offsets = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(y_ptr + offsets, soften(tl.load(x_ptr + offsets), scale_ptr))

    x, y, scale = data()
    kernel[(64,)](x, y, scale, 512)
    check_close(y, softened(numbers(x), numbers(scale), 512), 1e-5, 1e-5)
    assert kernel.best_config.num_warps in (2, 4, 8)


def test_under_autotune_that_changes_the_tile():
    @triton.autotune([triton.Config({"N": n}) for n in (128, 256, 512)], key=["size"], restore_value=["y_ptr"])
    @triton.jit
    def kernel(x_ptr, y_ptr, scale_ptr, size, N: tl.constexpr):
        offsets = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(y_ptr + offsets, soften(tl.load(x_ptr + offsets), scale_ptr))

    x, y, scale = data()
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["N"]),)](x, y, scale, x.numel())
    check_close(y, softened(numbers(x), numbers(scale), kernel.best_config.kwargs["N"]), 1e-5, 1e-5)


def test_under_heuristics():
    @triton.heuristics({"N": lambda arguments: triton.next_power_of_2(arguments["size"] // 64)})
    @triton.jit
    def kernel(x_ptr, y_ptr, scale_ptr, size, N: tl.constexpr):
        offsets = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(y_ptr + offsets, soften(tl.load(x_ptr + offsets), scale_ptr))

    x, y, scale = data()
    kernel[(64,)](x, y, scale, x.numel())
    check_close(y, softened(numbers(x), numbers(scale), 512), 1e-5, 1e-5)


@needs_device
def test_in_a_cuda_graph():
    x, y, scale = data()
    soften_kernel[(64,)](x, y, scale, 512)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            soften_kernel[(64,)](x, y, scale, 512)
    for seed in (5, 6):
        x.copy_(random("f32", (64, 512), seed=seed))
        y.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        check_close(y, softened(numbers(x), numbers(scale), 512), 1e-5, 1e-5)


@needs_device
def test_on_two_streams_at_once():
    inputs = [random("f32", (2000, 512), seed=s) for s in (1, 2)]
    outputs = [poisoned(x) for x in inputs]
    scale = random("f32", (7,), seed=3)
    streams = [torch.cuda.Stream() for _ in inputs]
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, x, y in zip(streams, inputs, outputs, strict=True):
            with torch.cuda.stream(stream):
                soften_kernel[(2000,)](x, y, scale, 512)
    torch.cuda.synchronize()
    for x, y in zip(inputs, outputs, strict=True):
        check_close(y, softened(numbers(x), numbers(scale), 512), 1e-5, 1e-5)


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void settle(tle::tile<float, M, N> t) {
  __shared__ float column[N];
  for (int j = threadIdx.x; j < N; j += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < M; ++i) sum += t(i, j);
    column[j] = sum / M;
  }
  __syncthreads();
  for (int i : t.indices()) t[i] -= column[N - 1 - i % N];
}
""",
)
def settle(t: InOut[Tile["f32", "M", "N"]]): ...


@triton.jit
def busy_kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BLOCK_K)
    c = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + (pid * M + m) * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n)
        c = settle(tl.dot(a, b, c))
        c = settle(c * 0.5)
    tl.store(c_ptr + (pid * M + m) * N + n, c)


def test_two_hundred_launches_give_the_same_bits():
    """A missing barrier shows as a difference between launches."""
    blocks = 264
    a, b = random("f16", (blocks * 64, 256)), random("f16", (256, 64), seed=1)
    c = poisoned(random("f32", (1, 1)), (blocks * 64, 64))
    first = None
    for _ in range(1 if COMPILE_ONLY else 200):
        busy_kernel[(blocks,)](a, b, c, 256, 64, 64, 32, num_stages=3)
        first = c.clone() if first is None else first
        assert torch.equal(first.view(torch.int32), c.view(torch.int32))
    e = np.zeros((blocks, 64, 64))
    tiles, right = numbers(a).reshape(blocks, 64, 256), numbers(b)
    for start in range(0, 256, 32):
        e = e + tiles[:, :, start : start + 32] @ right[start : start + 32]
        e = e - e.mean(axis=1, keepdims=True)[:, :, ::-1]
        e = e * 0.5
        e = e - e.mean(axis=1, keepdims=True)[:, :, ::-1]
    check_norm(c, e.reshape(blocks * 64, 64), 1e-3)


SECOND_PROCESS = '''
import json, os, sys
if os.environ.get("GPU_TESTS_COMPILE_ONLY"):
    from samples.benchmarks import compile_only
    compile_only.install()
import torch, triton, triton.language as tl
hits = []
triton.knobs.compilation.listener = lambda **event: hits.append(bool(event["cache_hit"]))
import tle_raw
import tle_raw.adapters.cuda.adapter as adapter
runs, compile_unit = [], adapter.compile_unit
adapter.compile_unit = lambda *args, **kwargs: (runs.append(1), compile_unit(*args, **kwargs))[1]
from tle_raw import InOut, Tile

@tle_raw.dialect("cuda", source=r"""
template <int N> __device__ void third(tle::tile<float, N> t) { for (int i : t.indices()) t[i] = t[i] / 4 + i; }
""")
def third(t: InOut[Tile["f32", "N"]]): ...

@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets, third(tl.load(x_ptr + offsets)))

x = torch.full((256,), 8.0, device="cpu" if os.environ.get("GPU_TESTS_COMPILE_ONLY") else "cuda")
kernel[(1,)](x, 256)
print(json.dumps({"hits": hits, "runs": len(runs), "values": x.cpu().tolist()}))
'''


def test_a_second_process_compiles_nothing(tmp_path):
    script = tmp_path / "second_process.py"
    script.write_text(SECOND_PROCESS)
    first, second = (_in_a_process(script, tmp_path / "kernels") for _ in range(2))
    assert first["hits"] == [False]
    assert second["hits"] == [True] and second["runs"] == 0
    if not COMPILE_ONLY:
        assert first["values"] == second["values"] == [2.0 + i for i in range(256)]


def _in_a_process(script: Path, kernels: Path) -> dict:
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "TRITON_CACHE_DIR": str(kernels), "PYTHONPATH": path}
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_an_edited_header_is_seen_in_the_running_process(tmp_path, compiler):
    header, source = tmp_path / "factor.h", tmp_path / "multiply.cu"
    header.write_text("#define FACTOR 3.0f\n")
    source.write_text(
        '#include <tle_raw/tile.h>\n#include "factor.h"\n'
        "template <int N> __device__ void multiply(tle::tile<float, N> t) {\n"
        "  for (int i : t.indices()) t[i] = t[i] * FACTOR + i;\n}\n"
    )

    @tle_raw.dialect("cuda", file=source)
    def multiply(t: InOut[Tile["f32", "N"]]): ...

    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, multiply(tl.load(x_ptr + offsets)))

    x = random("f32", (256,))
    texts = []
    for factor in (3.0, -25.5, 3.0):
        header.write_text(f"#define FACTOR {factor}f\n")
        y = poisoned(x)
        texts.append(kernel[(1,)](x, y, 256).asm["ptx"])
        check_close(y, numbers(x) * factor + np.arange(256), 1e-5, 1e-5)
    assert texts[0] != texts[1]


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void mixed(tle::tile<float, N> x, tle::tile<float, N> y, int k) {
  for (int i : x.indices()) { const float a = x[i]; x[i] = y[i] + k; y[i] = a * i; }
}
""",
)
def mixed(x: InOut[Tile["f32", "N"]], y: InOut[Tile["f32", "N"]], k: Scalar["i32"]): ...


@tle_raw.dialect(
    name="cuda", extern_func_name="untyped_add", source=r"""
typedef float __attribute__((address_space(3))) shared_float;
extern "C" __device__ void untyped_add(shared_float*, shared_float* out, long o, long n, long s,
                                       shared_float*, shared_float* x, long ox, long nx, long sx, int k) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[o + i * s] = x[ox + (nx - 1 - i) * sx] + k;
}
""")  # fmt: skip
def untyped_add(*args, **kwargs): ...


@pytest.mark.parametrize("form", ["call", "call_smem"])
def test_flagtree_calls(form):
    @triton.jit
    def kernel(x_ptr, y_ptr, a_ptr, b_ptr, c_ptr, d_ptr, k, N: tl.constexpr, SHARED: tl.constexpr):
        at = tl.arange(0, N)
        x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
        if SHARED:
            a, b = tle_raw.call_smem(mixed, [x, y, k], output_indices=[0, 1])
            c = tle_raw.call_smem(untyped_add, [x, y, k], output_indices=[0])
            d = tle_raw.call_smem(untyped_add, [x], [y, k])
        else:
            a, b = tle_raw.call(mixed, [x, y, k], output_indices=[0, 1])
            c = tle_raw.call(untyped_add, [x, y, k], output_indices=[0])
            d = tle_raw.call(untyped_add, [x], [y, k])
        tl.store(a_ptr + at, a)
        tl.store(b_ptr + at, b)
        tl.store(c_ptr + at, c)
        tl.store(d_ptr + at, d)

    x, y = random("f32", (256,)), random("f32", (256,), seed=1)
    a, b, c, d = (poisoned(x) for _ in range(4))
    kernel[(1,)](x, y, a, b, c, d, 9, 256, form == "call_smem")
    check_close(a, numbers(y) + 9, 1e-6, 1e-6)
    check_close(b, numbers(x) * np.arange(256), 1e-6)
    check_close(c, numbers(y)[::-1] + 9, 1e-6, 1e-6)
    check_close(d, numbers(y)[::-1] + 9, 1e-6, 1e-6)


def test_a_kernel_compiled_ahead_gives_the_same_code_as_a_launched_one():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    x, y, scale = data()
    launched = soften_kernel[(64,)](x, y, scale, 512)
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "scale_ptr": "*fp32", "N": "constexpr"}
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = ASTSource(soften_kernel, types, {"N": 512}, attributes)
    ahead = triton.compile(source, target=GPUTarget("cuda", launched.metadata.target.arch, 32))
    assert ahead.asm["ptx"] == launched.asm["ptx"]
    assert tle_raw.report(launched).one_kernel


def test_threads_may_launch_at_the_same_time():
    from concurrent.futures import ThreadPoolExecutor

    x, _, scale = data()
    outputs = [poisoned(x) for _ in range(8)]

    def launch(y: torch.Tensor, warps: int) -> None:
        soften_kernel[(64,)](x, y, scale, 512, num_warps=warps)
        if not COMPILE_ONLY:
            torch.cuda.synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(launch, outputs, [1, 2, 4, 8, 1, 2, 4, 8]))
    for y in outputs:
        check_close(y, softened(numbers(x), numbers(scale), 512), 1e-5, 1e-5)
