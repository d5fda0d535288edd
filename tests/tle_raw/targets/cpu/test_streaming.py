"""Launches that write more than the caches hold store past them; the others, and what else may read, do not."""

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
from tle_raw.host.cpu import host_cpu
from tle_raw.targets.cpu import launcher
from tle_raw.targets.cpu.caches import UNKNOWN, last_level_bytes
from tle_raw.targets.cpu.contexts import STREAM_FLAG
from tle_raw.targets.cpu.launch import Launch

pytestmark = pytest.mark.skipif(host_cpu().vector_bytes < 32, reason="the host has no such stores of vectors")


@triton.jit
def double(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def double_unmasked(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def add_to(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(out + at, mask=at < n), mask=at < n)


@triton.jit
def count_and_double(out, x, n, counter, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    tl.atomic_add(counter, 1)


@pytest.fixture(autouse=True)
def small_cache(monkeypatch):
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        monkeypatch.setattr(launcher, "last_level_bytes", lambda: 1 << 12)
        yield


@pytest.fixture
def flags(monkeypatch):
    """The flags of all launches."""
    found = []
    plain = Launch.begin

    def begin(launch, context):
        found.append(launch.flags)
        plain(launch, context)

    monkeypatch.setattr(Launch, "begin", begin)
    return found


def numbers(n, kind="f4"):
    values = np.random.default_rng(0).standard_normal(n).astype(kind)
    values[::13] = np.resize([np.inf, -np.inf, np.nan, 1e-40, -0.0], len(values[::13]))
    return values


def aligned(n, kind="f4", shift=0):
    """``n`` elements that start ``shift`` elements behind a cache line's first, between others."""
    size = np.dtype(kind).itemsize
    memory = np.full(n * size + 512, 7, "u1")
    start = -memory.ctypes.data % 64 + 64 + shift * size
    return memory, memory[start : start + n * size].view(kind)


@pytest.mark.parametrize("n", [2000, 4096, 4097, 5000, 70001])
@pytest.mark.parametrize("shift", [0, 1, 4])
@pytest.mark.parametrize("kind", ["f4", "f2"])
@pytest.mark.every_triton(8)
def test_the_numbers_are_right_and_nothing_else_is_written(flags, n, shift, kind):
    memory, out = aligned(n, kind, shift)
    x = numbers(n, kind)
    double[(triton.cdiv(n, 512),)](out, x, n, BLOCK=512)
    with np.errstate(over="ignore"):
        assert np.array_equal(out, x * 2, equal_nan=True)
    assert (flags == [STREAM_FLAG]) == (out.nbytes > 1 << 12)
    start = out.ctypes.data - memory.ctypes.data
    assert np.all(memory[:start] == 7)
    assert np.all(memory[start + out.nbytes :] == 7)


def test_stores_without_masks(flags):
    _, out = aligned(1 << 14)
    x = numbers(1 << 14)
    kernel = double_unmasked[(32,)](out, x, 1 << 14, BLOCK=512)
    assert np.array_equal(out, x * 2, equal_nan=True)
    assert flags == [STREAM_FLAG]
    assert "movntps" in kernel.asm["asm"]
    assert "mfence" in kernel.asm["asm"] or "lock" in kernel.asm["asm"]


def test_what_a_program_writes_is_known():
    _, out = aligned(1 << 14)
    kernel = double[(32,)](out, numbers(1 << 14), 1 << 14, BLOCK=512)
    assert kernel.metadata.streamed == {"arguments": [0], "bytes": 2048}


@pytest.mark.parametrize("reason", ["a small array", "few programs", "a bare address"])
def test_launches_that_do_not(flags, reason):
    n = 512 if reason == "a small array" else 1 << 14
    _, out = aligned(n)
    x = numbers(n)
    grid = 1 if reason == "few programs" else n // 64
    double[(grid,)](_Address(out) if reason == "a bare address" else out, x, n, BLOCK=64)
    assert flags == [0]
    assert np.array_equal(out[: grid * 64], x[: grid * 64] * 2, equal_nan=True)


class _Address:
    """A pointer of somebody's, with no size."""

    def __init__(self, array):
        self.array, self.dtype = array, "fp32"

    def data_ptr(self):
        return self.array.ctypes.data


def test_an_array_that_is_read_as_well(flags):
    _, out = aligned(1 << 14)
    out[:] = x = numbers(1 << 14)
    kernel = add_to[(32,)](out, x, 1 << 14, BLOCK=512)
    assert np.array_equal(out, x + x, equal_nan=True)
    assert flags == [0]
    assert "movnt" not in kernel.asm["asm"]


def test_the_same_array_as_source_and_target(flags):
    _, out = aligned(1 << 14)
    out[:] = x = numbers(1 << 14)
    double[(32,)](out, out, 1 << 14, BLOCK=512)
    assert np.array_equal(out, x * 2, equal_nan=True)
    assert flags == [STREAM_FLAG]


def test_kernels_that_synchronise_programs(flags):
    _, out = aligned(1 << 14)
    x, counter = numbers(1 << 14), np.zeros(1, "i4")
    kernel = count_and_double[(32,)](out, x, 1 << 14, counter, BLOCK=512)
    assert np.array_equal(out, x * 2, equal_nan=True)
    assert counter[0] == 32
    assert flags == [0]
    assert "movnt" not in kernel.asm["asm"]


def test_caches_of_the_last_level_are_added_up(tmp_path):
    def describe(cpu, index, level, kind, size, shared):
        folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(f"{text}\n")

    for cpu in range(4):
        describe(cpu, 0, 1, "Data", "48K", f"{cpu}")
        describe(cpu, 1, 1, "Instruction", "32K", f"{cpu}")
        describe(cpu, 2, 3, "Unified", "32M", "0-1" if cpu < 2 else "2-3")
    assert last_level_bytes(tmp_path) == 64 << 20
    assert last_level_bytes(tmp_path / "elsewhere") == UNKNOWN
