"""Reads MLIR's diagnostics and finds the line of the module that they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.errors import CompilationFailed, Context, SourceLocation

LOG_LINES = 30
_DIAGNOSTIC = re.compile(
    r'^\s*(?:loc\((?:fused<.*?>\[)?(?:callsite\()?"(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)[^:]*?\): )?'
    r"(?P<severity>error|warning|note|remark): "
    r'(?:"(?P<file2>[^"]*)":(?P<line2>\d+):(?P<column2>\d+): )?(?P<text>.*)$',
    re.MULTILINE,
)


@dataclass(frozen=True)
class Diagnostic:
    """One message; ``line`` is 0 where MLIR does not know it."""

    severity: str
    text: str
    line: int = 0
    column: int = 0


def diagnostics(log: str) -> Iterator[Diagnostic]:
    """In the order of the log, in libtriton's spelling or in that of the Python bindings."""
    for match in _DIAGNOSTIC.finditer(log):
        line, column = match["line"] or match["line2"], match["column"] or match["column2"]
        yield Diagnostic(match["severity"], match["text"].strip(), int(line or 0), int(column or 0))


def explain(message: str, log: str, text: str, hint: str = "") -> CompilationFailed:
    """The error with MLIR's own words. Its place counts from the first line of ``text``, the file is not known here."""
    found = list(diagnostics(log))
    error = next((d for d in found if d.severity == "error"), None)
    lines = [line for line in log.splitlines() if line.strip() and not _is_noise(line)]
    if error is None:
        return CompilationFailed(message, log="\n".join(lines[-LOG_LINES:]), hint=hint)
    shown = [f"{d.severity}: {d.text}" for d in found if d is not error][:LOG_LINES]
    context = Context(source=_location(error, text))
    return CompilationFailed(f"{message}: {error.text}", log="\n".join(shown), hint=hint, context=context)


def _is_noise(line: str) -> bool:
    return line.lstrip().startswith(("Traceback", "PLEASE submit", "Stack dump", "#")) or bool(
        re.match(r"\s+\d+\s", line)
    )


def _location(error: Diagnostic, text: str) -> SourceLocation | None:
    lines = text.splitlines()
    if not 0 < error.line <= len(lines):
        return None
    return SourceLocation("", error.line, error.column, lines[error.line - 1])
