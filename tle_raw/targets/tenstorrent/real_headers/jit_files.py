"""What the vendor's host library writes beside a kernel before it compiles it: the formats of the circular buffers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tle_raw.targets.tenstorrent.formats import TILE_BYTES

BUFFERS = 64
# tt::DataFormat
NUMBERS = {"Float32": 0, "Float16": 1, "Bfp8": 2, "Bfp4": 3, "Float16_b": 5, "Bfp8_b": 6, "Bfp4_b": 7, "Int32": 8}
NUMBERS |= {"UInt16": 9, "UInt32": 24, "UInt8": 30}
UNUSED = 255


def write_jit_files(folder: Path, kernel: Path, formats: Mapping[int, str], *, fp32_registers: bool) -> None:
    """Write them for a kernel.

    Parameters
    ----------
    folder : where the compiler looks first.
    kernel : the kernel's source.
    formats : of circular buffers, by their numbers.
    fp32_registers : whether an element of DST has 32 bits.
    """
    (folder / "defines_generated.h").write_text("")
    (folder / "kernel_includes.hpp").write_text(f'#include "{kernel}"\n')
    (folder / "chlkc_descriptors.h").write_text(_descriptors(formats, fp32_registers))
    for part in ("unpack", "math", "pack"):
        (folder / f"chlkc_{part}.cpp").write_text(f'#include "defines_generated.h"\n#include "{kernel}"\n')


def _descriptors(formats: Mapping[int, str], fp32_registers: bool) -> str:
    codes = [NUMBERS[formats[number]] if number in formats else UNUSED for number in range(BUFFERS)]
    sizes = [TILE_BYTES[formats[number]] if number in formats else 0 for number in range(BUFFERS)]
    lines = [
        "#pragma once",
        '#include "llk_defs.h"',
        f"constexpr bool DST_ACCUM_MODE = {str(fp32_registers).lower()};",
        "#define DST_SYNC_MODE DstSync::SyncHalf",
        "constexpr bool APPROX = false;",
        "constexpr ckernel::MathFidelity MATH_FIDELITY = static_cast<ckernel::MathFidelity>(4);",
    ]
    shape = {"num_faces": 4, "face_r_dim": 16, "r_dim": 32, "c_dim": 32, "num_faces_r_dim": 2, "num_faces_c_dim": 2}
    shape |= {"partial_face": 0, "narrow_tile": 0}
    for side, kind in (("unpack", "std::int32_t"), ("pack", "unsigned char")):
        lines += [_table(kind, f"{side}_{end}_format", codes) for end in ("src", "dst")]
        lines += [_table("std::uint8_t", f"{side}_tile_{name}", [value] * BUFFERS) for name, value in shape.items()]
        # Two of them are called otherwise in some releases.
        lines += [_table("std::uint8_t", f"{side}_{name}", [shape[name]] * BUFFERS) for name in tuple(shape)[4:]]
        lines.append(_table("std::uint16_t", f"{side}_tile_size", sizes))
    return "\n".join(lines) + "\n"


def _table(kind: str, name: str, values: list[int]) -> str:
    return f"constexpr {kind} {name}[{BUFFERS}] = {{{', '.join(map(str, values))}}};"
