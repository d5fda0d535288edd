"""The CPU as a target of fragments: CUDA device code runs on an emulated thread block, one for each program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.errors import LaunchError
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.host.prepare import prepare_for_host
from tle_raw.knobs import knobs
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport


class Cpu:
    """``cpu``: this machine's own."""

    name = "cpu"

    def settings(self) -> tuple[object, ...]:
        """Code holds the checks of ``knobs.debug``, or does not."""
        return (knobs.debug,)

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        return prepare_for_host(
            output.text,
            entry=output.entry,
            parameters=bound.host_parameters,
            result=bound.host_result,
            static_shared=output.static_shared,
            uses_barrier=output.uses_barrier,
        )

    def add_stages(self, stages: dict[str, Any], options: Any, capability: int) -> None:
        raise LaunchError("the CPU's backend makes its own stages")

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
