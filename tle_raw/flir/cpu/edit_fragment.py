"""How the passes over one fragment for the CPU are called, which run while it is compiled, before the cache."""

from __future__ import annotations

from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.pass_value import FRAGMENT_STAGE
from tle_raw.flir.run_stage import run_stage
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.llvm.total_divisions import total_divisions


def edit_fragment(module: Module) -> Module:
    """A fragment's module for the host, ready to be linked with kernels."""
    edits = FragmentEdits(module)
    run_stage(CPU, FRAGMENT_STAGE, edits)
    return edits.module


class FragmentEdits:
    """One fragment between its passes, with a method for each: see ``run_stage``."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def text(self) -> str:
        return self.module.text

    def total_divisions(self) -> int:
        self.module = total_divisions(self.module)
        return 1
