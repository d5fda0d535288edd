"""The programs of samples/tle_struct: their numbers on the CPU, and one kernel for GPUs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from triton.backends.nvidia.compiler import get_ptxas

import tle_raw
from tests.gpu.stress import faults
from tests.samples.programs import check_on_the_cpu, check_run, loaded
from tle_raw.triton_version import VERSION

torch = pytest.importorskip("torch")

NEWEST = VERSION >= (3, 9)
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = sorted((SAMPLES / "tle_struct").glob("[0-9][0-9]_*.py"))
# What makes each of them what it is, with how often it stands in the PTX of its kernels for sm_90.
INSTRUCTIONS = {
    "01_async_gemm": {"cp.async.cg": None, "cp.async.wait_group \t2;": 1, "wgmma.mma_async": None},
    "02_tma_gemm": {"cp.async.bulk.tensor": None, "wgmma.wait_group.sync.aligned 1;": 2, "mbarrier.try_wait": None},
    "03_add_rms_norm": {"st.shared": None},
    "04_int4_gemm": {"wgmma.wait_group.sync.aligned 1;": 1, "fence.proxy.async": None, "mbarrier.try_wait": None},
    "05_histogram": {".shared.cta.relaxed.add.u32": None, "bar.sync": 2, "ld.global.v4": None},
    "06_fft": {"bar.sync": 3, "ld.shared": 64, "st.shared": 64},
    "07_moe_align": {".shared.cta.relaxed.add.u32": None, "ld.shared": None},
    "08_topk_selector": {".shared.cta.relaxed.add.u32": None, "ld.shared": None, "st.shared": None},
    "09_warp_specialized_gemm": {"setmaxnreg": None, "wgmma.wait_group.sync.aligned 1;": 3, "cp.async.bulk": None},
    # Ten widths, of two times 64 rows and four times 16 numbers.
    "10_moe_grouped_gemm": {"cp.async.cg": 10, "wgmma.wait_group.sync.aligned 1;": 10, "m64n136k16": 8},
    "11_pipe_gemm": {"setmaxnreg": None, "wgmma.wait_group.sync.aligned 1;": 3, "mbarrier.arrive.expect_tx": 2},
    # Of each of three kernels two groups.
    "12_attention": {"wgmma.wait_group.sync.aligned 1;": 6, "bar.arrive": 15, "setmaxnreg": None},
    "13_ping_pong_gemm": {"wgmma.wait_group.sync.aligned 1;": 4, "bar.arrive": 6, ".e4m3.e4m3": None},
    "14_attention_backward": {"cp.reduce.async.bulk.tensor": 8, "setmaxnreg": None, "stmatrix": None},
    # Of each of two kernels: the product with one group's weights runs behind the other's scores.
    "15_mla_decode": {"wgmma.wait_group.sync.aligned 1;": 2, "cp.async.bulk.tensor": None, "setmaxnreg": None},
    "16_sparse_mla": {"wgmma.wait_group.sync.aligned 1;": 1, "cp.async.cg": 72, "cp.async.mbarrier.arrive": 6},
    "17_rms_norm_gemm": {"setmaxnreg": None, "wgmma.wait_group.sync.aligned 1;": 2, "bulk.wait_group.read \t1;": 8},
    "18_tilelang_consumer": {"m64n256k16": 16, "mbarrier.try_wait": 6, "cp.async.bulk.tensor": None},
    # Tiles of b, two parts of one of a, and tiles of both.
    "19_cluster_gemm": {".multicast::cluster [": 5, "wgmma.wait_group.sync.aligned 1;": 5, "setmaxnreg": None},
    # Of each of two kernels: a barrier before the first copy into other blocks, and one behind the last.
    "20_cluster_softmax": {".shared::cluster.shared::cta.mbarrier": 8, "barrier.cluster.wait": 4, "cp.async.cg": None},
    "21_all_gather_gemm": {"sys.release.add.u32": None, "wgmma.wait_group.sync.aligned 1;": 1, "async.global;": 1},
    "22_gemm_reduce_scatter": {"sys.release.add.u32": None, "wgmma.wait_group.sync.aligned 1;": 2},
    "23_ring_attention": {"wgmma.mma_async": None, "cp.async.cg": None, "sys.release.add.u32": None},
    "24_moe_dispatch_combine": {"sys.release.add.u32": None, "atom.global": None, "st.global.v4": None},
    # Two parts of a tile for each of two groups, in four steps of 32 numbers; scales of tokens and of weights.
    "25_fp8_grouped_gemm": {"cp.async.cg": 8, "cp.async.ca": 2, "m64n128k32": 16, "st.global.v4": 32},
}

NEEDS = {"04_int4_gemm": "cuda.tile", "18_tilelang_consumer": "tilelang"}
# Those for several GPUs: the stress of one GPU does not take them.
FOR_SEVERAL_GPUS = tuple(file.stem for file in FILES if "21" <= file.stem[:2] <= "24")
# Draws for which the kernels of samples 14 to 16 are those of the test before: they take seconds to compile.
SEED = 88
FOR_HOPPER = ("02_tma_gemm", "04_int4_gemm", *(file.stem for file in FILES if file.stem >= "09"))


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem)
def program(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    pytest.importorskip(NEEDS.get(request.param.stem, "torch"))
    with loaded(request.param) as module:
        yield module


def test_every_program_is_here():
    assert [file.stem for file in FILES] == list(INSTRUCTIONS)


@pytest.fixture(scope="module")
def kernels(program: ModuleType) -> list[Any]:
    return list(program.compile_for("cuda:90"))


@pytest.mark.every_triton(8)
def test_the_kernels_of_a_program_have_its_instructions(program: ModuleType, kernels: list[Any]):
    assert all(program.common.is_one_kernel(kernel) and "cubin" in kernel.asm for kernel in kernels)
    ptx = "".join(kernel.asm["ptx"] for kernel in kernels)
    for text, count in INSTRUCTIONS[Path(program.__file__ or "").stem].items():
        found = len(re.findall(re.escape(text), ptx))
        assert found == count if count else found, text


def bytes_spilled(ptx: str, folder: Path) -> int:
    """What ptxas says of a kernel, which waits behind no product of its own accord."""
    (folder / "kernel.ptx").write_text(ptx)
    command = [get_ptxas(90).path, "-v", "-arch=sm_90a", "kernel.ptx", "-o", "kernel.cubin"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    spilled = re.search(r"(\d+) bytes spill stores", told)
    assert "serialized" not in told and spilled is not None
    return int(spilled[1])


@pytest.mark.parametrize("program", [SAMPLES / "tle_struct" / "10_moe_grouped_gemm.py"], indirect=True, ids=["10"])
def test_the_products_of_experts_stay_in_the_background(kernels: list[Any], tmp_path: Path):
    """One way past the loop, on which sums are zeros and waited for, and ptxas waits behind each product."""
    assert bytes_spilled(kernels[0].asm["ptx"], tmp_path) == 0


def test_the_products_of_gradients_stay_in_the_background(tmp_path: Path):
    """And registers suffice. An older ptxas than Triton 3.9's keeps some addresses in memory, as do heads of 64."""
    with loaded(SAMPLES / "tle_struct" / "14_attention_backward.py") as module:
        kernels = list(module.compile_for("cuda:90"))
    for kernel, dim in zip(kernels, (128, 64)):
        assert bytes_spilled(kernel.asm["ptx"], tmp_path) <= (0 if dim == 128 and NEWEST else 128)
        assert ".maxnreg 168" in kernel.asm["ptx"] and "setmaxnreg.dec.sync.aligned.u32 \t240" in kernel.asm["ptx"]


@pytest.mark.skipif(not NEWEST, reason="kernels of CUDA in clusters, which follow each other early, are for Triton 3.9")
@pytest.mark.parametrize("watched", [False, True])
def test_blocks_that_tell_each_other_counts_meet_where_racecheck_watches(watched: bool):
    with loaded(SAMPLES / "tle_struct" / "07_moe_align.py") as module:
        ptx = module.in_clusters(256, 64, 1, True, watched).compile("cuda:90", launch_pdl=True).asm["ptx"]
    found = [ptx.count(text) for text in ("st.async", "mbarrier.init", "st.shared::cluster.v4", "barrier.cluster.wait")]
    # One of the barriers is Triton's, behind the end.
    assert found == ([0, 0, 1, 3] if watched else [1, 1, 0, 2])


@pytest.mark.one_triton
@pytest.mark.parametrize("target", ["cuda:80", "cuda:100"])
def test_programs_without_wgmma_are_for_other_gpus_too(target: str):
    for file in FILES:
        if file.stem not in FOR_HOPPER:
            with loaded(file) as module:
                for kernel in module.compile_for(target):
                    assert module.common.is_one_kernel(kernel) and "cubin" in kernel.asm


@pytest.mark.every_triton(4)
def test_the_numbers_of_a_program_are_right_on_the_cpu(program: ModuleType, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch_mlir")
    monkeypatch.setenv("TLE_RAW_TARGET", "cpu")
    check_on_the_cpu(program)


@pytest.mark.one_triton
def test_a_launch_of_the_stress_of_a_program_is_right_on_the_cpu(program: ModuleType, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch_mlir")
    if not hasattr(program, "stress"):
        stem = Path(program.__file__ or "").stem
        assert stem < "09" or stem in FOR_SEVERAL_GPUS
        return
    monkeypatch.setenv("TLE_RAW_TARGET", "cpu")
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        case = program.stress(Random(SEED))
        written = [torch.full((1, *w.shape), float("nan"), dtype=d) for w, d in zip(case.wanted, case.dtypes)]
        case.launch(*(tensor[0] for tensor in written))
    assert list(faults(case, written)) == []


@pytest.mark.gpu
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_runs_on_a_gpu(file: Path):
    check_run(file)
