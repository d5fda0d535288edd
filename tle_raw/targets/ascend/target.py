"""Ascend as a target: it has local memories of its own, compiles, and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport
from tle_raw.targets.chips import CHIPS


class Ascend:
    """``ascend``: an NPU of Huawei's."""

    name = "ascend"

    def settings(self) -> tuple[object, ...]:
        return ()

    def local_memories(self, options: Any) -> Mapping[str, int]:
        return CHIPS[options.arch]

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        """No fragment is linked: Ascend's compiler takes MLIR, and fragments are LLVM IR for GPUs."""
        raise UnsupportedFeatureError(
            "fragments are not linked into kernels for Ascend", hint="write this part with tl and tle.dsa"
        )

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        from tle_raw.targets.ascend.read_report import read_report  # which few programs ask for

        return read_report(asm, metadata)
