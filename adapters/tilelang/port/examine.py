"""One PrimFunc: what it is, the routes that it takes, and all that stands in the way of a better one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import tle_raw
from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.linked.lowered_away import lowered_away
from tle_raw.adapters.tilelang.port.candidates import BUILDER, JIT, Candidate
from tle_raw.adapters.tilelang.port.default_sizes import guessed
from tle_raw.adapters.tilelang.port.fuse import Fused, fuse
from tle_raw.adapters.tilelang.port.load_script import kernel_uncompiled
from tle_raw.adapters.tilelang.port.results import Launched
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.traced.tracer import REFUSAL
from tle_raw.errors import FragmentSourceError, Row, SharedMemoryError, TLEError, ToolchainError, UntraceableError
from tle_raw.fragments.parameter_types import INOUT
from tle_raw.fragments.signature import Signature
from tle_raw.linker.machine_code.shared_memory_limits import LIMITS
from tle_raw.porting import Obstacle, Ported, Way
from tle_raw.target import Target

TRACED, LINKED = "traced", "linked"


@dataclass(frozen=True)
class Examined:
    """``fragment`` is None where there is none; ``route`` is set where the first choice is not the one that works."""

    candidate: Candidate
    ported: Ported
    fragment: Any = None
    program: Program | None = None
    num_warps: int = 4
    route: str = ""
    reference: Any = None
    fused: Fused | None = None
    compiles: bool = False  # the builder gives its kernel to TileLang's compiler

    @property
    def runs_on_cpu(self) -> bool:
        return any(way.target == "cpu" and way.route for way in self.ported.ways)


def built(candidate: Candidate) -> Any:
    """What ``tle_raw.fragment`` takes: a builder is called, with its kernels taken and not compiled."""
    if candidate.kind != BUILDER:
        return candidate.value
    try:
        return kernel_uncompiled(candidate.value, **candidate.arguments)
    except Launched:
        raise FragmentSourceError(f"`{candidate.name}` runs a kernel, instead of giving one").at(
            source=candidate.place
        ) from None
    except TLEError:
        raise
    except Exception as error:
        raise FragmentSourceError(f"`{candidate.name}` fails: {type(error).__name__}: {error}").at(
            source=candidate.place
        ) from error


def with_inner_arguments(candidate: Candidate, source: Any) -> Candidate:
    """A builder may give a function that wants more: block sizes and alike, which are guessed."""
    is_tuned, source = hasattr(source, "jit_impl"), getattr(source, "jit_impl", source)
    if candidate.kind != BUILDER or not hasattr(source, "get_tir"):
        return candidate
    parameters = [p for p in source.signature.parameters.values() if p.default is p.empty]
    inner = guessed(objects.python_function(source), [p.name for p in parameters])
    missing = [p.name for p in parameters if p.name not in inner]
    if missing:
        raise FragmentSourceError(
            f"`{candidate.name}` gives a function that wants {', '.join(missing)}",
            hint="call it in a function of the script, and name that function",
        ).at(source=candidate.place)
    return replace(candidate, inner=inner, guessed=(*candidate.guessed, *inner), is_tuned=is_tuned)


def examine(candidate: Candidate, source: Any, target: Target) -> Examined:
    """``source`` is what the candidate was built to."""
    options: dict[str, Any] = {"in_grid": True}
    if candidate.kind == JIT or candidate.inner:
        options["arguments"] = dict(candidate.inner or candidate.arguments)
    try:
        fragment = tle_raw.fragment(source, **options)
        whole = fragment.as_kernel()
    except TLEError as error:
        return Examined(
            candidate, Ported(candidate.name, candidate.name, candidate.place, (), (), (obstacle_of(error),))
        )
    gpu, obstacles, works = _on_gpu(source, options, whole, target)
    cpu = _on_cpu(source, options, gpu.route)
    assert fragment.signature is not None  # a PrimFunc states its own
    fused = fuse(candidate.name, source, options, fragment, whole.num_warps, target) if gpu.route == TRACED else None
    facts = tuple(_facts(whole.program, fragment.signature, whole.num_warps))
    if fused is not None:
        facts += (("tiles=", f"{', '.join(fused.tiles)}: copied once, so that Triton code can stand there"),)
    place = fragment.location if candidate.function is None else candidate.place
    ported = Ported(candidate.name, whole.program.name, place, facts, (gpu, cpu), tuple(obstacles))
    compiles = candidate.kind == BUILDER and objects.is_compiled(source)
    return Examined(candidate, ported, fragment, whole.program, whole.num_warps, works, fused=fused, compiles=compiles)


def _on_gpu(source: Any, options: dict[str, Any], whole: Any, target: Target) -> tuple[Way, list[Obstacle], str]:
    """The way, what stands in the way, and the route to name where the first choice fails after it was traced."""
    try:
        compiled = tle_raw.fragment(source, **options, route=TRACED).as_kernel().compile(target)
        return Way(str(target), TRACED, tuple(_cost(compiled, target))), [], ""
    except Exception as error:
        cause = _cause(error)
    obstacles = [obstacle_of(each) for each in (cause, *getattr(cause, "others", ()))]
    works = "" if isinstance(cause, UntraceableError) else LINKED
    try:
        compiled = tle_raw.fragment(source, **options, route=LINKED, tma=False).as_kernel().compile(target)
        facts = _cost(compiled, target)
    except Exception as error:
        cause = _cause(error)
        if not isinstance(cause, ToolchainError):
            return Way(str(target), ""), [*obstacles, obstacle_of(cause, "linked: ")], ""
        facts = [f"not compiled here: {cause.message}{f' ({cause.hint})' * bool(cause.hint)}"]
    return Way(str(target), LINKED, (*facts, *_lost(whole, target))), obstacles, works


def _lost(whole: Any, target: Target) -> tuple[str, ...]:
    program = whole.program
    try:
        return lowered_away(program.prim_func, math.prod(program.threads or (128,)), target.arch, whole.pass_configs)
    except Exception:  # TileLang alone does not lower it: then nothing of it is lost
        return ()


def _on_cpu(source: Any, options: dict[str, Any], route: str) -> Way:
    if not route:
        return Way("cpu", "", ("what no GPU runs is not tried there",))
    try:
        tle_raw.fragment(source, **options, route=route).as_kernel().compile("cpu")
    except Exception as error:
        cause = _cause(error)
        return Way("cpu", "", (cause.message, *([f"hint: {cause.hint}"] if cause.hint else ())))
    return Way("cpu", route)


def _cause(error: BaseException) -> TLEError:
    """Triton wraps what happens while it reads a kernel."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, TLEError):
        found = found.__cause__ or found.__context__
    if found is not None:
        return found
    words = str(error).strip().splitlines()
    return TLEError(f"Triton refuses it: {type(error).__name__}: {words[0] if words else ''}")


def obstacle_of(error: TLEError, start: str = "") -> Obstacle:
    """An error as an obstacle at its own line of the script."""
    rows = [f"{row.what}: {row.expected} is expected, not {row.got}" for row in error.table if row.differs]
    message = "; ".join([start + error.message.removeprefix(REFUSAL), *rows])
    place = error.context.source
    return Obstacle(message, place if place and place.line else None, error.hint)


def _cost(compiled: Any, target: Target) -> list[str]:
    """Registers and shared memory; that a block has so much is found by a launch otherwise."""
    report = tle_raw.report(compiled)
    shared, limit = report.dynamic_shared + report.static_shared, LIMITS.get(target.capability)
    if limit is not None and shared > limit:
        raise SharedMemoryError(
            f"the kernel needs more shared memory than a block of sm_{target.capability} has, in bytes",
            table=[Row("shared memory", f"at most {limit}", str(shared))],
            hint="make the tiles smaller, or num_stages",
        )
    facts = [f"{shared} bytes of shared memory"]
    if report.registers is not None:
        facts.insert(0, f"{report.registers} registers, {report.spills or 0} spills")
    return facts


def _facts(program: Program, signature: Signature, num_warps: int) -> Iterator[tuple[str, str]]:
    extents = " x ".join(str(axis.extent) for axis in program.grid)
    threads = math.prod(program.threads) if program.threads else 128
    yield "T.Kernel", f"{extents} ({', '.join(a.name for a in program.grid)}), {threads} threads: num_warps={num_warps}"
    for parameter in signature.parameters:
        kind: Any = parameter.type  # a pointer or a scalar
        dtype, name = kind.dtype, parameter.name
        if name in program.buffers:
            shape = ", ".join(str(extent) for extent in program.buffers[name].shape)
            yield name, f"{dtype}[{shape}]{', written' if parameter.effect == INOUT else ''}"
        else:
            yield name, f"{dtype}{', a size that is left open' if name in program.dims else ''}"
