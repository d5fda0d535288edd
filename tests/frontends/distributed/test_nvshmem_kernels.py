"""Kernels of several nodes for cuda:90, with NVSHMEM's device functions; they run in ``tests/gpu/two_gpus``."""

import re

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.frontends.distributed import node_kernels as kernels
from tle_raw.distributed import device_mesh
from tle_raw.errors import ToolchainError
from tle_raw.linker.tools.nvshmem import find_nvshmem
from tle_raw.linker.unresolved import RUNTIME_BUILTINS


def _is_installed():
    try:
        return bool(find_nvshmem())
    except ToolchainError:
        return False


pytestmark = [
    pytest.mark.every_triton(1),
    pytest.mark.skipif(not _is_installed(), reason="needs pip install nvidia-nvshmem-cu13"),
]

MESH = device_mesh({"node": 2, "device": 2})
ALONG = {"mesh": MESH, "AXIS": "node", "NODES": 2, "DEVICES": 2}
SIZES = {"rows": "i32", "columns": "i32", "stride": "i32"}
HOST_VARIABLES = {"nvshmemi_device_state_d", "nvshmemi_device_lib_version_d"}


def compiled(kernel, signature, constants, context="*u64"):
    source = ASTSource(kernel, {"context": context, **signature}, constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def is_whole(asm):
    """One kernel, without a function that somebody else would have to define; CUDA's driver has printf and assert."""
    ptx = asm["ptx"]
    outside = set(re.findall(r"^\.extern \.func(?:\s*\([^)]*\))?\s+(\w+)", ptx, re.MULTILINE))
    assert ptx.count(".entry") == 1 and outside <= RUNTIME_BUILTINS and len(asm["cubin"]) > 1000
    return True


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "i8", "i64", "i1"])
def test_tiles_are_put_and_got(dtype):
    pointers = dict.fromkeys(("x", "into", "got", "back"), f"*{dtype}")
    found = compiled(kernels.exchange, {**pointers, **SIZES}, {**ALONG, "M": 4, "N": 64})
    assert is_whole(found.asm)
    variables = set(re.findall(r"^\.weak .*?(nvshmemi_\w+)\[", found.asm["ptx"], re.MULTILINE))
    assert variables >= HOST_VARIABLES, "the host looks these up by their names"
    called = set(re.findall(r"transfer_(rma_p|rma_g|rma|quiet|amo_nonfetch)I", found.asm["ptx"]))
    assert called == {"rma_p", "rma_g", "rma", "quiet", "amo_nonfetch"}


def test_short_rows_go_number_by_number():
    pointers = dict.fromkeys(("x", "into", "got", "back"), "*fp32")
    ptx = compiled(kernels.exchange, {**pointers, **SIZES}, {**ALONG, "M": 8, "N": 2}).asm["ptx"]
    assert "transfer_rma_p" in ptx and "transfer_rmaI" not in ptx


def test_a_context_of_one_node_has_nothing_of_nvshmem():
    mesh = device_mesh({"node": 1, "device": 4})
    signature = {"x": "*fp32", "out": "*fp32"}
    constants = {"mesh": mesh, "AXIS": "device", "NODES": 1, "DEVICES": 4}
    assert "nvshmem" not in compiled(kernels.meet_along, signature, constants, "*i64").asm["ptx"]


def test_barriers_signals_and_pointers():
    signature = {"x": "*fp32", "out": "*fp32"}
    assert is_whole(compiled(kernels.meet_along, signature, ALONG).asm)
    assert is_whole(compiled(kernels.reach, {**signature, "peer": "i32"}, {"mesh": MESH}).asm)
    assert is_whole(
        compiled(kernels.rounds, {"x": "*i32", "out": "*i32", "n": "i32", "turns": "i32"},
                 {"mesh": MESH, "WORLD": 4, "N": 128}).asm
    )  # fmt: skip
