"""T.rng_* by the linked route: with cuRAND's headers it compiles, without them the error says what to install."""

import re
from pathlib import Path

import pytest
import tilelang.language as T

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.support import cause_of, ptx_calls
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.tilelang.linked.curand import HEADER, curand_folders, curand_version
from tle_raw.errors import ToolchainError
from tle_raw.linker.tools import wheels

pytestmark = pytest.mark.one_triton


def has_curand() -> bool:
    root = find_toolchain().toolkit.root
    return (root / "include" / HEADER).is_file() or bool(curand_folders(HEADER, root))


def random_numbers():
    @T.prim_func
    def random_numbers(A: T.Tensor((1024,), "uint32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tx = T.get_thread_binding()
            T.rng_init(42, bx * 128 + tx)
            A[bx * 128 + tx] = T.rng_rand()
            B[bx * 128 + tx] = T.rng_rand_float()

    return tle_raw.fragment(random_numbers, route="linked")


@pytest.mark.parametrize("capability", [80, 90])
def test_random_numbers(capability):
    if not has_curand():
        pytest.skip("needs cuRAND's headers: a CUDA toolkit, or the nvidia-curand wheel")
    compiled = compile_for_gpu(random_numbers(), capability)
    assert tle_raw.report(compiled).one_kernel and not ptx_calls(compiled) and ".local" not in compiled.asm["ptx"]


def test_without_curand_the_error_says_what_to_install():
    if has_curand():
        pytest.skip("cuRAND's headers are here")
    with pytest.raises(Exception, match=re.escape(f"<{HEADER}>")) as caught:
        compile_for_gpu(random_numbers())
    error = cause_of(caught.value)
    assert isinstance(error, ToolchainError) and "pip install nvidia-curand" in error.hint


@pytest.fixture
def wheel(tmp_path, monkeypatch) -> Path:
    """A folder of installed packages that holds cuRAND's wheel of CUDA 12, as far as its list of files goes."""
    include = tmp_path / "nvidia" / "curand" / "include"
    include.mkdir(parents=True)
    (include / HEADER).write_text("// cuRAND\n")
    facts = tmp_path / "nvidia_curand_cu12-10.3.9.90.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-curand-cu12\nVersion: 10.3.9.90\n")
    (facts / "RECORD").write_text(f"nvidia/curand/include/{HEADER},,\n")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    wheels.wheel_files.cache_clear()
    yield include
    wheels.wheel_files.cache_clear()


def test_the_wheels_headers_are_found_where_a_text_asks_for_them(wheel, tmp_path):
    assert curand_folders(f"#include <{HEADER}>", tmp_path / "toolkit") == (wheel,)
    assert curand_folders("#include <cuda_fp16.h>", tmp_path / "toolkit") == ()
    assert curand_version() == "nvidia-curand-cu12 10.3.9.90"


def test_a_toolkits_own_headers_come_first(wheel, tmp_path):
    own = tmp_path / "toolkit" / "include"
    own.mkdir(parents=True)
    (own / HEADER).write_text("// cuRAND\n")
    assert curand_folders(f"#include <{HEADER}>", tmp_path / "toolkit") == ()
