"""A cuTile function of tiles, run in a Triton kernel that loads its arguments and stores its results."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel

NAMES = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}
_numbers = itertools.count()


def run(function: Callable, *arguments: Any, results: Sequence[Any] = (), **options: Any) -> Any:
    """What ``function`` gives for tensors, which are tiles, and other values, which are constants.

    ``results`` are tensors of the shapes and dtypes of what comes back; by default one like the first argument.
    """
    made = [torch.zeros(r.shape).to(r.dtype) for r in results or arguments[:1]]
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    kernel_of(function, arguments, made, **options)[(1,)](*tensors, *made)
    return made if len(made) > 1 else made[0]


def compile_for_gpu(function: Callable, *arguments: Any, results: Sequence[Any] = (), **options: Any) -> Any:
    """The same kernel as machine code for a GPU."""
    made = list(results) or [arguments[0]]
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    kernel = kernel_of(function, arguments, made, **options)
    signature = {f"a{i}": f"*{NAMES[t.dtype]}" for i, t in enumerate(tensors)}
    signature |= {f"o{i}": f"*{NAMES[t.dtype]}" for i, t in enumerate(made)}
    return compile_kernel(kernel, signature)


def kernel_of(function: Callable, arguments: Sequence[Any], made: Sequence[torch.Tensor], **options: Any) -> Any:
    fragment = tle_raw.fragment(function, dialect="cutile", **options)
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    numbers = iter(range(len(tensors)))
    passed = [f"a{next(numbers)}" if isinstance(a, torch.Tensor) else repr(a) for a in arguments]
    lines = [f"    a{i} = tl.load(a{i} + {_offsets(t)})" for i, t in enumerate(tensors)]
    lines += [f"    r = fragment({', '.join(passed)})"]
    values = ["r"] if len(made) == 1 else [f"r[{i}]" for i in range(len(made))]
    lines += [f"    tl.store(o{i} + {_offsets(t)}, {v})" for i, (t, v) in enumerate(zip(made, values))]
    names = [f"a{i}" for i in range(len(tensors))] + [f"o{i}" for i in range(len(made))]
    return jit(f"def kernel({', '.join(names)}):\n" + "\n".join(lines) + "\n", fragment=fragment)


def jit(text: str, **scope: Any) -> Any:
    """A Triton kernel of a text; Triton reads it through linecache."""
    file = f"<test kernel {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"tl": tl, "__name__": "kernels_of_tests", **scope}
    exec(compile(text, file, "exec"), scope)
    return triton.jit(scope["kernel"])


def _offsets(tensor: torch.Tensor) -> str:
    if not tensor.ndim:
        return "0"
    parts = []
    for axis, size in enumerate(tensor.shape):
        index = ", ".join(":" if a == axis else "None" for a in range(tensor.ndim))
        parts.append(f"tl.arange(0, {size})[{index}] * {math.prod(tensor.shape[axis + 1 :])}")
    return " + ".join(parts)
