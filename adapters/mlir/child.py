"""Runs MLIR in a child process: an assertion of LLVM ends that one, and its stderr is caught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tle_raw.errors as errors
from tle_raw.adapters.mlir.bindings import CANDIDATES
from tle_raw.adapters.mlir.diagnostics import explain
from tle_raw.errors import CompilationFailed, Context, Row, SourceLocation, TLEError
from tle_raw.knobs import knobs
from tle_raw.linker.processes.child_process import CHILD_STACK, Limits, default_memory
from tle_raw.linker.processes.run_python import run_python
from tle_raw.linker.processes.temporary_folder import temporary_folder

WORKER = Path(__file__).with_name("worker.py")
# Whoever lowers a module, and the bindings where they are installed.
_MODULES = (
    "tle_raw.adapters.mlir.routes",
    "triton._C.libtriton",
    *(f"{root}.{part}" for root, _ in CANDIDATES for part in ("ir", "passmanager", "dialects.llvm")),
)


def lower_in_child(text: str, arch: str, route: str | None, location: SourceLocation | None = None) -> tuple[str, str]:
    """As ``routes.lower_here``; whatever goes wrong is an error of this package with MLIR's diagnostics."""
    request: dict[str, Any] = {"task": "lower", "text": text, "arch": arch, "route": route}
    request["place"] = [location.file, location.line] if location else None
    answer = ask(request, text)
    return answer["llvm_ir"], answer["route"]


def ask(request: dict[str, Any], text: str = "") -> dict[str, Any]:
    """Let a child do a task of ``worker``; ``text`` is what the lines of diagnostics count in.

    Raises
    ------
    CompilationFailed : MLIR refuses, the child crashes, or it takes longer than ``knobs.compile_timeout``.
    TLEError : as the child raised it.
    """
    limits = Limits(knobs.compile_timeout, default_memory(), stack=CHILD_STACK)
    with temporary_folder() as folder:
        answer = Path(folder) / "answer.json"
        data = json.dumps(request).encode()
        done = run_python(WORKER, str(answer), data=data, folder=Path(folder), limits=limits, modules=_MODULES)
        if done.returncode is None:
            raise CompilationFailed(f"MLIR did not finish within {knobs.compile_timeout:g} seconds")
        if done.how or not answer.is_file():
            raise explain(f"MLIR {done.how or 'gave no answer'}", done.messages, text)
        result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in result:
        raise _error(result["error"], done.messages, text)
    return result


def _error(found: dict[str, Any], log: str, text: str) -> TLEError:
    """The child's own error, or the explanation of MLIR's."""
    if found["kind"] in ("MLIR", "CompilationFailed"):
        return explain(found["message"], f"{found['log']}\n{log}", text, found["hint"])
    kind: type[TLEError] = getattr(errors, found["kind"])
    table = [Row(*row) for row in found["table"]]
    context = Context(source=SourceLocation("", *found["place"])) if found["place"] else Context()
    return kind(found["message"], table=table, hint=found["hint"], log=found["log"], context=context)
