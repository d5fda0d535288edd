"""Stage E: what the kernels are called with, numbers for the buffers, and whether all is there and fits.

Runtime arguments are words: addresses of tensors first, then the core's own columns in the order of
``tt.runtime_args``, then scalars. A kernel has those that it reads. Inputs' buffers are numbered from 0, outputs' from
16, the others take what is left of 32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tle_raw.errors import LocalMemoryError, Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.ir import (
    Accessor,
    Buffer,
    CompileTimeArg,
    For,
    If,
    Kernel,
    Let,
    Module,
    RuntimeArg,
    Var,
)
from tle_raw.targets.tenstorrent.options import Options

BUFFERS = 32
FIRST_OUTPUT = 16


def finalize_persistent_signature_tt(module: Module, options: Options) -> Module:
    """The module of which the files are written.

    Raises
    ------
    UnsupportedFeatureError : more buffers than a core has. LocalMemoryError : they do not fit into L1.
    """
    kernels = {role: _with_arguments(module, replace(k, body=_pruned(k.body))) for role, k in module.kernels.items()}
    numbers = _numbers(module)
    buffers = {name: replace(module.circular_buffers[name], number=number) for name, number in numbers.items()}
    module = replace(module, kernels=kernels, circular_buffers=buffers, locals={})
    _check_l1(module, options)
    return module


def nodes(value: Any) -> Iterator[Any]:
    """All values inside statements and expressions."""
    yield value
    inner = (
        value
        if isinstance(value, tuple)
        else [getattr(value, f.name) for f in fields(value) if f.name != "location"]
        if is_dataclass(value)
        else ()
    )
    for one in inner:
        yield from nodes(one)


def _pruned(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without names that nobody reads."""
    kept: list[Any] = []
    for statement in reversed(body):
        if isinstance(statement, For):
            statement = replace(statement, body=_pruned(statement.body))
        elif isinstance(statement, If):
            statement = replace(statement, then=_pruned(statement.then), otherwise=_pruned(statement.otherwise))
        elif isinstance(statement, Let) and statement.name not in _read(tuple(kept)):
            continue
        kept.insert(0, statement)
    return tuple(kept)


def _read(body: tuple[Any, ...]) -> set[str]:
    return {node.name for node in nodes(body) if isinstance(node, Var)}


def _with_arguments(module: Module, kernel: Kernel) -> Kernel:
    found = list(nodes(kernel.body))
    tensors = [name for name in module.tensors if Accessor(name) in found]
    read = {node.name for node in found if isinstance(node, Var)}
    core = [name for name in module.attributes["tt.runtime_args"] if name in read]
    arguments = [
        *(RuntimeArg(f"{name}_address", "address", name) for name in tensors),
        *(RuntimeArg(name, "core", name) for name in core),
        *(RuntimeArg(name, "scalar", name) for name in module.scalars if name in read),
    ]
    return replace(kernel, compile_time_args=tuple(map(CompileTimeArg, tensors)), runtime_args=tuple(arguments))


def _numbers(module: Module) -> dict[str, int]:
    used = {node.name for kernel in module.kernels.values() for node in nodes(kernel.body) if isinstance(node, Buffer)}
    buffers = [b for name, b in module.circular_buffers.items() if name in used]
    if len(buffers) > BUFFERS:
        raise UnsupportedFeatureError(
            "the kernel needs more circular buffers than a core has",
            table=[Row("buffers", f"at most {BUFFERS}", str(len(buffers)))],
            hint="fewer fragments: one that is no longer needed may be used again",
        )
    free = list(range(BUFFERS))
    numbers: dict[str, int] = {}
    for group, start in (("reader", 0), ("writer", FIRST_OUTPUT), ("", FIRST_OUTPUT)):
        for buffer in buffers:
            belongs = group in ("", buffer.producer if group == "reader" else buffer.consumer)
            if buffer.name not in numbers and belongs:
                number = next((n for n in free if n >= start), free[0])
                free.remove(number)
                numbers[buffer.name] = number
    return dict(sorted(numbers.items(), key=lambda item: item[1]))


def _check_l1(module: Module, options: Options) -> None:
    taken = sorted(module.circular_buffers.values(), key=lambda buffer: -buffer.bytes)
    total = sum(buffer.bytes for buffer in taken)
    if total > options.l1_bytes:
        lines = [f"{buffer.bytes:>9} bytes  {buffer.name}: {buffer.capacity} pages" for buffer in taken]
        raise LocalMemoryError(
            "the circular buffers do not fit into a core's L1",
            table=[Row("bytes of L1", f"at most {options.l1_bytes}", str(total))],
            log="\n".join(lines),
            hint="smaller blocks",
        )


def l1_map(module: Module) -> list[dict[str, Any]]:
    """Who takes what of a core's L1: the buffers in order, where each begins and how long it is."""
    found, offset = [], 0
    for buffer in module.circular_buffers.values():
        found.append({"name": buffer.name, "cb": buffer.number, "offset": offset, "bytes": buffer.bytes})
        offset += buffer.bytes
    return found
