"""Loads and stores at addresses, plain and ordered: what differs between Triton's versions stands here."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.cutile.traced.tracer import Tracer
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
    if not hasattr(tracer.semantic, "atomic_load"):
        raise tracer.fail("a load with a memory order before Triton 3.9")
    found = tracer.semantic.atomic_load(pointers, mask, ORDERS[order], SCOPES[scope])
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
    if not hasattr(tracer.semantic, "atomic_store"):
        raise tracer.fail("a store with a memory order before Triton 3.9")
    tracer.semantic.atomic_store(pointers, value, mask, ORDERS[order], SCOPES[scope])


def everywhere(tracer: Tracer, pointers: core.tensor) -> core.tensor:
    """A mask that masks nothing."""
    return constant(tracer, True, like(pointers, core.int1))
