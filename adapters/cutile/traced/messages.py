"""Prints and assertions."""

from __future__ import annotations

import re

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation

_SPECIFIER = re.compile(r"%(?:%|[0 #+-]?[0-9]*(?:\.[0-9]+)?(?:hh|h|ll|l)?([diuoxXeEfFgGaAcspn]))")


@operation("tile_printf")
def print_values(tracer: Tracer, op: Operation) -> None:
    """Triton prints one value a line, in its own format: each with the text before it, the last text alone."""
    pieces, start = [], 0
    for found in _SPECIFIER.finditer(op.format):
        if found.group(0) != "%%":
            pieces.append((op.format[start : found.start()], found.group(1) in "xX"))
            start = found.end()
    for (text, is_hex), argument in zip(pieces, op.args):
        tracer.semantic.device_print(_prefix(text), [tracer.value(argument)], is_hex)
    rest = op.format[start:]
    if rest.strip():
        tracer.semantic.device_print(_prefix(rest), [], False)


def _prefix(text: str) -> str:
    """One line, as Triton wants it; it is part of a format there too, and so a percent sign stays two."""
    return " " + " ".join(text.split()).rstrip(":") + ": "


@operation("assert")
def check(tracer: Tracer, op: Operation) -> None:
    """Checked where Triton's own assertions are: with ``TRITON_DEBUG=1``."""
    tracer.semantic.device_assert(tracer.value(op.cond), op.message or "", None)


@operation("grid_dependency_control_wait")
def wait_for_grid(tracer: Tracer, op: Operation) -> None:
    if not hasattr(tracer.semantic, "grid_dependency_wait"):
        raise tracer.fail("a wait for the kernel before, ahead of Triton 3.9")
    tracer.semantic.grid_dependency_wait()


@operation("grid_dependency_control_launch_dependents")
def launch_dependents(tracer: Tracer, op: Operation) -> None:
    if not hasattr(tracer.semantic, "grid_dependency_launch_dependents"):
        raise tracer.fail("a launch of the kernels behind, ahead of Triton 3.9")
    tracer.semantic.grid_dependency_launch_dependents()
