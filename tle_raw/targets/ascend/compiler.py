"""Triton's view of an Ascend chip: ``GPUTarget("ascend", "910B3", 1)``.

This module is imported with Triton: it must stay cheap and must not fail. The stages are in ``stages``.
"""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget

SMALLEST_DOT = (1, 1, 1)


class AscendBackend(BaseBackend):
    """Compiles Triton's modules as far as it goes without a card and without CANN."""

    binary_ext = "hivm"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return bool(target.backend == "ascend")

    def hash(self) -> str:
        from tle_raw.targets.ascend.stages import toolchain_identity

        return f"{toolchain_identity()}-{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> Any:
        from tle_raw.targets.ascend.options import read_options

        return read_options(options, str(self.target.arch))

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any) -> None:
        from tle_raw.targets.ascend.stages import add_stages

        add_stages(self, stages, options, language)

    def load_dialects(self, context: Any) -> None:
        """Triton's own are enough."""

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        return {"min_dot_size": lambda left, right: SMALLEST_DOT}

    def get_module_map(self) -> dict[str, Any]:
        from triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def pack_metadata(self, metadata: Any) -> Any:
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)
