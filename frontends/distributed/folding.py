"""Numbers of a kernel: constants, of which nothing is left in it, and scalars that it computes."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.triton_types import Semantic


class Folding:
    """Arithmetic on integers and scalars, 32 bits wide unless said, for sizes and indices from zero on."""

    def __init__(self, semantic: Semantic) -> None:
        self.semantic = semantic

    def add(self, a: Any, b: Any) -> Any:
        if _is_zero(a):
            return b
        if _is_zero(b):
            return a
        return a + b if _both(a, b) else self.semantic.add(*self._two(a, b), False)

    def subtract(self, a: Any, b: Any) -> Any:
        if _is_zero(b):
            return a
        return a - b if _both(a, b) else self.semantic.sub(*self._two(a, b), False)

    def multiply(self, a: Any, b: Any) -> Any:
        if _is_zero(a) or _is_zero(b):
            return 0
        if isinstance(a, int) and a == 1:
            return b
        if isinstance(b, int) and b == 1:
            return a
        return a * b if _both(a, b) else self.semantic.mul(*self._two(a, b), False)

    def divide(self, a: Any, b: Any) -> Any:
        if isinstance(b, int) and b == 1:
            return a
        return a // b if _both(a, b) else self.semantic.floordiv(*self._two(a, b))

    def rest(self, a: Any, b: Any) -> Any:
        if isinstance(b, int) and b == 1:
            return 0
        return a % b if _both(a, b) else self.semantic.mod(*self._two(a, b))

    def ceil_divide(self, a: Any, b: Any) -> Any:
        return a if isinstance(b, int) and b == 1 else self.divide(self.add(a, self.subtract(b, 1)), b)

    def minimum(self, a: Any, b: Any) -> Any:
        return min(a, b) if _both(a, b) else core.minimum(*self._two(a, b), _semantic=self.semantic)

    def maximum(self, a: Any, b: Any) -> Any:
        return max(a, b) if _both(a, b) else core.maximum(*self._two(a, b), _semantic=self.semantic)

    def below(self, a: Any, b: Any) -> Any:
        return a < b if _both(a, b) else self.semantic.less_than(*self._two(a, b))

    def not_below(self, a: Any, b: Any) -> Any:
        return a >= b if _both(a, b) else self.semantic.greater_equal(*self._two(a, b))

    def equal(self, a: Any, b: Any) -> Any:
        return a == b if _both(a, b) else self.semantic.equal(*self._two(a, b))

    def both(self, a: Any, b: Any) -> Any:
        """Of two truths; True and False are known."""
        if a is True or b is False:
            return b
        if b is True or a is False:
            return a
        return self.semantic.and_(a, b)

    def wide(self, a: Any) -> Any:
        """The same in 64 bits, for places in large tensors."""
        return a if isinstance(a, int) else self.semantic.cast(a, core.int64)

    def multiple(self, a: Any, factor: int) -> Any:
        """The same, which ``factor`` divides: a hint at a function's argument would be lost where it is inlined."""
        if isinstance(a, int) or factor == 1:
            return a
        return self.multiply(self.divide(a, factor), factor)

    def tensor(self, a: Any) -> core.tensor:
        return self.semantic.to_tensor(a)

    def _two(self, a: Any, b: Any) -> tuple[Any, Any]:
        return self.tensor(a), self.tensor(b)


def _both(a: Any, b: Any) -> bool:
    return isinstance(a, int) and isinstance(b, int)


def _is_zero(a: Any) -> bool:
    return isinstance(a, int) and not isinstance(a, bool) and a == 0
