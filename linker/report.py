"""What became of each symbol of a link: where it comes from, its size, whether it was inlined, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.columns import columns

ENTRY, INLINED, MARKED, KEPT, OUTSIDE = "entry", "inlined", "to be inlined", "kept", "outside"


@dataclass(frozen=True)
class LinkedSymbol:
    """One function.

    Attributes
    ----------
    name : as the source's compiler named it.
    origin : the module that it was taken of, and ``kind`` what that is: llvm, bitcode, ptx, fatbin, lto-ir.
    instructions : LLVM instructions, before anything was inlined.
    fate : "entry"; "inlined"; "to be inlined" where no optimiser ran here; "kept", a call that is left; "outside",
        which the CUDA runtime, libdevice or somebody else defines.
    reason : why it was kept, or who defines it; else "".
    """

    name: str
    origin: str
    kind: str
    instructions: int
    fate: str
    reason: str = ""


@dataclass(frozen=True)
class LinkSummary:
    """The report of a link; ``print`` shows a table. ``seconds`` is what the link took."""

    symbols: tuple[LinkedSymbol, ...]
    seconds: float

    @property
    def kept_calls(self) -> tuple[str, ...]:
        """The functions of the modules that stay calls."""
        return tuple(symbol.name for symbol in self.symbols if symbol.fate == KEPT)

    def __str__(self) -> str:
        rows = [("symbol", "origin", "kind", "instructions", "fate", "why")]
        rows += [(s.name, s.origin, s.kind, str(s.instructions), s.fate, s.reason) for s in self.symbols]
        return "\n".join([*columns(rows, indent=""), f"linked in {self.seconds:.3f} s"])
