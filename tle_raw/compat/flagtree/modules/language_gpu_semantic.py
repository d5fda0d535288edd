"""``triton.experimental.tle.language.gpu.semantic``: FlagTree's checks of arguments, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.errors import CallError, Row
from tle_raw.frontends.lite.arguments import describe_value, plain

__all__ = ["TLESemantic", "TLESemanticError"]


class TLESemanticError(CallError):
    """An argument of ``alloc`` or ``copy`` is not what it should be."""


class TLESemantic:
    """The checks of ``alloc``. Kernels need none: the functions of ``tle.gpu`` check their arguments themselves."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def validate_alloc_shape(self, shape: Sequence[Any]) -> list[int]:
        """The dims as numbers.

        Raises
        ------
        TLESemanticError : there is none, or one is no positive integer.
        """
        dims = [plain(dim) for dim in shape]
        if not dims or any(not isinstance(dim, int) or isinstance(dim, bool) or dim <= 0 for dim in dims):
            raise TLESemanticError(
                "alloc: a buffer has dims, which are positive integers",
                table=[Row("shape", "integers from 1 on", str(dims))],
            )
        return dims

    def validate_alloc_dtype(self, dtype: Any) -> Any:
        """The dtype, if it is one.

        Raises
        ------
        TLESemanticError : it is none of Triton's.
        """
        if not isinstance(dtype, core.dtype):
            raise TLESemanticError(
                "alloc: dtype is one of Triton's", table=[Row("dtype", "tl.float32, …", describe_value(dtype))]
            )
        return dtype
