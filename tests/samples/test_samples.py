"""Every sample compiles to one kernel without calls; its references are right, and its numbers, on CPU and GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tle_raw
from tests.started import run_python
from tests.support import report_of

pytestmark = pytest.mark.every_triton(4)

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FOLDERS = sorted(folder.name for folder in SAMPLES.glob("[0-9][0-9]_*"))
TARGETS = ("cuda:80", "cuda:90", "cuda:100")


def _load_common() -> ModuleType:
    spec = importlib.util.spec_from_file_location("common", SAMPLES / "common.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["common"] = module  # the samples import it by this name
    spec.loader.exec_module(module)
    return module


common = _load_common()


@pytest.fixture(scope="module")
def sample(request: pytest.FixtureRequest) -> ModuleType:
    path = list(sys.path)
    try:
        return common.load(request.param)
    finally:
        sys.path[:] = path


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def on_cpu() -> Iterator[None]:
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


def test_there_are_six_samples():
    assert [folder[:2] for folder in FOLDERS] == ["01", "02", "03", "04", "05", "06"]


# Whose machine code is read for every target; that of the others for sm_90.
READ_FOR_ALL = ("sample_03_matmul_epilogue", "sample_04_topk")


@pytest.mark.parametrize("sample", FOLDERS, indirect=True)
@pytest.mark.parametrize("target", TARGETS)
def test_a_sample_is_one_kernel_without_calls_or_spills(sample: ModuleType, target: str):
    kernels = sample.compile_for(target)
    assert kernels
    for kernel in kernels:
        read = target == "cuda:90" or sample.__name__ in READ_FOR_ALL
        report = report_of(kernel, machine_code=read)
        assert report.entries == (kernel.metadata.name,)
        assert report.problems == ()
        assert report.ptx_calls == ()
        assert all(region.inlined and region.kept_calls == () for region in report.regions)
        if read:
            assert not report.tool_problem
            assert report.sass_calls == ()
            assert report.spills == 0
            assert common.is_one_kernel(kernel)


# What makes each sample the sample that it is.
INSTRUCTIONS = {
    "01_vector_add": ("add.f16x2", "add.f16 "),
    "02_softmax": ("shfl.sync.bfly", "ex2.approx"),
    "03_matmul_epilogue": ("wgmma.mma_async", "cp.async"),
    "04_topk": ("bar.sync", "shfl.sync"),
    "05_fp8_quantise": ("cvt.rn.satfinite.e4m3x2.f32", "shfl.sync.bfly"),
    "06_raw_producer": ("cp.async.cg.shared.global.L2::128B", "ld.global.nc.L1::no_allocate.L2::128B.u16"),
}


@pytest.mark.parametrize("sample", FOLDERS, indirect=True)
@pytest.mark.every_triton(2)
def test_the_instructions_a_sample_is_about_are_in_its_ptx(sample: ModuleType, request: pytest.FixtureRequest):
    ptx = "".join(kernel.asm["ptx"] for kernel in sample.compile_for("cuda:90"))
    folder = sample.__name__.removeprefix("sample_")
    assert [text for text in INSTRUCTIONS[folder] if text not in ptx] == []


@pytest.mark.parametrize("sample", FOLDERS, indirect=True)
@pytest.mark.every_triton(3)
def test_the_numbers_of_a_sample_are_right_on_the_cpu(sample: ModuleType, torch, on_cpu):
    checked = list(sample.check())
    assert checked and [str(comparison) for _, comparison in checked if not comparison.is_right] == []
    for kernel in {kernel.metadata.name: kernel for kernel, _ in checked}.values():
        report = tle_raw.report(kernel)
        assert report.entries == ("tle_launch",) and report.target.startswith("cpu")
        assert common.is_one_kernel(kernel)


@pytest.mark.one_triton
def test_a_sample_that_is_only_compiled_says_that_no_numbers_were_checked():
    output = _run("02_softmax/softmax.py", "--compile-only")
    assert output.returncode == 0, output.stderr
    assert "NO NUMBERS WERE CHECKED" in output.stdout
    assert "one entry point" in output.stdout


@pytest.mark.one_triton
def test_a_sample_on_the_cpu_checks_its_numbers_and_compiles_for_a_gpu(torch):
    output = _run("02_softmax/softmax.py", "--target", "cuda:80", TLE_RAW_TARGET="cpu")
    assert output.returncode == 0, output.stderr
    assert "on the CPU" in output.stdout and "a team of 128 threads" in output.stdout
    assert "kernel `softmax` for cuda:80: 1 region, one entry point" in output.stdout
    assert output.stdout.splitlines()[-1] == "PASS"


@pytest.mark.one_triton
def test_a_wrong_number_fails_a_sample(torch, on_cpu, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sample"])
    kernel = common.load("01_vector_add").compile_for("cpu")[1]
    wrong = common.compare("it", torch.zeros(2), torch.ones(2))
    assert common.main("a sample", lambda target: [], lambda: iter([(kernel, wrong)])) == 1
    printed = capsys.readouterr().out
    assert "WRONG" in printed and "FAIL" in printed and "PASS" not in printed


@pytest.mark.one_triton
def test_the_demo_shows_the_fragment_its_numbers_and_where_it_sits(torch):
    output = _run("demo.py", TLE_RAW_TARGET="cpu")
    assert output.returncode == 0, output.stderr
    assert "@tle_raw.dialect" in output.stdout and "__device__ void softmax_rows" in output.stdout
    assert "Launched on the CPU" in output.stdout and "257 × 781" in output.stdout
    assert "kernel `softmax` for cuda:90" in output.stdout and "shfl.sync" in output.stdout
    assert output.stdout.splitlines()[-1] == "PASS"


@pytest.mark.gpu
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_numbers_of_a_sample_are_right(folder: str):
    (file,) = (SAMPLES / folder).glob("*.py")
    output = _run(str(file))
    assert output.returncode == 0 and "PASS" in output.stdout, output.stdout + output.stderr


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_python(SAMPLES / arguments[0], *arguments[1:], environment={**os.environ, **environment})


# The references and the comparison, on the processor: they decide whether a sample passes.


def test_a_result_within_the_tolerance_is_right_and_one_beyond_it_is_wrong(torch):
    want = torch.tensor([1.0, -2.0])
    assert common.compare("", want, want).is_right
    assert common.compare("", want + 0.01, want, relative=0.01, absolute=0.001).is_right
    assert not common.compare("", want + 0.02, want, relative=0.01).is_right
    assert not common.compare("", want + 1e-7, want).is_right


def test_a_nan_is_wrong_whatever_the_tolerance(torch):
    want = torch.tensor([1.0, 2.0])
    assert not common.compare("", torch.tensor([1.0, float("nan")]), want, relative=1, absolute=1).is_right


@pytest.mark.parametrize("sample", ["02_softmax"], indirect=True)
def test_the_softmax_reference_is_softmax_of_the_scaled_input(sample: ModuleType, torch):
    x = torch.tensor([[0.0, 1.0, 2.0]])
    powers = torch.exp(x.double() * sample.SCALE)
    assert torch.allclose(sample.reference(x), powers / powers.sum())


@pytest.mark.parametrize("sample", ["03_matmul_epilogue"], indirect=True)
def test_the_matmul_reference_adds_the_bias_before_gelu(sample: ModuleType, torch):
    one = torch.ones(1, 1).half()
    result = sample.reference(one, one, torch.tensor([1.0]))
    assert torch.allclose(result, torch.tensor(2 * 0.9772498680518208, dtype=torch.float64))


@pytest.mark.parametrize("sample", ["04_topk"], indirect=True)
def test_the_topk_reference_takes_the_first_of_equal_keys(sample: ModuleType, torch):
    values, indices = sample.reference(torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0]]), 2)
    assert values.tolist() == [[3, 3]] and indices.tolist() == [[1, 2]]


@pytest.mark.parametrize("sample", ["05_fp8_quantise"], indirect=True)
def test_the_fp8_reference_scales_the_largest_of_each_group_to_448(sample: ModuleType, torch):
    x = torch.zeros(2, 200).bfloat16()
    x[0, 5], x[0, 150], x[1, 199] = -7.0, 3.5, 1.0
    q, scales = sample.reference(x)
    assert q.shape == (2, 200) and scales.shape == (2, 2)
    assert q[0, 5].item() == -448 and q[0, 150].item() == 448 and q[1, 199].item() == 448
    assert scales[0].tolist() == [7 / 448, 3.5 / 448]
    assert (q[1, :128].float() == 0).all() and scales[1, 0] > 0
    exact = sample.scaled(x, scales)
    assert common.compare("", q, exact, relative=2**-4, absolute=2**-10).is_right


@pytest.mark.parametrize("sample", ["06_raw_producer"], indirect=True)
def test_the_bag_reference_weighs_the_rows_that_the_index_names(sample: ModuleType, torch):
    table = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
    result = sample.reference(table, torch.tensor([[1, 1, 0]]), torch.tensor([[1.0, 2.0, 0.5]]))
    assert result.tolist() == [[30.5, 61.0]]
