"""Regions in Triton's interpreter (``TRITON_INTERPRET=1``): the fragment's threads run on the program's own arrays."""

from __future__ import annotations

import contextvars
import functools
import linecache
import os
import sys
from typing import TYPE_CHECKING, Any

from triton.language import core

from tle_raw.errors import LaunchError, SourceLocation
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.regions.interpreted_launch import InterpretedLaunch
from tle_raw.regions.partitions import region_warps_here
from tle_raw.regions.values import to_handle_type
from tle_raw.registry import find_target
from tle_raw.target import Target
from tle_raw.targets.base import RunsRegions

if TYPE_CHECKING:
    from tle_raw.fragments.compiled import CompiledFragment
    from tle_raw.fragments.fragment import Fragment

DEFAULT_WARPS = 4  # Triton's own
HERE = "cpu"  # the target on which the interpreter's regions run
_launch: contextvars.ContextVar[InterpretedLaunch | None] = contextvars.ContextVar("launch", default=None)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def in_interpreter() -> bool:
    """Whether an interpreted kernel is running in this thread."""
    return _launch.get() is not None


def install() -> None:
    """Learn of the interpreter's launches. It keeps their grid, and drops ``num_warps``."""
    from triton import knobs

    if not knobs.runtime.interpret:
        return
    from triton.runtime import interpreter

    launch = interpreter.GridExecutor.__call__
    if getattr(launch, "tle_raw", False):
        return

    @functools.wraps(launch)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        num_warps = int(keywords.get("num_warps") or DEFAULT_WARPS)
        interpreted = InterpretedLaunch(getattr(self.fn, "__name__", "?"), num_warps)
        token = _launch.set(interpreted)
        try:
            returned = launch(self, *args, **keywords)
        finally:
            _launch.reset(token)
        return interpreted if interpreted.regions else returned

    call.tle_raw = True  # type: ignore[attr-defined]
    interpreter.GridExecutor.__call__ = call


def interpret_region(
    fragment: Fragment, bound: BoundSignature, values: dict[str, Any], site: SourceLocation | None
) -> list[core.tensor]:
    """Run a bound region now; its results, as ``emit_region`` and ``emit_element`` give them."""
    from triton.runtime.interpreter import interpreter_builder

    target = find_target(HERE)
    if not isinstance(target, RunsRegions):
        raise LaunchError("a region runs at once on the CPU only")
    compiled = fragment.compile_bound(bound, Target(HERE))
    launch = record_region(bound, site, compiled)
    arrays = {p.name: _array(p, values[p.name]) for p in bound.crossing if p.effect != "Out"}
    grid = interpreter_builder.grid_dim
    program = interpreter_builder.grid_idx
    results = target.run_region(
        compiled, arrays, num_warps=region_warps_here(launch.num_warps), program=program, grid=grid
    )
    return [_tensor(result, dtype) for result, dtype in zip(results, _result_dtypes(bound))]


def interpreted_warps() -> int:
    """``num_warps`` of the launch that is being interpreted."""
    launch = _launch.get()
    return launch.num_warps if launch is not None else DEFAULT_WARPS


def record_region(
    bound: BoundSignature, site: SourceLocation | None, compiled: CompiledFragment | None = None
) -> InterpretedLaunch:
    """Note a region for the launch's report; ``compiled`` is None where it is made of Triton's own operations."""
    launch = _launch.get()
    assert launch is not None, "a region runs in a launch"
    launch.record(bound, site, compiled)
    return launch


def _array(parameter: BoundParameter, value: Any) -> Any:
    """The interpreter's array of a value; bf16 and fp8 are bits there, and so they are here."""
    value = core._unwrap_if_constexpr(value)
    if not isinstance(value, core.tensor):
        return value  # a number; of a descriptor the words of its tensor map
    data = value.handle.data
    if parameter.kind == POINTER:
        return int(data.reshape(-1)[0])
    return data if parameter.kind == TILE or value.type.is_block() else data.reshape(-1)[0]


def _result_dtypes(bound: BoundSignature) -> list[DType]:
    updated = [
        p.dtype for p in bound.crossing if p.effect != "In" and p.kind in (TILE, ELEMENT) and p.dtype is not None
    ]
    return [*updated, bound.result] if bound.result is not None else updated


def _tensor(result: Any, dtype: DType) -> core.tensor:
    import numpy as np
    from triton.runtime.interpreter import TensorHandle

    array = np.asarray(result)
    if dtype.name == "i1":
        array = array != 0
    scalar = to_handle_type(dtype)
    if array.ndim == 0:  # the interpreter keeps scalars in arrays of one element
        return core.tensor(TensorHandle(array.reshape(1), scalar), scalar)
    return core.tensor(TensorHandle(array, scalar), core.block_type(scalar, list(array.shape)))


def interpreted_call_site() -> SourceLocation | None:
    """The kernel's line: the interpreter runs it as Python, so it is on the stack."""
    from triton.runtime import interpreter  # it stands between a kernel and a method of tensors

    frame = sys._getframe(1)
    while frame is not None and _is_between(os.path.abspath(frame.f_code.co_filename), interpreter.__file__):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return SourceLocation(file, line, 0, linecache.getline(file, line).rstrip())


def _is_between(file: str, interpreter: str) -> bool:
    return file.startswith(_PACKAGE) or file == os.path.abspath(interpreter)
