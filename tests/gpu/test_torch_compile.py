"""What of torch was tried, on a GPU: the rows of `docs/torch.md`, and a program that no other process can import."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.gpu.device import DEVICE, ON_CPU, needs_device

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, needs_device]

from tests.torch_rows.rows import ROWS, needs_cpu, needs_gpu  # noqa: E402


@pytest.fixture(autouse=True)
def anew(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()


HERE = [name for name in ROWS if not (needs_gpu if ON_CPU else needs_cpu)(name)]
CRASHED = "aot_inductor"  # torch 2.11 on an H200, a kernel of plain Triton too: in a process of its own


@pytest.mark.parametrize("name", [name for name in HERE if name != CRASHED])
def test_a_row(name):
    ROWS[name](DEVICE)


@pytest.mark.skipif(CRASHED not in HERE, reason="not for this device")
def test_a_row_in_a_process_of_its_own(tmp_path):
    if not ON_CPU:  # where it is refused
        plain = _in_a_process("tests.torch_rows.plain_aot_inductor", tmp_path)
        if plain.returncode < 0:
            pytest.xfail(f"AOTInductor ends the process with plain Triton too, by signal {-plain.returncode}")
        assert plain.returncode == 0, plain.stdout[-1000:] + plain.stderr[-3000:]
    run = _in_a_process("tests.torch_rows.run", tmp_path, CRASHED)
    assert run.returncode == 0, run.stdout[-1000:] + run.stderr[-3000:]


def _in_a_process(module, folder, *arguments):
    command = [sys.executable, "-m", module, DEVICE, str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


PROGRAM = """
import torch, triton, triton.language as tl, tle_raw
from tle_raw import InOut, Tile

@tle_raw.dialect("cuda", source='''
extern "C" __device__ void twice(float* t) {
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) t[i] *= 2;
}
''')
def twice(t: InOut[Tile["f32", "N"]]): ...

@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, twice(tl.load(x + at)))

def f(x):
    o = torch.empty_like(x)
    kernel[(4,)](x, o, B=64)
    return o + 1

if __name__ == "__main__":
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    config.compile_threads = 4
    AsyncCompile.wait_pool_ready()
    x = torch.randn(256, device="cuda" if torch.cuda.is_available() else "cpu")
    torch.testing.assert_close(torch.compile(f, fullgraph=True)(x), 2 * x + 1)
    print("right")
"""


def test_a_program_whose_fragments_no_other_process_can_import(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch")}
    for _ in range(2):  # the second takes its graph from torch's cache
        run = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=600
        )
        assert run.stdout == "right\n", run.stderr[-3000:]
