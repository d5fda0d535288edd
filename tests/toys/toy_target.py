"""A target for tests: a processor that is handed LLVM IR text, and whose report counts the lines of it.

It shows all that a target has to offer the core. ARCHITECTURE.md points here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.prepare import LinkableModule, link_edits, prepare
from tle_raw.reports.values import KernelReport


class ToyTarget:
    """``toy``: links like a GPU, and runs nothing."""

    name = "toy"
    precision = "exact"

    def settings(self) -> tuple[object, ...]:
        return (self.precision,)

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        return prepare(
            output.text,
            entry=output.entry,
            parameters=bound.entry_parameters,
            result=bound.entry_result,
            edit=link_edits(output.entry, inline=inline, older_llvm=older_llvm),
            inline=inline,
        )

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        return KernelReport(
            kernel=metadata.name,
            target=self.name,
            regions=(),
            entries=(metadata.name,),
            problems=(),
            static_shared=0,
            asm_instructions=len(asm["llir"].splitlines()),
        )
