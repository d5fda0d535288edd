"""Several cores: semaphores, multicasts, shards in L1, threads, and the estimate of cycles."""

from __future__ import annotations

import functools
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from tests.targets.tenstorrent.running import COPIED, PROGRAMS, host_program, run_tiles
from tle_raw.errors import ToolchainError
from tle_raw.targets.tenstorrent.simulator import SimulationError, build_program, run_program

pytestmark = pytest.mark.one_triton
SOURCES = PROGRAMS / "multicast"


@functools.cache
def multicast() -> Path:
    return build_program(SOURCES, Path(tempfile.mkdtemp()) / "main")


def run_multicast(folder: Path, kernels: Path = SOURCES, **options) -> tuple[np.ndarray, np.ndarray]:
    tile = np.random.default_rng(0).integers(0, 2**16, 1024).astype(np.uint16)
    tile.tofile(folder / "in.bin")
    run_program(multicast(), [folder / "in.bin", folder / "out.bin"], folder=kernels, **options)
    return tile, np.fromfile(folder / "out.bin", np.uint16).reshape(4, 1024)


@pytest.mark.parametrize("architecture", ["wormhole_b0", "blackhole"])
def test_a_tile_reaches_the_shards_of_four_cores(tmp_path, architecture):
    tile, shards = run_multicast(tmp_path, architecture=architecture)
    assert all(np.array_equal(tile, shard) for shard in shards)


@pytest.mark.parametrize(
    ("file", "line", "instead", "message"),
    [
        (
            "sender.cpp",
            "get_tile_size(cb), receivers);",
            "get_tile_size(cb), receivers + 1);",
            "4 destinations are announced, the rectangle has 3 without the sender",
        ),
        (
            "sender.cpp",
            "    noc_semaphore_wait(ready, receivers);\n",
            "",
            "lands in pages 0 to 0 of circular buffer 0 of core .1,0., which has reserved 0",
        ),
        (
            "sender.cpp",
            "get_noc_multicast_addr(x_start, y, x_end, y, tile)",
            "get_noc_multicast_addr(1, 0, 3, 0, tile)",
            "are no network coordinates of a core",
        ),
        (
            "receiver.cpp",
            "noc_semaphore_inc(get_noc_addr",
            "if (tile != 2) noc_semaphore_inc(get_noc_addr",
            r"deadlock[\s\S]*sender.cpp waits in noc_semaphore_wait for the value 3, it is 2",
        ),
        ("receiver.cpp", "get_semaphore(1)", "get_semaphore(2)", "the host program made no semaphore 2 on this core"),
        (
            "receiver.cpp",
            "tile, to, get_read",
            "tile + 1, to, get_read",
            "page 4 is outside of the tensor, which has 4",
        ),
    ],
)
def test_a_mistake_between_cores_is_found(tmp_path, file, line, instead, message):
    for kernel in ("sender.cpp", "receiver.cpp"):
        source = (SOURCES / kernel).read_text()
        assert kernel != file or line in source
        (tmp_path / kernel).write_text(source.replace(line, instead) if kernel == file else source)
    with pytest.raises(SimulationError, match=message):
        run_multicast(tmp_path, tmp_path, seconds=20)


def gemm_files(folder: Path) -> tuple[list[Path], np.ndarray]:
    random = np.random.default_rng(1)
    a, b = random.standard_normal((80, 112)).astype(np.float16), random.standard_normal((112, 100)).astype(np.float16)
    files = [folder / name for name in ("a.bin", "b.bin", "c.bin")]
    a.tofile(files[0])
    b.tofile(files[1])
    return files, a.astype(np.float64) @ b.astype(np.float64)


def gemm_error(files: list[Path], expected: np.ndarray) -> float:
    c = np.fromfile(files[2], np.float16).reshape(80, 100)
    return float(np.abs(c - expected).max() / np.abs(expected).max())


def test_threads_notice_a_deadlock_too(tmp_path):
    for kernel in ("sender.cpp", "receiver.cpp"):
        source = (SOURCES / kernel).read_text()
        (tmp_path / kernel).write_text(source.replace("noc_semaphore_wait(valid, 1)", "noc_semaphore_wait(valid, 2)"))
    with pytest.raises(SimulationError, match=r"receiver.cpp waits in noc_semaphore_wait for the value 2, it is 1"):
        run_multicast(tmp_path, tmp_path, threads=True, seconds=20)


def test_the_spelling_of_release_0_70_1(tmp_path):
    for kernel in ("reader.cpp", "compute.cpp", "writer.cpp"):
        source = (PROGRAMS / "gemm" / kernel).read_text()
        source = source.replace(
            "compute_kernel_hw_startup<SrcOrder::Reverse>(cb_in0, cb_in1, cb_out0);",
            "mm_init(cb_in0, cb_in1, cb_out0);",
        )
        (tmp_path / kernel).write_text(source.replace("matmul_init(cb_in0, cb_in1);", ""))
    files, expected = gemm_files(tmp_path)
    program = build_program(PROGRAMS / "gemm", tmp_path / "main", release="0.70.1")
    run_program(program, files, folder=tmp_path)
    assert gemm_error(files, expected) < 6e-4


def test_threads_find_no_race_in_a_gemm(tmp_path):
    try:
        program = build_program(PROGRAMS / "gemm", tmp_path / "main", sanitizer="thread")
    except ToolchainError as error:
        pytest.skip(f"ThreadSanitizer: {error.message}")
    files, expected = gemm_files(tmp_path)
    ran = run_program(program, files, folder=PROGRAMS / "gemm")
    assert ran.messages == ""
    assert gemm_error(files, expected) < 6e-4


def test_a_write_behind_the_push_is_a_race(tmp_path):
    reader = """#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const auto from = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0), get_tile_size(0));
    for (uint32_t i = 0; i < get_arg_val<uint32_t>(1); ++i) {
        cb_reserve_back(0, 1);
        noc_async_read_tile(i, from, get_write_ptr(0));
        noc_async_read_barrier();
        auto* word = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_write_ptr(0));
        cb_push_back(0, 1);
        for (uint32_t j = 0; i == 0 && j < 3000000; ++j) *word = j;
    }
}
"""
    try:
        host_program("thread")
    except ToolchainError as error:
        pytest.skip(f"ThreadSanitizer: {error.message}")
    arguments = (tmp_path, COPIED % "", [(np.ones((32, 640)), "float16")], ((32, 640), "float16"))
    run_tiles(*arguments, sanitizer="thread")
    with pytest.raises(SimulationError) as race:
        run_tiles(*arguments, reader=reader, sanitizer="thread")
    assert "data race" in race.value.log
    assert "reader.cpp:10" in race.value.log


def test_the_estimate_names_the_bound_of_each_core_and_draws_it(tmp_path):
    files, _ = gemm_files(tmp_path)
    program = build_program(PROGRAMS / "gemm", tmp_path / "main")
    ran = run_program(program, files, folder=PROGRAMS / "gemm", timeline=tmp_path / "cores.svg")
    (launch,) = ran.launches
    assert launch["dram_bytes"] == 12 * (4 * 2 + 1) * 2048
    assert [(core["x"], core["y"]) for core in launch["cores"]] == [(x, y) for y in range(2) for x in range(3)]
    for core in launch["cores"]:
        # Two tiles of four products at 64 cycles, after a start of 200: nobody can be faster.
        assert core["compute"] >= 2 * 4 * 64 + 200
        assert core["cycles"] >= max(core["compute"], core["noc"], core["dram"])
        assert core["bound"] in ("compute", "NoC", "DRAM", "latency")
    drawn = ElementTree.parse(tmp_path / "cores.svg").getroot()
    words = [element.text for element in drawn.iter() if element.tag.endswith("text")]
    assert words.count("math") == 6
    assert any(re.fullmatch(r"wormhole_b0: estimated cycles of 6 of 6 cores", word or "") for word in words)
    assert len([e for e in drawn.iter() if e.tag.endswith("rect")]) > 6 * 5 * 4
