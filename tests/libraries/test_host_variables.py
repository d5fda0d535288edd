"""Variables that a host looks up: under their own names in each kernel, one for all functions of the library."""

import re
from pathlib import Path

import pytest

from tests.libraries.conftest import NO_CLANG
from tle_raw.cli import main
from tle_raw.errors import LibraryError, TLEError
from tle_raw.libraries import nvshmem_modules
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import read_manifest

SOURCE = """
target triple = "nvptx64-nvidia-cuda"
%state = type { i32, ptr }
@acme_state = addrspace(4) externally_initialized constant %state zeroinitializer, align 8
@acme_version = addrspace(4) externally_initialized constant [2 x i32] [i32 3, i32 8], align 4
@own = addrspace(1) externally_initialized global i32 7, align 4
define i32 @number() {
  %n = load i32, ptr addrspace(4) @acme_state, align 8
  ret i32 %n
}
define ptr @heap(i32 %more) {
  %place = getelementptr inbounds %state, ptr addrspace(4) @acme_state, i64 0, i32 1
  %p = load ptr, ptr addrspace(4) %place, align 8
  %m = load i32, ptr addrspace(1) @own, align 4
  %sum = add i32 %m, %more
  %q = getelementptr i8, ptr %p, i32 %sum
  ret ptr %q
}
"""
MANIFEST = """
format = 1
[library]
name = "acme_state"
version = "1.0"
source = "acme.ll"
architectures = ["cuda:80"]
[library.module]
variables = ["acme_state", "acme_version"]
[[function]]
name = "number"
signature = "() -> Scalar[i32]"
[[function]]
name = "heap"
signature = "(more: Scalar[i32]) -> Scalar[u64]"
"""
USES = """
import triton, triton.language as tl, tle_raw
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from {library} import {names}

@triton.jit
def kernel(x, n):
    {body}

compiled = triton.compile(ASTSource(kernel, {{"x": "*i32", "n": "i32"}}), target=GPUTarget("cuda", 90, 32))
print(compiled.asm["ptx"])
print(len(compiled.asm["cubin"]), tle_raw.report(compiled))
"""


def _variables(told: str) -> list[tuple[str, str]]:
    return re.findall(r"^\.(weak|visible) \.(?:const|global) .*?\.[bsu]\d+ ([\w$]+)", told, re.MULTILINE)


def test_a_hosts_variables_keep_their_names_and_are_one(program, tmp_path):
    (tmp_path / "acme.ll").write_text(SOURCE)
    (tmp_path / "acme.toml").write_text(MANIFEST)
    assert main(["pack", str(tmp_path / "acme.toml"), "-o", str(tmp_path / "out")]) == 0
    body = "tl.store(heap(n).to(tl.pointer_type(tl.int32)), number()); tl.store(x, number())"
    told = program(USES.format(library="acme_state", names="heap, number", body=body), tmp_path / "out", **NO_CLANG)
    found = {name.partition("$")[0]: (name, linkage) for linkage, name in _variables(told)}
    assert len(_variables(told)) == 3, told
    assert found["acme_state"] == ("acme_state", "weak") and found["acme_version"] == ("acme_version", "weak")
    assert "$" in found["own"][0]
    assert "0 PTX and 0 SASS calls" in told


@pytest.mark.one_triton
def test_what_is_no_list_of_variables_is_named(tmp_path):
    (tmp_path / "acme.ll").write_text(SOURCE)
    manifest = tmp_path / "acme.toml"
    manifest.write_text(MANIFEST.replace('["acme_state", "acme_version"]', '["acme_state", 3]'))
    with pytest.raises(TLEError, match=r"library\.module\.variables\[2\]"):
        read_manifest(manifest)


@pytest.fixture(scope="module")
def shmem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NVSHMEM's device library as the sample's manifest describes it."""
    installed = pytest.importorskip("nvidia.nvshmem", reason="needs pip install nvidia-nvshmem-cu13")
    if not any(Path(folder, "lib", "libnvshmem_device_sm_90.bc").is_file() for folder in installed.__path__):
        pytest.skip("the manifest is for NVSHMEM 3.5 and later, which has a file for each kind of GPU")
    manifest = read_manifest(Path(__file__).parents[2] / "samples" / "libraries" / "nvshmem.toml")
    return pack(manifest, tmp_path_factory.mktemp("shmem") / "out").folder


def test_nvshmem_is_called_in_a_kernel(shmem, program):
    body = (
        "pe = (my_pe() + 1) % n_pes()\n"
        "    there = address_on(x, pe).to(tl.pointer_type(tl.int32))\n"
        "    tl.store(x, tl.load(there) + get(x + 1, pe))"
    )
    text = USES.format(library="device_shmem", names="address_on, get, my_pe, n_pes", body=body)
    told = program(text, shmem, **NO_CLANG)
    names = {name for _, name in _variables(told)}
    assert {"nvshmemi_device_state_d", "nvshmemi_device_lib_version_d"} <= names and not any("$" in n for n in names)


@pytest.mark.one_triton
def test_a_process_without_nvshmem_is_told():
    with pytest.raises(LibraryError, match=r"NVSHMEM is not started in this process|its host library is not there"):
        nvshmem_modules.set_up(1)
