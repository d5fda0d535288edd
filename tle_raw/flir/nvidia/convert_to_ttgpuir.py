"""Give every tensor its layout."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, passes


def convert_to_ttgpuir(module: Any, options: Any, capability: int) -> None:
    """Convert a module of Triton's in place. Triton's own stage starts with the same pass, which is idempotent."""
    manager = ir.pass_manager(module.context)
    passes.ttir.add_convert_to_ttgpuir(manager, f"cuda:{capability}", options.num_warps, 32, options.num_ctas)
    manager.run(module, "tle_raw_convert")
