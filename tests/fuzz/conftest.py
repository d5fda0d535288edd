"""The engines of the fuzzer, started once, and how many kernels it draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fuzz.cases import Case
from tests.fuzz.engines import Engine

CI = 100
CI_TLE = 28
CI_WHOLE = 16
FOUND = Path(__file__).parent / "found"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-kernels", type=int, default=CI, help="random kernels to compare; more than 100 are new each time"
    )
    parser.addoption(
        "--fuzz-signatures", type=int, default=CI, help="random declarations; more than 100 are new each time"
    )

    parser.addoption("--fuzz-texts", type=int, default=CI, help="mutated texts to compile; more than 100 are new")

    parser.addoption(
        "--fuzz-tle",
        type=int,
        default=CI_TLE,
        help="random kernels of TLE's operations; more than 28 are new each time",
    )

    parser.addoption(
        "--fuzz-whole", type=int, default=CI_WHOLE, help="random whole CUDA kernels; more than 16 are new each time"
    )


@pytest.fixture(scope="session")
def tle_kernels(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fuzz-tle", CI_TLE)


@pytest.fixture(scope="session")
def texts(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fuzz-texts", CI)


@pytest.fixture(scope="session")
def first_seed(texts: int) -> int:
    """The same texts in CI, others in each night."""
    return 0 if texts <= CI else int(time.time()) * 100_000


@pytest.fixture(scope="session")
def whole_kernels(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fuzz-whole", CI_WHOLE)


@pytest.fixture(scope="session")
def first_whole_kernel(whole_kernels: int) -> int:
    """The same kernels in CI, others in each night."""
    return 0 if whole_kernels <= CI_WHOLE else int(time.time()) * 1000


@pytest.fixture(scope="session")
def kernels(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fuzz-kernels", CI)


@pytest.fixture(scope="session")
def signatures(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fuzz-signatures", CI)


@dataclass(frozen=True)
class Engines:
    backend: Engine
    interpreter: Engine
    compiler: Engine


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    all_ = Engines(Engine("backend"), Engine("interpreter"), Engine("compiler"))
    yield all_
    for engine in (all_.backend, all_.interpreter, all_.compiler):
        engine.stop()


@pytest.fixture
def keep(kernels: int, request: pytest.FixtureRequest) -> Iterator[Callable[[Case], None]]:
    yield from _kept(kernels > CI, request)


@pytest.fixture
def keep_tle(tle_kernels: int, request: pytest.FixtureRequest) -> Iterator[Callable[[Case], None]]:
    yield from _kept(tle_kernels > CI_TLE, request)


def _kept(nightly: bool, request: pytest.FixtureRequest) -> Iterator[Callable[[Case], None]]:
    """In the nightly mode, the last case given is written into ``found/``: the smallest that still fails."""
    last: list[Case] = []
    yield last.append
    if last and nightly:
        file = FOUND / f"{request.node.callspec.params['family']}_{last[-1].name}.py"
        file.write_text(last[-1].text())
