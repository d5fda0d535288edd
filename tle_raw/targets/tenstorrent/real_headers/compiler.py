"""clang and lld of the wheel ``ziglang``, set up for the RISC-V cores of a card; no package of the system is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_process import GIB, Finished, Limits, run_child
from tle_raw.linker.tools.wheels import package_folder
from tle_raw.targets.tenstorrent.real_headers.wheel import Wheel

STAND_INS = Path(__file__).with_name("stand_ins")
_LIMITS = Limits(120, 2 * GIB)
# Where code that the vendor's headers need stands in the wheel, for the names that it has in paths there.
_LONG = {"wormhole": "wormhole_b0", "blackhole": "blackhole"}
_BANKS = {"wormhole": (12, 72), "blackhole": (7, 140)}  # of DRAM and of L1, in the firmware that is linked
_MARCH = {"wormhole": "rv32im", "blackhole": "rv32im_zaamo_zba_zbb"}
# libc++ takes from its builder what it may use; of an operating system there is nothing here.
_LIBRARY = {
    "ABI_VERSION": "1",
    "ABI_NAMESPACE": "__1",
    "HARDENING_MODE": "_LIBCPP_HARDENING_MODE_NONE",
    "HAS_MUSL_LIBC": "1",
    **dict.fromkeys(
        [
            "HAS_THREADS",
            "HAS_MONOTONIC_CLOCK",
            "HAS_TERMINAL",
            "HAS_FILESYSTEM",
            "HAS_RANDOM_DEVICE",
            "HAS_LOCALIZATION",
            "HAS_UNICODE",
            "HAS_WIDE_CHARACTERS",
            "HAS_TIME_ZONE_DATABASE",
            "HAS_VENDOR_AVAILABILITY_ANNOTATIONS",
        ],
        "0",
    ),
}


@dataclass(frozen=True)
class Compiler:
    """The compiler for one architecture against the headers of one wheel.

    ``text`` says for cores where their kernels' code begins; by default that is behind the firmware.
    """

    zig: Path
    wheel: Wheel
    architecture: str
    text: Mapping[str, int] = field(default_factory=dict)

    def compile(self, source: Path, options: Sequence[str], output: Path | None, folder: Path) -> Finished:
        """Compile a file of the vendor's; without an ``output`` only its errors are of interest."""
        result = ["-c", "-o", str(output)] if output else ["-fsyntax-only"]
        command = [
            str(self.zig),
            "clang",
            *self._options(source.suffix),
            *options,
            *self._includes(folder),
            *result,
            str(source),
        ]
        return run_child(command, limits=_LIMITS, folder=folder)

    def link(self, objects: Sequence[Path], core: str, output: Path, folder: Path) -> Finished:
        """Link a kernel with the wheel's script for its core, and the symbols of the wheel's firmware."""
        pages = ["-z", "max-page-size=16", "-z", "common-page-size=16"]
        script = ["-T", str(self._script(core, folder))]
        symbols = [f"--just-symbols={self.wheel.firmware(self.architecture, core)}"]
        command = [str(self.zig), "ld.lld", "-m", "elf32lriscv", *pages, *script, *symbols]
        return run_child([*command, *map(str, objects), "-o", str(output)], limits=_LIMITS, folder=folder)

    def _script(self, core: str, folder: Path) -> Path:
        script = self.wheel.linker_script(self.architecture, core)
        if core not in self.text:
            return script
        moved = folder / script.name
        moved.write_text(script.read_text().replace(".text __fw_export_text_end :", f".text {self.text[core]:#x} :"))
        return moved

    def source(self, path: str) -> Path:
        """A file of the wheel's ``tt_metal``; ``{arch}`` stands for the architecture."""
        return self.wheel.metal / path.format(arch=self.architecture)

    def _options(self, kind: str) -> list[str]:
        target = ["--target=riscv32-unknown-elf", f"-march={_MARCH[self.architecture]}", "-mabi=ilp32", "-std=c++20"]
        code = ["-fno-exceptions", "-fno-rtti", "-fno-use-cxa-atexit", "-ffast-math", "-fno-sanitize=all", "-O2"]
        quiet = ["-w", "-ferror-limit=40"]
        first = ["-include", str(STAND_INS / "tensix_instruction.h"), "-include", "cstddef"]
        library = [f"-D_LIBCPP_{name}={value}" for name, value in _LIBRARY.items()]
        if kind == ".S":
            return [*target, *quiet, "-nostdinc", *self._defines()]
        return [*target, *code, *quiet, "-nostdinc", *first, "-D__linux__", "-D_GNU_SOURCE", *library, *self._defines()]

    def _defines(self) -> list[str]:
        defines = ["TENSIX_FIRMWARE", "LOCAL_MEM_EN=0", "KERNEL_BUILD", f"ARCH_{self.architecture.upper()}"]
        defines += ["DISPATCH_MESSAGE_ADDR=0", "PROGRAMMABLE_CORE_TYPE=0", "ROUTING_FW_ENABLED"]
        defines += ["PCIE_NOC_X=0", "PCIE_NOC_Y=3"]
        for kind, count in zip(("DRAM", "L1"), _BANKS[self.architecture]):
            defines.append(f"NUM_{kind}_BANKS={count}")
            is_power = count & (count - 1) == 0
            exponent = f"LOG_BASE_2_OF_NUM_{kind}_BANKS={count.bit_length() - 1}"
            defines.append(exponent if is_power else f"IS_NOT_POW2_NUM_{kind}_BANKS=1")
        return [f"-D{each}" for each in defines]

    def _includes(self, folder: Path) -> list[str]:
        architecture, long, metal = self.architecture, _LONG[self.architecture], self.wheel.metal
        kernels, llk = metal / f"hw/ckernels/{long}/metal", metal / "tt-llk"
        inner = metal / "hw/inc/internal/tt-1xx"
        own = [folder, STAND_INS]
        vendor = [self.wheel.folder / "ttnn", metal, metal / "hw/inc", metal / "hostdevcommon/api", metal / "api"]
        vendor += [kernels / "common", kernels / "llk_io", kernels / "llk_api", kernels / "llk_api/llk_sfpu"]
        vendor += [inner, inner / architecture, inner / architecture / f"{long}_defines", inner / architecture / "noc"]
        vendor += [
            llk / f"tt_llk_{long}/common/inc",
            llk / f"tt_llk_{long}/llk_lib",
            llk / "common",
            llk,
            llk / "tools/include",
        ]
        vendor += [metal / "hw/firmware/src/tt-1xx"]
        zig = self.zig.parent / "lib"
        musl = [zig / "libc/include/riscv32-linux-musl", zig / "libc/include/generic-musl"]
        system = [zig / "libcxx/include", zig / "include", *musl]
        return [*(f"-I{each}" for each in own + vendor), *(word for each in system for word in ("-isystem", str(each)))]


def find_compiler(wheel: Wheel, architecture: str) -> Compiler:
    """The compiler for an architecture.

    Raises
    ------
    ToolchainError : the wheel ``ziglang`` is not installed.
    """
    folder = package_folder("ziglang")
    if folder is None or not (folder / "zig").exists():
        raise ToolchainError("no clang for the cores of a Tenstorrent card was found", hint="pip install ziglang")
    return Compiler(folder / "zig", wheel, architecture)
