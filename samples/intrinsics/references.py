"""What the functions of the library have to give, in NumPy."""

from __future__ import annotations

import numpy as np

NUMPY = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
# Half of the last bit of a number, relative to it.
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


def to_bf16(x: np.ndarray) -> np.ndarray:
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32)


def numbers(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Random numbers: floats of the normal distribution, integers of their whole range."""
    if dtype in ROUNDING:
        x = random.standard_normal(shape)
        return to_bf16(x) if dtype == "bf16" else x.astype(NUMPY[dtype])
    range_ = np.iinfo(NUMPY[dtype])
    return random.integers(range_.min, range_.max, shape, NUMPY[dtype], endpoint=True)


def keys(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """The same, a quarter of them drawn from seven, so that there are equal ones; some infinities."""
    x = numbers(random, shape, dtype)
    few = numbers(random, (7,), dtype)
    if dtype in ROUNDING:
        few[:3] = -np.inf, np.inf, 0
    return np.where(random.random(shape) < 0.25, few[random.integers(0, 7, shape)], x).astype(NUMPY[dtype])


def none_of(operator: str, dtype: str) -> int | float:
    """What changes nothing; a number that every dtype holds where masked elements are filled with it."""
    if operator == "sum":
        return 0
    if dtype in ROUNDING:
        return float("-inf") if operator == "max" else float("inf")
    range_ = np.iinfo(NUMPY[dtype])
    return int(range_.min if operator == "max" else range_.max)


OPERATORS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def check_scan(got: np.ndarray, x: np.ndarray, dtype: str, operator: str, inclusive: bool) -> None:
    """Along the last axis; integers wrap around, sums of floats are rounded once to the dtype."""
    exact = x.astype(np.float64) if dtype in ROUNDING else x
    wanted = OPERATORS[operator].accumulate(exact, axis=-1, dtype=exact.dtype)
    sizes = np.cumsum(abs(exact), axis=-1, dtype=np.float64)
    if not inclusive:
        first = np.full_like(wanted[..., :1], none_of(operator, dtype))
        wanted, sizes = np.concatenate([first, wanted[..., :-1]], -1), np.concatenate([0 * sizes[..., :1], sizes[..., :-1]], -1)
    _close(got, wanted, sizes, dtype, operator)


def check_reduction(got: np.ndarray, x: np.ndarray, dtype: str, operator: str) -> None:
    exact = x.astype(np.float64) if dtype in ROUNDING else x
    wanted = OPERATORS[operator].reduce(exact, axis=-1, dtype=exact.dtype)
    _close(got, wanted, np.sum(abs(exact), axis=-1, dtype=np.float64), dtype, operator)


def _close(got: np.ndarray, wanted: np.ndarray, sizes: np.ndarray, dtype: str, operator: str) -> None:
    if dtype not in ROUNDING or operator != "sum":
        np.testing.assert_array_equal(got, wanted.astype(got.dtype))
        return
    # The result's own rounding, and that of some twenty additions behind one another in float32 or float64.
    computed = 2.0**-53 if dtype == "f64" else 2.0**-24
    allowed = ROUNDING[dtype] * abs(wanted) + 24 * computed * sizes
    share = abs(got.astype(np.float64) - wanted) - allowed
    assert (share <= 0).all(), f"off by up to {share.max()} more than allowed"


def check_sorted(got: np.ndarray, x: np.ndarray, descending: int) -> None:
    wanted = np.sort(x, axis=-1)
    np.testing.assert_array_equal(got, wanted[..., ::-1] if descending else wanted)


def check_values(values: np.ndarray, got: np.ndarray, x: np.ndarray, stable: bool) -> None:
    """Values are the places in ``x`` that the sorted keys came from, each once; of equal keys in order when stable."""
    np.testing.assert_array_equal(x.reshape(-1)[values], got)
    np.testing.assert_array_equal(np.sort(values, axis=-1), np.arange(x.size).reshape(x.shape))
    if stable:
        equal = got[..., 1:] == got[..., :-1]
        assert (values[..., 1:] > values[..., :-1])[equal].all(), "equal keys have lost their order"


def check_topk(values: np.ndarray, places: np.ndarray, x: np.ndarray, k: int) -> None:
    for row, got, where in zip(x, values, places, strict=True):
        wanted = np.lexsort((np.arange(row.size), _descending(row)))[:k]
        np.testing.assert_array_equal(where, wanted)
        np.testing.assert_array_equal(got, row[wanted])


def _descending(row: np.ndarray) -> np.ndarray:
    return -row if row.dtype.kind == "f" else ~row


def check_even(got: np.ndarray, x: np.ndarray, dtype: str, low: float, high: float) -> None:
    """Bins as numbers of float32 or float64 tell them."""
    number = np.float64 if dtype == "f64" else np.float32
    bins = got.shape[-1]
    places = (x.astype(number) - number(low)) * (number(bins) / (number(high) - number(low)))
    counts = [np.bincount(row[(row >= 0) & (row < bins)].astype(int), minlength=bins) for row in places]
    np.testing.assert_array_equal(got, counts)


# --- numbers of 8 and 4 bits --------------------------------------------------------------------------------------


def _decoded(name: str) -> np.ndarray:
    """The number of each code, from the definition of the format."""
    bits, exponent, fraction, bias = {"e4m3": (8, 4, 3, 7), "e5m2": (8, 5, 2, 15), "e2m1": (4, 2, 1, 1)}[name]
    codes = np.arange(1 << bits)
    e, f = codes >> fraction & ((1 << exponent) - 1), codes & ((1 << fraction) - 1)
    scale = np.where(e == 0, 2.0 ** (1 - bias), 2.0 ** (e - bias))
    size = scale * ((e != 0) + f / (1 << fraction))
    if name == "e4m3":
        size[(codes & 127) == 127] = np.nan
    if name == "e5m2":
        size[e == 31] = np.where(f[e == 31] == 0, np.inf, np.nan)
    return np.where(codes >> (bits - 1), -size, size)


def small_numbers(x: np.ndarray, name: str) -> np.ndarray:
    if name == "e2m1":
        x = np.stack([x & 15, x >> 4], -1).reshape(*x.shape[:-1], -1)
    return _decoded(name)[x].astype(np.float32)


def small_bytes(x: np.ndarray, name: str) -> np.ndarray:
    """Rounded to nearest, ties to the even code, the largest number beyond it; two e2m1 in a byte."""
    table = _decoded(name)
    half = len(table) // 2
    size = table[:half]
    size = size[np.isfinite(size)]
    wanted = np.minimum(abs(x.astype(np.float64)), size[-1])
    above = np.searchsorted(size, wanted).clip(1, len(size) - 1)
    below = above - 1
    to_above, to_below = size[above] - wanted, wanted - size[below]
    code = np.where((to_above < to_below) | ((to_above == to_below) & (above % 2 == 0)), above, below)
    code = (code | np.signbit(x) * half).astype(np.uint8)
    if name != "e2m1":
        return code
    pairs = code.reshape(*code.shape[:-1], -1, 2)
    return pairs[..., 0] | pairs[..., 1] << 4


def for_small(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of all sizes that the small formats have, ties, zeros of both signs, numbers beyond."""
    x = random.standard_normal(shape) * 2.0 ** random.integers(-20, 12, shape)
    ties = random.choice([0.0, -0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, 448.0, 464.0, 57344.0, 2.0**-10], shape)
    x = np.where(random.random(shape) < 0.5, x, ties * random.choice([-1, 1], shape))
    return to_bf16(x) if dtype == "bf16" else x.astype(NUMPY[dtype])


# --- random numbers -----------------------------------------------------------------------------------------------


def philox(seed: int, counters: np.ndarray) -> np.ndarray:
    """Four words for each counter: Philox 4x32 with ten rounds."""
    word, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [counters.astype(np.uint64) & word, *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        even, odd = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [odd >> shift ^ c[1] ^ key[0], odd & word, even >> shift ^ c[3] ^ key[1], even & word]
        key = [(key[0] + np.uint64(0x9E3779B9)) & word, (key[1] + np.uint64(0xBB67AE85)) & word]
    return np.stack(c, -1).astype(np.uint32)


def check_random(got: np.ndarray, dtype: str, what: str, seed: int, first: int) -> None:
    words = philox(seed, first + np.arange(got.size // 4, dtype=np.uint64))
    if what == "words":
        np.testing.assert_array_equal(got, words.reshape(-1))
        return
    uniform = ((words >> np.uint32(9)) + 0.5) * 2.0**-23
    if what == "normal":
        radius, angle = np.sqrt(-2 * np.log(uniform[:, ::2])), 2 * np.pi * uniform[:, 1::2]
        uniform = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
        # The logarithm of a number next to 1 is its distance from 1, which float32 rounds.
        allowed = 2.0**-20 + 2.0**-20 * abs(uniform) + 2.0**-25 / np.maximum(radius, 1e-3)[..., None]
    else:
        allowed = np.full_like(uniform, 2.0**-40)
    wanted = uniform.reshape(-1)
    allowed = allowed.reshape(-1) + max(ROUNDING[dtype], 2.0**-24) * abs(wanted)
    share = abs(got.astype(np.float64) - wanted) / allowed
    assert (share <= 1).all(), f"off by {share.max()} of what is allowed"
