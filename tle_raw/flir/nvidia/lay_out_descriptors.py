"""Tensor descriptors of kernels with partitions get their layouts before Triton gives them theirs.

Triton's pass for them follows a descriptor from the kernel's argument to its uses, but not into partitions: those would
keep the type without a layout, and the kernel no longer verify. So the types are completed here, with what Triton
chooses itself: the layout of the buffer that a copy fills, else the widest swizzle that a row has room for.
"""

from __future__ import annotations

import re

from tle_raw.errors import LayoutError, Row
from tle_raw.flir.nvidia.buffer_types import PREFIX, element_bits
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.text import split_top_level
from tle_raw.regions.swizzles import widest_swizzle

_COPY = "ttng.async_tma_copy_global_to_local"
_PLAIN = re.compile(r"!tt\.tensordesc<(?P<tensor>tensor<)?(?P<dims>(?:\d+x)+)(?P<element>\w+)>(?(tensor)>)")


def lay_out_descriptors(text: str) -> tuple[str, int]:
    """TritonGPU text whose descriptors of matrices have layouts, and how many types there are.

    Raises
    ------
    LayoutError : copies by descriptors of one type go into buffers of different layouts.
    """
    wanted = _copied(text)
    found = {match[0]: match for match in _PLAIN.finditer(text)}
    made = 0
    for plain, match in found.items():
        dims = [int(dim) for dim in match["dims"][:-1].split("x")]
        layout = wanted.get(plain) or (_layout(dims, match["element"]) if len(dims) == 2 else "")
        if layout:
            made += 1
            inside = f"{match['dims']}{match['element']}, {layout}"
            text = text.replace(
                plain, f"!tt.tensordesc<tensor<{inside}>>" if match["tensor"] else f"!tt.tensordesc<{inside}>"
            )
    return text, made


def _copied(text: str) -> dict[str, str]:
    """The layouts of buffers that copies by descriptors fill, by the descriptor's type."""
    wanted: dict[str, str] = {}
    for copy in (read_generic(line) for line in text.splitlines() if f'"{_COPY}"(' in line):
        buffer = [type_ for type_ in copy.types if type_.startswith(PREFIX)][-1]
        layout = split_top_level(buffer.removeprefix(PREFIX)[:-1])[1].strip()
        if wanted.setdefault(copy.types[0], layout) != layout:
            raise LayoutError(
                "two copies by descriptors of one type go into buffers of different layouts",
                table=[Row("layout", wanted[copy.types[0]], layout)],
                hint="give the buffers one layout: tle.gpu.alloc's own",
            )
    return wanted


def _layout(dims: list[int], element: str) -> str:
    bits = element_bits(element)
    width = widest_swizzle(dims, bits)
    return f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = false, elementBitWidth = {bits}}}>"
