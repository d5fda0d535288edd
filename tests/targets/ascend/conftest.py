"""Ascend as a target, also where the package was installed before it had one."""

import pytest
from triton.backends import Backend, backends

from tle_raw.registry import register_target
from tle_raw.targets.ascend.compiler import AscendBackend
from tle_raw.targets.ascend.driver import AscendDriver
from tle_raw.targets.ascend.target import Ascend


@pytest.fixture(autouse=True)
def ascend(monkeypatch):
    monkeypatch.setitem(backends, "tle_ascend", Backend(AscendBackend, AscendDriver))
    register_target(Ascend())
