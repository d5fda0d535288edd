"""How the passes over one fragment for NVIDIA GPUs are called, which run while it is compiled, before the cache."""

from __future__ import annotations

from collections.abc import Collection

from tle_raw.flir.nvidia.passes import NVIDIA
from tle_raw.flir.pass_value import FRAGMENT_STAGE
from tle_raw.flir.run_stage import run_stage
from tle_raw.linker.llvm.no_vectors import allow_vectors
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.pack_halves import pack_halves
from tle_raw.linker.llvm.symbols import privatise
from tle_raw.linker.llvm.text import Module


def edit_fragment(
    module: Module, entry: str, *, inline: bool, older_llvm: bool, disabled: Collection[str] = ()
) -> Module:
    """A fragment's module, ready to be linked with kernels.

    Parameters
    ----------
    entry : the function that kernels call.
    inline : False keeps the entry a function of its own.
    older_llvm : rewrite spellings that the LLVM of Triton 3.6 does not know.
    disabled : names of passes that exist for speed, and are left out.
    """
    edits = FragmentEdits(module, entry, inline, older_llvm, disabled)
    run_stage(NVIDIA, FRAGMENT_STAGE, edits, disabled)
    return edits.module


class FragmentEdits:
    """One fragment between its passes, with a method for each: see ``run_stage``."""

    def __init__(self, module: Module, entry: str, inline: bool, older_llvm: bool, disabled: Collection[str]) -> None:
        self.module, self.entry, self.inline = module, entry, inline
        self.older_llvm, self.disabled = older_llvm, disabled

    def text(self) -> str:
        return self.module.text

    def normalise(self) -> int:
        self.module = normalise(self.module, older_llvm=self.older_llvm)
        return 1

    def pack_halves(self) -> int:
        self.module = pack_halves(self.module)
        return 1

    def allow_vectors(self) -> int | None:
        if "keep-scalars" not in self.disabled:
            return None
        self.module = allow_vectors(self.module)
        return 1

    def privatise(self) -> int:
        self.module = privatise(self.module, self.entry, self.inline)
        return 1
