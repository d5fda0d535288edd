"""What a target must offer: the protocol between the hub and the processors that it generates code for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport


class TargetBackend(Protocol):
    """One kind of processor. Found by the registry under the entry-point group ``tle_raw.targets``.

    ``name`` is what ``Target.backend`` says, and the name of Triton's backend for it.
    """

    name: str

    def settings(self) -> tuple[object, ...]:
        """Settings of this process that change what fragments are compiled to; part of their cache keys."""

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        """An adapter's output as a module that kernels for this target are linked with.

        Raises
        ------
        LinkError : the entry is not of the type that the call needs. SymbolError : a symbol will not be found.
        """

    def add_stages(self, stages: dict[str, Any], options: Any, capability: int) -> None:
        """Let the stages of one compilation by Triton's own backend know regions."""

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        """What became of the linked regions of a kernel; ``record`` is what its compilation wrote down of them."""

    def run_region(
        self,
        compiled: CompiledFragment,
        arrays: Mapping[str, Any],
        *,
        num_warps: int,
        program: Sequence[int],
        grid: Sequence[int],
    ) -> list[Any]:
        """Run a region at once, on arrays of the host, as one program of a grid; the results in signature order."""
