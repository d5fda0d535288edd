"""One kernel to be run by two engines: its source, its arguments, and how far its results may be apart.

A case is a Python module as text: the kernel, then ``CASE``, a dict. Failures are printed as such a module and kept in
``found/`` as such files.
"""

from __future__ import annotations

import hashlib
import pprint
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

# Triton's name -> torch's name. NumPy has those that are not in ONLY_TORCH.
TORCH_NAMES = {
    "int1": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64",
    "float8e5": "float8_e5m2", "float8e4nv": "float8_e4m3fn",
}  # fmt: skip
ONLY_TORCH = ("bfloat16", "float8e5", "float8e4nv")


@dataclass(frozen=True)
class Array:
    """An argument that is an array.

    ``fill``: "zero"; "plain" numbers, floats within [-4, 4]; "special", which adds infinities, NaN, the largest and
    the smallest. ``skip`` elements stand before the first one, so that it lies at no round address.
    """

    dtype: str
    size: int
    fill: str = "plain"
    seed: int = 0
    skip: int = 0


@dataclass(frozen=True)
class Case:
    """``tolerances``: for each array that is compared, the absolute error allowed; 0 is to the last bit.

    ``plain``: the same kernel written another way, of the same arguments, which says what is right; "" where one
    source is run by both engines.
    """

    source: str
    arrays: Mapping[str, Array]
    scalars: Mapping[str, int | float] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    tolerances: Mapping[str, float] = field(default_factory=dict)
    numpy: bool = False  # the backend gets NumPy arrays instead of torch tensors
    plain: str = ""

    @property
    def in_plain_form(self) -> Case:
        return replace(self, source=self.plain, plain="")

    def text(self) -> str:
        described = {k: v for k, v in asdict(self).items() if k != "source" and (v or k != "plain")}
        return f"{self.source}\n\nCASE = {pprint.pformat(described, width=110, sort_dicts=False)}\n"

    @property
    def name(self) -> str:
        return hashlib.sha256(self.text().encode()).hexdigest()[:12]


def parse(text: str) -> Case:
    """The case in a module's text; the opposite of ``Case.text``."""
    source, _, described = text.rpartition("\nCASE = ")
    values: dict[str, Any] = eval(described, {"__builtins__": {}}, {"inf": float("inf"), "nan": float("nan")})
    arrays = {name: Array(**array) for name, array in values.pop("arrays").items()}
    return Case(source.rstrip() + "\n", arrays, **values)


def contents(array: Array) -> np.ndarray:
    """The numbers of an array, with those to skip: NumPy's dtype where there is one, else float32 to be converted."""
    size = array.size + array.skip
    random = np.random.default_rng(array.seed)
    if array.fill == "zero":
        return np.zeros(size, _numpy_dtype(array.dtype))
    if array.dtype == "int1":
        return random.integers(0, 2, size).astype(bool)
    if "int" in array.dtype:
        limits = np.iinfo(array.dtype)
        wide = random.integers(limits.min, limits.max, size, array.dtype, endpoint=True)
        small = random.integers(max(-9, limits.min), 10, size).astype(array.dtype)
        return np.where(random.random(size) < 0.5, wide, small)
    numbers = random.uniform(-4, 4, size)
    if array.fill == "special":
        dtype = _numpy_dtype(array.dtype)
        top, low = (np.finfo(dtype).max, np.finfo(dtype).tiny) if dtype != np.float32 else (3e38, 1.2e-38)
        special = np.array([np.inf, -np.inf, np.nan, top, -top, low, -low, 0.0, 1.0, 0.5, 1.5, 2.5, -2.5])
        numbers = np.where(random.random(size) < 0.3, random.choice(special, size), numbers)
    return numbers.astype(_numpy_dtype(array.dtype))


def _numpy_dtype(dtype: str) -> np.dtype[Any]:
    return np.dtype("float32" if dtype in ONLY_TORCH else "bool" if dtype == "int1" else dtype)


def differences(case: Case, got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray]) -> list[str]:
    """What is wrong, one line for each array; nothing when all is right."""
    found = []
    for name, tolerance in case.tolerances.items():
        wrong = _wrong(got[name], want[name], tolerance)
        if wrong.any():
            at = np.flatnonzero(wrong)
            shown = ", ".join(f"[{i}] {got[name][i]!r} instead of {want[name][i]!r}" for i in at[:4])
            found.append(f"{name}: {at.size} of {wrong.size} wrong, allowed error {tolerance:.3g}: {shown}")
    return found


def _wrong(got: np.ndarray, want: np.ndarray, tolerance: float) -> np.ndarray:
    if got.dtype.kind != "f":
        return got != want
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        return ~(same | (np.abs(got - want) <= tolerance))
