"""What kernels of the list compute, in our own words and in float64: what they wrote on the CPU is compared with it.

A reference takes ``Given`` and returns the arrays that the kernel writes, by the number of the argument, or by that
number and a field's name where the argument is a struct (and the place where that is an array), or a target's number
where it is an array of addresses. What it does not return, the kernel may not have changed; ``None`` stands for what it
uses as it likes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cuda_sweep.kernels import Listed
from cuda_sweep.launches import Addresses, Buffer, Launch, _cast
from cuda_sweep.numbers import compare
from cuda_sweep.on_cpu import arrays_of

Key = int | tuple[int, str] | tuple[int, int] | tuple[int, str, int]
Places = Callable[[int], Any]
Reference = Callable[["Given"], dict[Key, Any]]
_MODULES = (
    "collectives",
    "flash_attn",
    "flashinfer",
    "llama",
    "mamba",
    "marlin",
    "normalisations",
    "vllm",
    "vllm_quantised",
)
_KNOWN: dict[tuple[str, str], Reference] = {}


class Given:
    """The arguments of a launch: ``given[2]`` is a number, an array (float64, or integers), a dict or list of such;
    ``given.R`` is a size of the launch, ``given.file`` the kernel's file."""

    def __init__(self, values: list[Any], sizes: Mapping[str, Any], file: Path | None = None) -> None:
        self._values, self.sizes, self.file = values, sizes, file

    def __getitem__(self, index: int) -> Any:
        return _plain(self._values[index])

    def __getattr__(self, name: str) -> Any:
        return self.sizes[name]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | Addresses):
        return [_plain(item) for item in (value.targets if isinstance(value, Addresses) else value)]
    if not isinstance(value, Buffer):
        return value
    is_float = value.dtype.startswith(("f", "bf"))
    return value.floats(value.values) if is_float else value.values.astype(np.int64)


def reference(package: str, *names: str) -> Callable[[Reference], Reference]:
    """Registers what the kernels of these names compute."""

    def register(function: Reference) -> Reference:
        _KNOWN.update({(package, name): function for name in names})
        return function

    return register


def reference_of(kernel: Listed) -> Reference | None:
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}")
    return _KNOWN.get((kernel.package, kernel.name.partition("(")[0]))


def judge(
    reference: Reference,
    launch: Launch,
    written: Mapping[int, np.ndarray],
    places: Places = lambda size: slice(None),
    file: Path | None = None,
) -> tuple[bool, str]:
    """Whether a kernel wrote what its reference says, given its arrays by their places; and words for it.

    ``places`` says which elements of an array of so many are given; ``file`` is the kernel's.
    """
    values = launch.make(True)
    arrays = arrays_of(values)
    with np.errstate(all="ignore"):
        wanted = reference(Given(values, launch.names(True), file))
    good, words, left = True, [], dict(written)
    for key, expected in wanted.items():
        buffer = array_of(values, key)
        place = next(i for i, array in enumerate(arrays) if array is buffer)
        if expected is None:
            left.pop(place, None)
            continue
        given = places(buffer.values.size)
        expected = np.asarray(expected).reshape(-1)
        if expected.shape != buffer.values.shape:
            raise ValueError(f"{buffer.values.size} elements, and {expected.size} of the reference")
        found = left.pop(place, buffer.values[given])
        _, text, close = _compare(buffer, found, expected[given])
        good &= close
        words += [f"array {place}: {text}"] if text else []
    if left:
        good = False
        words.append(f"arrays {sorted(left)} were written, and none of them should be")
    return good, "; ".join(words) or "equal"


def array_of(values: list[Any], key: Key) -> Any:
    """The argument, field or target that a key names."""
    if isinstance(key, int):
        return values[key]
    held = values[key[0]]
    for part in key[1:]:
        held = held.targets[part] if isinstance(held, Addresses) else held[part]
    return held


def _compare(buffer: Buffer, found: np.ndarray, expected: np.ndarray) -> tuple[float, str, bool]:
    """Floats with numbers of float64, as they are; integers with integers."""
    if not buffer.dtype.startswith(("f", "bf")):
        return compare(buffer, found, expected.astype(np.int64).astype(found.dtype))
    wide = Buffer("f64", expected.astype(np.float64))
    rounded = buffer.floats(_cast(wide.values, buffer.dtype))
    narrow = Buffer(buffer.dtype, found)
    as_floats = narrow.floats(found)
    if np.array_equal(as_floats, rounded, equal_nan=True):
        return 0.0, "", True
    huge = np.abs(expected) > 1e30  # what hides other elements tells nothing of the size of the others
    if not np.allclose(as_floats[huge], expected[huge], rtol=1e-6, atol=0):
        return float("inf"), "elements that hide others differ", False
    return compare(Wide(buffer.dtype, wide.values), as_floats[~huge], wide.values[~huge])


class Wide(Buffer):
    """Numbers in float64 that are held to the bounds of their own dtype."""

    def floats(self, values: np.ndarray) -> np.ndarray:
        return values
