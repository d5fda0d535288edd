"""``fragment.as_kernel(block=…)`` of a kernel of Numba's: it is launched with the kernel's own arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tle_raw.adapters.common.whole_kernel import GlobalKernel, Grid
from tle_raw.adapters.numba.types import NumbaArgument
from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.fragments.adapter import Source


class ArrayKernel:
    """Call it with the function's own arguments and ``grid=``, or as ``kernel[grid](…)``; sizes may be passed too."""

    def __init__(self, kernel: GlobalKernel, source: Source) -> None:
        self._kernel, self._source = kernel, source
        self._arguments: tuple[NumbaArgument, ...] = source.data
        self.signature, self.blocks = kernel.signature, kernel.blocks

    def __call__(self, *arguments: Any, grid: Grid, **options: Any) -> Any:
        """Launch. ``options`` are ``block=``, another than that of ``as_kernel``, and Triton's own.

        Raises
        ------
        ArgumentTypeError : an array has another rank, or is not contiguous in C's order.
        """
        return self._kernel(*self._with_sizes(arguments), grid=grid, **options)

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return functools.partial(self, grid=grid)

    def warmup(self, *arguments: Any, **options: Any) -> Any:
        """Compile for these arguments and launch nothing."""
        return self._kernel.warmup(*self._with_sizes(arguments), **options)

    def compile(self, *arguments: Any, **options: Any) -> Any:
        """Compile without a launch, and without a GPU: Triton's compiled kernel."""
        return self._kernel.compile(*arguments, **options)

    @property
    def kernel(self) -> Any:
        """The ``@triton.jit`` function."""
        return self._kernel.kernel

    def _with_sizes(self, arguments: Sequence[Any]) -> list[Any]:
        if len(arguments) != len(self._arguments):
            return list(arguments)
        rows = [row for own, given in zip(self._arguments, arguments) for row in _unfit(own, given)]
        if rows:
            raise ArgumentTypeError(f"the arguments do not fit `{self._source.name}`", table=rows).at(
                fragment=self._source.name, source=self._source.location
            )
        return [part for own, given in zip(self._arguments, arguments) for part in _parts(own, given)]


def _parts(own: NumbaArgument, given: Any) -> Iterator[Any]:
    yield given
    if own.rank > 0:
        yield from (int(extent) for extent in given.shape)


def _unfit(own: NumbaArgument, given: Any) -> Iterator[Row]:
    if own.rank <= 0:
        return
    shape = getattr(given, "shape", None)
    wanted = f"an array of rank {own.rank}, contiguous in C's order"
    if shape is None or len(shape) != own.rank:
        yield Row(own.name, wanted, type(given).__name__ if shape is None else f"one of rank {len(shape)}")
    elif not _is_contiguous(given):
        yield Row(own.name, wanted, "an array with other strides")


def _is_contiguous(array: Any) -> bool:
    if callable(getattr(array, "is_contiguous", None)):
        return bool(array.is_contiguous())
    return bool(array.flags.c_contiguous)
