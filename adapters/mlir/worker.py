"""The child process: reads a task from standard input, writes its answer to the file that it is given.

Each task imports what it needs: a process has one, and a user waits for it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tle_raw.errors import SourceLocation, TLEError


def main() -> None:
    request = json.load(sys.stdin)
    Path(sys.argv[1]).write_text(json.dumps(_answer(request)), encoding="utf-8", errors="surrogateescape")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return _TASKS[request["task"]](request)
    except TLEError as e:
        rows = [[row.what, row.expected, row.got] for row in e.table]
        return _failure(type(e).__name__, e.message, hint=e.hint, log=e.log, table=rows, place=_location(e))
    except RuntimeError as e:  # libtriton's way to say that its diagnostics are on stderr
        return _failure("MLIR", _MESSAGES.get(str(e), str(e)))


# What libtriton says, in words for those who do not know it.
_MESSAGES = {
    "Parse MLIR file failed.": "MLIR cannot read the module",
    "PassManager::run failed": "MLIR cannot lower the module",
}


def _location(error: TLEError) -> list[int]:
    source = error.context.source
    return [source.line, source.column] if source else []


def _failure(kind: str, message: str, **rest: Any) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, "hint": "", "log": "", "table": [], "place": [], **rest}}


def _lower(request: dict[str, Any]) -> dict[str, Any]:
    from tle_raw.adapters.mlir.routes import lower_here

    location = SourceLocation(*request["place"]) if request["place"] else None
    llvm_ir, route = lower_here(request["text"], request["arch"], request["route"], location)
    return {"llvm_ir": llvm_ir, "route": route}


def _print(request: dict[str, Any]) -> dict[str, Any]:
    """Text of bytecode, by whoever can read it."""
    import base64

    from tle_raw.adapters.mlir import libtriton
    from tle_raw.adapters.mlir.bindings import installed

    data = base64.b64decode(request["bytecode"])
    for binding in installed():
        try:
            with binding.ir.Context():
                return {"text": binding.ir.Module.parse(data).operation.get_asm(print_generic_op_form=True)}
        except Exception as error:  # the next one may be able to
            print(error, file=sys.stderr)
    return {"text": libtriton.generic(libtriton.parse(data, libtriton.new_context()))}


_TASKS = {"lower": _lower, "print": _print}

if __name__ == "__main__":
    main()
