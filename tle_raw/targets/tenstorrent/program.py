"""What a compilation gives: five files, and what may be done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.targets.tenstorrent.ir import Module


@dataclass(frozen=True)
class MetaliumProgram:
    """A kernel for Tenstorrent's cards.

    Attributes
    ----------
    files : ``reader.cpp``, ``compute.cpp``, ``writer.cpp``, ``main.cpp`` and ``tt.plan.json``, by name.
    module : the program in its final form.
    dumps : behind each pass the program as text, by the pass's name, and first what was read.
    l1 : who takes what of a core's L1: ``name``, ``cb`` (its number), ``offset`` and ``bytes``.
    api : the release of the kernel API.
    """

    files: Mapping[str, str]
    module: Module
    dumps: Mapping[str, str]
    l1: tuple[Mapping[str, Any], ...]
    api: str

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made where it is not there; gives their paths."""
        there = Path(folder)
        there.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (there / name).write_text(text, "utf-8")
        return [there / name for name in self.files]

    def build(self, folder: str | Path) -> Path:
        """Write the files and build ``main``: with the SDK that ``TT_METAL_HOME`` names, else for the simulator.

        Raises
        ------
        ToolchainError : there is no compiler, no CMake for the SDK, or the files do not compile.
        """
        from tle_raw.targets.tenstorrent.build import build  # which asks for compilers

        self.write(folder)
        return build(folder, self.api)
