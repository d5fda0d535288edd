"""A cache that was filled elsewhere serves a machine without the tools that filled it."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_triton

pytest.importorskip("torch_mlir")

SCRIPT = '''
import json, sys
import tle_raw
from tle_raw.errors import ToolchainError

MODULE = """func.func @doubled(%t: memref<64xf32, 3>) {
  linalg.add ins(%t, %t : memref<64xf32, 3>, memref<64xf32, 3>) outs(%t : memref<64xf32, 3>)
  return
}
"""
fragment = tle_raw.fragment(MODULE.replace("doubled", sys.argv[1]))
try:
    found = fragment.compile(target="cuda:90")
    print(json.dumps([found.cache_hit, found.route]))
except ToolchainError as error:
    print(json.dumps(str(error.hint)))
'''


@pytest.fixture
def run(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "torch_mlir.py").write_text("raise ImportError('hidden')\n")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run_script(symbol: str, hide: bool) -> object:
        path = [str(hidden)] * hide + [p for p in sys.path if p]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "TLE_RAW_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(script), symbol]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run_script


def test_what_other_tools_made_is_taken_where_they_are_missing(run):
    assert run("doubled", hide=False) == [False, "torch_mlir"]
    assert run("doubled", hide=True) == [True, "torch_mlir"]
    assert run("another", hide=True) == "pip install 'tle_raw[mlir]'"
