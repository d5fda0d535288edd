"""torch looks for a Triton backend ``cpu``: it finds the CPU's target, and Triton itself is asked nothing more."""

import pytest
import triton.backends
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend

import tle_raw
from tle_raw.targets.cpu import torch_name
from tle_raw.targets.cpu.compiler import CpuBackend
from tle_raw.targets.cpu.driver import CpuDriver

pytest.importorskip("llvmlite")


@pytest.fixture
def table(monkeypatch):
    entries = {name: entry for name, entry in triton.backends.backends.items() if name != "cpu"}
    monkeypatch.setattr(triton.backends, "backends", entries)
    return entries


def test_torch_finds_the_driver():
    entry = triton.backends.backends["cpu"]
    assert isinstance(entry.driver(), CpuDriver) and isinstance(CpuDriver(), entry.driver)
    assert not isinstance(object(), entry.driver)


def test_triton_still_has_one_backend_for_a_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        assert isinstance(make_backend(GPUTarget("cpu", 0, 32)), CpuBackend)
        assert isinstance(triton.runtime.driver.active, triton.backends.backends["cpu"].driver)


def test_another_packages_entry_stays(table):
    other = table["cpu"] = object()
    torch_name.tell_torch(CpuDriver)
    assert table["cpu"] is other


def test_without_the_tools_there_is_no_entry(table, monkeypatch):
    monkeypatch.setattr(torch_name, "find_spec", lambda name: None if name == "torch_mlir" else object())
    torch_name.tell_torch(CpuDriver)
    assert "cpu" not in table


def test_with_the_tools_there_is_one(table):
    torch_name.tell_torch(CpuDriver)
    assert isinstance(CpuDriver(), table["cpu"].driver)
