"""Turns clang's refusal of TileLang's text into an error at the line of the TileLang kernel."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic, crashed, first_location, parse_diagnostics, tidy
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import Toolchain, belongs_to
from tle_raw.adapters.tilelang.linked.curand import INSTALL as CURAND
from tle_raw.errors import CompilationFailed, Context, SourceLocation, TLEError, ToolchainError
from tle_raw.linker.processes.run_compiler import Run

_LOG_LINES = 40
# Headers of packages of their own, by how they begin.
_PACKAGES = (
    ("curand", f"T.rng_* needs cuRAND: {CURAND}"),
    ("nv/", "pip install nvidia-cuda-cccl  (or: pip install 'tle_raw[cuda]')"),
    ("cuda/", "pip install nvidia-cuda-cccl  (or: pip install 'tle_raw[cuda]')"),
)


def explain(run: Run, toolchain: Toolchain, headers: Sequence[Path], arch: str, timeout: float) -> TLEError:
    """The error for a run that failed."""
    log = "\n".join([line for line in run.log.splitlines() if line.strip()][:_LOG_LINES])
    if run.returncode is None:
        return CompilationFailed(f"clang did not finish within {timeout:g} seconds", log=" ".join(run.command))
    errors = [d for d in parse_diagnostics(run.log) if d.is_error]
    if crashed(run.returncode, run.log) or not errors:
        command = " ".join(run.command)
        return CompilationFailed(f"clang crashed (return code {run.returncode})", log=f"{command}\n{log}")
    first = errors[0]
    if "unsupported CUDA gpu architecture" in first.text:
        return ToolchainError(f"clang {toolchain.version} cannot compile for {arch}")
    if "file not found" in first.text:
        name = first.text.split("'")[1] if "'" in first.text else first.text
        hint = next((hint for start, hint in _PACKAGES if name.startswith(start)), "reinstall TileLang's wheel")
        return ToolchainError(f"the header <{name}>, which TileLang's text includes, is not installed", hint=hint)
    own = (*toolchain.folders, *headers)
    return CompilationFailed(
        f"clang refused what TileLang wrote: {tidy(first.text)}",
        log="\n".join(tidy(line) for d in errors for line in d.lines())[:4000],
        context=Context(source=_location(first, own)),
    )


def _location(error: Diagnostic, own: Sequence[Path]) -> SourceLocation | None:
    """The line of the TileLang kernel, which the text's #line directives name."""

    def is_users(location: ClangLocation) -> bool:
        return location.file != LABEL and location.file.endswith(".py") and not belongs_to(own, Path(location.file))

    found = first_location(error, is_users)
    if found is None:
        return None
    text = linecache.getline(found.file, found.line).rstrip("\n")
    return SourceLocation(found.file, found.line, 0, text)
