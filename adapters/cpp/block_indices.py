"""threadIdx, blockDim, blockIdx and gridDim of a kernel that Triton launches in another shape than CUDA would.

Clang's own variables read the hardware by builtins. Macros of the builtins' names stand in for those while clang's
header defines the variables, and are gone before the user's code: a field called ``blockDim`` stays a field.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tle_raw.adapters.common.launched_kernel import WARP

Grid = Sequence[tuple[str, int | str]]

# Functions that stand for block indices and grid extents until ``kernel_function`` puts values in their place.
GRID_FUNCTION = "tle_raw_grid_"
_REGISTERS = {"threadIdx": "tid", "blockDim": "ntid", "blockIdx": "ctaid", "gridDim": "nctaid"}


def index_defines(block: Sequence[int], grid: Grid = ()) -> tuple[str, ...]:
    """Flags for the command line, where macros come before clang's header."""
    return tuple(f"-D{name}()={text}" for name, text in _macros(block, grid))


def undefine_lines(block: Sequence[int], grid: Grid = ()) -> Iterator[str]:
    """The beginning of the unit: from here on the builtins read the hardware."""
    yield from (f"#undef {name}" for name, _ in _macros(block, grid))


def _macros(block: Sequence[int], grid: Grid) -> Iterator[tuple[str, str]]:
    yield from ((_builtin(variable, axis), f"({text})") for variable, axis, text in _values(block, grid))


def _builtin(variable: str, axis: str) -> str:
    return f"__nvvm_read_ptx_sreg_{_REGISTERS[variable]}_{axis}"


def _values(block: Sequence[int], grid: Grid) -> Iterator[tuple[str, str, str]]:
    is_odd = block and math.prod(block) % WARP  # more threads are launched than the block has
    if is_odd or (len(block) > 1 and math.prod(block[1:]) > 1):  # a 1-D block is what Triton has anyway
        yield from _block_values(*[*block, 1, 1][:3])
    if grid:
        yield from _grid_values(dict(grid))


def _block_values(x: int, y: int, z: int) -> Iterator[tuple[str, str, str]]:
    """From the linear thread index; the extents are known at compile time."""
    linear = f"({_builtin('threadIdx', 'x')})()"  # in brackets a name is no call of a macro
    yield "threadIdx", "x", f"{linear}%{x}u"
    has_more = z > 1 or x * y % WARP  # threads behind these
    yield "threadIdx", "y", f"{linear}/{x}u%{y}u" if has_more else f"{linear}/{x}u"
    yield "threadIdx", "z", f"{linear}/{x * y}u"
    yield from (("blockDim", axis, f"{extent}u") for axis, extent in zip("xyz", (x, y, z)))


def _grid_values(grid: Mapping[str, int | str]) -> Iterator[tuple[str, str, str]]:
    """Where the caller says where they come from; otherwise they are the kernel's own."""
    for place, axis in enumerate("xyz"):
        index = grid.get(f"blockIdx.{axis}", place)
        extent = grid.get(f"gridDim.{axis}", index if isinstance(index, int) else "")
        yield "blockIdx", axis, _grid_value("blockIdx", axis, index)
        yield "gridDim", axis, _grid_value("gridDim", axis, extent)


def _grid_value(variable: str, axis: str, place: int | str) -> str:
    if isinstance(place, int):
        return f"({_builtin(variable, 'xyz'[place])})()"
    name = f"{GRID_FUNCTION}{variable}_{axis}"
    declared = f'__attribute__((device))__attribute__((const))unsigned {name}(void)__asm__("{name}")'
    return f"__extension__({{{declared};{name}();}})"
