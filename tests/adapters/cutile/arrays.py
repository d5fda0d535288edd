"""A cuTile function of arrays, launched in a Triton kernel that is just its call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

import tle_raw
from tests.adapters.cutile.tiles import NAMES, jit
from tests.support import compile_kernel


def launch(function: Callable, grid: Sequence[int], *arguments: Any, **options: Any) -> Any:
    """Tensors are passed as arrays whose sizes are known at run time; other values are constants."""
    kernel, tensors = kernel_of(function, arguments, **options)
    values = [v for t in tensors for v in (t, *t.shape, *t.stride())]
    return kernel[tuple(grid)](*values)


def compile_for_gpu(function: Callable, *arguments: Any, num_warps: int = 4, **options: Any) -> Any:
    """The same kernel as machine code for a GPU, as a launch compiles it; the last stride is a constant 1."""
    kernel, tensors = kernel_of(function, arguments, **options)
    signature, constants, multiples = {}, {}, set()
    for i, t in enumerate(tensors):
        signature[f"a{i}"] = f"*{NAMES[t.dtype]}"
        signature |= {f"a{i}_{kind}{d}": "i32" for kind in ("size", "step") for d in range(t.ndim)}
        multiples |= {f"a{i}_size{d}" for d, n in enumerate(t.shape) if n % 16 == 0}
        multiples |= {f"a{i}_step{d}" for d, n in enumerate(t.stride()) if n % 16 == 0}
        if t.ndim:
            constants[f"a{i}_step{t.ndim - 1}"] = 1
    return compile_kernel(kernel, signature, constants, multiples=multiples, num_warps=num_warps)


def kernel_of(function: Callable, arguments: Sequence[Any], **options: Any) -> tuple[Any, list[torch.Tensor]]:
    fragment = tle_raw.fragment(function, dialect="cutile", **options)
    tensors: list[torch.Tensor] = []
    passed = [_spelled(a, tensors) for a in arguments]
    names = []
    for i, t in enumerate(tensors):
        names += [f"a{i}", *(f"a{i}_size{d}" for d in range(t.ndim)), *(f"a{i}_step{d}" for d in range(t.ndim))]
    return jit(f"def kernel({', '.join(names)}):\n    fragment({', '.join(passed)})\n", fragment=fragment), tensors


def _spelled(argument: Any, tensors: list[torch.Tensor]) -> str:
    """A tensor as (pointer, sizes, strides); a list or tuple of them as a tuple."""
    if isinstance(argument, torch.Tensor):
        i, rank = len(tensors), range(argument.ndim)
        tensors.append(argument)
        sizes, steps = ("".join(f"a{i}_{kind}{d}, " for d in rank) for kind in ("size", "step"))
        return f"(a{i}, ({sizes}), ({steps}))"
    if isinstance(argument, (list, tuple)):
        return f"({''.join(_spelled(a, tensors) + ', ' for a in argument)})"
    return repr(argument)
