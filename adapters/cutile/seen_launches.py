"""What a launch with such arguments came to: a launch that is like an earlier one does not look at them all anew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tle_raw.adapters.cutile.carried_arrays import carried_dtype

MOST = 1024
PLAIN = (bool, int, float)


class SeenLaunches:
    """The kernels of earlier launches, by dtypes, sizes, strides and addresses of arrays, and by constants.

    ``constants`` says of each parameter whether its value is a part of the kernel. Launches that hold anything but
    torch's arrays and numbers are never known.
    """

    def __init__(self, constants: Sequence[bool]) -> None:
        self._constants = tuple(constants)
        self._kernels: dict[Hashable, Any] = {}

    def find(self, arguments: Sequence[Any], make: Callable[[], Any]) -> tuple[Any, list[Any] | None]:
        """The kernel, made where it is not known, and the arguments that it takes; None where others know those."""
        torch = sys.modules.get("torch")
        if torch is None or len(arguments) != len(self._constants):
            return make(), None
        looks: list[Any] = []
        passed: list[Any] = []
        for argument, is_constant in zip(arguments, self._constants):
            kind = type(argument)
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                shape, strides = tuple(argument.shape), argument.stride()
                looks.append((argument.dtype, shape, strides, argument.data_ptr()))
                passed.append((argument, shape, strides))
            elif kind in PLAIN:
                looks.append((kind, argument) if is_constant else kind)
                passed.append(argument)
            else:
                return make(), None
        key = tuple(looks)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = make()
            if any(carried_dtype(argument) for argument in arguments):
                return kernel, None
            if len(self._kernels) >= MOST:  # addresses change: none of those is worth more than another
                self._kernels.clear()
            self._kernels[key] = kernel
        return kernel, passed
