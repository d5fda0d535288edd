"""Kernels of a cubin, launched by the CUDA driver on PyTorch's stream with arguments that Python has packed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from standalone import check, driver  # of the benchmarks

from cuda_sweep.launches import Buffer

SHARED_WITHOUT_ASKING = 48 * 1024
MAX_DYNAMIC_SHARED, REGISTERS, LOCAL, STATIC_SHARED = 8, 4, 3, 1  # attributes of a function
_WORDS = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


class Kernel:
    """``extra`` bytes of zeros are passed behind the arguments: Triton's own parameters."""

    def __init__(self, image: bytes, name: str, threads: Sequence[int], shared: int) -> None:
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        check(driver().cuModuleLoadData(ctypes.byref(self._module), image))
        check(driver().cuModuleGetFunction(ctypes.byref(self._function), self._module, name.encode()))
        self.threads, self.shared = tuple((*threads, 1, 1)[:3]), shared
        if shared + self.attribute(STATIC_SHARED) > SHARED_WITHOUT_ASKING:
            check(driver().cuFuncSetAttribute(self._function, MAX_DYNAMIC_SHARED, shared))
        self.registers, self.local = self.attribute(REGISTERS), self.attribute(LOCAL)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        check(driver().cuFuncGetAttribute(ctypes.byref(value), which, self._function))
        return value.value

    def sizes(self) -> list[int]:
        """Bytes of each parameter."""
        sizes: list[int] = []
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        function = driver().cuFuncGetParamInfo
        while function(self._function, ctypes.c_size_t(len(sizes)), ctypes.byref(offset), ctypes.byref(size)) == 0:
            sizes.append(size.value)
        return sizes

    def bound(self, grid: Sequence[int], packed: Sequence[bytes]) -> Any:
        """A function without parameters that launches on the current stream."""
        import torch

        given = [*packed, *(bytes(8) for _ in range(4))]
        buffers = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in given]
        pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(b) for b in buffers))

        def launch() -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(
                driver().cuLaunchKernel(
                    self._function, *grid, *self.threads, self.shared, stream, pointers, None
                )
            )  # fmt: skip

        launch.keep = buffers  # type: ignore[attr-defined]
        return launch


def word(value: Any, dtype: str) -> bytes:
    """A number's bytes."""
    if dtype == "bf16":
        return (np.asarray([value], np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    if dtype in _WORDS:
        return np.asarray([value], _WORDS[dtype]).tobytes()
    bits = {"i1": 8, "bool": 8}.get(dtype) or int("".join(c for c in dtype if c.isdigit())[:2])
    return (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")


def packed(
    parameters: Sequence[dict[str, Any]], values: Sequence[Any], address: Any
) -> tuple[list[bytes], list[bytes]]:
    """The parameters' bytes as a launch of ours and of CUDA's take them: of structs ours takes each number.

    ``address`` gives that of a buffer.
    """

    def one(value: Any, dtype: str) -> bytes:
        if value is None or isinstance(value, Buffer):
            return (0 if value is None else address(value)).to_bytes(8, "little")
        return int(value).to_bytes(8, "little") if dtype.startswith("*") else word(value, dtype)

    if len(parameters) != len(values):
        raise ValueError(f"{len(parameters)} parameters, {len(values)} arguments")
    ours, theirs = [], []
    for parameter, value in zip(parameters, values):
        if "leaves" not in parameter:
            dtype = f"*{parameter['dtype']}" if parameter["kind"] == "pointer" else parameter["dtype"]
            ours.append(one(value, dtype))
            theirs.append(ours[-1])
            continue
        leaves = parameter["leaves"]
        items = flat(value, leaves)
        whole = bytearray(max(parameter["size"], 1))
        for (_, offset, dtype), item in zip(leaves, items):
            ours.append(one(item, dtype))
            whole[offset : offset + len(ours[-1])] = ours[-1]
        theirs.append(bytes(whole))
    return ours, theirs


def flat(value: Any, leaves: Sequence[Sequence[Any]]) -> list[Any]:
    """A value for each number and pointer of a struct: by their names, where those that are not given are 0; or all.

    An array among the fields is given by a list of its first items.
    """
    if isinstance(value, dict):
        fields = [_field(leaf[0]) for leaf in leaves]
        unknown = set(value) - {name for name, _ in fields}
        if unknown:
            known = dict.fromkeys(name for name, _ in fields)
            raise ValueError(f"no {', '.join(sorted(unknown))} among {', '.join(known)}")
        return [_item(value.get(name, 0), place) for name, place in fields]
    items: list[Any] = []
    for item in value if isinstance(value, list | tuple) else [value]:
        items += flat(item, leaves) if isinstance(item, list | tuple) else [item]
    if len(items) != len(leaves):
        names = ", ".join(leaf[0] for leaf in leaves)
        raise ValueError(f"a struct holds {len(leaves)} values ({names}), got {len(items)}")
    return items


def _field(path: str) -> tuple[str, int]:
    """The last name of a path, and the place in that array: ``params.pointers.3``."""
    before, _, last = path.rpartition(".")
    return (before.rpartition(".")[2], int(last)) if last.isdigit() else (last, 0)


def _item(given: Any, place: int) -> Any:
    if not isinstance(given, list):
        return given
    return given[place] if place < len(given) else 0
