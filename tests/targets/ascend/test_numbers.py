"""What the Linalg for Ascend computes, run on this machine by upstream MLIR: the programs, against float64."""

import inspect

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch

from tests.frontends.dsa import kernels, numbers
from tests.targets.ascend import compiling, running
from tle_raw.targets.ascend import stages

pytestmark = pytest.mark.every_triton(1)

TYPES = {
    torch.float16: "*fp16",
    torch.float32: "*fp32",
    torch.int8: "*i8",
    torch.int16: "*i16",
    torch.int32: "*i32",
    torch.int64: "*i64",
}


class _Launches:
    """Kernels of ``tests/frontends/dsa``, which a launch compiles for Ascend and runs here."""

    def __init__(self, texts):
        self.texts, self.name, self.grid = texts, "", ()

    def __getattr__(self, name):
        self.name = name
        return self

    def __getitem__(self, grid):
        self.grid = (*grid, 1)[:2]
        return self

    def __call__(self, *arguments, **constants):
        kernel = getattr(kernels, self.name)
        names = [name for name in inspect.signature(kernel.fn).parameters if name not in constants]
        types = [TYPES[each.dtype] if isinstance(each, torch.Tensor) else "i32" for each in arguments]
        compiling.compile_for(kernel, dict(zip(names, types)), constants)
        running.run(self.texts[-1], self.name, list(arguments), self.grid)


@pytest.fixture(autouse=True)
def launches(monkeypatch):
    torch.manual_seed(0)
    texts = []
    monkeypatch.setattr(stages, "compile_linalg", lambda text, chip: texts.append(text) or "")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setattr(numbers, "kernels", _Launches(texts))
    return texts


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_a_chain_of_arithmetic(dtype):
    numbers.check_chain(dtype, m=37)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.int64], ids=str)
def test_bounds(dtype):
    numbers.check_clamp(dtype, n=300)


@pytest.mark.parametrize("kind", ["pipeline", "parallel", "range"])
def test_loops(kind):
    numbers.check_rows(kind)


@pytest.mark.parametrize("name", ["flow", "parts", "slices", "product"])
def test_programs(name):
    getattr(numbers, f"check_{name}")()


def test_what_a_loop_carries():
    x, out = torch.rand(50), torch.zeros(64)
    numbers.kernels.carried[(1,)](x, out, 50, 5, B=64)
    one, two = x.double(), torch.ones(50).double()
    for _ in range(5):
        one, two = one + two, one * 4  # of two vector units
    numbers.close(out[:50], one)


def test_reductions(launches):
    x, o, total = torch.randn(40, 64), torch.zeros(40, 64), torch.zeros(3)
    signature = {"x": "*fp32", "o": "*fp32", "n": "i32", "total": "*fp32"}
    compiling.compile_for(compiling.softmax, signature, {"B": 16, "C": 64})
    running.run(launches[-1], "softmax", [x, o, 40, total], (3, 1))
    numbers.close(o, x.double().softmax(1))
