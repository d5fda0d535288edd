"""Finds the line of a fragment's source for what is wrong in the PTX of a finished kernel."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
from collections.abc import Iterator, Sequence

from triton.runtime.errors import PTXASError

from tle_raw.errors import CompilationFailed, SourceLocation, TLEError, UnsupportedFeatureError
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import fragment_by_identity
from tle_raw.linker.ptx.read import DebugLocation, Instruction, Ptx, read_ptx

# A call through a register names a prototype that stands before it.
_PROTOTYPE = ".callprototype"
_REFUSAL = re.compile(r"line (\d+); (?:error|fatal)\s*:\s*(.*)")
# What Triton prints with the whole PTX, for its own developers.
_REPRODUCER = re.compile(r"\n*={20,}\n.*?\n={20,}\n[^\n]*\n*", re.DOTALL)


def refuse_indirect_calls(ptx: str, regions: Sequence[Region], fragments: Sequence[CompiledFragment]) -> None:
    """Calls of virtual functions and through pointers that are still open when all code is known.

    Raises
    ------
    UnsupportedFeatureError : at the line that calls.
    """
    if _PROTOTYPE not in ptx:
        return
    module = read_ptx(ptx)
    call = next((call for call in module.calls if call.indirect), None)
    if call is not None:
        raise _at(
            UnsupportedFeatureError(
                "a call through a pointer (of a virtual function, for example) cannot be inlined into a kernel",
                hint="choose the function by a template or an if: what is called must be known at compile time",
            ),
            _instruction(module, call.line),
            regions,
            fragments,
        )


@contextlib.contextmanager
def explained_refusals(ptx: str, regions: Sequence[Region], fragments: Sequence[CompiledFragment]) -> Iterator[None]:
    """What ptxas refuses inside, in the words and at the line of the fragment.

    Raises
    ------
    CompilationFailed : in place of Triton's error, where its message names a line of the PTX.
    """
    printed = io.StringIO()
    error: TLEError | None = None
    try:
        with contextlib.redirect_stdout(printed):
            yield
    except PTXASError as refusal:
        error = _explained(ptx, str(refusal), regions, fragments)
        if error is None:
            raise
    finally:
        sys.stdout.write(_REPRODUCER.sub("", printed.getvalue()) if error else printed.getvalue())
    if error:
        raise error from None


def _explained(
    ptx: str, message: str, regions: Sequence[Region], fragments: Sequence[CompiledFragment]
) -> TLEError | None:
    found = _REFUSAL.search(message)
    if found is None:
        return None
    line = int(found[1])
    lines = ptx.splitlines()
    shown = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    error = CompilationFailed(
        f"ptxas refused an instruction: {found[2]}",
        log="\n".join([shown, *(f"line {at}: {what}" for at, what in _REFUSAL.findall(message)[1:8])]),
        hint="inline assembly is not looked at before; see the PTX ISA for what this GPU has",
    )
    return _at(error, _instruction(read_ptx(ptx), line), regions, fragments)


def _instruction(module: Ptx, line: int) -> Instruction | None:
    """The last instruction that begins at the line or above it."""
    return next((i for i in reversed(module.instructions) if i.line <= line), None)


def _at(
    error: TLEError, instruction: Instruction | None, regions: Sequence[Region], fragments: Sequence[CompiledFragment]
) -> TLEError:
    """The innermost place in a file of a fragment's; without one, the fragment itself where there is only one."""
    for place in instruction.places if instruction else ():
        for region, fragment in zip(regions, fragments):
            declared = fragment_by_identity(region.record.fragment)
            source = declared.location_in_source(place.file, place.line, place.column) or _in_header(place, fragment)
            if source:
                return error.at(fragment=fragment.name, source=source, call_site=region.record.call_site)
    if len({fragment.entry for fragment in fragments}) == 1:
        record = regions[0].record
        declared = fragment_by_identity(record.fragment)
        return error.at(fragment=fragments[0].name, source=declared.location, call_site=record.call_site)
    return error.at(call_site=regions[0].record.call_site) if len(regions) == 1 else error


def _in_header(place: DebugLocation, fragment: CompiledFragment) -> SourceLocation | None:
    if place.file not in map(str, fragment.files):
        return None
    return SourceLocation(place.file, place.line, place.column, linecache.getline(place.file, place.line).rstrip("\n"))
