"""Copies out of buffers: the copy engine reads the buffer where it lies, where no loop pays for it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.frontends.gpu import copy_out_kernels as kernels
from tests.support import compile_kernel
from tle_raw.errors import SharedMemoryError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.every_triton(4)

M, N = 16, 32
_EVENTS = {
    "load": r"ld\.shared|ldmatrix",
    "store": r"st\.shared|stmatrix",
    "fence": r"fence\.proxy\.async",
    "barrier": r"bar\.sync",
    "copy": r"cp\.async\.bulk\.tensor",
    "wait": r"bulk\.wait_group(?:\.read)? \t0",
    "arrive": r"mbarrier\.arrive",
}
_EVENT = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _EVENTS.items()))


@pytest.fixture(autouse=True)
def compiles_anew(monkeypatch):
    """Triton's cache knows nothing of passes that are left out."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")


def compiled(kernel, disabled="", element="fp32", dims=(M, N), num_warps=4, **constants):
    block = f"tensordesc<{element}[{dims[0]},{dims[1]}]>"
    types = {"x_ptr": f"*{element}", "x_desc": block, "o_desc": block, "count": "i32"}
    given = {name: types[name] for name in kernel.arg_names if name in types}
    with tle_raw.knobs.scope() as knobs:
        knobs.disable_passes = disabled
        return compile_kernel(kernel, given, {"M": dims[0], "N": dims[1], **constants}, num_warps=num_warps)


def order(kernel):
    """What happens to shared memory, in the PTX's order; of the same things in a row one."""
    found = [match.lastgroup for match in _EVENT.finditer(kernel.asm["ptx"])]
    return [word for word, before in zip(found, ["", *found]) if word != before]


HANDED_OVER = ["store", "fence", "barrier", "copy", "wait", "barrier"]


def test_a_buffer_is_written_again_behind_the_wait():
    assert order(compiled(kernels.written_again)) == HANDED_OVER * 2
    assert "load" in order(compiled(kernels.written_again, "store-in-place"))


def test_one_buffer_goes_to_two_places_and_is_read_besides():
    kernel = compiled(kernels.two_places)
    found = order(kernel)
    assert found.count("copy") == found.count("wait") == 3 and found.count("load") == 1
    assert len(re.findall(r"ttg\.local_load", kernel.asm["ttgir"])) == 1
    for n in (n for n, word in enumerate(found) if word == "copy"):
        assert found[n + 1] == "wait" and "fence" in found[:n]


def test_what_threads_stored_by_pointers_is_fenced():
    found = order(compiled(kernels.by_pointers))
    assert found[-5:] == ["fence", "barrier", "copy", "wait", "barrier"] and "load" not in found


def test_no_thread_touches_a_tile_that_the_copy_engine_brought():
    ptx = compiled(kernels.brought).asm["ptx"]
    assert len(re.findall(r"cp\.async\.bulk\.tensor", ptx)) == 2
    assert not re.search(r"ld\.shared\.v|st\.shared\.v", ptx)
    assert re.search(r"ld\.shared\.v", compiled(kernels.brought, "store-in-place").asm["ptx"])


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("element", ["bf16", "i32", "i8"])
def test_no_other_tile_takes_memory(element):
    size = 32 * 64 * {"8": 1, "6": 2, "2": 4}[element[-1]]
    least = [compiled(kernels.written_again, off, element, (32, 64)).metadata.shared for off in ("", "store-in-place")]
    assert least == [size, 2 * size]


def test_a_loop_goes_on_beside_its_copies():
    """It waits where it waited: Triton's pipeliner gives the tile memory of its own."""
    as_before = compiled(kernels.in_a_loop, "store-in-place", BESIDE=2)
    assert compiled(kernels.in_a_loop, BESIDE=2).asm["ptx"] == as_before.asm["ptx"]
    assert "load" in order(as_before)


def test_a_loop_whose_tile_does_not_fit_reads_the_buffer():
    """Of 227 KB three tiles of 64 KB leave no room for a fourth."""
    large = {"dims": (128, 128), "BESIDE": 2}
    with pytest.raises(SharedMemoryError):
        compiled(kernels.in_a_loop, "store-in-place", num_warps=8, **large)
    kernel = compiled(kernels.in_a_loop, num_warps=8, **large)
    assert kernel.metadata.shared == 3 * 128 * 128 * 4
    found = order(kernel)
    assert found[found.index("copy") + 1] == "wait" and found[found.index("copy") - 2 :][:2] == ["fence", "barrier"]


def test_a_partition_lets_go_of_the_buffer_when_it_has_been_read():
    kernel = compiled(kernels.in_partitions)
    found = order(kernel)
    copies = [n for n, word in enumerate(found) if word == "copy"]
    assert len(copies) == 2 and all(found[n + 1] == "wait" for n in copies)
    assert "arrive" in found[copies[0] : copies[1]] and "ttg.local_load" not in kernel.asm["ttgir"]


def numbers(kernel, x, rows, *arguments, **constants):
    """What a kernel makes of tiles on the CPU, a program each unless it takes all of them."""
    o = torch.full((rows, N), -1, dtype=x.dtype)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        grid = (1 if kernel is kernels.in_a_loop else len(x),)
        source = TensorDescriptor.from_tensor(x.reshape(-1, N), [M, N]) if kernel is kernels.brought else x
        kernel[grid](source, TensorDescriptor.from_tensor(o, [M, N]), *arguments, M=M, N=N, **constants)
    return o.double().numpy()


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8"])
def test_numbers_on_the_cpu(dtype):
    """The last tile ends beyond the array."""
    dtype = getattr(torch, dtype)
    given = np.random.default_rng(3).integers(-30, 30, (5, M, N))
    x, tiles = torch.from_numpy(given).to(dtype), given.astype(np.float64)
    both = np.stack([tiles, 2 * tiles], 1).reshape(-1, N)
    assert np.array_equal(numbers(kernels.written_again, x, 10 * M - 3), both[: 10 * M - 3])
    assert np.array_equal(numbers(kernels.brought, x, 5 * M - 2), tiles.reshape(-1, N)[: 5 * M - 2])
    if dtype not in (torch.float32, torch.int8):  # a copy is one of bytes: what is around it is seen by two dtypes
        return
    assert np.array_equal(numbers(kernels.in_partitions, x, 10 * M - 3), both[: 10 * M - 3])
    threefold = np.stack([tiles, tiles, tiles + 1], 1).reshape(-1, N)
    assert np.array_equal(numbers(kernels.two_places, x, 15 * M - 1), threefold[: 15 * M - 1])
    sevens = tiles.copy()
    sevens[:, 11:] = 7
    assert np.array_equal(numbers(kernels.by_pointers, x, 5 * M - 9, 11), sevens.reshape(-1, N)[: 5 * M - 9])
    summed = tiles + 2 * np.concatenate([np.zeros_like(tiles[:1]), tiles[:-1]])
    assert np.array_equal(numbers(kernels.in_a_loop, x, 5 * M, 5, BESIDE=2), summed.reshape(-1, N))
