"""A function of the script that says what a kernel computes: found by its name, kept where shapes agree."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tle_raw.adapters.tilelang.port.capture import captured
from tle_raw.adapters.tilelang.port.inputs import DTYPES, number_of, sizes_left_open
from tle_raw.adapters.tilelang.port.load_script import Script
from tle_raw.adapters.tilelang.program import Program
from tle_raw.fragments.parameter_types import INOUT
from tle_raw.fragments.signature import Signature

_NAMES = re.compile(
    r"(ref|reference|torch|naive|golden|expected|eager)(_|$)|.*_(ref|reference|torch|naive|golden)(_\w+)?$"
)

_GENERAL = {
    "ref",
    "reference",
    "torch",
    "naive",
    "golden",
    "expected",
    "eager",
    "program",
    "prog",
    "impl",
    "kernel",
    "fn",
}
_GENERAL |= {
    "kernel",
    "fn",
    "func",
    "function",
    "pytorch",
    "main",
    "check",
    "fwd",
    "forward",
    "out",
    "output",
    "result",
}


@dataclass(frozen=True)
class Reference:
    """``name`` is the function's in the module; ``inputs`` the numbers of the arguments that it takes.

    ``extra`` : what it wants to know besides, and what the kernel was built with.
    """

    name: str
    inputs: tuple[int, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)


def find_reference(
    script: Script, program: Program, signature: Signature, kernel: str, built_with: Mapping[str, Any], is_only: bool
) -> Reference | None:
    """The function whose name says which kernel it is for, or of none in particular, and whose shapes fit.

    One for no kernel in particular counts where this is the only one, or where it names the kernel's own parameters.
    """
    effects = {p.name: p.effect for p in signature.parameters}
    reads = [i for i, name in enumerate(program.order) if effects.get(name) != INOUT]
    writes = [i for i, name in enumerate(program.order) if effects.get(name) == INOUT]
    held = {n: v for n, v in vars(script.module).items() if inspect.isfunction(v) and _NAMES.match(n.lower())}
    words = set(_words(kernel)) | set(_words(program.name))
    for name in sorted(held, key=lambda n: -len(words & set(_words(n)))):
        own = set(_words(name)) - _GENERAL
        if own and not own & words:
            continue
        extra = _extra(held[name], program.order, built_with)
        inputs = _inputs(held[name], program.order, reads, extra, by_order=bool(own) or is_only)
        if inputs is not None and _gives(partial(held[name], **extra), program, signature, inputs, writes):
            return Reference(name, tuple(inputs), extra)
    return None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[_\d]+", name.lower()) if len(word) > 1]


def _extra(function: Any, order: Sequence[str], built_with: Mapping[str, Any]) -> dict[str, Any]:
    """Values that text can say, behind the tensors, that the function wants by names that the builder has."""
    given = set(order)
    wanted = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = [p.name for p in wanted if p.name in built_with and p.name not in given]
    return {name: built_with[name] for name in names if isinstance(built_with[name], (bool, int, float, str))}


def _inputs(
    function: Any, order: Sequence[str], reads: Sequence[int], extra: Mapping[str, Any], by_order: bool
) -> list[int] | None:
    """By the parameters' names, or in order where there are as many as the kernel reads."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in plain]
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in extra]
    by_name = {order[i].lower(): i for i in reads}
    if needed and all(name.lower() in by_name for name in needed):
        return [by_name[name.lower()] for name in needed]
    return list(reads) if by_order and len(needed) == len(reads) else None


def _gives(function: Any, program: Program, signature: Signature, inputs: Sequence[int], writes: Sequence[int]) -> bool:
    """Whether it runs, and gives tensors of the shapes that the kernel writes; tried on tensors that hold nothing."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    types: dict[str, Any] = {p.name: p.type for p in signature.parameters}
    sizes = sizes_left_open(program)

    def made(number: int) -> Any:
        name = program.order[number]
        if name not in program.buffers:
            return 1
        shape = [number_of(extent, sizes) for extent in program.buffers[name].shape]
        return torch.empty(shape, dtype=getattr(torch, DTYPES[types[name].dtype.name]))

    if not _says_what(function.func):
        return False
    try:
        with captured(), FakeTensorMode(allow_non_fake_inputs=True):
            found = function(*(made(i) for i in inputs))
            given = list(found) if isinstance(found, (tuple, list)) else [found]
            shapes = [tuple(g.shape) for g in given if isinstance(g, torch.Tensor)]
            return shapes == [tuple(made(i).shape) for i in writes]
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return False


def _says_what(function: Any) -> bool:
    """A function that calls a kernel of TileLang's is no reference for it."""
    try:
        tree = ast.parse(inspect.cleandoc(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return True
    return not any(isinstance(node, ast.Attribute) and node.attr == "prim_func" for node in ast.walk(tree))
