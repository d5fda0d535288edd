"""What the whole kernels of all dialects share: the region, the Triton kernel around it, its grid, its warps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tle_raw.adapters.common.kernel_text import kernel_of_text
from tle_raw.errors import DialectError, TLEError
from tle_raw.fragments.adapter import Adapter, Declaration, Source

WARP = 32


def declare_region(adapter: Adapter, declaration: Declaration, **options: Any) -> Any:
    """The fragment once more, with these options beside its own."""
    from tle_raw.fragments.declare import declare  # brings Triton, which adapters load without

    return declare(adapter, replace(declaration, options={**declaration.options, **options}))


def kernel_around(name: str, parameters: Sequence[str], passed: Sequence[str], region: Any) -> Any:
    """A Triton kernel that is one call of a region.

    Parameters
    ----------
    parameters : as they stand in the kernel's header, ``x``, ``n: tl.constexpr``.
    passed : the region's arguments, in the kernel's words.
    """
    called = f"{name}_region"
    text = f"def {name}({', '.join(parameters)}):\n    {called}({', '.join(passed)})\n"
    return kernel_of_text(name, text, {called: region}, [region.cache_key])


def grid_of(value: int | Sequence[int]) -> tuple[int, ...]:
    """A grid as Triton takes it; one number is one of x."""
    return (value,) if isinstance(value, int) else tuple(value)


def launched_threads(threads: int) -> int:
    """The block that Triton launches for so many threads: it knows powers of two only, and the rest stands idle."""
    return max(WARP, 1 << (threads - 1).bit_length())


def whole_warps(threads: int) -> int:
    """So many threads, and those that their last warp has too many."""
    return -(-threads // WARP) * WARP


def warps_for(threads: int) -> int:
    """What Triton is told for a block of so many threads."""
    return launched_threads(threads) // WARP


def without_caller(source: Source, what: str, hint: str) -> TLEError:
    """The error for a declaration that leaves something to a caller, which a whole kernel does not have."""
    error = DialectError(f"a whole kernel has no caller that could give it {what}", hint=hint)
    return error.at(fragment=source.name, source=source.location)
