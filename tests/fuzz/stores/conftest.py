"""The caches that are damaged, and how often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.stores.caches import Caches

CI = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-stores", type=int, default=CI, help="damages to try; 500 are all files x 11 kinds")


@pytest.fixture(scope="session")
def damages(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--fuzz-stores", CI))


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caches]:
    pytest.importorskip("torch_mlir")
    made = Caches(tmp_path_factory.mktemp("stores"))
    yield made
    made.stop()
