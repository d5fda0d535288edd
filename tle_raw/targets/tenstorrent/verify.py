"""What must hold between passes; a pass that breaks it is an error of ours."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import VerificationError
from tle_raw.targets.tenstorrent import ir
from tle_raw.targets.tenstorrent.blocks import defined, used
from tle_raw.targets.tenstorrent.ir import Module, walk
from tle_raw.targets.tenstorrent.tiles import GiveBack, Transfer

_PROTOCOL = (Transfer, GiveBack)


def verify(module: Module, stage: str) -> None:
    """Check a module behind a pass of a stage, A to E.

    Raises
    ------
    VerificationError : it does not hold together.
    """
    if stage in "ABC":
        _blocks(module)
    if stage in "CDE":
        _buffers(module)
    if stage in "DE":
        for kernel in module.kernels.values():
            _names(module, kernel)
    if stage == "E":
        _final(module)


def _blocks(module: Module) -> None:
    for statement in walk(module.body):
        if isinstance(statement, (ir.Call, *_PROTOCOL)):
            raise _broken(module, f"{statement} is protocol, which stage D brings")
        for name in (defined(statement), *used(statement)):
            if name is not None and name not in module.locals:
                raise _broken(module, f"the buffer `{name}` is not declared")


def _buffers(module: Module) -> None:
    for buffer in module.circular_buffers.values():
        if buffer.block < 1 or buffer.capacity % buffer.block:
            raise _broken(module, f"`{buffer.name}` holds {buffer.capacity} pages, in blocks of {buffer.block}")


def _names(module: Module, kernel: ir.Kernel) -> None:
    known = {*module.attributes["tt.runtime_args"], *module.scalars}
    _scope(module, kernel.body, known)


def _scope(module: Module, body: tuple[Any, ...], known: set[str]) -> None:
    """Every name is known where it is read, and no name is made twice in one scope."""
    known = set(known)
    for statement in body:
        inner = set(known)
        if isinstance(statement, ir.Let):
            if statement.name in known:
                raise _broken(module, f"`{statement.name}` has two meanings")
            _read(module, statement.value, known)
            known.add(statement.name)
        elif isinstance(statement, ir.For):
            _read(module, statement.start, known)
            _read(module, statement.stop, known)
            _scope(module, statement.body, inner | {statement.name})
        elif isinstance(statement, ir.If):
            _read(module, statement.condition, known)
            _scope(module, statement.then, inner)
            _scope(module, statement.otherwise, inner)
        elif isinstance(statement, ir.Call):
            for argument in statement.arguments:
                _read(module, argument, known | ({"r", "c"} if statement.operation == "write_choice_tile" else set()))


def _read(module: Module, value: Any, known: set[str]) -> None:
    if isinstance(value, ir.Var) and value.name not in known:
        raise _broken(module, f"`{value.name}` is read where it has no value")
    if isinstance(value, ir.Buffer) and value.name not in module.circular_buffers:
        raise _broken(module, f"the buffer `{value.name}` is not declared")
    for inner in (*getattr(value, "arguments", ()), getattr(value, "a", None), getattr(value, "b", None)):
        if inner is not None:
            _read(module, inner, known)


def _final(module: Module) -> None:
    for role, kernel in module.kernels.items():
        left = [s for s in walk(kernel.body) if not isinstance(s, (ir.Let, ir.For, ir.If, ir.Call))]
        if left:
            raise _broken(module, f"the {role} still holds {type(left[0]).__name__}")
    columns = {a.source for k in module.kernels.values() for a in k.runtime_args if a.kind == "core"}
    for core in module.cores:
        missing = columns - set(core.values)
        if missing:
            raise _broken(module, f"core ({core.x},{core.y}) has no value of {', '.join(sorted(missing))}")
    seen = [(item.batch, item.io, item.jo) for core in module.cores for item in core.items]
    columns_, rows, batches = module.grid
    if sorted(seen) != [(b, i, j) for b in range(batches) for i in range(rows) for j in range(columns_)]:
        raise _broken(module, "the cores' work items do not cover each block once")
    numbers = [buffer.number for buffer in module.circular_buffers.values()]
    if len(set(numbers)) < len(numbers):
        raise _broken(module, "two circular buffers have one number")


def _broken(module: Module, what: str) -> VerificationError:
    last = module.done[-1] if module.done else "the front end"
    return VerificationError(f"behind {last} the program `{module.name}` is broken: {what}", hint="please report it")
