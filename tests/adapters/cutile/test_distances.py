"""A loop over tiles advances one number for each array, however many addresses a thread has."""

import re

import cuda.tile as ct
import pytest
import torch

from tests.adapters.cutile.arrays import compile_for_gpu

pytestmark = pytest.mark.every_triton(1)

ZERO = ct.PaddingMode.ZERO
Int = ct.Constant[int]


def plus_tile(total, X, j):
    return total + ct.astype(ct.load(X, (j, 0), total.shape, padding_mode=ZERO), ct.float32)


def summed(X, Y, first: Int, rows: Int, columns: Int):
    total = ct.zeros((rows, columns), ct.float32)
    for j in range(first, ct.num_tiles(X, axis=0, shape=(rows, columns))):
        total = plus_tile(total, X, j)
    ct.store(Y, (0, 0), total)


def whole(X, Y, first: Int, rows: Int, columns: Int):
    total = ct.zeros((rows, columns), ct.float32)
    for j in range(first, X.shape[0] // rows):
        total = plus_tile(total, X, j)
    ct.store(Y, (0, 0), total)


def from_below(X, Y, first: Int, rows: Int, columns: Int):
    total = ct.zeros((rows, columns), ct.float32)
    for j in range(-1, ct.num_tiles(X, axis=0, shape=(rows, columns))):
        total = plus_tile(total, X, j)
    ct.store(Y, (0, 0), total)


def compiled(function, rows=64, columns=128, dtype=torch.float16):
    x, y = torch.empty(512, columns, dtype=dtype), torch.empty(rows, columns)
    return compile_for_gpu(function, x, y, 0, rows, columns, alone=True).asm


def hidden(asm) -> bool:
    return "elementwise_inline_asm" in asm["ttir"]


def loop_of(ptx: str) -> str:
    (found,) = re.findall(r"^(\$L__BB0_\d+):(.*?)bra\s+\1;", ptx, re.MULTILINE | re.DOTALL)
    return found[1]


@pytest.mark.parametrize("function", [summed, whole])
def test_one_number_is_advanced(function):
    """Else the addresses of all eight copies of a thread are; what they have in common is then added to each."""
    asm = compiled(function)
    loop = loop_of(asm["ptx"])
    assert hidden(asm)
    assert loop.count("ld.global.v4") == 8
    assert len(re.findall(r"add\.s64\s+(%rd\d+), \1,", loop)) == 2  # the count, and the rows before the tile
    assert not re.search(r"\bm(ul|ad)\.(lo|wide)", loop)


@pytest.mark.parametrize(
    "rows, dtype, expected",
    [
        (4, torch.float32, True),
        (2, torch.float32, False),  # Triton would not see that a row begins at a multiple of 16 bytes
        (1, torch.float16, False),
        (8, torch.float16, True),
        (8, torch.int8, False),
        (16, torch.int8, True),
    ],
)
def test_copies_stay_as_wide(rows, dtype, expected):
    asm = compiled(summed, rows, 1024, dtype)
    assert hidden(asm) == expected
    assert "ld.global.v4" in loop_of(asm["ptx"])


def test_other_loops_are_left_to_llvm():
    """A tile with a negative number is not there."""
    for function, type_ in ((summed, "i64"), (from_below, "i32")):
        asm = compiled(function)
        (head,) = (line for line in asm["ttir"].splitlines() if "scf.for" in line)
        assert f" : {type_} {{" in head
        assert hidden(asm) == (type_ == "i64")
