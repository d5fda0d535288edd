"""Run a compiled fragment on arrays, without a kernel: for tests, and for Triton's interpreter."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import KernelFailed, Row, ShapeError
from tle_raw.flir.cpu import context_fields
from tle_raw.flir.cpu.region_failure import STATUS_FIELDS, region_failure
from tle_raw.flir.cpu.single_program import SingleProgram
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.dtypes import DType
from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.loader import LoadedObject, load_object
from tle_raw.regions.waiting_regions import waiting_region
from tle_raw.thread_lock import ThreadLock

FIELDS = context_fields.WORKSPACES  # of a worker's context: see tle_raw/flir/cpu/__init__.py
STATUS, WORKSPACE, WAIT = 1, 2, 5
_WORKERS = threading.local()
# Entries that have run. A failure's texts and a workspace that a thread keeps point into their code.
_LOADED: dict[Path, LoadedObject] = {}
_LOADING = ThreadLock()


class _Call(ctypes.Structure):
    """``tle_region_call`` of team/abi.h."""

    _fields_ = (
        ("threads", ctypes.c_int32),
        ("program", ctypes.c_int32 * 3),
        ("grid", ctypes.c_int32 * 3),
        ("reserved", ctypes.c_int32),
        ("context", ctypes.c_void_p),
    )


class _Worker:
    """The context of one Python thread; its workspace is given back with it."""

    def __init__(self) -> None:
        self.status = (ctypes.c_int64 * STATUS_FIELDS)()
        self.context = (ctypes.c_int64 * FIELDS)()
        self.context[STATUS] = ctypes.addressof(self.status)
        self.single = SingleProgram()
        self.context[WAIT] = self.single.address

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # then modules are gone, and the memory goes with the process
            release_workspace(self.context[WORKSPACE])


def release_workspace(word: int) -> None:
    """Unmap the workspace whose address regions left in a context's field 2; 0 is none."""
    if not word:
        return
    libc = ctypes.CDLL(None)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.munmap(word, ctypes.c_uint64.from_address(word).value)


def run_fragment(
    compiled: CompiledFragment,
    values: Mapping[str, Any],
    *,
    num_warps: int = 4,
    program: Sequence[int] = (0, 0, 0),
    grid: Sequence[int] = (1, 1, 1),
) -> list[Any]:
    """Call a fragment that was compiled for ``cpu``.

    Parameters
    ----------
    compiled : what ``fragment.compile(target="cpu", …)`` gave.
    values : by parameter name. Tiles and elements are NumPy arrays (bf16 as uint16, fp8 as uint8, bool as bool or
        uint8), descriptors the words of ``team/tensor_map.h``, scalars are numbers or NumPy scalars, pointers are
        addresses, or arrays with memory of their own. ``Out`` tiles need none. No array is changed but those that
        pointers point to.
    program, grid : ``blockIdx`` and ``gridDim``.

    Returns
    -------
    list : new arrays for what the signature returns, in its order; then the scalar or element result.

    Raises
    ------
    KernelFailed : the region failed while it ran.
    ShapeError : an array has another shape than the binding.
    """
    import numpy as np

    if compiled.bound.is_elementwise:
        return [_map(compiled, values, program)]
    bound = compiled.bound
    arrays = [_argument(p, values.get(p.name)) for p in bound.crossing]
    if bound.result is not None:
        arrays.append(np.zeros((), storage(bound.result)))
    worker = _ready_worker()
    call = _Call(num_warps * 32, (*program,), (*grid,), 0, ctypes.addressof(worker.context))
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(_address(compiled, compiled.entry))
    named = {p.name: array for p, array in zip(bound.crossing, arrays)}
    _watched(worker, bound.name, named, lambda: run(ctypes.addressof(call), _addresses(arrays)))
    returned = [a for p, a in zip(bound.crossing, arrays) if p.kind == TILE and p.effect != "In"]
    return [*returned, arrays[-1][()]] if bound.result is not None else returned


def storage(dtype: DType) -> Any:
    """The NumPy dtype that holds a dtype's bits: NumPy has neither bfloat16 nor fp8."""
    import numpy as np

    if dtype.name == "i1":
        return np.dtype(np.uint8)
    if dtype.is_integer:
        return np.dtype(f"{dtype.name[0]}{dtype.itemsize}")
    names = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
    return np.dtype(names.get(dtype.name, np.uint8))


def _argument(parameter: BoundParameter, value: Any) -> Any:
    """The memory of one parameter: of a tile's own copy, of a scalar, or of a pointer."""
    import numpy as np

    assert parameter.dtype is not None
    if parameter.kind == POINTER:
        address = value if isinstance(value, int) else memory_of(value)
        return np.array(address, np.uint64)
    if parameter.is_descriptor:
        return np.ascontiguousarray(value, np.int64)
    if parameter.kind != TILE:
        return _bits(value, parameter.dtype).reshape(())
    tile = _aligned(parameter.dims, storage(parameter.dtype))
    if parameter.effect == "Out":
        tile[...] = 0
        return tile
    given = _bits(value, parameter.dtype)
    if given.shape != parameter.dims:
        row = Row(parameter.name, str(list(parameter.dims)), str(list(given.shape)))
        raise ShapeError(f"the array for `{parameter.name}` has another shape", table=[row])
    tile[...] = given
    return tile


def _bits(value: Any, dtype: DType) -> Any:
    """An array of a dtype's bits; what has them already under another type is taken as it is."""
    import numpy as np

    array, kind = np.asarray(value), storage(dtype)
    if array.dtype == kind:
        return array
    if dtype.name == "i1":
        return np.asarray(array != 0, kind)
    same_bits = array.dtype.itemsize == kind.itemsize and (dtype.name in ("bf16",) or dtype.name.startswith("f8"))
    return np.ascontiguousarray(array).view(kind).reshape(array.shape) if same_bits else array.astype(kind)


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    import numpy as np

    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def memory_of(array: Any) -> int:
    """The address of a NumPy array's or a torch CPU tensor's memory."""
    return int(array.data_ptr()) if hasattr(array, "data_ptr") else int(array.ctypes.data)


def _addresses(arrays: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))


def _map(compiled: CompiledFragment, values: Mapping[str, Any], program: Sequence[int]) -> Any:
    """An elementwise function over arrays of one shape; scalars are spread."""
    import numpy as np

    from tle_raw.fragments.dtypes import DTYPES

    bound = compiled.bound
    elements = {
        p.name: _bits(values[p.name], p.dtype)
        for p in bound.crossing
        if p.kind == ELEMENT and p.dtype is not None and p.effect != "Out"
    }
    shape = np.broadcast_shapes(*(a.shape for a in elements.values())) if elements else ()
    arrays = []
    for p in bound.crossing:
        if p.kind != ELEMENT:
            arrays.append(_argument(p, values[p.name]))
        elif p.name in elements:
            arrays.append(np.ascontiguousarray(np.broadcast_to(elements[p.name], shape)))
        else:
            assert p.dtype is not None
            arrays.append(np.zeros(shape, storage(p.dtype)))
    updated = next((p.dtype for p in bound.parameters if p.kind == ELEMENT and p.effect != "In"), None)
    arrays.append(np.empty(shape, storage(bound.result or updated or DTYPES["i32"])))
    types = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int32] * 3)
    run = ctypes.CFUNCTYPE(None, *types)(_address(compiled, f"{compiled.entry}.map"))
    worker = _ready_worker()
    given = _addresses(arrays), int(np.prod(shape)), ctypes.addressof(worker.context), *program
    _watched(worker, bound.name, {}, lambda: run(*given))
    return arrays[-1]


def _watched(worker: _Worker, name: str, arrays: Mapping[str, Any], run: Callable[[], Any]) -> None:
    """Run a fragment's entry, which may wait, and raise what becomes of it."""
    others = waiting_region()
    if others is not None:
        others.begin(arrays)
    worker.single.begin(others)
    failed = run()
    if worker.single.error:
        raise worker.single.error
    if error := region_failure(list(worker.status), name, standstill=worker.single.described):
        raise error
    if failed:
        raise KernelFailed("the region failed")


def _ready_worker() -> _Worker:
    """This thread's, whose record tells of no failure."""
    if not hasattr(_WORKERS, "worker"):
        _WORKERS.worker = _Worker()
    worker: _Worker = _WORKERS.worker
    ctypes.memset(worker.status, 0, ctypes.sizeof(worker.status))
    return worker


def _address(compiled: CompiledFragment, entry: str) -> int:
    with _LOADING:  # a second object of the same fragment would take the place of the one that runs
        loaded = _LOADED.get(compiled.path)
        if loaded is None:
            image = assemble(link_host_code(compiled.text, entry=entry))
            loaded = _LOADED[compiled.path] = load_object(image, entry)
    return loaded.address
