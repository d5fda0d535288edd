"""The buffers of ``buffers=[…]``: a shared buffer of the Triton kernel takes the place of one of ``T.alloc_shared``.

The region multiplies what others have brought there. It is an operand of ``T.gemm``, and nothing else touches it: of
such tiles it is known that both sides have them in one layout, the tensor cores' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.adapters.tilelang.dtypes import dtype_of
from tle_raw.adapters.tilelang.named_locals import named_local
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.errors import Row, SignatureError
from tle_raw.fragments.dtypes import DType

SCOPE, _PLACED = "shared", "shared.dyn"
FILLED_BY_OTHERS = "tl.disable_buffer_init_check"  # TileLang's word for it
ROWS = (32, 64, 128)  # bytes of a row, which the swizzle is as wide as


@dataclass(frozen=True)
class NamedBuffer:
    """Its dtype and the dims of a matrix. Of several, the slots of a ring, the caller passes the first."""

    name: str
    dtype: DType
    dims: tuple[int, ...]

    @property
    def swizzle(self) -> int:
        """The bytes of a row."""
        return self.dims[-1] * self.dtype.bits // 8


def find_named_buffers(program: Program, names: Sequence[str]) -> dict[str, NamedBuffer]:
    """The named buffers, as the kernel allocates them.

    Raises
    ------
    SignatureError : no such buffer, one that TileLang places beside others, or one whose rows are too wide.
    """
    return {name: _find(program, name) for name in names}


def _find(program: Program, name: str) -> NamedBuffer:
    buffer = named_local(program, "buffers=", name, (SCOPE, _PLACED), "shared buffer")
    if str(buffer.scope()) != SCOPE:
        raise SignatureError(
            f"`{name}` of buffers= is a part of the memory that TileLang divides",
            table=[Row("scope", SCOPE, str(buffer.scope()))],
            hint=f'T.alloc_shared(..., scope="{SCOPE}") gives it memory of its own, which the kernel has',
        )
    dims = tuple(constant(extent) or 0 for extent in buffer.shape)
    given = NamedBuffer(name, dtype_of(buffer.dtype), dims[-2:])
    if len(dims) < 2 or not all(dims) or given.swizzle not in ROWS:
        raise SignatureError(
            f"`{name}` of buffers= is no operand that both sides have in one layout",
            table=[Row("bytes of a row", " or ".join(map(str, ROWS)), str(given.swizzle))],
        )
    return given
