"""What an example holds in the place of TileLang's compiled kernel: it launches ours, or only makes the outputs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tilelang_sweep.checks import Checks
from tilelang_sweep.results import Tried, say

LARGEST_COPY = 2 << 30  # bytes of one kernel's arguments that are kept for a comparison


class Taken(BaseException):
    """Ends a script whose kernel cannot run here."""


class Session:
    """One script's kernels. ``launches``: they run. ``alone``: TileLang itself can run what ours cannot."""

    def __init__(self, launches: bool, alone: bool, route: str | None) -> None:
        self.launches, self.alone, self.route = launches, alone, route
        self.kernels: list[StandIn] = []
        self.case: Callable[[], str] = lambda: ""  # what of the script runs now
        self.checks = Checks(self._held)
        self._original: Any = None
        self._in_original = False

    def _held(self) -> None:
        """A check of the script holds: what ran until now is right."""
        for kernel in self.kernels:
            if kernel.tried.numbers == "ran":
                kernel.tried.numbers, kernel.tried.checked_by = "right", "its script"
                say(kernel.tried)

    def install(self) -> None:
        """Every way into TileLang's compiler ends at its kernel class."""
        importlib.import_module("tilelang")
        kernels = importlib.import_module("tilelang.jit.kernel").JITKernel
        self._original = kernels.__init__

        def start(kernel: Any, func: Any = None, out_idx: Any = None, *rest: Any, **settings: Any) -> None:
            if self._in_original:
                self._original(kernel, func, out_idx, *rest, **settings)
                return
            self._give(kernel, func, out_idx, settings)

        kernels.__init__ = start
        kernels.get_kernel_source = lambda *_, **__: ""
        _measure_nothing()

    def _give(self, kernel: Any, func: Any, out_idx: Any, settings: dict[str, Any]) -> None:
        text = hash(func.script())
        found = next((k for k in self.kernels if k.text == text), None)
        if found is None:
            found = StandIn(self, func, out_idx, settings, text)
            self.kernels.append(found)
        kernel.prim_func, kernel.pass_configs, kernel.artifact = func, found.pass_configs, None
        kernel.adapter, kernel.torch_function, kernel.latency = found, found, 1.0

    def list_kernels(self, most: int) -> None:
        for kernel in self.kernels[:most]:
            kernel.tried.outcome = "listed"
            say(kernel.tried)

    def compile_alone(self, stand_in: StandIn) -> Any:
        """TileLang's own kernel of the same PrimFunc."""
        kernels = importlib.import_module("tilelang.jit.kernel").JITKernel
        self._in_original = True
        try:
            return kernels(stand_in.prim_func, stand_in.results or None, **stand_in.settings)
        finally:
            self._in_original = False


class StandIn:
    """Called as TileLang's adapters are: with the inputs, or with all arguments where no output is asked for."""

    def __init__(self, session: Session, func: Any, out_idx: Any, settings: dict[str, Any], text: int) -> None:
        from tilelang.engine.param import KernelParam

        self.session, self.prim_func, self.settings, self.text = session, func, settings, text
        configs = settings.get("pass_configs") or {}
        self.pass_configs = {str(getattr(k, "value", k)): v for k, v in dict(configs).items()}
        asked = [] if out_idx is None else [out_idx] if isinstance(out_idx, int) else list(out_idx)
        self.results = self.result_idx = [int(i) % len(func.params) for i in asked]
        buffers = [func.buffer_map.get(p, None) for p in func.params]
        self.params = [
            KernelParam.from_var(p) if b is None else KernelParam.from_buffer(b) for p, b in zip(func.params, buffers)
        ]
        self.tried = Tried("", str(func.attrs["global_symbol"]), "", number=len(session.kernels))
        self.tried.case, self.tried.factory = session.case(), _factory()
        self.judged = False
        self.before: list[Any] | None = None
        self.after: list[Any] = []
        self._launches: list[Any] | None = None
        self._alone: Any = None

    @property
    def func(self) -> StandIn:
        return self

    def get_kernel_source(self, *_: Any, **__: Any) -> str:
        return ""

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        import torch

        every = self._complete(arguments)
        if self._alone is not None:
            return self._alone(*arguments)
        if self.session.launches:
            first = not self.tried.numbers
            if first:
                self.before = _copies(every)
            try:
                self._launch(every)
                if first:
                    torch.cuda.synchronize()
            except Exception as error:
                return self._instead(error, arguments)
            if first:
                self.tried.numbers = "ran"
                self.after = _copies(every) or []
                say(self.tried)
        given = [every[i] for i in self.results]
        return None if not given else given[0] if len(given) == 1 else given

    def _launch(self, every: Sequence[Any]) -> None:
        from tilelang_sweep.convert import fragments_of, told_of

        first = self._launches is None
        if self._launches is None:
            self._launches = [fragment.as_kernel() for fragment in fragments_of(self, self.session.route)]
        memory = self._own_memory(every)
        for launch in self._launches:
            kernel = launch(*every, *memory)
            if first:
                told_of(self.tried, kernel)

    def _own_memory(self, every: Sequence[Any]) -> list[Any]:
        """Global memory that the PrimFunc makes for itself, which is a parameter of its launches."""
        import torch
        from tilelang.engine.param import KernelParam

        from tle_raw.adapters.tilelang import split_kernels

        part = split_kernels(self.prim_func)[0]
        buffers = [part.buffer_map[p] for p in part.params[len(self.params) :]]
        known = _known(self.prim_func, every)
        device = next((a.device for a in every if isinstance(a, torch.Tensor)), None)
        dtypes = [KernelParam.from_buffer(buffer).torch_dtype() for buffer in buffers]
        shapes = [[_value(KernelParam.from_buffer(b).shape[d], known) for d in range(len(b.shape))] for b in buffers]
        return [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in zip(shapes, dtypes)]

    def _instead(self, error: Exception, arguments: Sequence[Any]) -> Any:
        """The kernel does not run: TileLang's own lets the script go on, where there is one."""
        from tilelang_sweep.convert import failed_with

        failed_with(self.tried, error)
        self.tried.numbers = "failed"
        say(self.tried)
        if not self.session.alone or "CUDA error" in str(error):
            raise Taken from error
        self._alone = self.session.compile_alone(self)
        return self._alone(*arguments)

    def _complete(self, arguments: Sequence[Any]) -> list[Any]:
        """All arguments in the PrimFunc's order, with room for the outputs that the call leaves out."""
        import torch

        inputs = iter(arguments)
        every = [None if i in self.results else next(inputs, None) for i in range(len(self.params))]
        known = _known(self.prim_func, every)
        device = next((a.device for a in every if isinstance(a, torch.Tensor)), None)
        if device is None and torch.cuda.is_available() and self.session.alone:
            device = torch.device("cuda")
        for i in self.results:
            shape = [_value(extent, known) for extent in self.params[i].shape]
            every[i] = torch.zeros(shape, dtype=self.params[i].torch_dtype(), device=device)
        return every


def _factory() -> str:
    """The innermost function outside TileLang and the sweep that has a kernel compiled."""
    frame = sys._getframe(1)
    while frame is not None and ("tilelang" in frame.f_globals.get("__name__", "").split(".")[0]):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}" if frame is not None else ""


def _known(prim_func: Any, every: Sequence[Any]) -> dict[Any, int]:
    """The sizes, strides and scalars that the arguments tell."""
    known: dict[Any, int] = {}
    for parameter, value in zip(prim_func.params, every):
        buffer = prim_func.buffer_map.get(parameter, None)
        if buffer is None:
            if isinstance(value, (int, bool)):
                known[parameter] = int(value)
        elif value is not None:
            for extent, size in zip((*buffer.shape, *buffer.strides), (*value.shape, *value.stride())):
                if type(extent).__name__ in ("Var", "SizeVar"):
                    known[extent] = int(size)
    return known


def _value(extent: Any, known: dict[Any, int]) -> int:
    from tvm import arith
    from tvm.tirx.stmt_functor import substitute

    return int(extent) if isinstance(extent, int) else int(arith.Analyzer().simplify(substitute(extent, known)))


def _copies(arguments: Sequence[Any]) -> list[Any] | None:
    import torch

    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    if sum(t.numel() * t.element_size() for t in tensors) > LARGEST_COPY:
        return None
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]


def _measure_nothing() -> None:
    """Measurements run what they measure once; a search for the best settings takes the first."""
    profiler = importlib.import_module("tilelang.profiler")
    bench = importlib.import_module("tilelang.profiler.bench")
    tuner = importlib.import_module("tilelang.autotuner.tuner").AutoTuner

    def once(function: Any, *_: Any, **__: Any) -> float:
        function()
        return 1.0

    def of_profiler(self: Any, func: Any = None, *_: Any, input_tensors: Any = None, **__: Any) -> float:
        if func is None:
            self.adapter(*(self._get_inputs() if input_tensors is None else input_tensors))
        return 1.0

    profiler.do_bench = bench.do_bench = once
    profiler.Profiler.do_bench = of_profiler
    with_configs = tuner.__init__

    def start(self: Any, fn: Any, configs: Any) -> None:
        first = (lambda *a, **k: configs(*a, **k)[:1]) if callable(configs) else list(configs)[:1]
        with_configs(self, fn, first)

    tuner.__init__ = start
    try:
        importlib.import_module("triton.testing").do_bench = once
    except ImportError:
        return
