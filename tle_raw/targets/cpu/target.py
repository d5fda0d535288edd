"""The CPU as a target of fragments: CUDA device code runs on an emulated thread block, one for each program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.flir.cpu.edit_fragment import edit_fragment
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.pass_value import Pass
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.host.prepare import prepare_for_host
from tle_raw.knobs import knobs
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted

EMULATED_ARCH = "sm_80"
# What the source may ask for.
DEFINES = ("TLE_RAW_TEAM",)
DEBUG_DEFINES = (*DEFINES, "TLE_RAW_CHECK_TILES")


class Cpu:
    """``cpu``: this machine's own."""

    name = "cpu"

    def settings(self) -> tuple[object, ...]:
        """Code holds the checks of ``knobs.debug``, or does not."""
        return (knobs.debug,)

    def pipelines(self) -> Mapping[str, tuple[Pass, ...]]:
        return {"All kernels, cpu": CPU}

    def wanted_device_code(self, target: Target) -> DeviceCodeWanted:
        """For the oldest GPU: newer ones' instructions stay out of the headers."""
        return DeviceCodeWanted(EMULATED_ARCH, is_emulated=True, defines=DEBUG_DEFINES if knobs.debug else DEFINES)

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        """Make code of this machine's of the device code: threads, barriers and what only a GPU has are emulated.

        Raises
        ------
        UnsupportedFeatureError : an instruction that cannot be emulated.
        SharedMemoryError : more shared memory than a block has.
        ToolchainError : no clang compiles the emulation's runtime.
        """
        from tle_raw.emulation.element_entry import entry_parameters
        from tle_raw.emulation.make_thread_block import (
            make_thread_block,  # which is long, and few fragments come from no cache
        )

        module = make_thread_block(output, bound, knobs.debug)
        return prepare_for_host(
            module.text,
            entry=module.entry,
            parameters=entry_parameters(bound, module.entry),
            result=bound.host_result,
            edit=edit_fragment,
            static_shared=module.static_shared,
            uses_barrier=module.uses_barrier,
        )

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        from tle_raw.reports.cpu import read_kernel  # which few programs ask for

        return read_kernel(asm, metadata, record)

    def run_region(
        self,
        compiled: CompiledFragment,
        arrays: Mapping[str, Any],
        *,
        num_warps: int,
        program: Sequence[int],
        grid: Sequence[int],
    ) -> list[Any]:
        from tle_raw.flir.cpu.run_fragment import run_fragment  # which needs llvmlite

        return run_fragment(compiled, dict(arrays), num_warps=num_warps, program=program, grid=grid)
