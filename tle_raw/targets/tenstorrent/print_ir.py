"""A module as text: attributes, tensors, buffers, then the body or the three kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tle_raw.targets.tenstorrent import ir
from tle_raw.targets.tenstorrent.blocks import Choice, Known, Repeat
from tle_raw.targets.tenstorrent.tiles import HeldProduct, Hold, TileLoop, Transfer


def print_module(module: ir.Module) -> str:
    """All that a module says, one thing a line."""
    return "\n".join(_module(module)) + "\n"


def _module(module: ir.Module) -> Iterator[str]:
    sizes = f"grid={list(module.grid)} cores={list(module.core_grid)}"
    yield f"module {module.name} {sizes} parameters={list(module.parameters)}"
    for key, value in module.attributes.items():
        if key == "tt.tile_dfg":
            yield f"  {key} = {len(value['nodes'])} nodes, {len(value['edges'])} edges"
            yield from (f"    {edge['from']} -> {edge['to']}  %{edge['buffer']}" for edge in value["edges"])
        else:
            yield f"  {key} = {value}"
    for tensor in module.tensors.values():
        yield f"  tensor @{tensor.name}: {tensor.dtype}{list(tensor.shape)} {tensor.direction} {tensor.data_format}"
    for local in module.locals.values():
        yield f"  local %{local.name}: {local.dtype}{list(local.shape)} {local.form}".rstrip()
    for b in module.circular_buffers.values():
        pages = f"{b.data_format} {b.capacity} pages by {b.block}"
        yield f"  cb %{b.name}: c_{b.number} {pages}, {b.producer} to {b.consumer}"
    yield from _body(module.body, "  ")
    for kernel in module.kernels.values():
        arguments = [*(f"@{a.name}" for a in kernel.compile_time_args), *(a.name for a in kernel.runtime_args)]
        yield f"  kernel {kernel.role}({', '.join(arguments)})"
        yield from _body(kernel.body, "    ")


def _body(body: tuple[Any, ...], indent: str) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement, indent)


def _statement(statement: Any, indent: str) -> Iterator[str]:
    more = indent + "  "
    if isinstance(statement, (ir.For, Repeat)):
        yield f"{indent}for {statement.name} in {statement.start} .. {statement.stop}"
        yield from _body(statement.body, more)
    elif isinstance(statement, (ir.If, Choice)):
        yield f"{indent}if {statement.condition}"
        yield from _body(statement.then, more)
        if statement.otherwise:
            yield f"{indent}else"
            yield from _body(statement.otherwise, more)
    elif isinstance(statement, (ir.Let, Known)):
        yield f"{indent}{statement.name} = {statement.value}"
    elif isinstance(statement, ir.Call):
        yield f"{indent}{_call(statement)}"
    elif isinstance(statement, TileLoop):
        held = " held" if statement.held else ""
        yield f"{indent}%{statement.target} = {statement.rows} x {statement.columns}{held} tiles"
        yield from (f"{more}{_call(call)}" for call in statement.prologue)
        for step in statement.steps:
            yield from (f"{more}{_call(call)}" for call in step.setup)
            yield f"{more}{step}"
            yield from (f"{more}{_call(call)}" for call in step.undo)
    elif isinstance(statement, Hold):
        yield f"{indent}hold"
        yield from (f"{more}{_call(call)}" for call in statement.prologue)
    elif isinstance(statement, HeldProduct):
        yield f"{indent}held += {statement.rows} x {statement.columns} tiles"
        yield from (f"{more}{step}" for step in statement.steps)
    elif isinstance(statement, Transfer):
        yield f"{indent}%{statement.buffer}: {statement.pages} pages"
        yield from _body(statement.calls, more)
    else:
        yield f"{indent}{_plain(statement)}"


def _call(call: ir.Call) -> str:
    template = f"<{', '.join(map(str, call.template))}>" if call.template else ""
    return f"{call.operation}{template}({', '.join(map(str, call.arguments))})"


def _plain(statement: Any) -> str:
    words = []
    for field in fields(statement):
        value = getattr(statement, field.name)
        if field.name in ("location", "node") or value in ("", False):
            continue
        shown = f"({', '.join(map(str, value))})" if isinstance(value, tuple) else value
        words.append(f"{field.name}={shown}")
    return f"{type(statement).__name__} {' '.join(words)}"
