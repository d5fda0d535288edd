"""The sweep over cuTile's own tests runs them with Triton, and tells apart what is right, wrong, and not for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_triton

TESTS = """
import cuda.tile as ct
import pytest
import torch


@ct.kernel
def add_one(X, Y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(Y, (i,), ct.load(X, (i,), (T,)) + 1)


@pytest.mark.parametrize("n", [100, 128])
def test_right(n):
    x = torch.rand(n, device="cuda")
    y = torch.zeros_like(x)
    ct.launch(torch.cuda.current_stream(), (4, 1, 1), add_one, (x, y, 32))
    torch.cuda.synchronize()
    assert torch.equal(y, x + 1)


def test_wrong():
    x = torch.rand(32, device="cuda:0")
    ct.launch(torch.cuda.current_stream(), (1,), add_one, (x, x, 32))
    assert x.sum() < 0


def test_refused():
    @ct.kernel
    def refused(X):
        ct.store(X, (0,), ct.load(X, (0, 0), (16,)))

    with pytest.raises(ct.TileTypeError, match="array rank"):
        ct.launch(torch.cuda.current_stream(), (1,), refused, (torch.rand(16).cuda(),))


def test_refused_by_the_launcher():
    with pytest.raises(TypeError, match="3 arguments expected"):
        ct.launch(torch.cuda.current_stream(), (1,), add_one, (torch.rand(16).cuda(),))


def get_bytecode(kernel):
    raise RuntimeError("no driver")


def test_numbers_beside_bytecode():
    x = torch.rand(32, device="cuda:0")
    y = torch.zeros_like(x)
    get_bytecode(add_one)
    ct.launch(torch.cuda.current_stream(), (1,), add_one, (x, y, 32))
    assert x.is_cuda and torch.equal(y, x + 1)


def test_of_the_compiler():
    raise RuntimeError("tileiras is not there")


def test_of_its_cache():
    test_numbers_beside_bytecode()
    raise RuntimeError("the bytecode is not in the cache")
"""


def test_what_the_sweep_tells(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "test_some.py").write_text(TESTS)
    root = Path(__file__).parents[3]
    out = tmp_path / "out.json"
    command = [sys.executable, str(root / "tools" / "sweep_cutile.py"), str(tmp_path / "files"), "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=root)
    assert "4 tests launch kernels: 3 right (75.0 %)" in done.stdout, done.stdout
    assert "2 more see each launch refused" in done.stdout and "2 are about cuTile's compiler" in done.stdout
    assert "1  AssertionError" in done.stdout
    found = {name.split("::")[1]: kind for name, (kind, _) in json.loads(out.read_text()).items()}
    assert found["test_wrong"] == "not" and found["test_right[100]"] == "right"
    assert found["test_refused"] == found["test_refused_by_the_launcher"] == "refused as expected"
    assert found["test_of_the_compiler"] == found["test_of_its_cache"] == "about cuTile's compiler"
    assert found["test_numbers_beside_bytecode"] == "right"
