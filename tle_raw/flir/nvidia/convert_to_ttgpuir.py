"""Give every tensor its layout."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, passes

from tle_raw.flir.nvidia.partitions import convert_apart
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text


def convert_to_ttgpuir(module: Any, options: Any, capability: int, num_warps: int | None = None) -> None:
    """Convert a module of Triton's in place. Triton's own stage starts with the same pass, which is idempotent.

    Parameters
    ----------
    num_warps : what the layouts are for; None for the warps of the launch.
    """
    manager = ir.pass_manager(module.context)
    warps = options.num_warps if num_warps is None else num_warps
    passes.ttir.add_convert_to_ttgpuir(manager, f"cuda:{capability}", warps, 32, options.num_ctas)
    manager.run(module, "tle_raw_convert")


def convert_partitions(text: str, context: Any, options: Any, capability: int) -> str:
    """The text of a module with specialised warps, in generic form, converted: each partition for its own warps."""

    def convert(given: str, num_warps: int | None) -> str:
        module = parse_module(given, context)
        convert_to_ttgpuir(module, options, capability, num_warps)
        return generic_text(module, ir)

    return convert_apart(text, convert)
