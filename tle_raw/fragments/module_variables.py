"""``tle_raw.variable``: ``__constant__`` and ``__device__`` variables of a kernel's fragments, set from the host."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from tle_raw.errors import LaunchError, ReportError, Row
from tle_raw.linker.llvm.symbols import ENTRY_PREFIX, SEPARATOR, is_settable_name
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.machine_code.elf import symbols

_PTX = re.compile(r"^\.visible \.(?:global|const) [^=;\n]*?([\w$.]+)(?:\[\d*\])?\s*(?:=|;)", re.MULTILINE)


class ModuleVariable:
    """One variable in one compiled kernel. Its value stays from launch to launch.

    Attributes
    ----------
    name : as in the source, namespaces included. ``symbol`` is its name in the kernel, ``bytes`` its size.
    """

    def __init__(self, name: str, symbol: str, address: int, size: int, on_device: bool) -> None:
        self.name, self.symbol, self.bytes = name, symbol, size
        self._address, self._on_device = address, on_device

    def set(self, values: Any) -> None:
        """Copy an array of NumPy, a torch tensor, or a NumPy number of the same size into the variable.

        Raises
        ------
        LaunchError : the sizes differ, or the driver refuses.
        """
        import numpy as np

        array = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
        data = np.ascontiguousarray(array).tobytes()
        if len(data) != self.bytes:
            raise LaunchError(
                f"the value does not fill the variable `{self.name}`",
                table=[Row(self.name, f"{self.bytes} bytes", f"{len(data)} bytes ({array.dtype}, {array.shape})")],
                hint="pass an array of the variable's own dtype and size, such as np.float32(2)",
            )
        if self._on_device:
            _Driver().synchronised("cuMemcpyHtoD_v2", ctypes.c_uint64(self._address), data, ctypes.c_size_t(len(data)))
        else:
            ctypes.memmove(self._address, data, len(data))

    def get(self, dtype: Any) -> Any:
        """The value as a NumPy array of one dim."""
        import numpy as np

        data = ctypes.create_string_buffer(self.bytes)
        if self._on_device:
            address, size = ctypes.c_uint64(self._address), ctypes.c_size_t(self.bytes)
            _Driver().synchronised("cuMemcpyDtoH_v2", data, address, size)
        else:
            ctypes.memmove(data, self._address, self.bytes)
        return np.frombuffer(data.raw, dtype).copy()


def variable(kernel: Any, name: str, *, fragment: str | None = None) -> ModuleVariable:
    """A variable of a compiled kernel, by its name in the CUDA source.

    Each compiled kernel has its own: set it in what ``kernel.warmup(…)`` or a launch gives back.

    Parameters
    ----------
    kernel : Triton's compiled kernel, of the current device.
    fragment : the fragment's name, where several of a kernel have a variable of that name.

    Raises
    ------
    ReportError : the kernel is none, or no fragment of it has such a variable. LaunchError : the driver refuses.
    """
    asm = getattr(kernel, "asm", None)
    if asm is None or not callable(getattr(kernel, "_init_handles", None)):
        raise ReportError(
            f"variables are looked up in a compiled kernel, not in {type(kernel).__name__}",
            hint="pass what kernel[grid](…) or kernel.warmup(…, grid=(1,)) returns",
        )
    found = {s: source_name(s) for s in _symbols(asm)}
    wanted = [s for s, known in found.items() if known == name and (fragment is None or is_of_fragment(s, fragment))]
    if len(wanted) != 1:
        known = ", ".join(sorted(set(found.values()))) or "none"
        raise ReportError(
            f"several fragments of the kernel have a variable `{name}`" if wanted
            else f"no fragment of the kernel has a variable `{name}` that the host could set",
            table=[Row("variable", "one of: " + known, name)],
            hint="say which one: fragment=" if wanted
            else "only __constant__ and __device__ variables that the kernel uses are left in it",
        )  # fmt: skip
    kernel._init_handles()
    return variable_in_module(kernel.module, name, wanted[0])


def _symbols(asm: Any) -> list[str]:
    if "obj" in asm:
        return [s.name for s in symbols(asm["obj"]) if s.bytes and is_settable_name(s.name)]
    return symbols_in_ptx(asm.get("ptx", ""))


def symbols_in_ptx(ptx: str) -> list[str]:
    """The variables of fragments that the host may set."""
    return [symbol for symbol in _PTX.findall(ptx) if is_settable_name(symbol)]


def source_name(symbol: str) -> str:
    """A variable's name in the source, by its symbol in a kernel."""
    return demangle(symbol.partition(f"{SEPARATOR}{ENTRY_PREFIX}")[0])


def is_of_fragment(symbol: str, fragment: str) -> bool:
    """Whether a symbol of a kernel is a variable of the fragment of this name."""
    entry = symbol.partition(SEPARATOR)[2]
    return entry.removeprefix(ENTRY_PREFIX).rpartition("_")[0] == fragment


def variable_in_module(module: Any, name: str, symbol: str) -> ModuleVariable:
    """The variable in a module that is loaded; raises LaunchError where the driver refuses."""
    loaded = getattr(module, "variables", None)
    if loaded is not None:
        address, size = loaded[symbol]
        return ModuleVariable(name, symbol, address, size, on_device=False)
    place, size_of = ctypes.c_uint64(), ctypes.c_size_t()
    _Driver().call(
        "cuModuleGetGlobal_v2",
        ctypes.byref(place),
        ctypes.byref(size_of),
        ctypes.c_void_p(module),
        symbol.encode(),
    )
    return ModuleVariable(name, symbol, place.value, size_of.value, on_device=True)


class _Driver:
    """The CUDA driver, which Triton has loaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            said = text.value.decode() if text.value else str(code)
            raise LaunchError(f"the CUDA driver refuses {function}: {said}")

    def synchronised(self, function: str, *arguments: Any) -> None:
        """Copies wait for the launches before them, whatever their stream."""
        self.call("cuCtxSynchronize")
        self.call(function, *arguments)
