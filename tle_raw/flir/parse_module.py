"""Read TritonGPU text into a module of Triton's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triton._C.libtriton import ir

from tle_raw.linker.processes.temporary_folder import temporary_folder


def parse_module(text: str, context: Any) -> Any:
    """The module of a text, in libtriton's ``context``. libtriton reads IR from files only."""
    with temporary_folder() as folder:
        file = Path(folder, "module.ttgir")
        file.write_text(text, encoding="utf-8")
        module = ir.parse_mlir_module(str(file), context)
    module.context = context
    return module
