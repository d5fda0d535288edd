"""cuTile's functions run on the CPU, and compile for a GPU without one; nothing runs where cuTile is missing."""

import importlib.util

import pytest


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


collect_ignore_glob = [] if _is_there("cuda.tile") and _is_there("torch") else ["test_*"]


@pytest.fixture(autouse=True)
def on_cpu():
    """Launches of these tests run on the CPU."""
    import tle_raw

    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield
