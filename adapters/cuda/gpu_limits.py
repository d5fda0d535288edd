"""What clang compiles and a GPU does not run: named at the user's line, before Triton's LLVM and ptxas see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from tle_raw.adapters.cpp.tokens import tokenize
from tle_raw.errors import Context, Row, SharedMemoryError, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.shared_memory import SharedVariable, static_shared
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.text import Module, read_module
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.machine_code.shared_memory_limits import WITHOUT_ASKING
from tle_raw.linker.ptx.unmasked import Unmasked, find_unmasked


def refuse_beyond_gpu(
    text: str, entry: str, function: SourceLocation, source: str, is_users: Callable[[str], bool]
) -> None:
    """Look through what the entry reaches.

    Parameters
    ----------
    function : the place of the user's function. ``source`` is the text that holds it, from its first line.
    is_users : says of a file whether its lines are the user's.

    Raises
    ------
    UnsupportedFeatureError : warp functions without a mask. SharedMemoryError : too many static variables.
    """
    if find_unmasked(text):
        _refuse_warp_functions(read_module(text), entry, function, is_users)
    if "addrspace(3) global" in text:
        _refuse_shared(static_shared(read_module(text), entry), function, source)


def _refuse_warp_functions(
    module: Module, entry: str, function: SourceLocation, is_users: Callable[[str], bool]
) -> None:
    for found, call in _without_mask(module, entry):
        site = Sites(module, function, is_users).source_location(call.location) or function
        raise UnsupportedFeatureError(
            f"`{found.name}` names no mask, and no GPU since sm_70 has it",
            hint=f"write {found.masked}(0xffffffff, …): all threads of the warp take part",
            context=Context(source=site),
        )


def _without_mask(module: Module, entry: str) -> Iterator[tuple[Unmasked, CallInstruction]]:
    reached = reachable(references(module), [entry])
    for entity in module.of_kind("define"):
        if entity.name in reached:
            for call in calls(module, entity, "@llvm.nvvm.shfl.", "@llvm.nvvm.vote."):
                found = find_unmasked(call.assembly) or find_unmasked(call.callee)
                if found:
                    yield found, call


def _refuse_shared(variables: Sequence[SharedVariable], function: SourceLocation, source: str) -> None:
    total = sum(variable.bytes for variable in variables)
    if total <= WITHOUT_ASKING:
        return
    largest = max(variables, key=lambda variable: variable.bytes)
    raise SharedMemoryError(
        "the fragment's static __shared__ variables take more than a block may have of them, in bytes",
        table=[
            Row("total", f"at most {WITHOUT_ASKING}", str(total)),
            *(Row(demangle(v.name), str(v.bytes), str(v.bytes)) for v in variables),
        ],
        hint="a __global__ function may have more where no __noinline__ function names them; a device function is "
        "passed a Tile of the kernel",
        context=Context(source=_line_of(largest, function, source)),
    )


def _line_of(variable: SharedVariable, function: SourceLocation, source: str) -> SourceLocation:
    """The line that declares it, counted from the source's first; the function's where the source has none."""
    name = re.split(r"::|\.", demangle(variable.name))[-1]
    words = tokenize(source)
    shared = {token.line for token in words if token.text == "__shared__"}
    lines = [token.line for token in words if token.text == name and token.line in shared]
    return SourceLocation(function.file, lines[0]) if lines else function
