"""Loads and stores at addresses, plain and ordered: what differs between Triton's versions stands here."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.types import bits_of
from tle_raw.adapters.cutile.traced.values import choose, constant, like

ORDERS = {"RELAXED": "relaxed", "ACQUIRE": "acquire", "RELEASE": "release", "ACQ_REL": "acq_rel"}
SCOPES = {"BLOCK": "cta", "DEVICE": "gpu", "SYS": "sys", "NONE": "gpu"}


def load(
    tracer: Tracer,
    pointers: core.tensor,
    mask: core.tensor | None,
    padding: core.tensor | None,
    order: str = "WEAK",
    scope: str = "NONE",
) -> core.tensor:
    """What is masked out is the padding; without one it may be anything."""
    if order == "WEAK":
        return core.load(pointers, mask, padding if mask is not None else None, _semantic=tracer.semantic)
    if hasattr(tracer.semantic, "atomic_load"):
        found = tracer.semantic.atomic_load(pointers, mask, ORDERS[order], SCOPES[scope])
    else:
        found = _load_by_update(tracer, pointers, mask, ORDERS[order], SCOPES[scope])
    return found if mask is None or padding is None else choose(tracer, mask, found, padding)


def store(
    tracer: Tracer,
    pointers: core.tensor,
    value: core.tensor,
    mask: core.tensor | None,
    order: str = "WEAK",
    scope: str = "NONE",
) -> None:
    if order == "WEAK":
        core.store(pointers, value, mask, _semantic=tracer.semantic)
        return
    if hasattr(tracer.semantic, "atomic_store"):
        tracer.semantic.atomic_store(pointers, value, mask, ORDERS[order], SCOPES[scope])
        return
    words, element = _as_words(tracer, pointers)
    bits = tracer.semantic.bitcast(value, element)
    tracer.semantic.atomic_xchg(words, bits, mask, ORDERS[order], SCOPES[scope])


def _load_by_update(
    tracer: Tracer, pointers: core.tensor, mask: core.tensor | None, order: str, scope: str
) -> core.tensor:
    """Before Triton 3.9 there are atomic updates only: one that changes no bit gives what is there."""
    words, element = _as_words(tracer, pointers)
    zero = constant(tracer, 0, like(pointers, element))
    found = tracer.semantic.atomic_or(words, zero, mask, order, scope)
    return tracer.semantic.bitcast(found, pointers.type.scalar.element_ty)


def _as_words(tracer: Tracer, pointers: core.tensor) -> tuple[core.tensor, core.dtype]:
    """Pointers to the integers as wide as what they point to."""
    width = pointers.type.scalar.element_ty.primitive_bitwidth
    if width < 32:
        raise tracer.fail(f"a memory order of accesses to {width} bits before Triton 3.9")
    element = bits_of(width, signed=True)
    return tracer.semantic.cast(pointers, core.pointer_type(element)), element
