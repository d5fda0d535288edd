"""Both forms of a kernel run here, thread after thread or a block's threads at once, on random arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from tests.fuzz.whole_kernels.device_code import PARAMETERS, offsets
from tests.fuzz.whole_kernels.expressions import BLOCKS, THREADS
from tests.fuzz.whole_kernels.programs import Program

MIDDLE = 1 << 16  # an index may be negative: arrays begin so many elements before
LENGTH = 2 * MIDDLE + 4096
INT = ctypes.c_int
ARGUMENTS = (*[ctypes.c_void_p] * 11, *[INT] * 6, *[INT] * 4, ctypes.c_longlong, ctypes.c_float, *[ctypes.c_void_p] * 2)


@dataclass(frozen=True)
class Results:
    words: NDArray[np.uint32]
    floats: NDArray[np.float32]

    def same(self, other: Results) -> bool:
        """To the last bit; a NaN is one whatever its bits."""
        both = np.isnan(self.floats) & np.isnan(other.floats)
        alike = np.where(both, 0, self.floats.view(np.int32)) == np.where(both, 0, other.floats.view(np.int32))
        return np.array_equal(self.words, other.words) and bool(alike.all())


class Warp:
    """What the threads of a block are and do together; a block is one warp."""

    def __init__(self) -> None:
        self.block, self._here = 0, threading.local()
        self._barrier, self._values = threading.Barrier(THREADS), [0] * THREADS
        given: list[tuple[str, Callable[..., int | None], tuple[type, ...]]] = [
            ("tle_thread", lambda: self._here.number, (INT,)),
            ("tle_block", lambda: self.block, (INT,)),
            ("tle_barrier", self._meet, (None,)),
            ("tle_shuffle", self._shuffle, (ctypes.c_uint, INT, ctypes.c_uint, INT, INT)),
            ("tle_ballot", self._ballot, (ctypes.c_uint, INT)),
        ]
        self._kept = [(name, ctypes.CFUNCTYPE(*types)(function)) for name, function, types in given]
        for name, function in self._kept:
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)

    def become(self, thread: int) -> None:
        """The calling thread is that thread of the block."""
        self._here.number = thread

    def end_all(self) -> None:
        """A thread has failed: nobody waits for it."""
        self._barrier.abort()

    def _meet(self) -> None:
        self._barrier.wait(60)

    def _all(self, value: int) -> list[int]:
        self._values[self._here.number] = value
        self._meet()
        values = list(self._values)
        self._meet()
        return values

    def _shuffle(self, how: int, value: int, lane: int, clamp: int) -> int:
        """``shfl.sync`` as PTX defines it."""
        values, own = self._all(value), self._here.number
        segment, most = clamp >> 8 & 31, (own & (clamp >> 8)) | (clamp & 31 & ~(clamp >> 8))
        least, lane = own & segment, lane & 31
        source = (least | (lane & ~segment), own - lane, own + lane, own ^ lane)[how]
        inside = source >= most if how == 1 else source <= most
        return values[source if inside else own]

    def _ballot(self, question: int) -> int:
        return sum(bool(answer) << number for number, answer in enumerate(self._all(question)))


def run(text: str, name: str, program: Program, seed: int) -> Results:
    """What the function of LLVM IR leaves in the two arrays that it writes."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    warp = Warp()
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=1))
    engine.finalize_object()
    arrays = _arrays(seed)
    sizes = (4, 2, 1, 8, 4, 8, 16, 16, 2, 4, 4)  # of an element, in bytes
    starts = [array.ctypes.data + MIDDLE * size for array, size in zip(arrays, sizes, strict=True)]
    random = np.random.default_rng(seed + 1)
    fields = [
        *map(int, random.integers(-5, 6, 1)),
        *map(int, random.integers(0, 6, 3)),
        int(random.integers(-9, 10)),
        0.75,
    ]
    given = [*starts, *program.scalars, *fields]
    if launched := engine.get_global_value_address(PARAMETERS) if f"@{PARAMETERS} " in text else 0:
        for (offset, _), kind, value in zip(offsets(), ARGUMENTS, given, strict=False):
            kind.from_address(launched + offset).value = value
    function = ctypes.CFUNCTYPE(None, *ARGUMENTS)(engine.get_function_address(name))
    for warp.block in range(BLOCKS):
        _run_block(warp, lambda: function(*given, None, None), program.at_once)
    return Results(arrays[9], arrays[10])


def _run_block(warp: Warp, thread: Callable[[], None], at_once: bool) -> None:
    def one(number: int) -> None:
        warp.become(number)
        thread()

    if not at_once:
        for number in range(THREADS):
            one(number)
        return
    threads = [threading.Thread(target=one, args=(number,)) for number in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _arrays(seed: int) -> list[NDArray[np.generic]]:
    random = np.random.default_rng(seed)

    def words(dtype: type, count: int = LENGTH) -> NDArray[np.generic]:
        return np.frombuffer(random.bytes(count * np.dtype(dtype).itemsize), dtype).copy()

    return [
        words(np.int32), words(np.int16), words(np.uint8), words(np.int64),
        random.standard_normal(LENGTH).astype(np.float32),
        words(np.int32, 2 * LENGTH), words(np.int32, 4 * LENGTH), words(np.uint8, 16 * LENGTH), words(np.uint16),
        words(np.uint32), np.zeros(LENGTH, np.float32),
    ]  # fmt: skip
