"""Kernels of the CPU in Triton's cache: damage is found before anything is loaded, and compiled again."""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs as triton_knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.cache import FileCacheManager

pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

from tests.fuzz.stores.damages import KINDS, damage
from tle_raw.errors import LinkError
from tle_raw.store import CacheWarning, fallback
from tle_raw.targets.cpu.checksum import checked, with_checksum

pytestmark = pytest.mark.every_triton(2)


@triton.jit
def add(target, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(target + i, tl.load(target + i) + N)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def compiled(number=1):
    source = ASTSource(add, {"target": "*fp32"}, {"N": number, "BLOCK": 16})
    return triton.compile(source, target=GPUTarget("cpu", 0, 32))


def ran(number=1):
    array = np.zeros(16, np.float32)
    compiled(number)[(1, 1, 1)](array, number, 16)
    return array


def files(kernel):
    folder = Path(next(iter(kernel.metadata_group.values()))).parent
    return {file.name.replace("add.", ""): file for file in folder.iterdir()}


FILES = ("source", "ttir", "linalg", "llvmir", "asm", "obj", "json", "__grp__json", "__sha256__json")


def test_these_are_the_files(cache):
    assert set(files(compiled())) - {"tle"} == set(FILES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*(("obj", kind) for kind in KINDS), *((n, "bit_flip") for n in FILES if n != "obj"), ("__grp__json", "directory")],
)
def test_damage_heals_itself(cache, name, kind):
    kernel = compiled()
    file, other = files(kernel)[name], files(compiled(2))[name]
    whole = file.read_bytes()
    damage(file, kind, other)
    assert (ran() == 1).all()
    assert file.read_bytes() == whole and not file.is_symlink()
    before = file.stat().st_mtime_ns
    assert (ran() == 1).all() and (ran(2) == 2).all()
    assert file.stat().st_mtime_ns == before, "it is taken from the cache again"


def test_another_kernels_folder_is_not_taken(cache):
    mine, theirs = files(compiled())["obj"].parent, files(compiled(2))["obj"].parent
    shutil.rmtree(mine)
    shutil.copytree(theirs, mine)
    assert (ran() == 1).all()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_the_place_of_the_folder(cache, kind):
    folder = files(compiled())["obj"].parent
    shutil.rmtree(folder)
    folder.touch() if kind == "file" else folder.symlink_to("nothing")
    assert (ran() == 1).all()


def test_a_folder_that_others_can_write_is_not_used(cache, monkeypatch):
    compiled()
    cache.chmod(0o777)
    monkeypatch.setattr(fallback, "_PRIVATE", {})
    fallback._WARNED.clear()
    with pytest.warns(CacheWarning, match="TRITON_CACHE_DIR"):
        kernel = compiled()
    assert not files(kernel)["obj"].is_relative_to(cache)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files(compiled()) == files(kernel)
    fallback._WARNED.clear()


def test_damaged_code_is_never_loaded():
    image = with_checksum(b"code")
    assert checked(image) == b"code"
    for position in range(len(image)):
        with pytest.raises(LinkError, match="damaged"):
            checked(image[:position] + bytes([image[position] ^ 1]) + image[position + 1 :])
    for other in (b"", image[:-1], image + b"\0", b"code"):
        with pytest.raises(LinkError, match="damaged"):
            checked(other)


class Counting(FileCacheManager):
    groups = 0

    def get_group(self, filename):
        Counting.groups += 1
        return super().get_group(filename)


def test_the_users_own_manager_goes_on_working(cache):
    with triton_knobs.cache.scope():
        triton_knobs.cache.manager_class = Counting
        file = files(compiled())["obj"]
        file.write_bytes(b"damaged")
        assert (ran() == 1).all() and Counting.groups == 2


def test_kernels_for_gpus_are_not_touched(cache):
    compiled()
    target = GPUTarget("cuda", 90, 32)
    gpu = triton.compile(ASTSource(add, {"target": "*fp32"}, {"N": 1, "BLOCK": 16}), target=target)
    folder = Path(next(iter(gpu.metadata_group.values()))).parent
    assert not [name for name in os.listdir(folder) if "sha256" in name]
