# Written by `tle-raw pack`.
from typing import overload

import triton.language as tl

__version__: str
__all__: list[str]

def softplus(x: tl.tensor) -> tl.tensor:
    """The logarithm of 1 + exp(x).

    softplus(x: Element[f32]) -> Element[f32]
    """

@overload
def clip(x: tl.tensor, low: tl.tensor, high: tl.tensor) -> tl.tensor:
    """x, but not below low and not above high.

    clip(x: Element[f32], low: Element[f32], high: Element[f32]) -> Element[f32]
    """

@overload
def clip(x: tl.tensor, low: tl.tensor, high: tl.tensor) -> tl.tensor:
    """x, but not below low and not above high.

    clip(x: Element[i32], low: Element[i32], high: Element[i32]) -> Element[i32]
    """

def count_bytes(values: tl.tensor | None, n: tl.tensor | int | float, bins: tl.tensor | None) -> None:
    """Adds to bins[b] how often the byte b stands among the first n of values.

    count_bytes(values: Pointer[u8], n: Scalar[i32], bins: InOut[Pointer[i32]])
    """

def rms_rows(x: tl.tensor, epsilon: tl.tensor | int | float, *, T: tl.dtype = ..., M: int = ..., N: int = ...) -> tl.tensor:
    """Divides each row of x by its root mean square.

    rms_rows(x: InOut[Tile[T, M, N]], epsilon: Scalar[f32])
    """

