"""Runs kernels in the Linalg form on NumPy arrays: vectorised, or by upstream's scalar loops."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy

from tle_raw.flir.cpu.lower_to_llvm import lower_to_llvm, parse
from tle_raw.flir.cpu.upstream_passes import run_passes
from tle_raw.flir.cpu.vectorise import vectorise
from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.loader import load_object

DTYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f16": "f2", "f32": "f4", "f64": "f8", "bf16": "u2"}
HOST_VECTOR_BYTES = 64


def kernel_text(arguments: str, body: str) -> str:
    """A kernel whose arguments end as every kernel's do."""
    ids = "%pid: i32, %pid_y: i32, %pid_z: i32, %grid_x: i32, %grid_y: i32, %grid_z: i32"
    memory = "%scratch: !llvm.ptr {llvm.noalias}, %context: !llvm.ptr"
    return f"func.func @kernel({arguments}, {ids}, {memory}) {{\n{body}\nreturn\n}}"


def store_tile(shape: Sequence[int], body: str) -> str:
    """A generic that only stores to memory; ``%i0``, ``%i1`` are its indices."""
    dims = ", ".join(f"d{d}" for d in range(len(shape)))
    domain = f"memref<{'x'.join(map(str, shape))}xi1>"
    kinds = ", ".join(['"parallel"'] * len(shape))
    indices = "\n".join(f"%i{d} = linalg.index {d} : index" for d in range(len(shape)))
    return f"""
    %domain = memref.alloca() : {domain}
    linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>], iterator_types = [{kinds}]}}
        ins(%domain : {domain}) {{
    ^bb0(%unread: i1):
      {indices}
      {body}
      linalg.yield
    }}
    """


def load(name: str, pointer: str, offset: str, kind: str, mask: str = "", other: str = "") -> str:
    """``offset`` is an i64 value."""
    access = f"""
      %{name}_at = llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, {kind}
    """
    if not mask:
        return access + f"%{name} = llvm.load %{name}_at : !llvm.ptr -> {kind}\n"
    return f"""
      %{name} = scf.if {mask} -> {kind} {{
        {access}
        %{name}_loaded = llvm.load %{name}_at : !llvm.ptr -> {kind}
        scf.yield %{name}_loaded : {kind}
      }} else {{ scf.yield {other} : {kind} }}
    """


def store(value: str, pointer: str, offset: str, kind: str, mask: str = "", address: str = "%stored_at") -> str:
    access = f"""
      {address} = llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, {kind}
      llvm.store {value}, {address} : {kind}, !llvm.ptr
    """
    return f"scf.if {mask} {{ {access} }}" if mask else access


def vectorised_text(text: str, vector_bytes: int = HOST_VECTOR_BYTES) -> str:
    """The module after vectorisation, verified, as MLIR text."""
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        module = parse(text)
        vectorise(module, vector_bytes=vector_bytes)
        module.operation.verify()
        return str(module)


class Kernel:
    """A compiled kernel. Arguments are arrays and Python integers (i32)."""

    def __init__(self, text: str, *, scalar_loops: bool = False, vector_bytes: int = HOST_VECTOR_BYTES) -> None:
        from torch_mlir import ir

        self.metadata: dict[str, Any] = {}
        with ir.Context(), ir.Location.unknown():
            module = parse(text)
            if scalar_loops:
                run_passes(module, "func.func(convert-linalg-to-loops)")
            self.llvm_ir = lower_to_llvm(module, vector_bytes=vector_bytes, metadata=self.metadata)
        self.assembly = link_host_code(self.llvm_ir, entry="kernel")
        self._loaded = load_object(assemble(self.assembly), entry="kernel")

    def __call__(self, *arguments: Any, pid: int = 0) -> None:
        scratch = numpy.zeros(self.metadata["scratch_bytes"] + 64, numpy.uint8)
        aligned = -(-scratch.ctypes.data // 64) * 64
        context = (ctypes.c_uint64 * 4)(aligned, 0, 0, 0)
        values = [a.ctypes.data if isinstance(a, numpy.ndarray) else a for a in arguments]
        types = [ctypes.c_void_p if isinstance(a, numpy.ndarray) else ctypes.c_int32 for a in arguments]
        function = ctypes.CFUNCTYPE(None, *types, *[ctypes.c_int32] * 6, *[ctypes.c_void_p] * 2)(self._loaded.address)
        function(*values, pid, 0, 0, 1, 1, 1, aligned, ctypes.addressof(context))


def random_array(kind: str, size: int, seed: int = 0) -> Any:
    """Random numbers of an MLIR element type; bf16 as its bits, with no NaN and no infinity among them."""
    random = numpy.random.default_rng(seed)
    dtype = numpy.dtype(DTYPES[kind])
    if kind == "bf16":
        return (random.standard_normal(size).astype("f4").view("u4") >> 16).astype("u2")
    if dtype.kind == "f":
        return random.standard_normal(size).astype(dtype)
    return random.integers(-100, 100, size).astype(dtype)
