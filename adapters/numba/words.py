"""The function between a region and Numba's: a pointer and sizes become the words of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.numba.types import NumbaArgument, dtype_of
from tle_raw.linker.llvm.text import encode_name

# How Numba keeps in memory what LLVM has types for.
_STORED = {"i1": "i8", "half": "i16"}


def wrapper(entry: str, callee: str, arguments: Sequence[NumbaArgument], kinds: Sequence[str], result: Any) -> str:
    """LLVM IR text. ``kinds`` are the LLVM types of Numba's function, which begin with the place of its result.

    What it returns is a status: an exception ends the thread's share, as in a launch of Numba's without debug=True.
    """
    taken, lines, passed = [], [], ["%place"]
    given = dtype_of(result, "result") if result is not None else None
    stored = _STORED.get(given.llvm, given.llvm) if given else "ptr"
    lines.append(f"%place = alloca {stored}")
    for index, argument in enumerate(arguments):
        own = f"%a{index}"
        if argument.rank == 0:
            taken.append(f"{argument.dtype.llvm} {own}")
            passed.append(_converted(own, argument.dtype.llvm, kinds[len(passed)], lines))
            continue
        sizes = [f"{own}.size{k}" for k in range(len(argument.sizes))]
        taken += [f"ptr addrspace(1) {own}", *(f"i64 {size}" for size in sizes)]
        lines.append(f"{own}.data = addrspacecast ptr addrspace(1) {own} to ptr")
        passed += [f"{own}.data"] if argument.rank < 0 else _array(own, argument, sizes, lines)
    values = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, passed, strict=True))
    # An exception leaves the result as it was.
    lines += [f"store {stored} zeroinitializer, ptr %place", f"call i32 {encode_name('@', callee)}({values})"]
    if given is None:
        lines.append("ret void")
    else:
        lines.append(f"%returned = load {stored}, ptr %place")
        lines.append(f"ret {given.llvm} {_converted('%returned', stored, given.llvm, lines)}")
    head = f"define {given.llvm if given else 'void'} @{entry}({', '.join(taken)}) {{"
    body = "\n".join(f"  {line}" for line in lines)
    return f"declare i32 {encode_name('@', callee)}({', '.join(kinds)})\n{head}\n{body}\n}}\n"


def _array(own: str, argument: NumbaArgument, sizes: Sequence[str], lines: list[str]) -> list[str]:
    """Nobody to count references, no parent, how many, how large, where, the extents, the strides in bytes."""
    strides = [str(argument.dtype.itemsize)]
    for k, extent in enumerate(reversed(sizes[1:])):
        lines.append(f"{own}.stride{k} = mul i64 {strides[0]}, {extent}")
        strides.insert(0, f"{own}.stride{k}")
    count = sizes[0]
    for k, extent in enumerate(sizes[1:]):
        lines.append(f"{own}.count{k} = mul i64 {count}, {extent}")
        count = f"{own}.count{k}"
    return ["null", "null", count, str(argument.dtype.itemsize), f"{own}.data", *sizes, *strides]


def _converted(value: str, given: str, wanted: str, lines: list[str]) -> str:
    """Numba has bools as bytes and 16-bit floats as integers, where LLVM's own types cross."""
    if given == wanted:
        return value
    how = {("i1", "i8"): "zext", ("i8", "i1"): "trunc"}.get((given, wanted), "bitcast")
    lines.append(f"{value}.as = {how} {given} {value} to {wanted}")
    return f"{value}.as"
