"""All of ``tle-raw port`` for one script, in the order in which it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.port.candidates import (
    BUILDER,
    JIT,
    TAKEN,
    Candidate,
    called,
    find_candidates,
    taken,
)
from tle_raw.adapters.tilelang.port.config_values import spelled
from tle_raw.adapters.tilelang.port.default_sizes import small_options
from tle_raw.adapters.tilelang.port.examine import Examined, built, examine, obstacle_of, with_inner_arguments
from tle_raw.adapters.tilelang.port.load_script import Script, run_script
from tle_raw.adapters.tilelang.port.names import MODULE
from tle_raw.adapters.tilelang.port.references import find_reference
from tle_raw.adapters.tilelang.port.write_triton import check_arguments, write_triton
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import FragmentSourceError, TLEError
from tle_raw.porting import Answer, Note, Ported, PortRequest, Skipped, TritonFile
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
    words = request.words or small_options(request.file)
    if words:
        yield Note(f"run with {' '.join(words)}{' (small sizes; --argv gives others)' * (not request.words)}")
    script = run_script(request.file, target.capability, words, with_main=True, module=request.module)
    request = replace(request, words=words)
    found: list[Examined] = []
    seen: list[Any] = []
    skipped: list[Skipped] = []
    for candidate in _candidates(script, request, found):
        if isinstance(candidate, Skipped):
            skipped.append(candidate)
            continue
        examined = _examined(candidate, target, script, seen)
        if examined is not None and examined.candidate.guessed and not examined.ported.ways:
            skipped.append(_bad_guess(examined.candidate, examined))
            continue
        if examined is not None:
            found.append(examined)
            yield examined.ported
        elif candidate.kind not in (TAKEN, JIT, BUILDER):
            skipped.append(Skipped(candidate.name, "it is a kernel that stands here already", candidate.place))
    left_out = [*script.left_out, *([] if script.in_main else script.left_in_main)]
    skipped += [Skipped("a statement" if left.place else "the package", left.reason, left.place) for left in left_out]
    yield from _shortest_first(skipped)
    if not found:
        raise _nothing(request, skipped)
    ported = [each for each in found if each.ported.route]
    if ported:
        with_references = [_with_reference(each, script, is_only=len(ported) == 1) for each in ported]
        yield TritonFile(write_triton(request, with_references, script, target))


def _candidates(script: Script, request: PortRequest, found: Sequence[Examined]) -> Iterator[Any]:
    """First what has a name, then what functions gave that the script called, then what else it would compile."""
    yield from find_candidates(script, request)
    if request.name:
        return
    for make in (called, taken):
        for candidate in make(script, {each.ported.name for each in found}):
            if all(spelled(v, script.module, MODULE) is not None for v in candidate.arguments.values()):
                yield candidate


def _examined(candidate: Candidate, target: Any, script: Script, seen: list[Any]) -> Examined | None:
    """None for a PrimFunc that was examined under another name."""
    try:
        source = built(candidate)
        candidate = with_inner_arguments(candidate, source)
        source = source.jit_impl if candidate.is_tuned else source
        arguments = candidate.arguments if source is candidate.value else candidate.inner
        prim_func = objects.build_prim_func(source, arguments)
        if _is_among(prim_func, seen):
            return None
        seen.append(prim_func)
        examined = examine(candidate, source, target)
        check_arguments(examined, script.module)
    except TLEError as error:
        return Examined(
            candidate, Ported(candidate.name, candidate.name, candidate.place, (), (), (obstacle_of(error),))
        )
    return examined


def _bad_guess(candidate: Candidate, examined: Examined) -> Skipped:
    """Nobody's sizes are no obstacle: what counts is that the user gives some."""
    given = {**candidate.inner, **candidate.arguments}
    tried = ", ".join(f"{name}={given[name]!r}" for name in candidate.guessed)
    why = examined.ported.obstacles[0].message
    wanted = " ".join(f"{candidate.name}:{name}=…" for name in candidate.guessed)
    reason = f"it builds a kernel from {', '.join(candidate.guessed)}; with {tried}: {why}"
    return Skipped(candidate.name, reason, candidate.place, f"--arguments {wanted}")


def _shortest_first(skipped: Sequence[Skipped]) -> list[Skipped]:
    """Each reason once."""
    first: dict[tuple[str, str], Skipped] = {}
    for each in skipped:
        first.setdefault((each.what if each.what != "a statement" else str(each.place), each.reason), each)
    return sorted(first.values(), key=lambda s: len(s.reason))


def _with_reference(examined: Examined, script: Script, is_only: bool) -> Examined:
    assert examined.program is not None
    signature, name = examined.fragment.signature, examined.candidate.name
    arguments = {**examined.candidate.arguments, **examined.candidate.inner}
    reference = find_reference(script, examined.program, signature, name, arguments, is_only)
    return replace(examined, reference=reference)


def _is_among(prim_func: PrimFunc, seen: list[Any]) -> bool:
    import tvm

    return any(tvm.ir.structural_equal(prim_func, other) for other in seen)


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
