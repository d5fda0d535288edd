"""NVIDIA GPUs as a target: Triton's own backend, whose stages FLIR wraps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.flir.nvidia.edit_fragment import edit_fragment
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_BUFFERS, NVIDIA_TRACED
from tle_raw.flir.pass_value import Pass
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.host_variables import publish
from tle_raw.linker.mlir.pause_collector import collector_paused
from tle_raw.linker.prepare import LinkableModule, prepare
from tle_raw.reports.values import KernelReport
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted


class Nvidia:
    """``cuda:80``, ``cuda:90``, …"""

    name = "cuda"

    def settings(self) -> tuple[object, ...]:
        """The edits for speed that are left out, and whether those are made that few GPUs have seen."""
        return (*_disabled(), *(("like-nvcc",) if knobs.like_nvcc else ()))

    def pipelines(self) -> Mapping[str, tuple[Pass, ...]]:
        return {
            "Kernels with traced regions only, cuda": NVIDIA_TRACED,
            "Kernels with shared buffers and no linked region, cuda": NVIDIA_BUFFERS,
            "Kernels with linked regions, cuda": NVIDIA,
        }

    def wanted_device_code(self, target: Target) -> DeviceCodeWanted:
        return DeviceCodeWanted(target.arch)

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        return prepare(
            output.text,
            entry=output.entry,
            parameters=(*bound.entry_parameters, *(("i32",) if output.dynamic_shared else ())),
            result=bound.entry_result,
            edit=lambda module: publish(
                edit_fragment(module, output.entry, inline=inline, older_llvm=older_llvm, disabled=_disabled()),
                output.entry,
                output.host_variables,
            ),
            inline=inline,
        )

    def add_stages(self, stages: dict[str, Any], options: Any, capability: int) -> None:
        with collector_paused():  # a hundred modules, of which it would collect nothing
            from tle_raw.flir.nvidia.pipeline import wrap_stages  # most fragments are made before a kernel is compiled

        wrap_stages(stages, options, capability)

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        from tle_raw.reports.gpu import read_kernel  # which few programs ask for

        return read_kernel(asm, metadata, record)


def _disabled() -> tuple[str, ...]:
    return tuple(knobs.disable_passes.split(","))
