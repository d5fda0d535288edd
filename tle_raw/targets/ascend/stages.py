"""The stages of a kernel for Ascend: ttir, linalg, hivm."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import Language

from tle_raw.errors import LaunchError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.read_ttir import read_ttir
from tle_raw.flir.cpu.simplify_ttir import simplify_ttir
from tle_raw.flir.cpu.structure_control_flow import structure_control_flow
from tle_raw.flir.dump import add_dump
from tle_raw.flir.traced_failures import guard_stages
from tle_raw.identity import digest, package_identity
from tle_raw.regions.stages import begin_compilation, end_compilation
from tle_raw.targets.ascend.linalg.convert import convert
from tle_raw.targets.ascend.tool import Chip, compile_linalg, compiler_identity


def add_stages(backend: Any, stages: dict[str, Any], options: Any, language: Any) -> None:
    """Fill Triton's dictionary of stages."""
    if language is not Language.TRITON:
        raise LaunchError("Gluon kernels are written for one GPU's layouts: they are not compiled for Ascend")
    stages["ttir"] = lambda module, metadata: ttir(module, metadata)
    stages["linalg"] = lambda module, metadata: linalg(module, metadata)
    stages["hivm"] = lambda text, metadata: hivm(text, metadata, options)
    guard_stages(stages)
    begin_compilation("ascend", stages, options, add_dump)


def ttir(module: Any, metadata: dict[str, Any]) -> Any:
    """Triton's own passes, to a module of plain pointers."""
    end_compilation()
    simplify_ttir(module)
    metadata["name"], metadata["shared"] = module.get_entry_func_name(), 0
    return module


def linalg(module: Any, metadata: dict[str, Any]) -> str:
    """Linalg on memrefs and tensors, as bishengir-compile takes it."""
    read = read_ttir(module)
    with read.context, mlir().Location.unknown():
        structure_control_flow(read)
        return convert(read, metadata["name"])


def hivm(text: str, metadata: dict[str, Any], options: Any) -> str:
    """What ``hivmc`` would get: local memories planned, synchronisation put in."""
    metadata["tle_raw"] = {"regions": [], "fragments": {}}
    return compile_linalg(text, Chip(options.arch))


def toolchain_identity() -> str:
    """Digest of everything besides sources and options that the code depends on."""
    return digest(package_identity(), compiler_identity())
