"""The functions that a kernel on the CPU calls, in LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.emulation.own_memory import OwnMemory, memory_table
from tle_raw.errors import SourceLocation
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
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


def map_entry(entry: str, bound: BoundSignature) -> str:
    """``void @entry.map(ptr args, i64 count)``: an elementwise function over arrays.

    ``args[i]`` is the address of the i-th parameter's first element, or of the only value of a scalar or pointer; the
    address of the results comes last.
    """
    types, result = bound.host_parameters, bound.host_result
    setup, loop, values = [], [], []
    for i, (parameter, kind) in enumerate(zip(bound.crossing, types)):
        setup.append(f"  %slot{i} = getelementptr ptr, ptr %args, i64 {i}")
        setup.append(f"  %p{i} = load ptr, ptr %slot{i}")
        if parameter.kind == ELEMENT:
            location = f"%e{i}"
            loop.append(f"  {location} = getelementptr {_memory(kind)}, ptr %p{i}, i64 %i")
            loop += _load(f"%a{i}", kind, location)
        else:
            memory = "ptr" if parameter.kind == POINTER else kind
            setup += _load(f"%a{i}", memory, f"%p{i}")
        values.append(f"{kind} %a{i}")
    last = len(types)
    setup += [f"  %slot = getelementptr ptr, ptr %args, i64 {last}", "  %results = load ptr, ptr %slot"]
    loop += [f"  %r = call {result} @{entry}({', '.join(values)})"]
    stored, kind = ("%r", result) if result != "i1" else ("%wide", "i8")
    loop += ["  %wide = zext i1 %r to i8"] if result == "i1" else []
    loop += [f"  %to = getelementptr {kind}, ptr %results, i64 %i", f"  store {kind} {stored}, ptr %to"]
    return "\n".join(
        [
            f"define void @{entry}.map(ptr %args, i64 %count) {{",
            "entry:",
            *setup,
            "  %some = icmp sgt i64 %count, 0",
            "  br i1 %some, label %loop, label %end",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *loop,
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %count",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  ret void",
            "}",
            "",
        ]
    )


def _memory(kind: str) -> str:
    return "i8" if kind == "i1" else kind


def _load(name: str, kind: str, location: str) -> list[str]:
    if kind != "i1":
        return [f"  {name} = load {kind}, ptr {location}"]
    return [f"  {name}.byte = load i8, ptr {location}", f"  {name} = icmp ne i8 {name}.byte, 0"]


def _itemsize(parameter: BoundParameter) -> int:
    assert parameter.dtype is not None
    return parameter.dtype.itemsize


def _text(text: str) -> str:
    data = text.encode("utf-8", "replace") + b"\0"
    return f'[{len(data)} x i8] c"{escaped(data)}"'
