"""Tenstorrent as a target: whole kernels of tiles become Metalium programs; fragments are not linked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import ReportError, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport
from tle_raw.targets.tenstorrent.program import MetaliumProgram
from tle_raw.tile_program import TileProgram


class Tenstorrent:
    """``tenstorrent``: Wormhole and Blackhole cards."""

    name = "tenstorrent"

    def settings(self) -> tuple[object, ...]:
        return ()

    def compile_program(self, program: TileProgram, options: Mapping[str, Any]) -> MetaliumProgram:
        """The five files of a kernel; see ``tle_raw.targets.tenstorrent.options.Options``.

        Raises
        ------
        UnsupportedFeatureError : what the dialect does not take, by name and at the user's line.
        LocalMemoryError : its circular buffers do not fit into a core's L1; the log says who takes what.
        """
        from tle_raw.targets.tenstorrent.compile import compile_program  # which few programs ask for

        return compile_program(program, options)

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        """No fragment is linked: there are no kernels of Triton here."""
        raise UnsupportedFeatureError(
            "fragments are not linked into kernels for Tenstorrent",
            hint='tle_raw.compile(kernel, target="tenstorrent")',
        )

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        raise ReportError("a Metalium program holds no regions", hint="its tt.plan.json says what each core does")
