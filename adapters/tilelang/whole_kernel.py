"""``fragment.as_kernel()``: a Triton kernel that is just the region, over the PrimFunc's own grid."""

from __future__ import annotations

import linecache
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapter import Adapter, Declaration, Source
from tle_raw.adapters.tilelang.dtypes import dtype_of
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.dtypes import parse_dtype
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, DialectError, Place, Row, ShapeError
from tle_raw.identity import digest

WARP = 32


class WholeKernel:
    """Call it with the PrimFunc's arguments: arrays of torch or NumPy, and scalars.

    Attributes
    ----------
    kernel : the ``@triton.jit`` function; it takes the arguments, then the sizes and strides that are left open.
    num_warps : as many as the threads that ``T.Kernel`` asks for.
    program, pass_configs : the PrimFunc, and TileLang's own configuration for it.
    """

    def __init__(self, kernel: Any, program: Program, pass_configs: Mapping[str, Any]) -> None:
        self.kernel, self.program, self.pass_configs = kernel, program, pass_configs
        warps = max(1, (math.prod(program.threads) if program.threads else 4 * WARP) // WARP)
        self.num_warps = 1 << (warps.bit_length() - 1)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Launch over the PrimFunc's grid; ``options`` are Triton's, such as ``num_warps=`` and ``num_stages=``."""
        dims = self.sizes(*arguments)
        options = {"num_warps": self.num_warps, **options}
        return self.kernel[self.grid(*arguments)](*arguments, *dims.values(), **options)

    def grid(self, *arguments: Any) -> tuple[int, ...]:
        """How many programs the PrimFunc wants for these arguments."""
        known = self._known(arguments, self.sizes(*arguments))
        return tuple(_value(axis.extent, known) for axis in self.program.grid)

    def sizes(self, *arguments: Any) -> dict[str, int]:
        """The sizes and strides that the PrimFunc leaves open, read from the arrays.

        Raises
        ------
        ArgumentCountError, ArgumentTypeError, ShapeError : an array does not fit its buffer.
        """
        program = self.program
        if len(arguments) != len(program.order):
            raise ArgumentCountError(
                f"`{program.name}` takes {len(program.order)} arguments, got {len(arguments)}",
                hint=f"they are {', '.join(program.order)}",
            ).at(fragment=program.name)
        given = dict(zip(program.order, arguments))
        found: dict[str, int] = {}
        for name, buffer in program.buffers.items():
            _bind_open(program, buffer, given[name], found)
        missing = [name for name in program.dims if name not in found]
        if missing:
            raise ShapeError(
                f"nothing says what `{missing[0]}` is", hint=f"no buffer has `{missing[0]}` as one of its own sizes"
            ).at(fragment=program.name)
        known = self._known(arguments, found)
        for name, buffer in program.buffers.items():
            _check_array(program, name, buffer, given[name], known)
        return {name: found[name] for name in program.dims}

    def _known(self, arguments: Sequence[Any], dims: Mapping[str, int]) -> dict[Any, int]:
        given = dict(zip(self.program.order, arguments))
        known = {variable: dims[name] for name, variable in self.program.dims.items()}
        known |= {v: given[n] for n, v in self.program.scalars.items() if isinstance(given[n], int)}
        return known


def make_whole_kernel(adapter: Adapter, source: Source) -> WholeKernel:
    """Declare the region again with the promise that its programs are those of its grid, and a kernel around it.

    Raises
    ------
    DialectError : tiles or block indices come from a caller, which a whole kernel does not have.
    """
    from tle_raw.fragments import declare

    reading = source.data
    if reading.tiles or reading.options.grid:
        raise DialectError(
            "a whole kernel has no caller that could give it tiles or block indices",
            hint="declare the PrimFunc once more without tiles= and grid=, and take as_kernel() of that",
        ).at(fragment=source.name, source=source.place)
    options = {"in_grid": True, "route": reading.options.route, "pass_configs": reading.linkable.pass_configs}
    folder = _folder(source.place)
    program = reading.program
    declaration = Declaration(source.name, None, options, source.place, folder, wrapped=program.prim_func)
    fragment = declare(adapter, declaration)
    return WholeKernel(_kernel_of(program, fragment), program, reading.linkable.pass_configs)


def _folder(place: Place) -> Any:
    from pathlib import Path

    return Path(place.file).parent


def _kernel_of(program: Program, fragment: Any) -> Any:
    """Triton reads a kernel's source through linecache: there is no file behind this one."""
    import triton

    name = program.name if program.name.isidentifier() else "kernel"
    called = f"{name}_region"
    parameters = ", ".join((*program.order, *program.dims))
    text = f"def {name}({parameters}):\n    {called}({parameters})\n"
    file = f"<tle_raw {name} {digest(fragment.cache_key)[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {called: fragment, "__name__": "tle_raw.whole_kernels"}
    exec(compile(text, file, "exec"), scope)
    return triton.jit(scope[name])


def _bind_open(program: Program, buffer: Any, array: Any, found: dict[str, int]) -> None:
    """A size or a stride that is a variable takes the array's own."""
    shape, strides = _shape(program, buffer, array)
    for expression, value in zip((*buffer.shape, *buffer.strides), (*shape, *strides)):
        name = next((n for n, v in program.dims.items() if v.same_as(expression)), None)
        if name is not None:
            found.setdefault(name, value)


def _check_array(program: Program, name: str, buffer: Any, array: Any, known: Mapping[Any, int]) -> None:
    expected, got = dtype_of(buffer.dtype), _dtype(array)
    if expected != got:
        raise ArgumentTypeError(
            f"the array for `{name}` has another dtype", table=[Row(name, str(expected), str(got))]
        ).at(fragment=program.name)
    shape, strides = _shape(program, buffer, array)
    wanted = tuple(_value(e, known) for e in buffer.shape)
    rows = [Row(f"shape of {name}", str(wanted), str(shape))]
    from tle_raw.adapters.tilelang.traced.global_memory import strides as strides_of

    steps = tuple(_value(e, known) for e in strides_of(buffer))
    matters = [d for d, size in enumerate(wanted) if size > 1]  # the stride of a single row is never used
    rows.append(Row(f"strides of {name}", str(steps), str(strides)))
    if wanted != shape or any(steps[d] != strides[d] for d in matters):
        raise ShapeError(f"the array for `{name}` does not fit its buffer", table=rows).at(fragment=program.name)


def _shape(program: Program, buffer: Any, array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in elements."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise ArgumentTypeError(
            f"`{buffer.name}` is a buffer", table=[Row(str(buffer.name), "an array", type(array).__name__)]
        ).at(fragment=program.name)
    shape = tuple(int(n) for n in array.shape)
    if len(shape) != len(buffer.shape):
        raise ShapeError(
            f"the array for `{buffer.name}` has another rank",
            table=[Row(str(buffer.name), f"rank {len(buffer.shape)}", f"rank {len(shape)}")],
        ).at(fragment=program.name)
    strides = array.stride() if callable(getattr(array, "stride", None)) else None
    if strides is None:
        strides = [s // array.dtype.itemsize for s in array.strides]
    return shape, tuple(int(s) for s in strides)


def _dtype(array: Any) -> Any:
    return parse_dtype(str(array.dtype).removeprefix("torch."))


def _value(expression: Any, known: Mapping[Any, int]) -> int:
    from tvm import arith
    from tvm.tirx.stmt_functor import substitute

    if isinstance(expression, int):
        return expression
    found = constant(arith.Analyzer().simplify(substitute(expression, dict(known)))) if known else constant(expression)
    if found is None:
        raise ShapeError(f"the size {expression} cannot be computed from the arguments")
    return found
