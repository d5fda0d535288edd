"""Which driver Triton finds active: asked in processes of their own, with a backend beside ours that drives a GPU."""

import os
import subprocess
import sys

import pytest

from tests.support import TRITON

pytestmark = pytest.mark.every_triton(2)

COMPILER = """
from triton.backends.compiler import BaseBackend
class FakeBackend(BaseBackend):
    supports_target = staticmethod(lambda target: target.backend == "fake")
    hash = parse_options = add_stages = load_dialects = get_module_map = lambda *a: None
"""
DRIVER = """
import os
from triton.backends.driver import DriverBase
class FakeDriver(DriverBase):
    is_active = staticmethod(lambda: bool(os.environ.get("FAKE_GPU")))
    map_python_to_cpp_type = get_current_target = get_active_torch_device = get_benchmarker = lambda *a: None
"""
PROGRAM = """
def active():
    import triton
    return type(triton.runtime.driver.active).__name__
"""


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Runs a program in a new process; what it prints."""
    try:
        import torch

        if torch.cuda.is_available():
            pytest.skip("a GPU of Triton's own backends is here")
    except ImportError:
        pass
    # Triton's own drivers import torch to look for a GPU, which takes longer than everything else here.
    (tmp_path / "torch.py").write_text("raise ImportError('hidden')")
    package, metadata = tmp_path / "fake_gpu", tmp_path / "fake_gpu-0.1.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").touch()
    (package / "compiler.py").write_text(COMPILER)
    (package / "driver.py").write_text(DRIVER)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake_gpu\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[triton.backends]\nfake = fake_gpu\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TLE_RAW_TARGET")}

    def run(program, **environment):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM + program],
            env={**clean, "PYTHONPATH": str(tmp_path), **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_without_a_gpu_the_cpu_is_active(ask):
    assert ask("print(active())") == ["CpuDriver"]


def test_a_gpu_goes_before_the_cpu(ask):
    assert ask("print(active())", FAKE_GPU="1") == ["FakeDriver"]


def test_the_variable_asks_for_the_cpu_beside_a_gpu(ask):
    assert ask("print(active())", FAKE_GPU="1", TLE_RAW_TARGET="cpu") == ["CpuDriver"]


def test_another_target_leaves_the_gpu_active(ask):
    assert ask("print(active())", FAKE_GPU="1", TLE_RAW_TARGET="cuda:90") == ["FakeDriver"]


@pytest.mark.parametrize("environment", [{}, {"FAKE_GPU": "1"}])
def test_a_target_that_there_is_none_of_is_an_error_before_anything_runs(ask, environment):
    program = """
import tle_raw
try:
    active()
except tle_raw.errors.KnobError as error:
    assert "cuda:90" in str(error) and "'foo'" in str(error), error
    print(type(error).__name__)
tle_raw.knobs.reset()
tle_raw.knobs.target = "cpu"
print(active())
"""
    assert ask(program, TLE_RAW_TARGET="foo", **environment) == ["KnobError", "CpuDriver"]


@pytest.mark.skipif(TRITON < (3, 7), reason="Triton has this variable from 3.7 on")
def test_tritons_own_variable_asks_for_the_cpu(ask):
    assert ask("print(active())", FAKE_GPU="1", TRITON_DEFAULT_BACKEND="tle_cpu") == ["CpuDriver"]


def test_the_knob_takes_effect_at_once_and_gives_the_gpu_back(ask):
    program = """
import tle_raw
print(active())
with tle_raw.knobs.scope():
    tle_raw.knobs.target = "cpu"
    print(active())
print(active())
tle_raw.knobs.target = "cpu"
print(active())
del tle_raw.knobs.target
print(active())
"""
    assert ask(program, FAKE_GPU="1") == ["FakeDriver", "CpuDriver", "FakeDriver", "CpuDriver", "FakeDriver"]


def test_the_knob_can_be_set_before_triton_is_imported(ask):
    program = """
import sys, tle_raw
assert "triton" not in sys.modules
tle_raw.knobs.target = "cpu"
print(active())
tle_raw.knobs.target = None
print(active())
"""
    assert ask(program, FAKE_GPU="1") == ["CpuDriver", "FakeDriver"]


def test_python_can_overrule_the_variable(ask):
    program = """
import tle_raw
print(active())
tle_raw.knobs.target = "cuda:90"
print(active())
"""
    assert ask(program, FAKE_GPU="1", TLE_RAW_TARGET="cpu") == ["CpuDriver", "FakeDriver"]


def test_a_variable_that_comes_too_late_is_an_error(ask):
    program = """
import os, triton, tle_raw
os.environ["TLE_RAW_TARGET"] = "cpu"
try:
    active()
except tle_raw.TLEError as error:
    print(error.hint)
"""
    assert "tle_raw.knobs.target" in " ".join(ask(program, FAKE_GPU="1"))


@pytest.mark.parametrize(
    "first",
    [
        "triton",
        "tle_raw",
        "tle_raw.targets",
        "tle_raw.targets.cpu",
        "tle_raw.targets.cpu.compiler",
        "tle_raw.targets.cpu.driver",
        "tle_raw.targets.cpu.launcher",
        "tle_raw.regions.stages",
    ],
)
def test_anything_may_be_imported_first(ask, first):
    assert ask(f"import {first}\nprint(active())") == ["CpuDriver"]


def test_importing_triton_brings_no_library_of_the_cpu(ask):
    program = """
import sys, triton
heavy = ("torch", "numpy", "llvmlite", "cffi", "torch_mlir", "tle_raw.fragments.parameter_types", "tle_raw.linker")
print([name for name in heavy if name in sys.modules])
"""
    assert ask(program) == ["[]"]


def test_nothing_of_triton_is_replaced_where_the_cpu_is_not_used(ask):
    program = """
import triton
from triton.backends import backends
from triton.runtime import jit
active()
print(jit.create_function_from_signature.__module__)
print({b.driver.is_active.__module__ for n, b in backends.items() if n not in ("tle_ascend", "tle_cpu", "cpu")} <= {
    "fake_gpu.driver", "triton.backends.nvidia.driver", "triton.backends.amd.driver"})
"""
    assert ask(program, FAKE_GPU="1") == ["triton.runtime.jit", "True"]
