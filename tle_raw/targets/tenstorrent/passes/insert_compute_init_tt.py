"""Stage D, fourth: the calls that set the compute units up.

``compute_kernel_hw_startup`` once, first. Then, before a loop over tiles, what its steps need; where they need several
things in turn, each before its step. Where buffers differ in format, what unpacks and packs is told before it changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.ir import Buffer, Call, Module, Word, walk
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.tiles import HeldProduct, Hold, Step, TileLoop
from tle_raw.targets.tenstorrent.webs import rewritten

_MATMUL = (Word("SrcOrder::Reverse"),)


def insert_compute_init_tt(module: Module, options: Options) -> Module:
    """The module with the compute kernel's set-up."""
    kernel = module.kernels["compute"]
    loops = [s for s in walk(kernel.body) if isinstance(s, (TileLoop, HeldProduct))]
    targets = [s.target for s in loops if isinstance(s, TileLoop)]
    if not targets:
        return module
    names = {*targets, *(name for s in loops for name in s.uses)}
    mixed = len({module.circular_buffers[name].data_format for name in names}) > 1

    def change(statement: Any) -> tuple[Any, ...]:
        if isinstance(statement, Hold):
            return (replace(statement, prologue=tuple(c for step in statement.steps for c in _calls(step, mixed))),)
        return (_set_up(statement, mixed),) if isinstance(statement, TileLoop) else (statement,)

    body = (_startup(loops, Buffer(targets[0])), *rewritten(kernel.body, change))
    return replace(module, kernels={**module.kernels, "compute": replace(kernel, body=body)})


def _startup(loops: list[Any], target: Buffer) -> Call:
    """Of the first operation that reads buffers."""
    for loop in loops:
        for step in loop.steps:
            if step.unit == "matrix":
                a, b = (step.buffers * 2)[:2]
                template = _MATMUL if step.operation == "matmul_tiles" else ()
                return Call("compute_kernel_hw_startup", (Buffer(a), Buffer(b), target), template)
    return Call("compute_kernel_hw_startup", (target, target, target))


def _set_up(loop: TileLoop, mixed: bool) -> TileLoop:
    prologue = [Call("pack_reconfig_data_format", (Buffer(loop.target),))] if mixed else []
    steps, after = list(loop.steps), list(loop.after)
    for unit in ("matrix", "vector"):
        own = [step for step in steps if step.unit == unit and step.init is not None]
        if len({step.init for step in own}) == 1:
            prologue += _calls(own[0], mixed)
            after += own[0].undo
            steps = [replace(step, init=None, undo=()) if step.unit == unit else step for step in steps]
    current: dict[str, Call | None] = {}
    for number, step in enumerate(steps):
        if step.init is not None and current.get(step.unit) != step.init:
            steps[number] = replace(step, setup=_calls(step, mixed))
            current[step.unit] = None if step.undo else step.init
    done = tuple(replace(step, init=None) for step in steps)
    return replace(loop, steps=done, prologue=tuple(prologue), after=tuple(after))


def _calls(step: Step, mixed: bool) -> tuple[Call, ...]:
    assert step.init is not None
    if not (mixed and step.unit == "matrix"):
        return (step.init,)
    a, b = (step.buffers * 2)[:2]
    template = _MATMUL if step.operation == "matmul_tiles" else ()
    return (Call("reconfig_data_format", (Buffer(a), Buffer(b)), template), step.init)
