"""``@dialect(name="cuda", library="nvshmem")`` as FlagTree has it: NVSHMEM's device functions are linked."""

import re

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tle_raw.compat import flagtree
from tle_raw.errors import SymbolError, ToolchainError, UnresolvedSymbolError
from tle_raw.fragments.nvshmem_library import HEADERS, NvshmemLibrary
from tle_raw.linker.inputs.library import open_library
from tle_raw.linker.tools.clang import find_clang
from tle_raw.linker.tools.nvshmem import find_nvshmem

flagtree.install()

import triton.experimental.tle.language.raw as raw  # noqa: E402
from triton.experimental.tle.raw import dialect  # noqa: E402

# Declarations of its own, and an always_inline function of a pointer to global memory.
SHIFT = """
extern "C" __device__ int nvshmem_my_pe();
extern "C" __device__ int nvshmem_n_pes();
extern "C" __device__ void nvshmem_int_p(int *dest, int value, int pe);

extern "C" __device__ __attribute__((always_inline)) void shift(__attribute__((address_space(1))) int *destination) {
  nvshmem_int_p(destination, nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes());
}
"""
# The library's headers, and those of the host that such files name.
REDUCE = """
#include <cuda.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <unistd.h>

extern "C" __device__ void reduce(int *dst, const int *src, int n, uint64_t *signal, int peer) {
  if (threadIdx.x == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 1);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) dst[i] += src[i];
  __syncthreads();
  if (threadIdx.x == 0) nvshmem_int_put_signal_nbi(dst, dst, n, signal, 1, NVSHMEM_SIGNAL_ADD, peer);
}
"""


def _is_installed():
    try:
        return bool(find_nvshmem()) and bool(find_clang())
    except ToolchainError:
        return False


needs_nvshmem = pytest.mark.skipif(not _is_installed(), reason="needs clang and pip install nvidia-nvshmem-cu13")


def declared(source, symbol, **options):
    @dialect(name="cuda", library="nvshmem", compiler="clang", source=source, extern_func_name=symbol, **options)
    def function(*args, **kwargs): ...

    return function


@needs_nvshmem
@pytest.mark.every_triton(1)
def test_a_file_that_declares_its_functions():
    shift = declared(SHIFT, "shift")

    @triton.jit
    def kernel(destination):
        raw.call(shift, [destination])

    compiled = triton.compile(ASTSource(kernel, {"destination": "*i32"}, {}), target=GPUTarget("cuda", 90, 32))
    ptx = compiled.asm["ptx"]
    assert ptx.count(".entry") == 1 and not re.findall(r"\.extern \.func", ptx) and compiled.asm["cubin"]
    assert {"nvshmemi_device_state_d", "nvshmemi_device_lib_version_d"} <= set(re.findall(r"nvshmemi_\w+_d\b", ptx))
    (fragment,) = compiled.metadata.tle_raw["fragments"].values()
    assert {(name, library) for name, library in fragment["linked"]} == {
        (name, "nvshmem") for name in ("nvshmem_my_pe", "nvshmem_n_pes", "nvshmem_int_p")
    }


@needs_nvshmem
@pytest.mark.every_triton(1)
def test_a_file_that_includes_the_librarys_headers():
    reduce = declared(REDUCE, "reduce")

    @triton.jit
    def kernel(dst, src, n, signal, peer):
        raw.call(reduce, [dst, src, n, signal, peer])

    signature = {"dst": "*i32", "src": "*i32", "n": "i32", "signal": "*u64", "peer": "i32"}
    compiled = triton.compile(ASTSource(kernel, signature, {}), target=GPUTarget("cuda", 90, 32))
    assert compiled.asm["ptx"].count(".entry") == 1 and compiled.asm["cubin"]


@needs_nvshmem
@pytest.mark.one_triton
def test_the_headers_declare_what_the_library_has():
    """Each function that they declare, by the preprocessor of whatever clang is there."""
    import subprocess

    stubs = "typedef unsigned short __half, __nv_bfloat16;\n#define __device__\n"
    text = "\n".join(line for name in ("nvshmem.h", "nvshmemx.h") for line in (HEADERS / name).read_text().splitlines()
                     if not line.startswith("#include <cuda") and '"nvshmem.h"' not in line)  # fmt: skip
    done = subprocess.run(
        [*find_clang().command, "-E", "-P", "-x", "c++", "-"], input=stubs + text, capture_output=True, text=True
    )
    declared = set(re.findall(r"\b(nvshmemx?_\w+)\(", done.stdout))
    (library,) = open_library("nvshmem", find_nvshmem().bitcode("sm_90").read_bytes(), "sm_90")
    assert len(declared) > 600 and declared <= library.functions()


@needs_nvshmem
@pytest.mark.one_triton
def test_a_function_that_the_library_has_not():
    unknown = declared(SHIFT.replace("nvshmem_int_p", "nvshmem_int_q"), "shift")

    @triton.jit
    def kernel(destination):
        raw.call(unknown, [destination])

    with pytest.raises(Exception, match="nvshmem_int_q") as caught:
        triton.compile(ASTSource(kernel, {"destination": "*i32"}, {}), target=GPUTarget("cuda", 90, 32))
    assert isinstance(caught.value.__cause__ or caught.value, (UnresolvedSymbolError, SymbolError))


@pytest.mark.one_triton
def test_without_nvshmem_it_is_told_where_it_is_declared(tmp_path, monkeypatch):
    monkeypatch.setenv("NVSHMEM_HOME", str(tmp_path))
    with pytest.raises(ToolchainError, match="NVSHMEM's device library is needed") as caught:
        declared(SHIFT, "shift")
    assert "pip install nvidia-nvshmem" in str(caught.value)
    with pytest.raises(ToolchainError, match=re.escape(f"{tmp_path} has no lib/")):
        NvshmemLibrary(home=str(tmp_path)).require()


@pytest.mark.one_triton
@pytest.mark.parametrize("arch, named", [("sm_90a", "sm_90"), ("sm_89", "sm_80")])
def test_of_several_bitcodes_the_newest_that_a_gpu_runs_is_taken(tmp_path, monkeypatch, arch, named):
    (tmp_path / "lib").mkdir()
    for number in (80, 90, 100):
        (tmp_path / "lib" / f"libnvshmem_device_sm_{number}.bc").touch()
    monkeypatch.setenv("NVSHMEM_HOME", str(tmp_path))
    assert find_nvshmem().bitcode(arch).name == f"libnvshmem_device_{named}.bc"
    with pytest.raises(ToolchainError, match="no device library for sm_75"):
        find_nvshmem().bitcode("sm_75")
