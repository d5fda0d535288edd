"""Every launch of a program: on this machine, and what does not run here compiled for the GPU that it is for."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import Autotuner, JITFunction

from tle_raw.errors import KernelFailed

_DEVICE = 1 << 10  # a number that no other driver has: kernels are kept by it


class Launches:
    """Takes every launch of ``@triton.jit`` kernels in this process.

    Attributes
    ----------
    kernels : the names, each with "" or why it does not run here. The rest of the program then has no numbers.
    gpu : with ``too`` also what ran here is compiled for the GPU: the names, each with "" or what was wrong.
    """

    def __init__(self, capability: int, too: bool = False) -> None:
        self.kernels: dict[str, str] = {}
        self.gpu: dict[str, str] = {}
        self._too = too
        self._driver = _absent_gpu(capability)
        self._run: Callable[..., Any] = JITFunction.run
        self._tuned: Callable[..., Any] = Autotuner.run

    def install(self) -> None:
        launches = self

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            return launches._launch(kernel, arguments, grid, warmup, options)

        def tuned(tuner: Any, *arguments: Any, **options: Any) -> Any:
            tuner.configs = [min(tuner.configs, key=_size)]
            return launches._tuned(tuner, *arguments, **options)

        JITFunction.run, Autotuner.run = run, tuned  # type: ignore[method-assign]

    @property
    def all_ran(self) -> bool:
        """Whether every launch ran on this machine."""
        return not any(self.kernels.values())

    def _launch(self, kernel: Any, arguments: Any, grid: Any, warmup: bool, options: dict[str, Any]) -> Any:
        name = kernel.fn.__name__
        try:
            made = self._run(kernel, *arguments, grid=grid, warmup=warmup, **options)
            self.kernels.setdefault(name, "")
            if self._too:
                self._compiled_too(name, kernel, arguments, grid, options)
            return made
        except KernelFailed:  # it ran, and failed: programs look for that
            raise
        except Exception as error:
            made = self._compiled(kernel, arguments, grid, options, error)
            self.kernels[name] = said(error)
            return made

    def _compiled_too(self, name: str, kernel: Any, arguments: Any, grid: Any, options: dict[str, Any]) -> None:
        try:
            self._compiled(kernel, arguments, grid, options, None)
            self.gpu.setdefault(name, "")
        except Exception as error:
            self.gpu[name] = said(error)

    def _compiled(self, kernel: Any, arguments: Any, grid: Any, options: dict[str, Any], why: Exception | None) -> Any:
        """Compiled for the GPU; what fails there too is the program's error, and the GPU's is the one that counts."""
        active = triton.runtime.driver.active
        triton.runtime.driver.set_active(self._driver)
        try:
            return self._run(kernel, *arguments, grid=grid, warmup=True, **options)
        except Exception as error:
            raise error from why
        finally:
            triton.runtime.driver.set_active(active)


def said(error: BaseException) -> str:
    """The first line of what was wrong; Triton's errors hold the one that says it."""
    while error.__cause__ is not None and type(error).__module__.startswith("triton"):
        error = error.__cause__
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {line}"


def _absent_gpu(capability: int) -> Any:
    return types.SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", capability, 32),
        get_current_device=lambda: _DEVICE,
        get_current_stream=lambda _=None: 0,
        get_active_torch_device=lambda: torch.device("cpu"),
    )


def _size(config: Any) -> int:
    """How much one program of the kernel computes."""
    size = 1
    for value in config.kwargs.values():
        size *= value if isinstance(value, int) and value > 0 else 1
    return size
