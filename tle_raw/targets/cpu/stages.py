"""The stages of a kernel for the CPU: ttir, linalg, llvmir, asm, obj."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from triton import knobs as triton_knobs
from triton.backends.compiler import Language

from tle_raw.errors import LaunchError, LoweringError, Row, ToolchainError
from tle_raw.flir.cpu.leave_out_groups import leave_out_groups
from tle_raw.flir.cpu.lower_tma_copy import has_tma_copies, lower_tma_copy
from tle_raw.flir.cpu.module_text import module_or_text
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.cpu.simplify_ttir import simplify_ttir
from tle_raw.flir.dump import add_dump
from tle_raw.flir.hints.operation import Machine
from tle_raw.flir.keep_loads import keep_loads
from tle_raw.flir.read_hints import read_hints
from tle_raw.flir.run_stage import run_stage
from tle_raw.flir.traced_failures import guard_stages
from tle_raw.host.code import Library, assemble, link_host_code
from tle_raw.host.cpu import host_cpu
from tle_raw.identity import digest, package_identity
from tle_raw.linker.machine_code.elf import undefined_symbols
from tle_raw.linker.tools.llvmlite_binding import llvmlite_identity
from tle_raw.regions import traced_regions
from tle_raw.regions.stages import begin_compilation, end_compilation
from tle_raw.targets.cpu.checksum import with_checksum

Stage = Callable[[Any, dict[str, Any]], Any]
MLIR_PACKAGE = "torch-mlir"
# Host code divides by it to see how many programs fit a multiprocessor: Triton's softmax tutorial.
SHARED_BYTES = 1
# The C functions through which a kernel writes, after LLVM has simplified them.
PRINTING = frozenset(("printf", "puts", "putchar"))


def add_stages(backend: Any, stages: dict[str, Any], options: Any, language: Any) -> None:
    """Fill Triton's dictionary of stages, and let its inspection hook see it."""
    if language is not Language.TRITON:
        raise LaunchError("Gluon kernels are written for one GPU's layouts: they cannot run on the CPU")
    traced_regions.begin()
    _check_arch(options.arch)
    if triton_knobs.compilation.store_binary_only:
        raise LaunchError("Triton stores no binaries but those of GPUs while TRITON_STORE_BINARY_ONLY is set")
    for name, stage in (("ttir", ttir), ("linalg", linalg), ("llvmir", llvmir), ("asm", asm), ("obj", obj)):
        stages[name] = _deep(_overridden(name, stage, options))
    inspect = triton_knobs.runtime.add_stages_inspection_hook
    if inspect is not None:
        inspect(backend, stages, options, language, None)
    guard_stages(stages)
    begin_compilation("cpu", stages, options, add_dump)


@dataclass
class _Kernel:
    """A kernel in a stage, with a method for each pass that is not in ``flir/cpu``: see ``run_stage``."""

    module: Any
    metadata: dict[str, Any]
    options: Any

    def text(self) -> str:
        return self.module if isinstance(self.module, str) else str(self.module.str())

    def lower_tma_copy(self) -> int | None:
        if not has_tma_copies(self.module):
            return None
        self.module = lower_tma_copy(self.module)
        return 1

    def simplify_ttir(self) -> int:
        self.module = keep_loads(self.module)
        simplify_ttir(self.module)
        return 1

    def leave_out_groups(self) -> int | None:
        left = leave_out_groups(self.module)
        if left is None:
            return None
        self.module = left
        return 1

    def link_host_code(self) -> int:
        libraries = [("a fragment", path) for path in self.metadata.get("libraries", ())]
        libraries += [(f"the library {name}", path) for name, path in self.options.extern_libs]
        parts = [Library(name, _read(path)) for name, path in libraries]
        self.module = link_host_code(self.module, parts, fp_contract=self.options.enable_fp_fusion)
        return 1

    def assemble(self) -> int:
        image = assemble(self.module)
        self.metadata["prints"] = any(name in PRINTING for name in undefined_symbols(image))
        self.module = with_checksum(image)
        return 1


def ttir(module: Any, metadata: dict[str, Any], options: Any) -> Any:
    """Triton's own passes, to a module of plain pointers."""
    end_compilation()
    traced_regions.describe(metadata)
    module = read_hints(module, metadata, Machine("cpu", 0, options.num_stages))
    return _run("ttir", module, metadata, options)


def linalg(module: Any, metadata: dict[str, Any], options: Any) -> str:
    """The module in Linalg form, as ``tle_raw.flir.cpu`` describes it."""
    from tle_raw.flir.cpu.convert import convert

    metadata["name"] = module.get_entry_func_name()
    metadata["shared"] = SHARED_BYTES
    metadata.setdefault("scratch_bytes", 0)
    metadata.setdefault("checks", [])
    metadata.setdefault("libraries", [])
    return convert(module, metadata, options)


def llvmir(text: str, metadata: dict[str, Any], options: Any) -> str:
    """The kernel's own LLVM IR, before its fragments are linked."""
    from tle_raw.flir.cpu.lower_to_llvm import lower_to_llvm

    cpu, disabled = host_cpu(), options.disabled_passes.split(",")
    return lower_to_llvm(
        module_or_text(text), vector_bytes=cpu.vector_bytes, fma=cpu.fma, metadata=metadata, disabled=disabled
    )


def asm(text: str, metadata: dict[str, Any], options: Any) -> str:
    """The kernel with its fragments, linked, optimised, as assembly."""
    return str(_run("asm", text, metadata, options))


def obj(text: str, metadata: dict[str, Any], options: Any) -> bytes:
    """The object that a launch loads."""
    return bytes(_run("obj", text, metadata, options))


def _run(stage: str, module: Any, metadata: dict[str, Any], options: Any) -> Any:
    kernel = _Kernel(module, metadata, options)
    run_stage(CPU, stage, kernel)
    return kernel.module


@cache
def toolchain_identity() -> str:
    """Digest of everything besides sources and options that the code depends on."""
    cpu = host_cpu()
    return digest(package_identity(), cpu.name, cpu.features, llvmlite_identity(), _mlir_version())


def _mlir_version() -> str:
    try:
        return version(MLIR_PACKAGE)
    except PackageNotFoundError as e:
        raise ToolchainError(
            "kernels for the CPU need MLIR, which torch-mlir brings", hint="pip install 'tle_raw[cpu]'"
        ) from e


def _deep(stage: Stage) -> Stage:
    """What a tile's elements are computed of is followed by calls within calls, of which Python allows so many."""

    def followed(source: Any, metadata: dict[str, Any]) -> Any:
        try:
            return stage(source, metadata)
        except RecursionError as error:
            raise LoweringError(
                "more elementwise operations follow from each other than the CPU target can convert",
                hint="unroll less, by tl.range and a hint `unroll=` for one, or give Python a higher limit by "
                "sys.setrecursionlimit",
            ) from error

    return followed


def _overridden(name: str, stage: Callable[..., Any], options: Any) -> Stage:
    """The stage, or the text that the user gave in its place."""
    path = options.text_override
    if path and path.endswith(f".{name}"):
        return lambda source, metadata: _after_override(stage, source, metadata, options, path)
    return lambda source, metadata: stage(source, metadata, options)


def _after_override(stage: Callable[..., Any], source: Any, metadata: dict[str, Any], options: Any, path: str) -> str:
    stage(source, metadata, options)  # what it leaves in the metadata still holds
    return _read(path)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise LaunchError(f"a file to link cannot be read as LLVM IR text: {e}") from e


def _check_arch(arch: str) -> None:
    name = host_cpu().name
    if arch not in (name, "", "0"):
        raise LaunchError(
            "code is made for the CPU of this machine only",
            table=[Row("arch", name, arch)],
            hint='GPUTarget("cpu", 0, 32) means this machine\'s, whatever it is',
        )
