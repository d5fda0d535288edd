"""Edits of TileLang's text that put shared buffers of the caller in the place of those that the kernel has.

TileLang writes, of an operand ``a`` of its products::

    __shared__ __align__(16) bfloat16_t a[16384];
    ...
    tl::initialize_wgmma_descriptor<1, 1, 64>(desc_a, (&(a[0])));

The memory becomes a parameter. The descriptor's first number says how the tile lies: as the caller's does, or the
kernel is refused, and so is one that touches the memory in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.adapters.cpp.tokens import Token
from tle_raw.adapters.tilelang.linked.caller_barriers import Span
from tle_raw.adapters.tilelang.named_buffers import NamedBuffer
from tle_raw.errors import Row, UnsupportedFeatureError

_DESCRIBE = "initialize_wgmma_descriptor"
_SWIZZLES = {"1": 128, "2": 64, "3": 32}  # bytes, by the number in a descriptor
_REACH = 24  # tokens, at most, from a descriptor's function to the address it gets


def parameter(name: str) -> str:
    """The parameter of the device function that holds a buffer's address."""
    return f"tle_raw_buffer_{name}"


def caller_buffers(body: Sequence[Token], buffers: Sequence[NamedBuffer]) -> Iterator[Span]:
    """The edits of a kernel's body.

    Raises
    ------
    UnsupportedFeatureError : the kernel does not read a buffer by ``wgmma``, or not in the caller's layout.
    """
    texts = [token.text for token in body]
    for buffer in buffers:
        uses = [at for at, text in enumerate(texts) if text == buffer.name]
        made = next((at for at in uses if texts[at + 1] == "[" and "__shared__" in texts[max(0, at - 8) : at]), -1)
        if made < 0:
            raise _refused(buffer, "is not in shared memory by itself")
        first = next(at for at in range(made, -1, -1) if texts[at] == "__shared__")
        element = texts[made - 1]
        last = texts.index(";", made)
        yield Span(first, last, f"{element}* const {buffer.name} = ({element}*){parameter(buffer.name)};")
        for at in uses:
            if at != made:
                _check(texts, at, buffer)


def _check(texts: Sequence[str], at: int, buffer: NamedBuffer) -> None:
    """A use of it is the address of a descriptor for its own layout."""
    start = next((i for i in range(at, max(-1, at - _REACH), -1) if texts[i] == _DESCRIBE), -1)
    if start < 0 or ";" in texts[start:at] or texts[at + 1 : at + 4] != ["[", "0", "]"]:
        raise _refused(buffer, "is touched otherwise than by wgmma")
    found = _SWIZZLES.get(texts[start + 2], 0)
    if found != buffer.swizzle:
        raise _refused(buffer, "lies in another layout", Row("swizzle in bytes", str(buffer.swizzle), str(found)))


def _refused(buffer: NamedBuffer, why: str, *table: Row) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"`{buffer.name}` of buffers= {why} in what TileLang makes of the kernel",
        table=list(table),
        hint="it is an operand of T.gemm on sm_90, with 128 threads or more; what else there is stays TileLang's own",
    )
