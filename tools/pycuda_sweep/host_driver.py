"""As much of a CUDA driver as PyCUDA's own Python needs to run a program on the host.

Device memory is the host's. A module is the text that nvcc would have got, and a launch goes to ``launch``.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import json
import re
import struct
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

Launch = Callable[[Any, tuple[int, ...], tuple[int, ...], bytes, int], None]
_ATTRIBUTES = {"MAX_THREADS_PER_BLOCK": 1024, "WARP_SIZE": 32, "MULTIPROCESSOR_COUNT": 132,
               "MAX_REGISTERS_PER_BLOCK": 65536, "MAX_SHARED_MEMORY_PER_BLOCK": 49152, "CLOCK_RATE": 1000000,
               "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024, "MAX_BLOCK_DIM_Z": 64,
               "MAX_GRID_DIM_X": 2**31 - 1, "MAX_GRID_DIM_Y": 65535, "MAX_GRID_DIM_Z": 65535}  # fmt: skip
_LAUNCH: list[Launch] = []


class Anything:
    """Stands for what no kernel needs: attributes, calls and items are of the same kind."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Anything:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Error(Exception):
    """The errors of PyCUDA's extension."""


class LogicError(Error):
    """A call that makes no sense."""


class DeviceAllocation:
    """Memory of the host. A number gives an address into the memory of another one."""

    made: ClassVar[dict[int, int]] = {}  # address and bytes of what is alive

    def __init__(self, size: int) -> None:
        self._data = (ctypes.c_char * max(int(size), 1))()
        self.address = ctypes.addressof(self._data)
        self.made[self.address] = int(size)

    def __int__(self) -> int:
        return self.address

    __index__ = __int__

    def __add__(self, offset: int) -> int:
        return self.address + offset

    def free(self) -> None:
        """The memory goes with its last user."""

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        return (ctypes.c_char * size).from_address(self.address + offset)

    def __del__(self) -> None:
        self.made.pop(self.address, None)


def bytes_behind(address: int) -> int:
    """How many bytes of an allocation begin at an address."""
    for start, size in DeviceAllocation.made.items():
        if start <= address < start + size:
            return start + size - address
    raise LogicError(f"no memory of the device stands at {address:#x}")


class GlobalVariable:
    """What ``get_global`` gives: the bytes that are written here reach the kernels when they are launched."""

    def __init__(self) -> None:
        self.value = b""


class Module:
    """The text and the options of a SourceModule."""

    def __init__(self, made_of: dict[str, Any]) -> None:
        self.made_of = made_of
        self.variables: dict[str, GlobalVariable] = {}

    def get_function(self, name: str) -> Function:
        return Function(self, name)

    def get_global(self, name: str) -> tuple[GlobalVariable, int]:
        return self.variables.setdefault(name, GlobalVariable()), 0

    def get_texref(self, name: str) -> Any:
        return Anything()


class Function:
    """PyCUDA's own Python gives it its calls."""

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.symbol = module, name

    def _set_block_shape(self, *block: int) -> None: ...

    def _launch_kernel(self, grid: Any, block: Any, arguments: bytes, shared: int, stream: Any) -> None:
        _LAUNCH[0](self, tuple(map(int, grid)), tuple(map(int, block)), arguments, int(shared))

    def param_set_texref(self, texref: Any) -> None: ...

    def set_cache_config(self, config: Any) -> None: ...

    def get_attribute(self, attribute: Any) -> int:
        return 0


class Device:
    def __init__(self, number: int = 0) -> None: ...

    @staticmethod
    def count() -> int:
        return 1

    def make_context(self, *flags: Any) -> Context:
        return Context()

    retain_primary_context = make_context

    def compute_capability(self) -> tuple[int, int]:
        return (9, 0)

    def get_attribute(self, attribute: str) -> int:
        return _ATTRIBUTES.get(attribute, 0)

    def name(self) -> str:
        return "host"

    def total_memory(self) -> int:
        return 1 << 34


class Context:
    def __init__(self) -> None: ...

    @staticmethod
    def get_device() -> Device:
        return _DEVICE

    @staticmethod
    def synchronize() -> None: ...

    @staticmethod
    def get_current() -> Context:
        return _CONTEXT

    def push(self) -> None: ...

    pop = detach = push


_DEVICE, _CONTEXT = Device(), Context()


class Event:
    def __init__(self, *flags: Any) -> None:
        self._time = 0.0

    def record(self, stream: Any = None) -> Event:
        self._time = time.perf_counter()
        return self

    def synchronize(self) -> Event:
        return self

    def query(self) -> bool:
        return True

    def time_since(self, start: Event) -> float:
        return max(self._time - start._time, 1e-6) * 1e3

    def time_till(self, end: Event) -> float:
        return end.time_since(self)


class Stream:
    def __init__(self, *flags: Any) -> None: ...

    def synchronize(self) -> None: ...

    def is_done(self) -> bool:
        return True


class DeviceMemoryPool:
    def allocate(self, size: int) -> DeviceAllocation:
        return DeviceAllocation(size)


def memcpy_htod(dest: Any, source: Any, *rest: Any) -> None:
    data = source.tobytes() if hasattr(source, "tobytes") else bytes(memoryview(source))
    if isinstance(dest, GlobalVariable):
        dest.value = data
        return
    if len(data) > bytes_behind(int(dest)):
        raise LogicError("the copy is larger than the memory")
    ctypes.memmove(int(dest), data, len(data))


def memcpy_dtoh(dest: Any, source: Any, *rest: Any) -> None:
    if isinstance(dest, np.ndarray):
        size, place = dest.nbytes, dest.ctypes.data
    else:
        view = memoryview(dest)
        size, place = view.nbytes, ctypes.addressof(ctypes.c_char.from_buffer(view))
    if size > bytes_behind(int(source)):
        raise LogicError("the copy is larger than the memory")
    ctypes.memmove(place, int(source), size)


def memcpy_dtod(dest: Any, source: Any, size: int, *rest: Any) -> None:
    ctypes.memmove(int(dest), int(source), int(size))


def _filled(dtype: str) -> Callable[..., None]:
    def memset(dest: Any, value: int, count: int, *rest: Any) -> None:
        data = np.full(count, value, dtype).tobytes()
        ctypes.memmove(int(dest), data, len(data))

    return memset


def _empty(shape: Any, dtype: Any, order: str = "C", *rest: Any, **more: Any) -> np.ndarray:
    return np.empty(shape, dtype, order)


def _pack(form: str, *values: Any) -> bytes:
    """``struct.pack`` with complex numbers."""
    codes = re.findall(r"\d+s|[a-zA-Z?]", form)
    parts: list[Any] = []
    for code, value in zip(codes, values):
        plain = _plain(value)
        parts += [complex(plain).real, complex(plain).imag] if code in "FD" else [plain]
    return struct.pack("".join({"F": "ff", "D": "dd"}.get(code, code) for code in codes), *parts)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.item() if value.ndim == 0 and value.dtype.kind != "V" else value.tobytes()
    if isinstance(value, (np.generic, DeviceAllocation)):
        return int(value) if isinstance(value, DeviceAllocation) else value.item()
    return value


class _Names:
    """Enumerations: a name stands for itself."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _Extension(types.ModuleType):
    """``pycuda._driver``; what is not here is a class that does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Error,) if name.endswith("Error") else (Anything,), {})
        setattr(self, name, value)
        return value


def install(package: Path, launch: Launch) -> None:
    """Put this driver under PyCUDA, whose Python files are in ``package``."""
    extension = _Extension("pycuda._driver")
    own = {
        "Error": Error, "LogicError": LogicError, "DeviceAllocation": DeviceAllocation, "Module": Module,
        "Function": Function, "Device": Device, "Context": Context, "Event": Event, "Stream": Stream,
        "DeviceMemoryPool": DeviceMemoryPool, "PooledDeviceAllocation": type("PooledDeviceAllocation", (), {}),
        "ManagedAllocation": type("ManagedAllocation", (), {}), "device_attribute": _Names(),
        "function_attribute": types.SimpleNamespace(NUM_REGS="NUM_REGS"),
        "init": lambda *_: None, "get_version": lambda: (13, 0, 0),
        "get_curand_version": lambda: (0, 0, 0), "get_driver_version": lambda: 13000,
        "mem_alloc": DeviceAllocation, "mem_get_info": lambda: (1 << 28, 1 << 34),
        "memcpy_htod": memcpy_htod, "memcpy_htod_async": memcpy_htod, "memcpy_dtoh": memcpy_dtoh,
        "memcpy_dtoh_async": memcpy_dtoh, "memcpy_dtod": memcpy_dtod, "memcpy_dtod_async": memcpy_dtod,
        "memset_d8": _filled("u1"), "memset_d16": _filled("u2"), "memset_d32": _filled("u4"),
        "pagelocked_empty": _empty, "aligned_empty": _empty, "managed_empty": _empty,
        "register_host_memory": lambda array, *_: array, "bitlog2": lambda n: int(n).bit_length() - 1,
        "module_from_buffer": lambda data, *_: Module(json.loads(data)),
    }  # fmt: skip
    Function.__module__ = "pycuda._driver"  # tle_raw knows PyCUDA's objects by it
    for name, value in own.items():
        setattr(extension, name, value)
    extension.__all__ = sorted({*own, *_unbound(package / "driver.py")})  # type: ignore[attr-defined]
    structs = types.ModuleType("pycuda._pvt_struct")
    structs.pack = _pack  # type: ignore[attr-defined]
    structs.calcsize = struct.calcsize  # type: ignore[attr-defined]
    sys.modules["pycuda._driver"], sys.modules["pycuda._pvt_struct"] = extension, structs
    _LAUNCH[:] = [launch]
    import pycuda.compiler
    import pycuda.driver

    pycuda.driver.__getattr__ = lambda name: getattr(extension, name)
    pycuda.compiler.compile = _compile


def _compile(
    source: str, nvcc: str = "nvcc", options: Any = None, keep: bool = False, no_extern_c: bool = False,
    arch: Any = None, code: Any = None, cache_dir: Any = None, include_dirs: Any = None, target: str = "cubin",
) -> bytes:  # fmt: skip
    given = {"source": str(source), "options": options, "no_extern_c": bool(no_extern_c)}
    return json.dumps({**given, "include_dirs": list(include_dirs or ())}).encode()


def _unbound(file: Path) -> set[str]:
    """Names that a module reads, and that it has from the extension only."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = [n for n in nodes if isinstance(n, ast.Name)]
    bound = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | set(dir(builtins))
    bound |= {(n.asname or n.name).split(".")[0] for n in nodes if isinstance(n, ast.alias)}
    bound |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    bound |= {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
    return {n.id for n in names if isinstance(n.ctx, ast.Load)} - bound
