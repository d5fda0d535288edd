"""The sweep over FlagTree's files, on files in their manner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch_mlir")

pytestmark = pytest.mark.one_triton

TOOL = Path(__file__).parents[2] / "tools" / "sweep_flagtree.py"

KERNEL = """
import torch
import triton
import triton.language as tl
import triton.experimental.tle.language.gpu as tle


@triton.jit
def kernel(x, o, B: tl.constexpr, ASM: tl.constexpr):
    i = tl.arange(0, B)
    buffer = tle.alloc([B], dtype=tl.float32, layout=None, scope=tle.smem, nv_mma_shared_layout=False)
    tle.copy(x + i, buffer, [B])
    value = tl.load(tle.local_ptr(buffer, (B - 1 - i,)))
    if ASM:
        value += tl.inline_asm_elementwise("bar.sync 0; mov.u32 $0, $1;", "=r,r", [i], tl.int32, is_pure=False, pack=1)
    tl.store(o + i, value)


x = torch.randn(64, device="cuda")
o = torch.empty_like(x)
"""
FILES = {
    "right.py": "kernel[(1,)](x, o, B=64, ASM=False)\nassert torch.equal(o, x.flip(0))\n",
    "wrong.py": "kernel[(1,)](x, o, B=64, ASM=False)\nassert torch.equal(o, x), 'they differ'\n",
    "gpu_alone.py": "kernel[(1,)](x, o, B=64, ASM=True)\nassert torch.equal(o, x), 'they differ'\n",
    "test_both.py": """
import pytest


@pytest.mark.parametrize("size", [32, 64, 16])
def test_sizes(size):
    kernel[(1,)](x, o, B=size, ASM=False)
    torch.testing.assert_close(o[:size], x[:size].flip(0), rtol=0, atol=0)


def test_elsewhere():
    pytest.skip("for another machine")
""",
    "dsa/other.py": "raise AssertionError\n",
}


def test_what_the_sweep_tells(tmp_path):
    (tmp_path / "dsa").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(KERNEL + text)
    (tmp_path / "missing.py").write_text("import no_such_package\n")
    out = tmp_path / "out.json"
    command = [sys.executable, str(TOOL), str(tmp_path), "--jobs", "2", "--limit", "200", "--json", str(out)]
    environment = {name: value for name, value in os.environ.items() if name != "TLE_RAW_TARGET"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    written = json.loads(out.read_text())
    found = {(tried["script"], tried["case"]): tried for tried in written["tried"]}
    outcomes = {key: (tried["outcome"], tried["message"]) for key, tried in found.items()}
    assert outcomes == {
        ("right.py", ""): ("right", ""),
        ("wrong.py", ""): ("wrong", "AssertionError: they differ"),
        ("gpu_alone.py", ""): ("compiled", ""),
        ("test_both.py", "test_sizes[32]"): ("right", ""),
        ("test_both.py", "test_sizes[64]"): ("right", ""),
        ("test_both.py", "test_elsewhere"): ("skipped", "for another machine"),
        ("dsa/other.py", ""): ("skipped", "it is for an Ascend chip or another DSA"),
        ("missing.py", ""): ("failed", "ModuleNotFoundError: No module named 'no_such_package'"),
    }
    assert "a barrier" in found["gpu_alone.py", ""]["kernels"]["kernel"]
    table = written["table"]
    assert table["outcomes"] == {"right": 3, "compiled": 1, "wrong": 1, "failed": 1, "skipped": 1}
    assert table["for other hardware"] == {"an Ascend chip or another DSA": 1}
    assert "3  right" in done.stdout and "1 compiled" in done.stdout
