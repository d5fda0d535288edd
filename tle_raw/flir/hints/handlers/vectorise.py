"""``vectorise`` and ``vectorise=N``: a promise that the addresses of an access come in aligned runs of N elements.

It is that of ``tl.max_contiguous`` with ``tl.multiple_of``, along the last dim, said of the access. Where it is broken
the GPU reports a misaligned address, or reads what stands beside.
"""

from __future__ import annotations

import re

from tle_raw.flir.hints.operation import HintedOperation

_POINTERS = re.compile(r"tensor<(?P<shape>(?:\d+x)+)!tt\.ptr<(?P<element>[\w.]+)(?:, \d+)?>>")
_BITS = re.compile(r"\d+")
_BYTES_AT_ONCE = 16
_DIGITS = 7  # of the largest block that Triton has
_SMALL_FLOATS = "f8"


class Vectorise:
    """Without a number: as many elements as 16 bytes hold."""

    name, also = "vectorise", ("vectorize",)
    operations = ("tt.load", "tt.store")
    targets = ("cuda",)

    def expected(self, value: str) -> str:
        is_number = value.isascii() and value.isdecimal() and len(value) <= _DIGITS
        is_power = is_number and int(value) > 1 and int(value) & (int(value) - 1) == 0
        return "" if not value or is_power else "nothing, or a power of two from 2 on"

    def proof(self, target: str, value: str) -> str:
        return r"\.v[248]\.|\.[bufs]64$|\.[bufs]128$"

    def apply(self, operation: HintedOperation, value: str) -> str:
        access = operation.read()
        match = _POINTERS.fullmatch(access.types[0])
        if match is None:
            return "it is no access to a block of pointers"
        shape = [int(dim) for dim in match["shape"].split("x") if dim]
        size = _bytes_of(match["element"])
        run = min(int(value or 0) or max(1, _BYTES_AT_ONCE // size), shape[-1])
        maker = operation.module.maker_of(access.operands[0])
        if maker is None or operation.module.last_line(maker) != maker:
            return "its pointers are computed elsewhere: put it where they are, as tl.max_contiguous"
        made = HintedOperation(operation.module, maker)
        if made.attribute("tt.contiguity") or made.attribute("tt.divisibility"):
            return "its pointers say how they lie themselves"
        made.set_attributes(
            {
                "tt.contiguity": _dense([*(1 for _ in shape[1:]), run]),
                "tt.divisibility": _dense([*(size for _ in shape[1:]), run * size]),
            }
        )
        return ""


def _bytes_of(element: str) -> int:
    if element.startswith(_SMALL_FLOATS):
        return 1
    bits = _BITS.search(element)
    return max(1, int(bits[0]) // 8) if bits else 1


def _dense(values: list[int]) -> str:
    text = f"{values[0]}" if len(set(values)) == 1 else f"[{', '.join(map(str, values))}]"
    return f"dense<{text}> : tensor<{len(values)}xi32>"
