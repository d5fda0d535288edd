"""What an import of ``tle_raw.language`` changes, and what stays as it is."""

import inspect
import subprocess
import sys

import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.frontends.lite.package_key import PACKAGE
from tle_raw.frontends.lite.tensor_methods import add_tensor_methods

ONLY_HERE = """
import triton.language as tl, tle_raw
assert not hasattr(tl.tensor, "extract_tile"), "before tle_raw.language is imported"
own = tl.tensor.insert_tile = lambda self: 1
import tle_raw.language as tle
assert tl.tensor.extract_tile is tle.extract_tile
assert tl.tensor.insert_tile is own
"""


@triton.jit
def with_tle(x):
    tl.store(x, tle.load(x + 1))


@triton.jit
def without(x):
    tl.store(x, tl.load(x + 1))


def test_methods_come_with_the_language_and_replace_none():
    done = subprocess.run([sys.executable, "-c", ONLY_HERE], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def test_tensors_keep_tritons_own_methods():
    before = tl.tensor.cumsum
    add_tensor_methods(tle.cumsum)
    assert tl.tensor.cumsum is before


# They describe what takes part, and are called on the host too.
MESHES = ("B", "P", "S", "device_mesh", "sharding")


@pytest.mark.parametrize("name", [name for name in tle.__all__ if name not in ("dsa", "gpu")])
def test_every_name_has_help(name):
    function = getattr(tle, name)
    assert len(inspect.getdoc(function)) > (50 if name in MESHES else 100)
    assert name in MESHES or "_semantic" in inspect.signature(function).parameters, (
        "that Triton passes what it passes to its builtins"
    )


def test_this_packages_content_is_in_the_kernels_key(monkeypatch):
    keys = []
    for content in ("one", "two"):
        monkeypatch.setattr(type(PACKAGE), "cache_key", content)
        with_tle.hash = without.hash = None
        keys.append((with_tle.cache_key, without.cache_key))
    with_tle.hash = without.hash = None
    assert keys[0][0] != keys[1][0] and keys[0][1] == keys[1][1]
