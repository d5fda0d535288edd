"""Each subject in each dialect is compiled once for each target, and run where the target is this machine's CPU."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tle_raw
from tests.contracts.subjects import PROGRAMS, SUBJECTS
from tests.support import compile_kernel

# Dialects, by the package that they need.
DIALECTS = {
    "cuda": "",
    "llvm": "llvmlite",
    "mlir": "",
    "edsl": "",
    "tilelang": "tilelang",
    "cutile": "cuda.tile",
    "numba": "numba_cuda",
    "cupy": "cupy",
    "pycuda": "",
}
TARGETS = ("cuda:90", "cpu")
SEED = 17


@functools.cache
def dialect(name: str) -> ModuleType:
    """How a dialect writes the subjects; its tests are skipped where its package is missing."""
    if DIALECTS[name]:
        pytest.importorskip(DIALECTS[name], exc_type=ImportError)
    return importlib.import_module(f"tests.contracts.dialects.{name}")


def pairs() -> list[tuple[str, str]]:
    """Every dialect with every subject that it can write."""
    from tests.contracts.unsupported import UNSUPPORTED

    return [(name, subject) for name in DIALECTS for subject in SUBJECTS if (name, subject) not in UNSUPPORTED]


@functools.cache
def compiled(name: str, subject: str) -> Any:
    """For ``cuda:90``, to machine code, without a GPU."""
    fragment = dialect(name).SUBJECTS[subject]
    return compile_for_gpu(subject, fragment)


def compile_for_gpu(subject: str, fragment: Any) -> Any:
    case = SUBJECTS[subject]
    return compile_kernel(case.kernel, case.types, {"FRAGMENT": fragment, **case.constants})


@functools.cache
def ran(name: str, subject: str) -> tuple[Any, dict[str, Any]]:
    """The compiled kernel for the CPU, and what its arrays held after the launch."""
    return run_on_cpu(subject, dialect(name).SUBJECTS[subject])


def run_on_cpu(subject: str, fragment: Any) -> tuple[Any, dict[str, Any]]:
    case = SUBJECTS[subject]
    arguments = case.data(np.random.default_rng(SEED))
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel = case.kernel[(PROGRAMS,)](**arguments, FRAGMENT=fragment, **case.constants)
    return kernel, arguments


def check_numbers(subject: str, found: dict[str, Any]) -> None:
    """Each array that the kernel writes is what NumPy computes in float64; each that it reads is as it was."""
    case = SUBJECTS[subject]
    before = case.data(np.random.default_rng(SEED))
    expected = case.expected(**before)
    assert expected, "a subject writes something"
    for argument, value in before.items():
        if argument in expected:
            np.testing.assert_allclose(found[argument], expected[argument], case.tolerance, 10 * case.tolerance)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[argument], value)


def our_error(error: BaseException | None) -> tle_raw.TLEError:
    """The library's error among those that Triton, or another compiler, raised around it."""
    while not isinstance(error, tle_raw.TLEError):
        assert error is not None, "no error of the library"
        error = error.__cause__ or error.__context__
    return error
