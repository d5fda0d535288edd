"""All of ``tle-raw port`` for one script, in the order in which it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.port.candidates import Candidate, find_candidates
from tle_raw.adapters.tilelang.port.examine import Examined, built, examine, obstacle_of
from tle_raw.adapters.tilelang.port.load_script import Script, run_script
from tle_raw.adapters.tilelang.port.write_triton import check_arguments, write_triton
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import FragmentSourceError, TLEError
from tle_raw.porting import Answer, Ported, PortRequest, Skipped, TritonFile
from tle_raw.target import parse_target

_IMPORT = re.compile(r"^\s*(?:import|from)\s[^#\n]*\btilelang\b", re.MULTILINE)


def is_tilelang_script(text: str) -> bool:
    return _IMPORT.search(text) is not None


def port_script(request: PortRequest) -> Iterator[Answer]:
    """Every PrimFunc of the script, what was left out, and the Triton file.

    Raises
    ------
    ToolchainError : TileLang is missing. FragmentSourceError : the script fails, or holds no PrimFunc.
    """
    load_tilelang()
    target = parse_target(request.target)
    script = run_script(request.file, target.capability)
    yield from (Skipped("a statement", left.reason, left.place) for left in script.left_out)
    found: list[Examined] = []
    seen: list[Any] = []
    skipped: list[Skipped] = []
    for candidate in find_candidates(script, request):
        if isinstance(candidate, Skipped):
            skipped.append(candidate)
            continue
        examined = _examined(candidate, target, seen)
        if examined is None:
            skipped.append(Skipped(candidate.name, "it is a kernel that stands here already", candidate.place))
            continue
        found.append(examined)
        yield examined.ported
    if not request.name:
        skipped += _nameless(script, seen)
    yield from skipped
    if not found:
        raise _nothing(request, skipped)
    ported = [each for each in found if each.ported.route]
    if ported:
        yield TritonFile(write_triton(request, ported, script.is_plain, target))


def _examined(candidate: Candidate, target: Any, seen: list[Any]) -> Examined | None:
    """None for a PrimFunc that was examined under another name."""
    try:
        source = built(candidate)
        prim_func = objects.build_prim_func(source, candidate.arguments if source is candidate.value else {})
        if _is_among(prim_func, seen):
            return None
        seen.append(prim_func)
        examined = examine(candidate, source, target)
        check_arguments(examined)
    except TLEError as error:
        return Examined(
            candidate, Ported(candidate.name, candidate.name, candidate.place, (), (), (obstacle_of(error),))
        )
    return examined


def _is_among(prim_func: PrimFunc, seen: list[Any]) -> bool:
    import tvm

    return any(tvm.ir.structural_equal(prim_func, other) for other in seen)


def _nameless(script: Script, seen: list[Any]) -> Iterator[Skipped]:
    """What the script compiled and kept under no name of the module."""
    for kernel in script.compiled:
        if not _is_among(kernel.prim_func, seen):
            seen.append(kernel.prim_func)
            hint = "keep it under a name of the module, or give its function's --arguments"
            yield Skipped(
                objects.object_name(kernel), "it is compiled under no name", objects.object_location(kernel), hint
            )


def _nothing(request: PortRequest, skipped: list[Skipped]) -> FragmentSourceError:
    waiting = [s for s in skipped if s.hint]
    if waiting:
        lines = "\n".join(f"{s.what}: {s.reason}" for s in waiting)
        return FragmentSourceError(
            f"{request.file} holds functions that build kernels, but no kernel",
            log=lines,
            hint="; ".join(s.hint for s in waiting),
        )
    return FragmentSourceError(
        f"{request.file} holds no PrimFunc", hint="kernels are functions under @T.prim_func or @tilelang.jit"
    )
