"""PTX as LLVM prints it, by lines: what several passes on the text ask of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

REGISTER = re.compile(r"%[a-z]+\d+\b")
# What an instruction writes.
TARGETS = re.compile(r"\s*(?:@!?%\w+\s+)?[\w.:]+\s+(\{[^}]*\}|[^,;]*)")
LABEL = re.compile(r"(\$L__BB\w+):")
_FUNCTION = re.compile(r"^\s*(?:\.visible |\.weak )?\.(?:entry|func)\b", re.MULTILINE)
_SECTION = "\n\t.section"
_BEGIN_ASSEMBLY, _END_ASSEMBLY, _CALL = "// begin inline asm", "// end inline asm", "{ // callseq"


def has_one_function(text: str) -> bool:
    """Registers and labels are numbered anew in each."""
    return len(_FUNCTION.findall(text)) == 1


def without_debug_info(text: str) -> tuple[list[str], str]:
    """The lines of code, and what comes behind them: it is most of the lines, and none of them code."""
    code, section, debug_info = text.partition(_SECTION)
    return code.split("\n"), section + debug_info


def instructions(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line without the space around it, and whether LLVM's own instruction may stand there, one and no more.

    Assembly and calls are several.
    """
    within = ""
    for line in lines:
        stripped = line.strip()
        if not within and stripped.startswith((_BEGIN_ASSEMBLY, _CALL)):
            within = _END_ASSEMBLY if stripped.startswith(_BEGIN_ASSEMBLY) else "}"
        yield stripped, not within and not stripped.startswith(("{", "//", "."))
        if within and stripped.startswith(within):
            within = ""
