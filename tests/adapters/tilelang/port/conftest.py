"""Scripts that are ported, and how."""

import sys

import pytest

from tle_raw.adapters.tilelang.port.port_script import port_script
from tle_raw.porting import PortRequest

HEADER = "import tilelang\nimport tilelang.language as T\nimport torch\n\n\n"


@pytest.fixture
def tidy(tmp_path, monkeypatch):
    """What a script's import leaves behind goes with the test."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def answers(tmp_path, tidy):
    """What is said of a script, in this process."""

    def port(text, name="", **arguments):
        file = tmp_path / "script.py"
        file.write_text(HEADER + text)
        return list(port_script(PortRequest(file, tmp_path / "out.py", name, arguments)))

    return port
