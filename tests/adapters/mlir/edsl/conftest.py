"""Short ways to declare, build and run functions of the eDSL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tle_raw
from tle_raw.adapters.mlir.edsl import Built, build
from tle_raw.errors import TLEError
from tle_raw.flir.cpu.run_fragment import run_fragment
from tle_raw.fragments.binding import bind_names
from tle_raw.target import parse_target

GPU = parse_target("cuda:90")


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    """Compile a function for the CPU and run it: the one result, or a list of them."""

    def run_function(function: Any, names: dict | None = None, num_warps: int = 2, **values: Any) -> Any:
        fragment = function if isinstance(function, tle_raw.Fragment) else tle_raw.dialect("mlir")(function)
        compiled = fragment.compile(target="cpu", **(names or {}))
        results = run_fragment(compiled, values, num_warps=num_warps)
        return results[0] if len(results) == 1 else results

    return run_function


@pytest.fixture(scope="session")
def module() -> Callable[..., Built]:
    """The MLIR module of a function."""

    def build_function(function: Any, route: str | None = None, **names: Any) -> Built:
        fragment = function if isinstance(function, tle_raw.Fragment) else tle_raw.dialect("mlir")(function)
        bound = bind_names(fragment.signature, names)
        return build(fragment._source, bound, GPU, route)

    return build_function


@pytest.fixture(scope="session")
def refusal(module: Callable[..., Built]) -> Callable[..., TLEError]:
    """The error that building a function ends with, in both builders alike."""

    def refused(function: Any, **names: Any) -> TLEError:
        with pytest.raises(TLEError) as caught:
            module(function, **names)
        return caught.value

    return refused
