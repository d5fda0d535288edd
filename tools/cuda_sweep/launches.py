"""The list of launches: for each kernel of the list its grid and its arguments, and how these are made from a seed.

A launch is a few lines of ``launches.txt``: the package and the symbol, then sizes and the grid, then the arguments::

    vllm vllm::rms_norm_kernel<c10::Half>
      T=8192:5 H=4096 | grid T | shared 0
      out(f16, T*H), normal(f16, T*H), normal(f16, H), 1e-6, T, H

``T=8192:5`` is 8192 where the kernel is timed and 5 where its numbers are compared with those on a CPU. The grid, the
dynamic shared memory (bytes, 0 unless it is given; of both sizes the larger), the block (``32x8``, where it is another
one than that of the list of kernels) and the arguments are Python expressions of the sizes. A struct is a list of what
it holds, in order and flat, or ``fields(name=value)``. A symbol may be cut short by ``...``. ``writes`` says why the
numbers of a kernel tell nothing.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("launches.txt")
POOL = 1 << 18  # so many random values are drawn; longer arrays repeat them

NUMPY = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f8e4m3": np.uint8,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
    "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8,
}  # fmt: skip


@dataclass
class Buffer:
    """An array of ``dtype``; that of bfloat16 is held as 16-bit integers. ``fresh``: it is reset before each launch."""

    dtype: str
    values: np.ndarray
    fresh: bool = False

    def floats(self, values: np.ndarray) -> np.ndarray:
        """The numbers in float64."""
        if self.dtype == "bf16":
            return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return values.astype(np.float64)


@dataclass
class Addresses(Buffer):
    """An array of addresses of other arrays; null pointers are None."""

    targets: tuple[Buffer | None, ...] = ()


@dataclass
class Launch:
    """``text`` are the expressions; ``sizes`` those of the timed and of the small launch."""

    package: str
    symbol: str
    sizes: dict[str, tuple[str, str]]
    grid: str
    shared: str
    arguments: str
    notes: dict[str, str] = field(default_factory=dict)

    def fits(self, package: str, symbol: str) -> bool:
        if self.symbol.endswith("..."):
            return package == self.package and symbol.startswith(self.symbol[:-3])
        return (package, symbol) == (self.package, self.symbol)

    def block(self, listed: tuple[int, ...]) -> tuple[int, ...]:
        """The block, where it is another one than that of the list of kernels."""
        given = self.notes.get("block")
        return tuple(int(extent) for extent in given.split("x")) if given else tuple(listed)

    @property
    def writes(self) -> str:
        """Why the numbers say nothing."""
        return self.notes.get("writes", "")

    def names(self, small: bool) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for name, pair in self.sizes.items():
            names[name] = eval(pair[small], {**_BARE, **names})  # the list is ours
        return names

    def grid_of(self, small: bool) -> tuple[int, int, int]:
        value = eval(self.grid, {**_BARE, **self.names(small)})
        value = value if isinstance(value, tuple) else (value,)
        return tuple(int(v) for v in (*value, 1, 1)[:3])  # type: ignore[return-value]

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory: what the larger of the launches takes."""
        return max(int(eval(self.shared, {**_BARE, **self.names(small)})) for small in (False, True))

    def make(self, small: bool) -> list[Any]:
        """The arguments: buffers, numbers, lists for structs, None for null pointers."""
        maker = Maker(zlib.crc32(f"{self.package} {self.symbol}".encode()))
        scope = {**_BARE, **maker.functions(), **self.names(small)}
        return list(eval(f"[{self.arguments}]", scope))


def ceil(a: int, b: int) -> int:
    """How many times b holds all of a."""
    return -(-a // b)


class Maker:
    """Makes arrays, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def functions(self) -> dict[str, Any]:
        """What the list calls."""
        own = "out normal uniform ints bits permutation steps array fresh joined fields addresses"
        return {name: getattr(self, name) for name in own.split()}

    def out(self, dtype: str, count: int, value: float = 0) -> Buffer:
        """An array of one value."""
        return Buffer(dtype, _cast(np.full(int(count), value), dtype))

    def normal(self, dtype: str, count: int, scale: float = 1.0, mean: float = 0.0) -> Buffer:
        return Buffer(dtype, self._long(_cast(self.random.standard_normal(_pool(count)) * scale + mean, dtype), count))

    def uniform(self, dtype: str, count: int, low: float = 0.0, high: float = 1.0) -> Buffer:
        return Buffer(dtype, self._long(_cast(self.random.uniform(low, high, _pool(count)), dtype), count))

    def ints(self, dtype: str, count: int, low: int, high: int) -> Buffer:
        """Integers of low <= x < high."""
        return Buffer(dtype, self._long(self.random.integers(low, high, _pool(count)).astype(NUMPY[dtype]), count))

    def bits(self, dtype: str, count: int) -> Buffer:
        """Any bits."""
        size = np.dtype(NUMPY[dtype]).itemsize
        pool = self.random.integers(0, 256, _pool(count) * size, dtype=np.uint8).view(NUMPY[dtype])
        return Buffer(dtype, self._long(pool, count))

    def permutation(self, dtype: str, count: int) -> Buffer:
        return Buffer(dtype, self.random.permutation(int(count)).astype(NUMPY[dtype]))

    def steps(self, dtype: str, count: int, step: float = 1, first: float = 0) -> Buffer:
        return Buffer(dtype, _cast(np.arange(int(count)) * step + first, dtype))

    def array(self, dtype: str, values: Any) -> Buffer:
        return Buffer(dtype, _cast(np.asarray(values).reshape(-1), dtype))

    def fresh(self, buffer: Buffer) -> Buffer:
        """One that a launch counts in: each launch finds it as it was."""
        return Buffer(buffer.dtype, buffer.values, True)

    def joined(self, count: int, *parts: Buffer) -> Buffer:
        """Bytes: ``count`` records, of each part's share behind one another."""
        rows = [np.ascontiguousarray(p.values).view(np.uint8).reshape(int(count), -1) for p in parts]
        return Buffer("u8", np.concatenate(rows, axis=1).reshape(-1))

    def addresses(self, *targets: Buffer | None) -> Addresses:
        return Addresses("i64", np.zeros(len(targets), np.int64), False, targets)

    def fields(self, **values: Any) -> dict[str, Any]:
        """A struct by its fields' names, the last part of each; what is left out is 0."""
        return values

    @staticmethod
    def _long(pool: np.ndarray, count: int) -> np.ndarray:
        return pool[: int(count)] if len(pool) >= count else np.resize(pool, int(count))


def _pool(count: int) -> int:
    return int(min(count, POOL))


def _cast(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bf16":
        words = values.astype(np.float32).view(np.uint32)
        return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype(NUMPY[dtype])


_BARE: dict[str, Any] = {**{name: name for name in NUMPY}, "ceil": ceil, "sqrt": math.sqrt, "min": min, "max": max}
_BARE |= {
    "range": range,
    "sum": sum,
    "float": float,
    "int": int,
    "null": None,
    "np": np,
    "magic": lambda d: list(divider(d)),
}


def divider(d: int) -> tuple[int, int, int]:
    """Multiplier, shift and divisor, by which 32-bit integers are divided: the fast division of ggml."""
    shift = 0
    while shift < 32 and (1 << shift) < d:
        shift += 1
    return ((1 << 32) * ((1 << shift) - d) // d + 1) & 0xFFFFFFFF, shift, d


def launches(path: Path = FILE) -> Iterator[Launch]:
    """The launches in the order of the list."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for block in re.split(r"\n\s*\n", "\n".join(lines)):
        if not block.strip():
            continue
        head, second, *rest = block.strip("\n").splitlines()
        package, _, symbol = head.strip().partition(" ")
        sizes, *parts = (part.strip() for part in second.split("|"))
        given = dict(part.split(" ", 1) for part in parts)
        pairs = {}
        for item in sizes.split():
            name, _, value = item.partition("=")
            timed, _, small = value.partition(":")
            pairs[name] = (timed, small or timed)
        yield Launch(package, symbol.strip(), pairs, given["grid"], given.get("shared", "0"), " ".join(rest), given)
