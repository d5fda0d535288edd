"""On a machine with a GPU, the CPU backend is never in the way; asked for by name, it is used."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
import triton

from tests.gpu.device import needs_gpu

pytestmark = [pytest.mark.gpu, needs_gpu]

NEEDED = ("torch_mlir", "llvmlite", "cffi")
BOTH = """
import sys
import numpy, torch, triton, triton.language as tl
import tle_raw
from tle_raw import InOut, Tile

@tle_raw.dialect("cuda", source='''
#include <tle_raw/tile.h>
template <int N> __device__ void twice(tle::tile<float, N> t) {
  for (int i = threadIdx.x; i < N; i += blockDim.x) t[i] *= 2;
}''')
def twice(t: InOut[Tile["f32", "N"]]): ...

@triton.jit
def kernel(x, y, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, twice(tl.load(x + i, mask=i < n)), mask=i < n)

def run(device):
    x = torch.randn(1000, device=device)
    y = torch.empty_like(x)
    compiled = kernel[(8,)](x, y, 1000, N=128)
    assert torch.equal(y, 2 * x)
    return compiled.metadata.target.backend

seen = []
for target in sys.argv[1:]:
    tle_raw.knobs.target = None if target == "default" else target
    seen.append(run("cpu" if target == "cpu" else "cuda"))
print(*seen)
"""


def test_nvidia_drives_though_the_cpu_backend_is_there():
    from triton.backends import backends

    assert "tle_cpu" in backends
    assert not backends["tle_cpu"].driver.is_active()
    assert triton.runtime.driver.active.get_current_target().backend == "cuda"


@pytest.mark.skipif(any(find_spec(name) is None for name in NEEDED), reason="needs what tle_raw[cpu] installs")
@pytest.mark.parametrize("targets", [["cpu"], ["default", "cpu", "default"], ["cpu", "default", "cpu"]])
def test_the_cpu_by_name_and_back(targets, tmp_path):
    script = tmp_path / "both.py"
    script.write_text(BOTH)
    done = subprocess.run([sys.executable, script, *targets], capture_output=True, text=True, timeout=140)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["cpu" if t == "cpu" else "cuda" for t in targets]
