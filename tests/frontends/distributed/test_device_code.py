"""Machine code for GPUs of what devices do with each other: orders of memory, no calls, wide accesses."""

import re

import pytest
import triton
import triton.language as tl

from tests.frontends.distributed import meeting_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls
from tle_raw.distributed import device_mesh
from tle_raw.errors import ArgumentTypeError, MeshError
from tle_raw.frontends.distributed import collective_kernels as collectives

PAIR = device_mesh({"device": 2})


def test_a_barrier_releases_what_all_threads_wrote_and_acquires_what_others_did():
    kernel = compile_kernel(kernels.only_meet, {"context": "*i64"}, {"mesh": PAIR})
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel)
    release, acquire = ptx.index("sys.release.add"), ptx.index("sys.acquire.add")
    assert release < acquire and "st.global" not in ptx[ptx.rindex("bar.sync", 0, release) : release]
    assert "bar.sync" in ptx[ptx.rindex("sys.acquire.add") :]
    assert "%globaltimer" in ptx  # a wait has its limit


def test_a_signal_is_one_release_and_a_wait_acquires():
    sent = compile_kernel(kernels.only_signal, {"context": "*i64", "peer": "i32", "slot": "i32"}).asm["ptx"]
    assert sum("sys.release.add.u32" in line for line in sent.splitlines()) == 1
    set_ = compile_kernel(
        kernels.say_that_it_is_there, {"context": "*i64", "x": "*fp32", "n": "i32"}, {"world": 2, "BLOCK": 128}
    ).asm["ptx"]
    assert len(re.findall(r"atom\.global\.sys\.release\.exch", set_)) == 2
    waited = compile_kernel(kernels.only_wait, {"context": "*i64", "slot": "i32", "until": "i32"})
    assert "ld.global.sys.acquire.b32" in waited.asm["ptx"] and not ptx_calls(waited)


@pytest.mark.parametrize("world", [2, 8])
def test_peers_memory_is_read_and_written_16_bytes_at_a_time(world):
    mesh = device_mesh({"device": world})
    sizes = {"mesh": mesh, "world": world, "shares": True, "spreads": True, "BLOCK": 4096}
    pointers = {"context": "*i64", "x_ptr": "*bf16", "out_ptr": "*bf16", "n": "i32"}
    kernel = compile_kernel(collectives.pull_sum, pointers, sizes, multiples=["n"], num_warps=8)
    ptx = kernel.asm["ptx"]
    assert ptx.count("ld.global.v4.b32") == ptx.count("st.global.v4.b32") == 2 * world
    assert not ptx_calls(kernel) and not re.search(r"(?:ld|st)\.global\.b16", ptx)


def test_a_kernel_of_one_small_sum_has_one_barrier():
    pointers = {"context": "*i64", "x_ptr": "*fp32", "out_ptr": "*fp32", "staging_ptr": "*fp32", "n": "i32"}
    sizes = {"mesh": PAIR, "world": 2, "scatters": False, "gathers": False, "BLOCK": 2048}
    ptx = compile_kernel(collectives.push_small, pointers, sizes, multiples=["n"], num_warps=8).asm["ptx"]
    assert len(re.findall(r"sys\.release\.add\.u32", ptx)) == 1


@triton.jit
def _add_and_tell(context, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = kernels.tle.sum_of_all(x + i, context, mask=i < n)
    kernels.tle.store_to_all(x + i, total, context, mask=i < n)


@pytest.mark.parametrize("capability", [90, 80])
def test_the_switch_adds_and_copies_where_there_is_one(capability):
    pointers = {"context": "*i64", "x": "*fp32", "n": "i32"}
    kernel = compile_kernel(_add_and_tell, pointers, {"BLOCK": 256}, capability)
    found = re.findall(r"multimem\.\w+", kernel.asm["ptx"])
    assert set(found) == ({"multimem.ld_reduce", "multimem.st"} if capability == 90 else set())
    assert kernel.asm["cubin"] and not ptx_calls(kernel)


@triton.jit
def _meets_along_an_axis_of_blocks(context, mesh: tl.constexpr):
    kernels.tle.shard_id(mesh, "device", context)
    kernels.tle.distributed_barrier(mesh, context, axes=("nothing",))


@triton.jit
def _without_a_context(x, mesh: tl.constexpr):
    kernels.tle.distributed_barrier(mesh, x)


@triton.jit
def _a_number_of_another_device(context, x):
    kernels.tle.remote(3, 1, context)


@triton.jit
def _another_operation(context):
    kernels.tle.signal(context, 0, 0, op="multiply")


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "kernel, signature, constants, error, says",
    [
        (_meets_along_an_axis_of_blocks, {"context": "*i64"}, {"mesh": PAIR}, MeshError, "no axis `nothing`"),
        (_without_a_context, {"x": "*fp32"}, {"mesh": PAIR}, ArgumentTypeError, "reached by a context"),
        (_a_number_of_another_device, {"context": "*i64", "x": "*fp32"}, {}, ArgumentTypeError, "there are pointers"),
        (_another_operation, {"context": "*i64"}, {}, ArgumentTypeError, "unknown op"),
    ],
)
def test_what_cannot_be_is_said_at_the_line(kernel, signature, constants, error, says):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernel, signature, constants)
    cause = cause_of(caught.value)
    assert isinstance(cause, error) and says in str(cause) and "test_device_code.py" in str(cause)
