"""TileLang's own lowering of one PrimFunc to CUDA C++ text; it needs no GPU and no CUDA compiler."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.linked.constant_waits import constant_waits
from tle_raw.adapters.tilelang.linked.descriptors import Descriptor
from tle_raw.adapters.tilelang.linked.host_call import HostArgument, read_host_call
from tle_raw.adapters.tilelang.linked.tile_memory import taken_addresses
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import CompilationFailed, Context, SourceLocation, TLEError, UnsupportedFeatureError
from tle_raw.thread_lock import ThreadLock

# The lines let errors name the user's own.
SETTINGS = {"tl.emit_line_directives": True}
# Descriptors are made by a launch, and extra warps are started by one: only a caller that does both leaves these out.
WITHOUT_TMA = {"tl.disable_warp_specialized": True, "tl.disable_tma_lower": True}
# Outputs that the host function would make itself; a region gets them like any other buffer.
HOST_ALLOCATES = ("tilelang_callee_allocated_outputs", "tilelang_out_idx")
# What a launch must do for the kernel, by the attribute under which TileLang asks for it.
_LAUNCHES = {
    "has_cuda_pdl_sync": "programmatic dependent launch (T.pdl_sync)",
    "has_cuda_pdl_trigger": "programmatic dependent launch (T.pdl_trigger)",
}
_MARKER = re.compile(r"^\s*--> (?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?\s*$", re.MULTILINE)
_LOG_LINES = 30
_LOWERING = ThreadLock()  # TileLang's passes keep state of their own in the process


@dataclass(frozen=True)
class Lowered:
    """What TileLang made of a PrimFunc.

    Attributes
    ----------
    text : C++ text with one ``__global__`` function, ``kernel``.
    arguments : what each of the function's parameters gets, in its own order, which is not the PrimFunc's; behind
        them what only the grid is computed from.
    grid : numbers of blocks as C++ text in terms of ``k0``, ``k1``, … the arguments by position; "" where it is no
        such text.
    block : threads along x, y, z. ``shared`` : bytes of dynamic shared memory.
    addressed : the names of the buffers that the kernel touches otherwise than by loads and stores of elements.
    descriptors : the TMA descriptors among the arguments.
    cluster : blocks along x, y, z that are launched together.
    """

    text: str
    kernel: str
    arguments: tuple[HostArgument, ...]
    parameters: int
    grid: tuple[str, str, str]
    block: tuple[int, int, int]
    shared: int
    addressed: frozenset[str] = frozenset()
    descriptors: tuple[Descriptor, ...] = ()
    cluster: tuple[int, ...] = (1, 1, 1)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


def lower(prim_func: PrimFunc, arch: str, settings: Mapping[str, Any] | None = None, tma: bool = False) -> Lowered:
    """Lower for ``sm_80``, ``sm_90a``, …

    Parameters
    ----------
    settings : TileLang's pass configuration, as ``@tilelang.jit(pass_configs=…)`` takes it.
    tma : leave TMA and warps that only load where TileLang puts them by itself.

    Raises
    ------
    ToolchainError : TileLang is missing, or of a version that this release does not know.
    CompilationFailed : TileLang refused the PrimFunc; the error names its line.
    UnsupportedFeatureError : it makes several kernels, or one that only its own launch can start.
    """
    load_tilelang()
    configuration = {str(getattr(key, "value", key)): value for key, value in (settings or {}).items()} | SETTINGS
    configuration |= {} if tma else WITHOUT_TMA
    with _LOWERING:
        try:
            host, device, text = _run(prim_func, arch, configuration)
        except TLEError:
            raise
        except Exception as error:
            raise refused(error) from error
        return _read(host, device, text, prim_func)


def _run(prim_func: PrimFunc, arch: str, configuration: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The steps of ``tilelang.lower``, with a look at the device's module between its passes and its printer."""
    import tvm

    for attribute in HOST_ALLOCATES:
        prim_func = prim_func.without_attr(attribute)
    steps = importlib.import_module("tilelang.engine.lower")  # the package has a function of that name
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target, tvm.transform.PassContext(config=dict(configuration)):
        context = steps.create_backend_context(target, None, "auto")
        host, device, *_ = steps.lower_to_host_device_ir(prim_func, context)
        _check_one(device)
        device = constant_waits(device)
        return host, device, str(steps.device_codegen_without_compile(device, context).inspect_source())


def _check_one(device: Any) -> None:
    count = len(device.functions)
    if count != 1:
        raise UnsupportedFeatureError(
            f"the PrimFunc makes {count} kernels, and a region is one",
            hint="write one PrimFunc for each T.Kernel" if count else "the PrimFunc needs a T.Kernel",
        )


def refused(error: Exception) -> CompilationFailed:
    """TileLang's own words, and the line of the kernel's file that it names."""
    message = str(error).strip()
    location = None
    for match in _MARKER.finditer(message):
        location = SourceLocation(match["file"], int(match["line"]), int(match["column"] or 0))
    words = [line for line in message.splitlines() if line.strip()]
    reason = next((line.strip() for line in reversed(words) if "Error" in line and "-->" not in line), "")
    shown = reason or (words[0].strip() if words else type(error).__name__)
    return CompilationFailed(
        f"TileLang refused the PrimFunc: {shown[:300]}",
        log="\n".join(words[-_LOG_LINES:]),
        context=Context(source=location),
    )


def _read(host: Any, device: Any, text: str, prim_func: PrimFunc) -> Lowered:
    (function,) = device.functions.values()
    attributes = {str(key): function.attrs[key] for key in function.attrs.keys()}  # noqa: SIM118 - no mapping
    for name, kind in _LAUNCHES.items():
        if name in attributes:
            raise UnsupportedFeatureError(f"the PrimFunc needs {kind}, and a region is launched by Triton")
    kernel = str(attributes["global_symbol"])
    extents = {str(key): extent for key, extent in attributes["thread_extent"].items()}
    launch = tuple(str(name) for name in attributes.get("tirx.kernel_launch_params", ()))
    call = read_host_call(host, prim_func, kernel, function, launch)
    return Lowered(
        text=text,
        kernel=kernel,
        arguments=call.arguments,
        parameters=len(function.params),
        grid=tuple(call.extents.get(f"blockIdx.{axis}", "1") for axis in "xyz"),  # type: ignore[arg-type]
        block=tuple(_constant(extents.get(f"threadIdx.{axis}", 1), "threads=") for axis in "xyz"),  # type: ignore[arg-type]
        shared=_constant(attributes.get("dyn_shared_memory_buf", 0), "the size of shared memory"),
        addressed=frozenset(call.arguments[position].name for position in taken_addresses(function)),
        descriptors=call.descriptors,
        cluster=tuple(int(n) for n in attributes.get("cluster_dims", (1, 1, 1))),
    )


def _constant(extent: Any, what: str) -> int:
    value = getattr(extent, "value", extent)
    if not isinstance(value, int):
        raise UnsupportedFeatureError(f"{what} must be a constant in a region, not `{extent}`")
    return value
