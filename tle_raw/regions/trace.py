"""Regions of dialects with tile semantics: they become Triton IR where they are called."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton.language import core

from tle_raw.errors import SourceLocation, TLEError, UntraceableError
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.fragment import Fragment
from tle_raw.regions.emit import emit_border
from tle_raw.regions.notes import collected
from tle_raw.regions.stages import compiled_target
from tle_raw.regions.traced_regions import TracedRegion, choose, key_of, record, record_untraced
from tle_raw.targets.current import current_target
from tle_raw.triton_types import Builder, Semantic


def trace_region(
    fragment: Fragment, bound: BoundSignature, values: dict[str, Any], semantic: Semantic, site: SourceLocation | None
) -> list[core.tensor] | None:
    """The results of a region that was traced; None when it is to be linked, because it cannot be traced.

    Raises
    ------
    UntraceableError : the region cannot be traced, and there is no other way.
    """
    routes = fragment.routes(compiled_target() or current_target().backend)
    if "traced" not in routes:
        return None
    values = {name: core._unwrap_if_constexpr(value) for name, value in values.items()}
    started, site = time.perf_counter(), site or SourceLocation("<kernel>", 0)
    has_link = "linked" in routes
    reason = choose(fragment.name, fragment.location, fragment.identity, has_link)
    if has_link:
        reason = reason or _obstacle(fragment, bound, values, semantic)
        if reason is not None:
            record_untraced(fragment.name, site, reason)
            return None
    try:
        with _same_place(semantic.builder), collected() as notes, _boundaries(fragment, site, semantic):
            results = fragment.trace(bound, values, semantic)
    except TLEError as e:
        e.at(call_site=site)
        raise
    seconds = time.perf_counter() - started
    parameters = tuple(str(p) for p in bound.parameters)
    location = (site.file, site.line, site.column, site.text)
    record(TracedRegion(fragment.name, *location, parameters, fragment.dialect, seconds, tuple(notes)))
    return results


def interpret_traced(fragment: Fragment, bound: BoundSignature, values: dict[str, Any]) -> list[core.tensor]:
    """The results of a region that runs at once, on the arrays of Triton's interpreter."""
    from triton.runtime.interpreter import interpreter_semantic

    plain = {name: core._unwrap_if_constexpr(value) for name, value in values.items()}
    return fragment.trace(bound, plain, interpreter_semantic)


def _obstacle(
    fragment: Fragment, bound: BoundSignature, values: dict[str, Any], semantic: Semantic
) -> UntraceableError | None:
    """Trace into a block that is thrown away: a region that fails half way must leave nothing behind."""
    builder = semantic.builder
    with _same_place(builder):
        here = builder.get_insertion_point()
        block = builder.create_block()
        try:
            builder.set_insertion_point_to_start(block)
            fragment.trace(bound, values, semantic)
        except UntraceableError as e:
            return e
        finally:
            builder.restore_insertion_point(here)
            block.erase()
    return None


@contextmanager
def _boundaries(fragment: Fragment, site: SourceLocation, semantic: Semantic) -> Iterator[None]:
    """Marks for the barriers that order the region's memory on a GPU with the code around it."""
    if not fragment.ordered or compiled_target() != "cuda":
        yield
        return
    name = key_of(fragment.name, site.file, site.line, site.column)
    location = semantic.builder.get_loc()
    emit_border("begin", name, semantic)
    yield
    semantic.builder.set_loc(location)
    emit_border("end", name, semantic)


@contextmanager
def _same_place(builder: Builder) -> Iterator[None]:
    """The builder's location stays the call's: Triton gives it to every operation of the region."""
    location = builder.get_loc()
    try:
        yield
    finally:
        builder.set_loc(location)
