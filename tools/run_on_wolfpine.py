"""Runs a generated matrix product on a simulated Wormhole: all five kernels, under the vendor's own firmware.

    pip install --target FOLDER tt-umd wolfpine ml_dtypes
    PYTHONPATH=FOLDER:. python tools/run_on_wolfpine.py

The kernels are compiled by the clang of the wheel `ziglang` against the headers in the wheel `ttnn` (103 MB, downloaded
once), and linked with its firmware. What the vendor's host library does for a launch is done here by hand: the
firmware is loaded and started, and a core gets its tables of banks, its circular buffers, arguments and kernels.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ml_dtypes
import numpy as np
import tt_umd
from framework.sim import simulator_dir

from tests.targets.tenstorrent.hand_made import matrix_product
from tle_raw.targets.tenstorrent.kernel_api import release
from tle_raw.targets.tenstorrent.real_headers import check, find_compiler, find_wheel, trio_of

CORES = ("brisc", "ncrisc", "trisc0", "trisc1", "trisc2")
IRAM, LOCAL = 0xFFC00000, 0xFFB00000  # NCRISC's memory for code; every core's memory for variables
# Where things are put in L1. Kernels are linked for these addresses; the firmware's own lie below.
CONFIGURATION = 0x18000
TEXT = {"brisc": 0x20000, "ncrisc": 0x40000, "trisc0": 0x28000, "trisc1": 0x30000, "trisc2": 0x38000}
QUEUES = {0: 0x50000, 1: 0x58000, 16: 0x60000}
PAGE, PAGES_OF_QUEUE, EXTENT = 2048, 2, 64
ADDRESSES = {"A": 0x4000, "B": 0x8000, "C": 0xC000}  # in each bank of DRAM
# Six channels, two banks in each; the second begins so much later.
CHANNELS = ((0, 11), (0, 5), (5, 1), (5, 2), (5, 8), (5, 5))
SECOND_BANK, BANKS_OF_L1 = 0x10000, 72
GO, INIT, DONE, SLOW_DISPATCH = 0x80, 0x40, 0x00, 1
# The mailboxes at address 16, and fields of a launch message, of release 0.81.1 (hostdev/dev_msgs.h).
MAILBOX, LAUNCH, SIGNAL = 16, 16 + 16, 16 + 1168 + 3
BASES, QUEUE_OFFSET, REMOTE_OFFSET, ARGUMENTS, MODE, TEXT_OFFSETS = 0, 24, 26, 28, 48, 52
QUEUE_MASK, FIRST_REMOTE, ENABLED, NCRISC_SIZE, MESSAGE = 96, 106, 112, 130, 144
# Where the firmware looks for its own data, for what the banks are, and the end of it all.
OWN_DATA = {"brisc": 35168, "ncrisc": 39264, "trisc0": 43360, "trisc1": 45408, "trisc2": 47456}
BANK_TABLE, END = 53600, 56672


def segments(elf: bytes) -> Iterator[tuple[int, int, bytes]]:
    """What is loaded of a file: address at run time, address of loading, bytes."""
    table, count = struct.unpack_from("<I", elf, 28)[0], struct.unpack_from("<H", elf, 44)[0]
    for index in range(count):
        kind, offset, run, load, size = struct.unpack_from("<5I", elf, table + 32 * index)
        if kind == 1 and size:
            yield run, load, elf[offset : offset + size]


class Core:
    """One Tensix core of the simulated card, and the DRAM around it."""

    def __init__(self) -> None:
        self.device = tt_umd.create_simulation_tt_device(simulator_dir("wormhole"))
        self.place = self.device.get_soc_descriptor().get_cores(tt_umd.CoreType.TENSIX)[0]
        self.device.assert_risc_reset(self.place, tt_umd.RiscType.ALL)

    def write(self, address: int, data: bytes) -> None:
        self.device.noc_write(self.place.x, self.place.y, address, data)

    def signal(self) -> int:
        return bytes(self.device.noc_read(self.place.x, self.place.y, SIGNAL, 1))[0]

    def wait(self, seconds: float) -> float:
        """Until the firmware says that it is done; how long that took."""
        start = time.time()
        while self.signal() != DONE:
            if time.time() - start > seconds:
                sys.exit(f"not done after {seconds} s")
            time.sleep(0.05)
        return time.time() - start

    def boot(self, firmware: dict[str, bytes]) -> float:
        """Load the firmware and start BRISC, which starts the others."""
        self.write(0, bytes(END))
        for core, elf in firmware.items():
            for run, _, data in segments(elf):
                self.write(OWN_DATA[core] + run - LOCAL if run >= LOCAL else run, data)
        start = next(run for run, _, _ in segments(firmware["brisc"]))
        self.write(0, struct.pack("<I", jump(start)))
        self.write(BANK_TABLE, self._banks())
        self.write(SIGNAL, bytes([INIT]))
        self.device.deassert_risc_reset(self.place, tt_umd.RiscType.BRISC)
        return self.wait(60)

    def _banks(self) -> bytes:
        own = coordinates(self.place.x, self.place.y)
        table = [coordinates(*channel) for channel in CHANNELS] * 2 * 2  # two banks a channel, two networks
        table += [own] * BANKS_OF_L1 * 2
        offsets = [0] * len(CHANNELS) + [SECOND_BANK] * len(CHANNELS) + [0] * BANKS_OF_L1
        return struct.pack(f"<{len(table)}H{len(offsets)}i", *table, *offsets)

    def page(self, address: int, number: int) -> tuple[int, int, int]:
        """Where a page of an interleaved tensor lies: x, y, address."""
        bank = number % (2 * len(CHANNELS))
        first = SECOND_BANK * (bank // len(CHANNELS)) + number // (2 * len(CHANNELS)) * PAGE
        return *CHANNELS[bank % len(CHANNELS)], address + first

    def upload(self, address: int, pages: list[bytes]) -> None:
        for number, data in enumerate(pages):
            self.device.noc_write(*self.page(address, number), data)

    def download(self, address: int, count: int) -> list[bytes]:
        return [bytes(self.device.noc_read(*self.page(address, number), PAGE)) for number in range(count)]

    def launch(self, kernels: dict[str, bytes], arguments: dict[str, list[int]]) -> float:
        """Load kernels, write arguments, queues and the launch message, and wait for the end."""
        message = bytearray(MESSAGE)
        for elf in kernels.values():
            for _, load, data in segments(elf):
                self.write(load - IRAM + TEXT["ncrisc"] if load >= IRAM else load, data)
        for index, core in enumerate(CORES):
            offset = 0x400 + 0x40 * index
            self.write(CONFIGURATION + offset, struct.pack(f"<{len(arguments[core])}I", *arguments[core]))
            struct.pack_into("<2H", message, ARGUMENTS + 4 * index, offset, 0x800)
            struct.pack_into("<I", message, TEXT_OFFSETS + 4 * index, TEXT[core] - CONFIGURATION)
        for number, address in QUEUES.items():
            words = (address, PAGES_OF_QUEUE * PAGE, PAGES_OF_QUEUE, PAGE)
            self.write(CONFIGURATION + 16 * number, struct.pack("<4I", *words))
        struct.pack_into("<3I", message, BASES, *[CONFIGURATION] * 3)
        struct.pack_into("<2H", message, QUEUE_OFFSET, 0, 0x300)
        message[MODE], message[FIRST_REMOTE] = SLOW_DISPATCH, 32
        struct.pack_into("<Q", message, QUEUE_MASK, sum(1 << number for number in QUEUES))
        struct.pack_into("<I", message, ENABLED, 0b11111)
        size = sum(len(data) for _, _, data in segments(kernels["ncrisc"]))
        struct.pack_into("<H", message, NCRISC_SIZE, -(-size // 16))
        self.write(LAUNCH, bytes(message))
        self.write(SIGNAL, bytes([GO]))
        return self.wait(120)


def coordinates(x: int, y: int) -> int:
    """As the network's registers have them on Wormhole."""
    return (x | y << 6) << 4


def jump(to: int) -> int:
    """The RISC-V instruction at address 0 that jumps there."""
    return (to >> 20 & 1) << 31 | (to >> 1 & 0x3FF) << 21 | (to >> 11 & 1) << 20 | (to >> 12 & 0xFF) << 12 | 0x6F


def faces(matrix: np.ndarray[Any, Any]) -> list[bytes]:
    """Tiles of 32 x 32, row by row, each as four faces."""
    count = EXTENT // 32
    split = matrix.reshape(count, 2, 16, count, 2, 16).transpose(0, 3, 1, 4, 2, 5)
    return [tile.tobytes() for tile in split.reshape(count * count, -1)]


def from_faces(pages: list[bytes]) -> np.ndarray[Any, Any]:
    count = EXTENT // 32
    split = np.frombuffer(b"".join(pages), ml_dtypes.bfloat16).reshape(count, count, 2, 2, 16, 16)
    return split.transpose(0, 2, 4, 1, 3, 5).reshape(EXTENT, EXTENT)


def main() -> None:
    table = release()
    wheel = find_wheel(table.name)
    firmware = {core: (wheel.folder / "firmware/wormhole" / f"{core}.elf").read_bytes() for core in CORES}
    module = matrix_product(EXTENT, EXTENT, EXTENT, cores=(1, 1))
    linked_at = {core: address for core, address in TEXT.items() if core != "ncrisc"}
    compiler = replace(find_compiler(wheel, "wormhole"), text=linked_at)
    with TemporaryDirectory() as folder:
        outcomes = check(trio_of(module, table), compiler, table, folder=Path(folder))
        print(", ".join(f"{each.program.name} {each.state}" for each in outcomes))
        kernels = {core: Path(folder, core, "kernel.elf").read_bytes() for core in CORES}
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((EXTENT, EXTENT)).astype(ml_dtypes.bfloat16) for _ in range(2))
    values = module.cores[0].values
    core = Core()
    print(f"the firmware started in {core.boot(firmware):.1f} s")
    core.upload(ADDRESSES["A"], faces(a))
    core.upload(ADDRESSES["B"], faces(b))
    words = {
        role: [
            ADDRESSES[each.source] if each.kind == "address" else values[each.source] for each in kernel.runtime_args
        ]
        for role, kernel in module.kernels.items()
    }
    by_core = dict(zip(CORES, (words["reader"], words["writer"], *[words["compute"]] * 3)))
    print(f"the kernels ran for {core.launch(kernels, by_core):.1f} s")
    computed = from_faces(core.download(ADDRESSES["C"], (EXTENT // 32) ** 2)).astype(np.float64)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    error = float(np.abs(computed - expected).max() / np.abs(expected).max())
    print(f"largest error relative to the largest value: {error:.1e}")
    sys.exit(error > 2**-8)


if __name__ == "__main__":
    main()
