"""Tiles of block tensors are taken out and put in bit for bit: every dtype, rank and form of index, on the CPU."""

import itertools

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw.language as tle

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]


@triton.jit
def tiles(x, y, taken, put, R: tl.constexpr, C: tl.constexpr, T: tl.constexpr, U: tl.constexpr, INDEX: tl.constexpr):
    pid = tl.program_id(0)
    large = pid * R * C + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    small = pid * T * U + tl.arange(0, T)[:, None] * U + tl.arange(0, U)[None, :]
    block, new = tl.load(x + large), tl.load(y + small)
    if INDEX is None:
        tl.store(taken + small, block.extract_tile(index=pid, shape=[T, U]))
        tl.store(put + large, block.insert_tile(new, index=pid))
    else:
        tl.store(taken + small, tle.extract_tile(block, INDEX, (T, U)))
        tl.store(put + large, tle.insert_tile(block, new, INDEX))


@triton.jit
def mixed(x, taken, put, n, R: tl.constexpr, C: tl.constexpr, T: tl.constexpr, U: tl.constexpr):
    large = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    small = tl.arange(0, T)[:, None] * U + tl.arange(0, U)[None, :]
    block = tl.load(x + large)
    tile = block.extract_tile(index=[n, 1], shape=[T, U])
    tl.store(taken + small, tile)
    tl.store(put + large, block.insert_tile(tile, index=(0, tl.program_id(0).to(tl.int64) + n - 1)))


@triton.jit
def of_rank_1(x, o, n, B: tl.constexpr, T: tl.constexpr):
    block = tl.load(x + tl.arange(0, B))
    first = block.extract_tile(index=1, shape=[T])
    second = block.extract_tile(index=[n], shape=T)
    tl.store(o + tl.arange(0, B), block.insert_tile(first + second, index=n - 1))


@triton.jit
def of_rank_3(x, o, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    p = (tl.arange(0, A)[:, None, None] * B + tl.arange(0, B)[None, :, None]) * C + tl.arange(0, C)[None, None, :]
    block = tl.load(x + p)
    tile = block.extract_tile(index=[1, n, 0], shape=[A // 2, B // 4, C])
    tl.store(o + p, block.insert_tile(tile, index=n))


@triton.jit
def of_pointers(x, o, n, B: tl.constexpr, T: tl.constexpr):
    pointers = x + tl.arange(0, B)
    some = tle.insert_tile(pointers, tle.extract_tile(pointers, 0, [T]), n)
    tl.store(o + tl.arange(0, B), tl.load(some))


def random_bits(dtype, *shape):
    """Every bit pattern may come: NaNs of all kinds, infinities, -0.0."""
    rng = np.random.default_rng(len(dtype) + sum(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    made = np.dtype(dtype) if dtype in INTEGERS else dtype_of(dtype)
    values = rng.integers(0, 256, (*shape, made.itemsize), dtype=np.uint8).view(made).reshape(shape)
    if dtype in FLOATS:
        values.reshape(-1)[:3] = [-0.0, np.nan, -0.0]
    return values


def dtype_of(name):
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    return np.dtype(name)


def place(shape, tile, index):
    """The slices of a tile; an index counts row by row and wraps round."""
    counts = [s // t for s, t in zip(shape, tile)]
    if isinstance(index, int):
        index = np.unravel_index(index % np.prod(counts), counts)
    return tuple(slice(i * t, i * t + t) for i, t in zip(index, tile))


def check_tiles(dtype, shape, tile, index, programs=3):
    x, y = random_bits(dtype, programs, *shape), random_bits(dtype, programs, *tile)
    taken, put = np.zeros_like(y), np.zeros_like(x)
    tiles[(programs,)](x, y, taken, put, *shape, *tile, index)
    for program in range(programs):
        here = place(shape, tile, program if index is None else index)
        assert taken[program].tobytes() == x[program][here].tobytes()
        expected = x[program].copy()
        expected[here] = y[program]
        assert put[program].tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.every_triton(4)
def test_every_dtype_keeps_its_bits(dtype):
    check_tiles(dtype, (8, 16), (4, 4), None, programs=11)
    if dtype in ("bool", "int16", "float64"):
        check_tiles(dtype, (8, 16), (4, 4), (1, 2), programs=1)


@pytest.mark.parametrize("shape, tile", [((8, 8), (8, 8)), ((8, 8), (1, 1)), ((1, 16), (1, 4)), ((16, 4), (2, 4))])
def test_tiles_of_every_size(shape, tile):
    count = shape[0] // tile[0] * (shape[1] // tile[1])
    check_tiles("float32", shape, tile, None, programs=count + 1)
    check_tiles("float32", shape, tile, count - 1)


def test_every_constant_index():
    for index in itertools.product(range(2), range(4)):
        check_tiles("int16", (4, 16), (2, 4), index, programs=1)


@pytest.mark.parametrize("n", [0, 1])
def test_constants_and_run_time_values_in_one_index(n):
    x = random_bits("float32", 8, 16)
    taken, put = np.zeros((4, 8), np.float32), np.zeros_like(x)
    mixed[(1,)](x, taken, put, n, 8, 16, 4, 8)
    expected = x.copy()
    expected[place(x.shape, (4, 8), (0, (n - 1) % 2))] = x[place(x.shape, (4, 8), (n, 1))]
    assert taken.tobytes() == x[place(x.shape, (4, 8), (n, 1))].tobytes()
    assert put.tobytes() == expected.tobytes()


def test_rank_1():
    x, o = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    of_rank_1[(1,)](x, o, 3, 32, 8)
    expected = x.copy()
    expected[16:24] = x[8:16] + x[24:32]
    assert (o == expected).all()


@pytest.mark.parametrize("n", [2, 7])
def test_rank_3(n):
    x = random_bits("float32", 4, 8, 2)
    o = np.zeros_like(x)
    of_rank_3[(1,)](x, o, n, 4, 8, 2)
    expected = x.copy()
    expected[place(x.shape, (2, 2, 2), n)] = x[place(x.shape, (2, 2, 2), (1, n % 4, 0))]
    assert o.tobytes() == expected.tobytes()


def test_tiles_of_pointers():
    x, o = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    of_pointers[(1,)](x, o, 3, 16, 4)
    assert (o == np.concatenate([x[:12], x[:4]])).all()
