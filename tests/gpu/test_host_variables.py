"""What a library's host part writes into a loaded module is what its functions read on the GPU."""

import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from tests.gpu.device import COMPILE_ONLY, ON_CPU
from tests.libraries.test_host_variables import MANIFEST, SOURCE
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import read_manifest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(COMPILE_ONLY or ON_CPU, reason="needs a CUDA device: a module is loaded, and written to"),
]

HOST = """
import ctypes

PLACES = []


def set_up(module):
    driver = ctypes.CDLL("libcuda.so.1")
    place, size = ctypes.c_uint64(), ctypes.c_size_t()
    for name, values in ((b"acme_state", (ctypes.c_int64 * 2)(41, 1 << 20)), (b"acme_version", None)):
        status = driver.cuModuleGetGlobal_v2(
            ctypes.byref(place), ctypes.byref(size), ctypes.c_void_p(module), ctypes.c_char_p(name)
        )
        PLACES.append((name, status, size.value))
        if status == 0 and values:
            assert driver.cuMemcpyHtoD_v2(place, ctypes.byref(values), ctypes.c_size_t(16)) == 0
"""


def test_functions_read_what_the_host_wrote_under_the_variables_names(tmp_path: Path, monkeypatch):
    (tmp_path / "acme.ll").write_text(SOURCE)
    hooked = MANIFEST.replace("[library.module]", '[library.module]\nsetup = "acme_state_host:set_up"')
    (tmp_path / "acme.toml").write_text(hooked)
    (tmp_path / "acme_state_host.py").write_text(HOST)
    out = pack(read_manifest(tmp_path / "acme.toml"), tmp_path / "out").folder
    monkeypatch.setattr(sys, "path", [str(out), str(tmp_path), *sys.path])
    import acme_state_host
    from acme_state import heap, number

    @triton.jit
    def kernel(y, n):
        tl.store(y, number().to(tl.int64))
        tl.store(y + 1, heap(n).to(tl.int64))

    y = torch.zeros(2, dtype=torch.int64, device="cuda")
    kernel[(1,)](y, 5)
    assert acme_state_host.PLACES == [(b"acme_state", 0, 16), (b"acme_version", 0, 8)]
    assert y.tolist() == [41, (1 << 20) + 7 + 5]
