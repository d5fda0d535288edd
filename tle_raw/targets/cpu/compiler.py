"""Triton's view of the CPU as something to compile for.

This module is imported with Triton: it must stay cheap and must not fail. The stages are in ``stages``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget

from tle_raw.targets.cpu.device import WARP_SIZE

SMALLEST_DOT = (1, 1, 1)


class CpuBackend(BaseBackend):
    """Compiles Triton's modules for this machine's CPU."""

    binary_ext = "obj"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        # Forks with a CPU backend of their own ask for warps of another size.
        return bool(target.backend == "cpu" and target.warp_size == WARP_SIZE)

    def hash(self) -> str:
        """What makes code besides the source and the options: this package, the tools, the CPU."""
        from tle_raw.targets.cpu.checked_cache import join_next_cache

        join_next_cache()
        return self._hash

    @cached_property
    def _hash(self) -> str:
        from tle_raw.targets.cpu.stages import toolchain_identity

        return f"{toolchain_identity()}-{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> Any:
        from tle_raw.targets.cpu.options import read_options

        return read_options(options, str(self.target.arch))

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any) -> None:
        from tle_raw.targets.cpu.stages import add_stages

        add_stages(self, stages, options, language)

    def load_dialects(self, context: Any) -> None:
        """Triton's own are enough."""

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        from tle_raw.targets.cpu.float8 import convert_custom_types

        return {"min_dot_size": lambda left, right: SMALLEST_DOT, "convert_custom_types": convert_custom_types}

    def get_module_map(self) -> dict[str, Any]:
        # The names of CUDA's library are those that the conversion knows how to compute.
        from triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def pack_metadata(self, metadata: Any) -> Any:
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)
