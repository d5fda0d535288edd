"""A whole CUDA kernel with so few registers that more of its blocks run at a time, where that costs nothing.

ptxas takes what registers it likes. Where a few less let another block run on each multiprocessor, and the kernel then
has no more stack and hardly more instructions, it is assembled with that limit: more loads are under way at a time.
causal-conv1d's update has 38 registers, so that 25 of 32 blocks run; with 32 it took 0.88 of its time on an H200, and
three others whose blocks became more did not change by half a per cent (samples/benchmarks/RESULTS.md). One whose code
became 1.07 times as long took 1.04 of its time. Where a quarter more blocks run, a few words of stack pay, too: vllm's
form of that kernel spills two, and took 0.91 of its time. A kernel that says itself how many blocks or registers it
wants (``__launch_bounds__``, ``maxnreg=``) stays as it is.
``TLE_RAW_DISABLE_PASSES=raise-occupancy`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tle_raw.linker.machine_code.resources import read_resources

_THREADS = re.compile(r"^\.reqntid (\d+)(?:, (\d+))?(?:, (\d+))?$", re.MULTILINE)
_LIMITED = (".maxnreg", ".minnctapersm")
_WARP, _STEP = 32, 8  # registers of a thread come in eights
_MOST, _FEWEST = 64, 24  # registers before, and with the limit
_SHARE, _LONGER = 0.8, 1.05  # of the registers that are left, and how much longer the code may be
_MANY, _WORDS = 1.25, 16  # times as many blocks pay for so many bytes of stack
_QUARTER = 16384  # registers of each of a multiprocessor's four parts


class _Multiprocessor(NamedTuple):
    """Warps, blocks and bytes of shared memory that fit; a block takes a kilobyte of them more than it has."""

    warps: int
    blocks: int
    shared: int


# From the CUDA C++ Programming Guide, table of compute capabilities.
_LARGE = _Multiprocessor(64, 32, 233472)
_MULTIPROCESSORS = {
    80: _Multiprocessor(64, 32, 167936),
    86: _Multiprocessor(48, 16, 102400),
    89: _Multiprocessor(48, 24, 102400),
    **dict.fromkeys((90, 100, 103), _LARGE),
}


def raise_occupancy(
    ptx: str, cubin: bytes, capability: int, shared: int, assemble: Callable[[str], bytes]
) -> bytes | None:
    """The kernel's machine code with fewer registers; None where it stays as it is.

    Parameters
    ----------
    ptx, cubin : the kernel, and what ptxas made of it.
    shared : the bytes of its shared memory.
    assemble : makes machine code of PTX, as for ``cubin``.
    """
    processor, threads = _MULTIPROCESSORS.get(capability), _THREADS.search(ptx)
    has = read_resources(cubin)
    if processor is None or threads is None or has is None or any(word in ptx for word in _LIMITED):
        return None
    if has.registers > _MOST:
        return None
    warps = -(-_product(threads) // _WARP)
    now = _blocks(processor, has.registers, warps, shared)
    for limit in range((has.registers - 1) // _STEP * _STEP, _FEWEST - 1, -_STEP):
        if limit < _SHARE * has.registers:
            break
        blocks = _blocks(processor, limit, warps, shared)
        if blocks <= now:
            continue
        stack = has.stack + (_WORDS if blocks >= _MANY * now else 0)
        made = assemble(_THREADS.sub(rf"\g<0>\n.maxnreg {limit}", ptx, count=1))
        gets = read_resources(made)
        if gets is not None and gets.stack <= stack and gets.code <= _LONGER * has.code:
            return made
    return None


def _product(threads: re.Match[str]) -> int:
    x, y, z = (int(number or 1) for number in threads.groups())
    return x * y * z


def _blocks(processor: _Multiprocessor, registers: int, warps: int, shared: int) -> int:
    """How many blocks run at a time: registers are given to warps, by 256, and a warp stays in one part."""
    a_warp = -(-registers * _WARP // 256) * 256
    by_registers = 4 * (_QUARTER // a_warp) // warps
    return min(by_registers, processor.warps // warps, processor.blocks, processor.shared // (shared + 1024))
