"""What the tests of single conversions share: random data with special values, launches, comparisons, FileCheck."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch

INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SMALL_FLOATS = (torch.float8_e4m3fn, torch.float8_e5m2)
SPECIAL = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.0, -1.0, 0.5, 2.5, -3.5)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def random_tensor(dtype: torch.dtype, *shape: int, seed: int = 0, special: bool = False) -> torch.Tensor:
    """Random numbers: integers over their whole range, floats around zero, perhaps with special values among them."""
    numbers = np.random.default_rng(seed)
    if dtype == torch.bool:
        return torch.from_numpy(numbers.integers(0, 2, shape).astype(bool))
    if dtype in INTEGERS + UNSIGNED:
        kind = np.dtype(name_of(dtype))
        ends = np.iinfo(kind)
        values = numbers.integers(ends.min, ends.max, shape, dtype=kind, endpoint=True)
        if special and values.size > 8:
            some = [ends.min, ends.max, 0, 1, ends.min, 2, ends.max, 7]
            values.reshape(-1)[numbers.permutation(values.size)[:8]] = some
        return torch.from_numpy(values)
    values = torch.from_numpy(numbers.standard_normal(shape) * 3)
    if special:
        finite = torch.finfo(dtype)
        some = [*SPECIAL, finite.max, finite.tiny, finite.tiny / 2, -finite.smallest_normal / 4, finite.min]
        at = torch.from_numpy(numbers.permutation(values.numel())[: len(some)])
        values.view(-1)[at] = torch.tensor(some, dtype=torch.float64)
    return values.to(dtype)


def assert_same(actual: torch.Tensor, expected: torch.Tensor, what: object = "") -> None:
    """Bit for bit, but for the payloads of NaNs."""
    expected = expected.to(actual.dtype)
    if actual.dtype.is_floating_point:
        a, e = actual.double(), expected.double()
        same = ((a == e) & (a.signbit() == e.signbit())) | (a.isnan() & e.isnan())
    else:
        same = actual == expected
    if not bool(same.all()):
        at = tuple(int(i) for i in (~same).nonzero()[0])
        raise AssertionError(
            f"{what}: {int((~same).sum())} of {same.numel()} differ, first at {at}: {actual[at]} for {expected[at]}"
        )


def assert_close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float, what: object = "") -> None:
    """Relative to the largest number that is expected."""
    a, e = actual.double(), expected.double()
    assert bool((a.isnan() == e.isnan()).all()), f"{what}: NaNs elsewhere"
    scale = float(e.nan_to_num(0, 0, 0).abs().max()) or 1.0
    worst = float((a - e).nan_to_num(0, 0, 0).abs().max())
    assert worst <= tolerance * scale, f"{what}: off by {worst} where the largest number is {scale}"


def assert_lines(text: str, checks: str, folder: Path) -> None:
    """Compare a text with CHECK lines as LLVM's FileCheck does."""
    from filecheck.matcher import Matcher
    from filecheck.options import Options

    lines, source = folder / "checks", folder / "text"
    lines.write_text(checks)
    source.write_text(text)
    matcher = Matcher.from_opts(Options(match_filename=str(lines), input_file=str(source)))
    matcher.stderr = io.StringIO()
    assert matcher.run() == 0, f"{matcher.stderr.getvalue()}\n{text[:3000]}"
