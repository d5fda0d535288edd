"""Numbers are those of the CPU, on a machine with a GPU too."""

import pytest


@pytest.fixture(autouse=True)
def on_cpu():
    import tle_raw

    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield
