"""Eager ``@tilelang.jit`` functions as kernels: called as they are, and built for the arguments of each call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.arguments import read_sizes, size_of
from tle_raw.adapters.tilelang.dtypes import torch_dtype
from tle_raw.adapters.tilelang.linked.pass_configs import pass_configs_of
from tle_raw.adapters.tilelang.narrow import holders, is_narrow, per_byte
from tle_raw.adapters.tilelang.program import Program, read_program
from tle_raw.adapters.tilelang.split_kernels import split_kernels
from tle_raw.errors import ArgumentCountError, FragmentSourceError

_OUTPUTS = "tilelang_out_idx"
_NONE = inspect.Parameter.empty


@dataclass(frozen=True)
class _Built:
    """What one kind of call launches, in order. ``order`` names all parameters, ``outputs`` those of ``T.empty``."""

    kernels: tuple[Any, ...]
    program: Program
    order: tuple[str, ...]
    outputs: tuple[str, ...]


class EagerKernel:
    """Call it like the function: with its tensors and its other arguments. It gives what the function returns.

    Each ``T.Kernel`` of the function is a launch of its own. Memory of ``T.empty`` is made by the call, as is memory
    that only the function's kernels see.
    """

    def __init__(self, function: Any, options: Mapping[str, Any]) -> None:
        self._function, self._options = function, dict(options)
        self._built: dict[Any, _Built] = {}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Launch the function's kernels; a tensor, a list of several, or None, as TileLang gives them.

        Raises
        ------
        FragmentSourceError : a size of ``T.const`` is given by no argument. ArgumentCountError : a tensor is missing.
        """
        built, given = self._find(arguments, named)
        values = dict(zip((name for name in built.order if name not in built.outputs), given))
        own = [name for name in built.order if name not in values]
        known = read_sizes(built.program, list(values.values()), list(values)) if own else {}
        device = next((v.device for v in given if hasattr(v, "device")), "cpu")
        values |= {name: _empty(built.program, name, known, device) for name in own}
        for kernel in built.kernels:
            kernel(*(values[name] for name in built.order))
        results = [values[name] for name in built.outputs]
        return results[0] if len(results) == 1 else results or None

    def kernels(self, *arguments: Any, **named: Any) -> tuple[Any, ...]:
        """What such a call launches, as ``fragment.as_kernel()`` gives it: to compile ahead, or to ask for routes.

        Tensors give their shapes only, so that ``torch.empty(…, device="meta")`` does; so does ``N=1024`` for a size.
        """
        missing = self._missing(arguments, named)
        if not missing:
            return self._find(arguments, named)[0].kernels
        function = self._function
        known = {name: value for name, value in named.items() if name in function.signature.parameters}
        given = function.signature.bind_partial(*arguments, **known).arguments
        return self._build(objects.build_prim_func(function, {**given, **named})).kernels

    def _missing(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> list[str]:
        """The tensors that a call does not give."""
        parameters = self._function.signature.parameters
        given = [*list(parameters)[: len(arguments)], *named]
        return [n for n in self._function.func.tensor_args if n not in given and parameters[n].default is _NONE]

    def _find(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[_Built, list[Any]]:
        function = self._function
        with objects.refusals(function, named):
            function.initialize_jit_mode(*arguments, **named)
            if function.mode != "eager":
                raise FragmentSourceError(
                    f"`{objects.object_name(function)}` returns a PrimFunc: it is no eager function",
                    hint="tle_raw.fragment(function, arguments=dict(…)).as_kernel()",
                )
            missing = self._missing(arguments, named)
            if missing:
                raise ArgumentCountError(
                    f"`{objects.object_name(function)}` got nothing for `{missing[0]}`",
                    hint=f"its tensors are {', '.join(function.func.tensor_args)}",
                )
            key, given = function.func.parse_args(*arguments, **named)
            if key not in self._built:
                self._built[key] = self._build(function.get_tir(*arguments, **named))
        return self._built[key], list(given.values())

    def _build(self, prim_func: Any) -> _Built:
        from tle_raw.fragments.dialects import fragment  # brings Triton, which adapters load without

        parts = split_kernels(prim_func)
        options = {**self._options}
        options["pass_configs"] = pass_configs_of(self._function, prim_func) | dict(options.get("pass_configs", {}))
        program = read_program(parts[0])
        own = [str(b.name) for b in (prim_func.buffer_map.get(p, None) for p in prim_func.params) if b is not None]
        outputs = tuple(own[int(i)] for i in dict(prim_func.attrs or {}).get(_OUTPUTS, ()))
        kernels = tuple(fragment(part, **options).as_kernel() for part in parts)
        return _Built(kernels, program, program.order, outputs)


def eager_kernel(function: Any, **options: Any) -> EagerKernel:
    """An eager ``@tilelang.jit`` function, whose tensors' annotations stand in its body, as a kernel.

    Parameters
    ----------
    options : those of TileLang fragments, such as ``route=`` and ``pass_configs=``.

    Raises
    ------
    FragmentSourceError : it is no ``@tilelang.jit`` function.
    """
    if not hasattr(function, "get_tir") or not hasattr(function, "initialize_jit_mode"):
        raise FragmentSourceError(
            f"an eager kernel is a @tilelang.jit function, got {type(function).__name__}",
            hint="tle_raw.fragment(prim_func).as_kernel() launches a PrimFunc",
        )
    return EagerKernel(function, options)


def _empty(program: Program, name: str, known: Mapping[str, int], device: Any) -> Any:
    import torch

    buffer = program.buffers[name]
    shape = [size_of(program, extent, known) for extent in buffer.shape]
    if not is_narrow(buffer.dtype):
        return torch.empty(shape, dtype=torch_dtype(buffer.dtype), device=device)
    shape[-1] //= per_byte(buffer.dtype)
    return torch.empty(shape, dtype=torch.uint8, device=device).view(getattr(torch, holders(buffer.dtype)[0]))
