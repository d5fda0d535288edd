"""Holds the finished kernel against what was promised: one entry, inlined regions, nothing undefined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tle_raw.errors import Row, VerificationError
from tle_raw.linker.machine_code.sass import CubinFacts, read_cubin
from tle_raw.linker.ptx.read import Ptx, PtxCall, read_ptx
from tle_raw.linker.unresolved import RUNTIME_BUILTINS

_CALL = re.compile(r"call(?!\w)(?<!\wcall)")  # the word; with \b in front it would be tried at every character


def find_problems(
    ptx: str | Ptx, cubin: bytes | CubinFacts | None = None, *, inlined: Mapping[str, bool]
) -> tuple[Row, ...]:
    """What is wrong with a kernel, as rows of a table; empty when all is well.

    Parameters
    ----------
    cubin : the assembled kernel, or what ``read_cubin`` told of it; None leaves it out.
    inlined : for every region its entry function, and whether it was to be inlined.
    """
    module = read_ptx(ptx) if isinstance(ptx, str) else ptx
    promised = frozenset(name for name, wanted in inlined.items() if wanted)
    rows = [*_entry_rows(module.entries, "PTX"), *_call_rows(module, promised)]
    known = RUNTIME_BUILTINS | frozenset(module.functions)
    rows += (Row("extern function", "defined", f"`{name}` is not") for name in module.externs if name not in known)
    if cubin is not None:
        facts = read_cubin(cubin) if isinstance(cubin, bytes) else cubin
        rows += _cubin_rows(facts, promised)
    return tuple(rows)


def verify_kernel(ptx: str | Ptx, cubin: bytes | CubinFacts | None = None, *, inlined: Mapping[str, bool]) -> None:
    """Raise when ``find_problems`` finds any.

    Raises
    ------
    VerificationError : the table lists every problem.
    """
    if cubin is None and isinstance(ptx, str) and _is_plainly_whole(ptx):
        return
    problems = find_problems(ptx, cubin, inlined=inlined)
    if problems:
        raise VerificationError(
            "the finished kernel is not what was promised",
            table=problems,
            hint="please report it with the fragment's source: an earlier check should have caught this",
        )


def _is_plainly_whole(ptx: str) -> bool:
    """One entry and not even a word that could be a call or a function: the usual case, told without reading all."""
    return ptx.count(".entry") == 1 and ".func" not in ptx and _CALL.search(ptx) is None


def _entry_rows(entries: tuple[str, ...], where: str) -> Iterator[Row]:
    if len(entries) != 1:
        yield Row(f"entry points in the {where}", "1", f"{len(entries)}: {', '.join(entries) or 'none'}")


def _call_rows(module: Ptx, inlined: frozenset[str]) -> Iterator[Row]:
    for call in module.calls:
        if call.indirect:
            yield Row(f"PTX line {call.line}", "a direct call", f"an indirect call in `{call.function}`")
        elif call.target in inlined:
            yield _left(call)


def _left(call: PtxCall) -> Row:
    return Row(f"PTX line {call.line}", f"`{call.target}` inlined", f"a call in `{call.function}`")


def _cubin_rows(facts: CubinFacts, inlined: frozenset[str]) -> Iterator[Row]:
    if facts.reason:
        return  # no tool to look with: the PTX has been checked, and no claim is made about SASS
    yield from _entry_rows(facts.entries, "cubin")
    for target in facts.calls:
        if target in inlined:
            yield Row("SASS", f"`{target}` inlined", "a CALL")
