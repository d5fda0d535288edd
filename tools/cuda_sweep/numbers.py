"""Numbers of two sides: compared whole, and as digests and samples of one that is elsewhere."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from cuda_sweep.launches import NUMPY, Buffer

SAMPLED = 48  # values of an output that are kept
# The largest error over the largest magnitude of an array, by its dtype: where sums are taken in another order.
BOUNDS = {"f64": 1e-12, "f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2}


def compare(buffer: Buffer, ours: np.ndarray, theirs: np.ndarray, top: float = 0) -> tuple[float, str, bool]:
    """The largest difference over the largest magnitude; what is to be said of it; whether that will do.

    ``top`` is the largest magnitude, where the values are samples.
    """
    if np.array_equal(ours.view(np.uint8), theirs.view(np.uint8)):
        return 0.0, "", True
    bound = BOUNDS.get(buffer.dtype)
    if bound is None:
        differing = float(np.mean(ours != theirs))
        most = int(np.max(np.abs(ours.astype(np.int64) - theirs.astype(np.int64))))
        # quantised values whose scale differs in the last bit fall to the other side of a half
        return differing, f"{differing:.2e} of the values differ, by {most} at most", differing < 1e-3 and most <= 1
    a, b = buffer.floats(ours), buffer.floats(theirs)
    finite = np.isfinite(b)
    if not np.array_equal(np.nan_to_num(a[~finite], nan=1e300), np.nan_to_num(b[~finite], nan=1e300)):
        return float("inf"), "infinities or NaNs differ", False
    if not finite.any():
        return 0.0, "", True
    scale = max(float(np.max(np.abs(b[finite]))), top) or 1.0
    error = float(np.max(np.abs(a[finite] - b[finite]))) / scale
    return error, f"error {error:.1e}", error <= bound


def sampled_places(size: int) -> np.ndarray:
    """Which elements are kept of an array."""
    return np.linspace(0, size - 1, min(SAMPLED, size)).astype(np.int64)


def kept(buffer: Buffer, values: np.ndarray) -> dict[str, Any]:
    """A digest of an output, and some of its values."""
    data = np.ascontiguousarray(values)
    places = sampled_places(data.size)
    finite = np.abs(buffer.floats(data))
    top = float(np.max(np.where(np.isfinite(finite), finite, 0), initial=0))
    return {
        "dtype": buffer.dtype,
        "sha": hashlib.sha256(data.tobytes()).hexdigest()[:16],
        "top": top,
        "sampled": base64.b64encode(zlib.compress(data[places].tobytes(), 9)).decode(),
    }


def agree(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> tuple[bool, str]:
    """Whether outputs that ``kept`` keeps are the same, or close enough where they were sampled; and words for it."""
    if [output["place"] for output in ours] != [output["place"] for output in theirs]:
        return False, f"arrays {[o['place'] for o in ours]} were written, and {[o['place'] for o in theirs]} by nvcc's"
    words, good = [], True
    for one, other in zip(ours, theirs):
        if one["sha"] == other["sha"]:
            continue
        dtype = one["dtype"]
        a, b = (samples(output) for output in (one, other))
        buffer = Buffer(dtype, b)
        _, text, close = compare(buffer, a, b, other["top"])
        text = text or "equal where sampled"
        good &= close
        words.append(f"array {one['place']}: {text}")
    return good, "; ".join(words) or "equal"


def samples(output: dict[str, Any]) -> np.ndarray:
    """The elements that ``kept`` kept."""
    return np.frombuffer(zlib.decompress(base64.b64decode(output["sampled"])), NUMPY[output["dtype"]])
