"""Every function of the library, for every dtype, against NumPy in double precision: check.py [NAME...].

On the GPU, or else on the CPU. ``--types 2`` takes two dtypes of each function, ``--part 0/4`` the first of four parts.
``--packed`` takes the installed library ``tle_primitives``, not the sources, with the sizes that it is packed for.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

sys.path.insert(0, str(Path(__file__).parent))
import primitive_kernels as kernels
import references

from tle_raw.errors import LibraryError, OverloadError

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
ALL = (*INTEGERS, *FLOATS)
PAIRED = ("i32", "u32", "i64", "f16", "bf16", "f32")
# Elements of a tile, warps of the block: fewer elements than threads, as many as 16 a thread; of rows M and N.
BLOCKS = ((1024, 4), (2048, 8), (64, 4), (512, 1), (16, 2), (4096, 8))
TILES = ((32, 32, 4), (8, 128, 2), (4, 8, 4), (16, 256, 8), (1, 64, 1))
SMALL = ((1024, 4), (2048, 8), (64, 4), (512, 1))
PACKED_BLOCKS, PACKED_TILES = ((1024, 4), (2048, 4)), ((32, 32, 4), (32, 128, 4))


@dataclass(frozen=True)
class Case:
    """A function with a dtype: ``run(random, function, number)`` raises AssertionError where its numbers are wrong."""

    name: str
    dtype: str
    run: Callable[[np.random.Generator, Any, int], None]


def device() -> Any:
    return triton.runtime.driver.active.get_active_torch_device()


def to_device(array: np.ndarray, dtype: str) -> Any:
    tensor = torch.from_numpy(np.array(array))  # a copy
    return (tensor.bfloat16() if dtype == "bf16" else tensor).to(device())


def empty(shape: tuple[int, ...], dtype: str) -> Any:
    """Filled with ones: what a kernel does not write is seen."""
    array = np.full(shape, 1, references.NUMPY[dtype])
    return to_device(array, dtype)


def back(tensor: Any) -> np.ndarray:
    tensor = tensor.cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


PROGRAMS = 3


def scan(random, function, number, dtype, operator, inclusive, rows):
    fill = references.none_of(operator, dtype)
    if rows:
        m, n, warps = TILES[number % len(TILES)]
        shape, sizes, kernel = (PROGRAMS, m, n), {"M": m, "N": n}, kernels.in_place_rows(function)
    else:
        n, warps = BLOCKS[number % len(BLOCKS)]
        m, shape, sizes, kernel = 1, (PROGRAMS, n), {"N": n}, kernels.in_place(function)
    valid = m * n - 3
    x, y = references.numbers(random, shape, dtype), empty(shape, dtype)
    kernel[(PROGRAMS,)](to_device(x, dtype), y, valid, fill, **sizes, num_warps=warps)
    x.reshape(PROGRAMS, -1)[:, valid:] = fill
    references.check_scan(back(y), x, dtype, operator, inclusive)


def prefix(random, function, number, dtype):
    n, warps = BLOCKS[number % len(BLOCKS)]
    x, y, total = (
        references.numbers(random, (PROGRAMS, n), dtype),
        empty((PROGRAMS, n), dtype),
        empty((PROGRAMS,), dtype),
    )
    kernels.prefix(function)[(PROGRAMS,)](to_device(x, dtype), y, total, n - 3, 0, N=n, num_warps=warps)
    x[:, n - 3 :] = 0
    references.check_scan(back(y), x, dtype, "sum", False)
    references.check_reduction(back(total), x, dtype, "sum")


def reduction(random, function, number, dtype, operator, rows):
    fill = references.none_of(operator, dtype)
    if rows:
        m, n, warps = TILES[number % len(TILES)]
        shape, sizes, kernel = (PROGRAMS, m, n), {"M": m, "N": n}, kernels.reduced_rows(function)
    else:
        n, warps = BLOCKS[number % len(BLOCKS)]
        m, shape, sizes, kernel = 1, (PROGRAMS, n), {"N": n}, kernels.reduced(function)
    valid = m * n - 3
    x, y = references.numbers(random, shape, dtype), empty(shape[:-1], dtype)
    kernel[(PROGRAMS,)](to_device(x, dtype), y, valid, fill, **sizes, num_warps=warps)
    x.reshape(PROGRAMS, -1)[:, valid:] = fill
    references.check_reduction(back(y), x, dtype, operator)


def sort(random, function, number, dtype, rows=False, pairs=False, merge=False, stable=False):
    descending = number % 2
    if rows:
        m, n, warps = TILES[number % len(TILES)]
        shape, sizes = (PROGRAMS, m, n), {"M": m, "N": n}
        make = kernels.sorted_row_pairs if pairs else kernels.sorted_rows
    else:
        n, warps = BLOCKS[number % len(BLOCKS)]
        shape, sizes, make = (PROGRAMS, n), {"N": n}, kernels.sorted_pairs if pairs else kernels.sorted_keys
    x = references.keys(random, shape, dtype)
    if merge:
        halves = x.reshape(*shape[:-1], 2, n // 2)
        x = np.ascontiguousarray(np.sort(halves)[..., :: -1 if descending else 1]).reshape(shape)
    y = empty(shape, dtype)
    sizes |= {"DESCENDING": descending, "num_warps": warps}
    if not pairs:
        make(function)[(PROGRAMS,)](to_device(x, dtype), y, **sizes)
        references.check_sorted(back(y), x, descending)
        return
    values, w = np.arange(x.size, dtype=np.int32).reshape(shape), empty(shape, "i32")
    make(function)[(PROGRAMS,)](to_device(x, dtype), to_device(values, "i32"), y, w, **sizes)
    references.check_sorted(back(y), x, descending)
    references.check_values(back(w), back(y), x, stable)


def topk(random, function, number, dtype):
    n, warps = BLOCKS[number % len(BLOCKS)]
    k = min(n, (32, 8, 128, 1, 16, 512)[number % 6])
    x = references.keys(random, (PROGRAMS, n), dtype)
    y, w = empty((PROGRAMS, k), dtype), empty((PROGRAMS, k), "i32")
    fill = references.none_of("max", dtype)
    kernels.selected(function)[(PROGRAMS,)](to_device(x, dtype), y, w, n - 3, fill, N=n, KEPT=k, num_warps=warps)
    x[:, n - 3 :] = fill
    references.check_topk(back(y), back(w), x, k)


def histogram(random, function, number, dtype, add):
    n, warps = BLOCKS[number % len(BLOCKS)]
    bins = (256, 64, 16)[number % 3]
    low = 0 if dtype[0] == "u" else -5
    x = random.integers(low, min(bins + 7, np.iinfo(references.NUMPY[dtype]).max), (PROGRAMS, n))
    x = x.astype(references.NUMPY[dtype])
    before = random.integers(0, 9, (PROGRAMS, bins)).astype(np.int32) if add else np.zeros((PROGRAMS, bins), np.int32)
    y = to_device(before, "i32") if add else empty((PROGRAMS, bins), "i32")
    make = kernels.counted_on if add else kernels.counted
    make(function)[(PROGRAMS,)](to_device(x, dtype), y, n - 3, 1, N=n, BINS=bins, num_warps=warps)
    x[:, n - 3 :] = 1
    counts = [np.bincount(row[(row >= 0) & (row < bins)], minlength=bins) for row in x.astype(np.int64)]
    np.testing.assert_array_equal(back(y), before + np.array(counts))


def histogram_in_memory(random, function, number, dtype, add):
    """Rows of odd lengths, so that most begin between multiples of 16 bytes."""
    n, warps = BLOCKS[number % len(BLOCKS)]
    bins, n, counted = (256, 64)[number % 2], n + 3, n - 2
    low = 0 if dtype[0] == "u" else -5
    x = random.integers(low, min(bins + 7, np.iinfo(references.NUMPY[dtype]).max), (PROGRAMS, n))
    x = x.astype(references.NUMPY[dtype])
    before = random.integers(0, 9, (PROGRAMS, bins)).astype(np.int32) if add else np.zeros((PROGRAMS, bins), np.int32)
    y = to_device(before, "i32") if add else empty((PROGRAMS, bins), "i32")
    make = kernels.counted_on_in_memory if add else kernels.counted_in_memory
    make(function)[(PROGRAMS,)](to_device(x, dtype), y, counted, N=n, BINS=bins, num_warps=warps)
    rows = x[:, :counted].astype(np.int64)
    counts = [np.bincount(row[(row >= 0) & (row < bins)], minlength=bins) for row in rows]
    np.testing.assert_array_equal(back(y), before + np.array(counts))


def histogram_even(random, function, number, dtype):
    n, warps = BLOCKS[number % len(BLOCKS)]
    bins, low, high = (256, 64, 16)[number % 3], -1.5, 2.5
    x, y = references.numbers(random, (PROGRAMS, n), dtype), empty((PROGRAMS, bins), "i32")
    kernel = kernels.counted_evenly(function)
    kernel[(PROGRAMS,)](to_device(x, dtype), y, low, high, N=n, BINS=bins, num_warps=warps)
    references.check_even(back(y), x, dtype, low, high)


def to_small(random, function, number, dtype, name):
    n, warps = SMALL[number % len(SMALL)]
    length = n // 2 if name == "e2m1" else n
    x, y = references.for_small(random, (PROGRAMS, n), dtype), empty((PROGRAMS, length), "u8")
    make = kernels.converted_to_half if name == "e2m1" else kernels.converted
    sizes = {"N": n, "L": length, "Q": triton.language.uint8}
    make(function)[(PROGRAMS,)](to_device(x, dtype), y, **sizes, num_warps=warps)
    np.testing.assert_array_equal(back(y), references.small_bytes(x, name))


def from_small(random, function, number, dtype, name):
    n, warps = SMALL[number % len(SMALL)]
    length = n // 2 if name == "e2m1" else n
    x = random.integers(0, 256, (PROGRAMS, length)).astype(np.uint8)
    y = empty((PROGRAMS, n), dtype)
    make = kernels.converted_back_from_half if name == "e2m1" else kernels.converted_back
    make(function)[(PROGRAMS,)](to_device(x, "u8"), y, N=n, L=length, num_warps=warps)
    np.testing.assert_array_equal(back(y), references.small_numbers(x, name).astype(references.NUMPY[dtype]))


def pack(random, functions, number, dtype, name):
    n = 256
    x = references.for_small(random, (PROGRAMS * 2 * n,), "f32")
    word, y = empty((PROGRAMS * n,), "u8" if name == "e2m1" else "u16"), empty(x.shape, "f32")
    kernels.packed(*functions)[(PROGRAMS,)](to_device(x, "f32"), word, y, N=n)
    wanted = references.small_bytes(x, name)
    np.testing.assert_array_equal(back(word).view(np.uint8), wanted)
    np.testing.assert_array_equal(back(y), references.small_numbers(wanted, name))


def draw(random, function, number, dtype, what, fill):
    n, warps = SMALL[number % len(SMALL)]
    seed, first = int(random.integers(2**33, 2**62)), int(random.integers(2**31, 2**32 - 2**20))
    if fill:
        y = empty((PROGRAMS * n,), dtype)
        make = kernels.filled_words if what == "words" else kernels.filled
        make(function)[(PROGRAMS,)](y, seed, first, N=n, num_warps=warps)
    else:
        y = empty((PROGRAMS * n * 4,), dtype)
        kernels.drawn(function)[(PROGRAMS,)](y, seed, first, N=n)
    references.check_random(back(y), dtype, what, seed, first)


def fill_memory(random, function, number, dtype, what):
    """One row from an address that is no multiple of 16 bytes on, with a number of elements that is none of 4."""
    n, warps = SMALL[number % len(SMALL)]
    seed, first = int(random.integers(2**33, 2**62)), int(random.integers(2**31, 2**32 - 2**20))
    y = empty((n + 5,), dtype)
    shift = number % 2
    kernels.filled_memory(function)[(1,)](y[shift:], seed, first, n + 3, N=n, num_warps=warps)
    whole = empty((n + 4,), dtype)
    kernels.filled_memory(function)[(1,)](whole, seed, first, n + 4, N=n, num_warps=warps)
    references.check_random(back(whole), dtype, what, seed, first)
    np.testing.assert_array_equal(back(y)[shift : shift + n + 3], back(whole)[:-1])
    assert (np.delete(back(y), slice(shift, shift + n + 3)) == 1).all(), "written beyond the end"


def cases() -> Iterator[Case]:
    def each(named: str, dtypes: tuple[str, ...], run: Callable[..., None], **options: Any) -> Iterator[Case]:
        for dtype in dtypes:
            yield Case(named, dtype, partial(run, dtype=dtype, **options))

    for operator in ("sum", "max", "min"):
        for rows in (False, True):
            row = "row_" if rows else ""
            for kind in ("inclusive", "exclusive"):
                name = f"{row}{kind}_{operator}"
                yield from each(name, ALL, scan, operator=operator, inclusive=kind == "inclusive", rows=rows)
            yield from each(f"{row or 'block_'}{operator}", ALL, reduction, operator=operator, rows=rows)
    yield from each("exclusive_prefix", ALL, prefix)
    for name, options in (("radix_sort", {"stable": True}), ("bitonic_sort", {}), ("row_sort", {"rows": True})):
        yield from each(name, ALL, sort, **options)
        yield from each(name, PAIRED, sort, pairs=True, **options)
    yield from each("bitonic_merge", ALL, sort, merge=True)
    yield from each("row_merge", ALL, sort, merge=True, rows=True)
    yield from each("topk", ALL, topk)
    yield from each("histogram", INTEGERS, histogram, add=False)
    yield from each("histogram_add", INTEGERS, histogram, add=True)
    yield from each("histogram", INTEGERS, histogram_in_memory, add=False)
    yield from each("histogram_add", INTEGERS, histogram_in_memory, add=True)
    yield from each("histogram_even", FLOATS, histogram_even)
    for name in ("e4m3", "e5m2", "e2m1"):
        yield from each(f"to_{name}", FLOATS[:3], to_small, name=name)
        yield from each(f"from_{name}", FLOATS[:3], from_small, name=name)
        yield from each(f"pack_{name}", ("f32",), pack, name=name)
    yield from each("random_word", ("u32",), draw, what="words", fill=False)
    yield from each("fill_words", ("u32",), draw, what="words", fill=True)
    for what in ("uniform", "normal"):
        yield from each(f"random_{what}", ("f32",), draw, what=what, fill=False)
        yield from each(f"fill_{what}", FLOATS, draw, what=what, fill=True)
        yield from each(f"fill_{what}", FLOATS, fill_memory, what=what)
    yield from each("fill_words", ("u32",), fill_memory, what="words")


def functions_of(library: Any, name: str) -> Any:
    """The function of a case, or the three that pack and unpack."""
    if name.startswith("pack_"):
        kind = name.removeprefix("pack_")
        return [getattr(library, each) for each in (name, f"{kind}_low", f"{kind}_high")]
    return getattr(library, name)


def run_packed(case: Case, library: Any, number: int) -> bool:
    """Run it with the first sizes that there is code for; False where there is none."""
    for other in range(number, number + 6):
        try:
            case.run(np.random.default_rng(number), functions_of(library, case.name), other)
            return True
        except triton.CompilationError as error:
            if not isinstance(error.__cause__, (LibraryError, OverloadError)):
                raise
    return False


def chosen(names: list[str], types: int, process: int = 0, processes: int = 1) -> Iterator[tuple[int, Case]]:
    """The cases to run, with their numbers: of each name so many dtypes."""
    everything = list(cases())
    for name in dict.fromkeys(case.name for case in everything):
        own = [(number, case) for number, case in enumerate(everything) if case.name == name]
        step = max(1, len(own) // types) if types else 1
        for number, case in own[sum(map(ord, name)) % step :: step]:
            if (not names or name in names) and number % processes == process:
                yield number, case


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions, by default all")
    parser.add_argument("--types", type=int, default=0, help="dtypes of each function, by default all")
    parser.add_argument("--part", default="0/1", help="0/4: the first of four parts")
    parser.add_argument("--packed", action="store_true", help="the installed library, not the sources")
    options = parser.parse_args()
    if options.packed:
        global BLOCKS, TILES, SMALL
        import tle_primitives as primitives

        BLOCKS, TILES, SMALL = PACKED_BLOCKS, PACKED_TILES, PACKED_BLOCKS
    else:
        from from_source import primitives

    process, processes = map(int, options.part.split("/"))
    done = wrong = 0
    left_out: list[str] = []
    for number, case in chosen(options.names, options.types, process, processes):
        try:
            if not options.packed:
                case.run(np.random.default_rng(number), functions_of(primitives, case.name), number)
            elif not run_packed(case, primitives, number):
                left_out.append(f"{case.name} of {case.dtype}")
                continue
        except Exception as error:
            wrong += 1
            lines = [line for line in str(error).splitlines() if line.strip()]
            print(
                f"WRONG {case.name} {case.dtype} (number {number}): {type(error).__name__}: {' | '.join(lines[:8])}",
                flush=True,
            )
            if not isinstance(error, AssertionError):
                traceback.print_exc(limit=-2)
        done += 1
    print(f"{done} cases, {wrong} wrong on {device()}")
    if left_out:
        print(f"not packed: {', '.join(left_out)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
