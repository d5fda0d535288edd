"""Short ways to declare LLVM IR fragments."""

from __future__ import annotations

from typing import Any

import pytest

import tle_raw
from tle_raw.errors import TLEError
from tle_raw.flir.cpu.run_fragment import run_fragment


@pytest.fixture(scope="session")
def declare():
    """A fragment of the text over a stub."""

    def fragment(text: str, stub: Any, **options: Any) -> Any:
        return tle_raw.fragment(f"{text}\n", signature=stub, dialect="llvm", **options)

    return fragment


@pytest.fixture(scope="session")
def run(declare):
    """Compile for the CPU and run; the one result, or a list of them."""

    def run_text(text: str, stub: Any, names: dict | None = None, num_warps: int = 4, **values: Any) -> Any:
        compiled = declare(text, stub).compile(target="cpu", **(names or {}))
        results = run_fragment(compiled, values, num_warps=num_warps)
        return results[0] if len(results) == 1 else results

    return run_text


@pytest.fixture(scope="session")
def refusal(declare):
    """The error that compiling for a target ends with."""

    def refused(text: str, stub: Any, names: dict | None = None, target: str = "cuda:90", **options: Any) -> TLEError:
        with pytest.raises(TLEError) as caught:
            declare(text, stub, **options).compile(target=target, **(names or {}))
        return caught.value

    return refused
