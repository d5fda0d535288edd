"""Tensors in a context's memory: where the next one stands, and what it looks like to torch, CuPy and Triton."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tle_raw.errors import ContextError, Row

_ALIGNMENT = 512
# NumPy's spelling of what kernels take; the rest travels as bytes.
_BYTES = {
    "bool": ("|b1", 1),
    "uint8": ("|u1", 1),
    "int8": ("|i1", 1),
    "int16": ("<i2", 2),
    "uint16": ("<u2", 2),
    "int32": ("<i4", 4),
    "uint32": ("<u4", 4),
    "int64": ("<i8", 8),
    "uint64": ("<u8", 8),
    "float16": ("<f2", 2),
    "bfloat16": ("<V2", 2),
    "float32": ("<f4", 4),
    "float64": ("<f8", 8),
}


@dataclass(frozen=True)
class PeerArray:
    """A tensor in a context's memory, without torch: CuPy and others read ``__cuda_array_interface__``.

    ``owner`` is the context, which lives as long as its arrays.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    owner: Any

    def data_ptr(self) -> int:
        return self.address

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": _BYTES[self.dtype][0],
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }


class Heap:
    """Gives out a region's bytes from its start on. Members that ask alike get the same offsets."""

    def __init__(self, start: int, end: int) -> None:
        self._start, self._next, self.end = start, start, end

    def take(self, size: int) -> int:
        """The offset of ``size`` bytes; raises ContextError where they are not left."""
        at = self._next
        if at + size > self.end:
            raise ContextError(
                "the context's memory is used up",
                table=[Row("bytes", f"{self.end - at} at most", str(size))],
                hint="make it with more `bytes`, or give all tensors back with `reset`",
            )
        self._next = at + -(-size // _ALIGNMENT) * _ALIGNMENT
        return at

    def reset(self) -> None:
        self._next = self._start


def bytes_of(shape: Sequence[int], dtype: Any) -> int:
    """Bytes of a dense tensor; ``dtype`` is torch's, or a name such as ``"float32"``."""
    return prod(shape) * (int(dtype.itemsize) if is_torch_dtype(dtype) else _known(dtype)[1])


def tensor_at(address: int, shape: Sequence[int], dtype: Any, device: int, owner: Any) -> Any:
    """A torch tensor for a dtype of torch's, a PeerArray for a name."""
    if not is_torch_dtype(dtype):
        _known(dtype)
        return PeerArray(address, tuple(shape), str(dtype), owner)
    import torch

    whole = PeerArray(address, (max(bytes_of(shape, dtype), 1),), "uint8", owner)
    found = torch.as_tensor(whole, device=torch.device("cuda", device))
    return found[: bytes_of(shape, dtype)].view(dtype).view(tuple(shape))


def is_torch_dtype(dtype: Any) -> bool:
    """Whether it is a dtype of torch's, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(dtype, torch.dtype)


def _known(dtype: Any) -> tuple[str, int]:
    try:
        return _BYTES[str(dtype)]
    except KeyError:
        raise ContextError(
            "tensors of a context have a dtype of torch's, or a name",
            table=[Row("dtype", ", ".join(_BYTES), str(dtype))],
        ) from None
