"""The sweep over PyCUDA's examples; and PyCUDA's own objects as fragments, on the driver that the sweep has."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytools")
FOUND = importlib.util.find_spec("pycuda")
pytestmark = [
    pytest.mark.one_triton,
    pytest.mark.skipif(FOUND is None, reason="PyCUDA's Python files are not there"),
]
HEAD = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel

x = np.random.rand(1000).astype(np.float32)
"""
SCRIPTS = {
    "right.py": """
kernel = SourceModule("__global__ void add(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }")
y = x.copy()
kernel.get_function("add")(drv.InOut(y), np.int32(100), block=(128, 1, 1))
assert (y[:100] == x[:100] + 1).all() and (y[100:] == x[100:]).all()
""",
    "wrong.py": """
g = gpuarray.to_gpu(x)
ElementwiseKernel("float *x", "x[i] = 2 * x[i]", "twice")(g)
assert (g.get() == x).all()
""",
    "refused.py": """
struct = SourceModule("struct S { float *x; }; __global__ void of_struct(S s) { s.x[0] = 1; }")
struct.get_function("of_struct")(np.zeros(8, np.uint8), block=(32, 1, 1))
small = SourceModule("__global__ void small(float *x) { x[threadIdx.x] += 1; }").get_function("small")
small(drv.InOut(x), block=(5, 5, 1))
""",
    "ended.py": """
import no_such_package
window = no_such_package.Window("title")
unreached(window)
later = SourceModule("__global__ void later(float *x) { x[threadIdx.x] += 1; }")
""",
    "objects.py": """
import tle_raw
from pycuda.elementwise import get_axpbyz_kernel
from pycuda.reduction import ReductionKernel

module = SourceModule("__global__ void half(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] /= 2; }")
y, n = x.copy(), len(x)
for made in (module.get_function("half"), module):
    half = tle_raw.fragment(made, **({"symbol": "half"} if made is module else {}))
    half.as_kernel(block=1024)[(1,)](y, n)
assert np.allclose(y, x / 4)
z = np.zeros_like(x)
axpbyz = tle_raw.fragment(get_axpbyz_kernel(*[np.dtype(np.float32)] * 3))
axpbyz.as_kernel(block=64)[(4,)](2.0, x, -1.0, y, z, n)
assert np.allclose(z, 2 * x - y)
total = tle_raw.fragment(ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "float *x"))
out = np.zeros(3, np.float32)
total.as_kernel(block=64)[(3,)](out, x, n)
assert np.allclose(out.sum(), (x.astype(np.float64) ** 2).sum(), rtol=1e-5)
assert np.allclose((2 * gpuarray.to_gpu(x) + gpuarray.to_gpu(z)).get(), 2 * x + z)
""",
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name, text in SCRIPTS.items():
        folder.joinpath(name).write_text(HEAD + text)
    out = folder / "out.json"
    tool = Path(__file__).parents[3] / "tools" / "sweep_pycuda.py"
    source = str(Path(FOUND.origin).parents[1])
    command = [sys.executable, str(tool), source, "--scripts", str(folder), "--limit", "100", "--json", str(out)]
    subprocess.run(command, capture_output=True, text=True, timeout=500)
    return {(k["script"], k["name"]): k for k in json.loads(out.read_text())["kernels"]}


@pytest.mark.parametrize(
    "script, name, outcome, cubin, numbers, message",
    [
        ("right.py", "add", "region", True, "right", ""),
        ("wrong.py", "twice", "region", True, "wrong", "assertion"),
        ("refused.py", "of_struct", "SignatureError", False, "not run", "cannot cross"),
        ("refused.py", "small", "region", True, "failed", "25 threads"),
        ("ended.py", "later", "region", True, "not run", "unreached"),
        ("objects.py", "axpb", "region", True, "right", ""),
    ],
)
def test_what_the_sweep_tells(swept, script, name, outcome, cubin, numbers, message):
    found = swept[script, name]
    assert (found["outcome"], found["cubin"], found["numbers"]) == (outcome, cubin, numbers), found
    assert message in found["message"]


def test_pycudas_own_objects_are_fragments(swept):
    """Their numbers are those that the script asserts: functions, modules, reductions, GPUArray's kernels."""
    kernels = {name: k for (script, name), k in swept.items() if script == "objects.py"}
    assert kernels["half"]["cubin"] and kernels["axpbyz"]["cubin"] and kernels["reduce_kernel"]["outcome"] == "region"
    assert not [k for k in kernels.values() if k["numbers"] == "wrong" or "ends" in k["message"]], kernels
