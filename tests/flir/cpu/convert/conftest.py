"""What the tests of shared buffers share."""

import pytest

from tle_raw.knobs import knobs


@pytest.fixture(params=[False, True], ids=["plain", "checked"])
def checked(request):
    """The test runs twice, with ``knobs.debug`` and without; with it for every third of other parameters."""
    with knobs.scope():
        knobs.debug = request.param
        yield request.param
