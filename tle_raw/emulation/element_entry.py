"""What a kernel on the CPU calls of a function of elements, in LLVM IR: for one element, and for arrays."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.fragments.bound import ELEMENT, POINTER, BoundSignature

# Entries of this name are told where they run, behind their parameters: the worker's context, and the program.
PLACED = "tle_element_"
_PLACE = ("ptr %context", "i32 %x", "i32 %y", "i32 %z")
# tle_region_call of team/abi.h.
_CALL = "{ i32, [3 x i32], [3 x i32], i32, ptr }"


def is_placed(entry: str) -> bool:
    """Whether an entry is told where it runs."""
    return entry.startswith(PLACED)


def entry_parameters(bound: BoundSignature, entry: str) -> tuple[str, ...]:
    """LLVM types of the parameters of a fragment's entry on the CPU."""
    return (*bound.host_parameters, *(each.split()[0] for each in _PLACE if is_placed(entry)))


def told_entry(entry: str, function: str, bound: BoundSignature) -> str:
    """``@entry``, which is told where it runs and does not ask for it."""
    values = _values(bound)
    return "\n".join(
        [
            f"define {bound.host_result} @{entry}({', '.join((*values, *_PLACE))}) alwaysinline {{",
            f"  %r = call {bound.host_result} @{function}({', '.join(values)})",
            f"  ret {bound.host_result} %r",
            "}",
            "",
        ]
    )


def thread_of_element(thread: str, function: str, bound: BoundSignature) -> str:
    """``void @thread(ptr args)``: one thread's share of a block, which calls ``@function`` for one element.

    ``args`` are the addresses of the arguments and, last, of the result.
    """
    types, result = bound.host_parameters, bound.host_result
    lines: list[str] = []
    for i, kind in enumerate((*types, result)):
        lines += _address(i)
        if i < len(types):
            lines += _load(f"%a{i}", kind, f"%p{i}")
    lines.append(f"  %r = call {result} @{function}({', '.join(_values(bound))})")
    lines += [*_store(result, f"%p{len(types)}"), "  ret void"]
    return "\n".join([f"define internal void @{thread}(ptr %args) {{", *lines, "}", ""])


def threaded_entry(entry: str, block: str, bound: BoundSignature) -> str:
    """``@entry``, which calls ``@block``, a block of one thread; its result is zero where that fails."""
    types, result = bound.host_parameters, bound.host_result
    stored, count = _in_memory(result), len(types) + 1
    lines = [f"  %call = alloca {_CALL}", f"  %args = alloca [{count} x ptr]", f"  %result = alloca {stored}"]
    lines += [f"  store {stored} zeroinitializer, ptr %result", f"  store {_CALL} zeroinitializer, ptr %call"]
    numbers = ["1", "%x", "%y", "%z", "1", "1", "1"]  # threads, blockIdx, gridDim
    for i, number in enumerate(numbers):
        lines += [f"  %n{i} = getelementptr i32, ptr %call, i64 {i}", f"  store i32 {number}, ptr %n{i}"]
    lines += [f"  %c = getelementptr {_CALL}, ptr %call, i32 0, i32 4", "  store ptr %context, ptr %c"]
    for i, kind in enumerate(types):
        lines += [f"  %v{i} = alloca {_in_memory(kind)}", *_store(kind, f"%v{i}", f"%a{i}")]
    for i, place in enumerate([*(f"%v{i}" for i in range(len(types))), "%result"]):
        lines += [f"  %s{i} = getelementptr ptr, ptr %args, i64 {i}", f"  store ptr {place}, ptr %s{i}"]
    lines += [f"  %failed = call i32 @{block}(ptr %call, ptr %args)", *_load("%r", result, "%result")]
    head = f"define {result} @{entry}({', '.join((*_values(bound), *_PLACE))}) noinline {{"
    return "\n".join([head, *lines, f"  ret {result} %r", "}", ""])


def map_entry(entry: str, bound: BoundSignature) -> str:
    """``void @entry.map(ptr args, i64 count, ptr context, i32 x, i32 y, i32 z)``: a function of elements over arrays.

    ``args[i]`` is the address of the i-th parameter's first element, or of the only value of a scalar or pointer; the
    address of the results comes last.
    """
    types, result = bound.host_parameters, bound.host_result
    setup: list[str] = []
    loop: list[str] = []
    for i, (parameter, kind) in enumerate(zip(bound.crossing, types)):
        setup += _address(i)
        if parameter.kind == ELEMENT:
            location = f"%e{i}"
            loop.append(f"  {location} = getelementptr {_in_memory(kind)}, ptr %p{i}, i64 %i")
            loop += _load(f"%a{i}", kind, location)
        else:
            setup += _load(f"%a{i}", "ptr" if parameter.kind == POINTER else kind, f"%p{i}")
    results = len(types)
    setup += _address(results)
    values = (*_values(bound), *(_PLACE if is_placed(entry) else ()))
    loop += [f"  %r = call {result} @{entry}({', '.join(values)})"]
    loop += [f"  %to = getelementptr {_in_memory(result)}, ptr %p{results}, i64 %i", *_store(result, "%to")]
    return "\n".join(
        [
            f"define void @{entry}.map({', '.join(('ptr %args', 'i64 %count', *_PLACE))}) {{",
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


def _values(bound: BoundSignature) -> tuple[str, ...]:
    """A function's parameters, and what it is called with."""
    return tuple(f"{kind} %a{i}" for i, kind in enumerate(bound.host_parameters))


def _address(index: int) -> tuple[str, str]:
    """Take an address out of ``args``."""
    return f"  %slot{index} = getelementptr ptr, ptr %args, i64 {index}", f"  %p{index} = load ptr, ptr %slot{index}"


def _in_memory(kind: str) -> str:
    return "i8" if kind == "i1" else kind


def _load(name: str, kind: str, location: str) -> Iterator[str]:
    if kind != "i1":
        yield f"  {name} = load {kind}, ptr {location}"
    else:
        yield f"  {name}.byte = load i8, ptr {location}"
        yield f"  {name} = icmp ne i8 {name}.byte, 0"


def _store(kind: str, location: str, value: str = "%r") -> Iterator[str]:
    if kind != "i1":
        yield f"  store {kind} {value}, ptr {location}"
    else:
        yield f"  {value}.byte.stored = zext i1 {value} to i8"
        yield f"  store i8 {value}.byte.stored, ptr {location}"
