"""The function that a kernel on the CPU calls for a block of threads, in LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.emulation.own_memory import OwnMemory, memory_table
from tle_raw.errors import SourceLocation
from tle_raw.fragments.bound import TILE, BoundParameter, BoundSignature
from tle_raw.linker.llvm.escaped import escaped

NOTHING = OwnMemory()


def thread_block_entry(
    entry: str,
    thread: str,
    bound: BoundSignature,
    name: str,
    shared_bytes: int,
    locations: Sequence[SourceLocation],
    debug: bool,
    memory: OwnMemory = NOTHING,
) -> str:
    """``i32 @entry(ptr call, ptr args)`` and the constant ``tle_region`` (team/abi.h) that it runs."""
    files = {file: f"@{entry}.file.{i}" for i, file in enumerate(dict.fromkeys(p.file for p in locations))}
    tiles = [(i, p) for i, p in enumerate(bound.crossing) if p.kind == TILE]
    sites = ", ".join(f"{{ ptr, i32, i32 }} {{ ptr {files[p.file]}, i32 {p.line}, i32 {p.column} }}" for p in locations)
    tile_values = ", ".join(
        f"{{ i32, i32, i64 }} {{ i32 {i}, i32 {int(p.effect == 'Out')}, i64 {p.size * _itemsize(p)} }}"
        for i, p in tiles
    )
    fields = (
        f"ptr @{thread}, ptr @{entry}.name, i64 {shared_bytes}, i32 {int(debug)}, i32 {len(tiles)}, "
        f"ptr @{entry}.tiles, ptr @{entry}.sites, "
        f"i32 {len(memory.variables)}, i32 {int(memory.finds_more)}, ptr @{entry}.variables"
    )
    lines = [
        *(f"{global_} = internal constant {_text(file)}" for file, global_ in files.items()),
        f"@{entry}.name = internal constant {_text(name)}",
        f"@{entry}.sites = internal constant [{len(locations)} x {{ ptr, i32, i32 }}] [{sites}]",
        f"@{entry}.tiles = internal constant [{len(tiles)} x {{ i32, i32, i64 }}] "
        + (f"[{tile_values}]" if tiles else "zeroinitializer"),
        *memory_table(entry, memory, [_text(variable.name) for variable in memory.variables]),
        f"@{entry}.region = internal constant {{ ptr, ptr, i64, i32, i32, ptr, ptr, i32, i32, ptr }} {{ {fields} }}",
        "declare i32 @tle_team_run(ptr, ptr, ptr)",
        f"define i32 @{entry}(ptr %call, ptr %args) {{",
        f"  %failed = call i32 @tle_team_run(ptr %call, ptr %args, ptr @{entry}.region)",
        "  ret i32 %failed",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _itemsize(parameter: BoundParameter) -> int:
    assert parameter.dtype is not None
    return parameter.dtype.itemsize


def _text(text: str) -> str:
    data = text.encode("utf-8", "replace") + b"\0"
    return f'[{len(data)} x i8] c"{escaped(data)}"'
