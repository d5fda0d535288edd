"""TileLang's kernels run on the CPU, and compile for a GPU without one; nothing runs where TileLang is missing."""

import importlib.util
from typing import Any

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("tilelang") and importlib.util.find_spec("torch") else ["test_*"]


@pytest.fixture
def on_cpu():
    """Launches of this test run on the CPU."""
    import tle_raw

    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def compile_for_gpu(fragment: Any, capability: int = 90, **options: Any) -> Any:
    """A fragment as a kernel of its own, compiled to machine code."""
    return fragment.as_kernel().compile(f"cuda:{capability}", **options)
