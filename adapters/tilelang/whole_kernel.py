"""``fragment.as_kernel()``: a Triton kernel that is just the region, over the PrimFunc's own grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.adapters.common.compile_ahead import compile_ahead
from tle_raw.adapters.common.launched_kernel import WARP, declare_region, kernel_around, warps_for, without_caller
from tle_raw.adapters.common.refusals import refusal
from tle_raw.adapters.tilelang.arguments import crossing, read_grid, read_sizes
from tle_raw.adapters.tilelang.dtypes import torch_dtype
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.tile_descriptors import HOPPER, describe_tiles, fit_tiles
from tle_raw.errors import LaunchError, Row, UntraceableError
from tle_raw.fragments.adapter import Adapter, Declaration, Source
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import Scalar
from tle_raw.target import Target, parse_target
from tle_raw.targets.current import current_target


def region_threads(program: Program) -> int:
    """The threads that the PrimFunc's author asked for, or TileLang's default."""
    return math.prod(program.threads) if program.threads else 4 * WARP


@dataclass(frozen=True)
class Way:
    """One route as a kernel. It takes the PrimFunc's arguments, then the sizes and strides that are left open, and
    last, where ``takes_descriptors``, the memory of the TMA descriptors; or a tensor descriptor for each of the copies
    of its ``plan``, which a warp of their own makes. ``cluster`` blocks along x are launched together."""

    kernel: Any
    fragment: Any
    num_warps: int
    takes_descriptors: bool
    plan: Any = None
    cluster: int = 1

    @property
    def options(self) -> dict[str, int]:
        """Those of Triton that belong to it."""
        return {"num_warps": self.num_warps, **({"num_ctas": self.cluster} if self.cluster > 1 else {})}


class WholeKernel:
    """Call it with the PrimFunc's arguments: arrays of torch or NumPy, None for those that it leaves alone; scalars.

    A launch owns its warps and its host code. So the linked route is TileLang's own lowering here, TMA and warps that
    only load included, where the fragment does not say ``tma=False``.

    Attributes
    ----------
    program, pass_configs : the PrimFunc, and TileLang's own configuration for it.
    untraceable : why the traced route was left, as far as a launch or a compilation tried it.
    unspecialised : why no warp of the traced route copies alone, in the same way; "" where one does.
    """

    def __init__(self, adapter: Adapter, source: Source) -> None:
        reading = source.data
        self._adapter, self._source = adapter, source
        self.program, self.pass_configs = reading.program, reading.linkable.pass_configs
        self._descriptors = reading.descriptors
        self._ways: dict[tuple[str, bool, str], Way] = {}
        self.untraceable: UntraceableError | None = None
        self.unspecialised = ""
        self._may_specialise: bool | None = None
        self._plan: Any = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Launch over the PrimFunc's grid; ``options`` are Triton's, such as ``num_warps=`` and ``num_stages=``."""
        target = current_target()
        return self._by_any_way(target, lambda way: self._launch(way, target, arguments, options), arguments)

    def compile(self, target: str | Target = "cuda:90", **options: Any) -> Any:
        """Compile without a launch, and without a GPU: Triton's compiled kernel, as ``tle_raw.report`` takes it.

        Parameters
        ----------
        options : Triton's. Pointers are taken to be aligned to 16 bytes, as launches find them.
        """
        wanted = parse_target(target)
        return self._by_any_way(
            wanted,
            lambda way: compile_ahead(way.kernel, way.fragment.signature, wanted, {**way.options, **options}),
        )

    @property
    def kernel(self) -> Any:
        """The ``@triton.jit`` function of the last launch, or of the next one."""
        return self._chosen(current_target()).kernel

    @property
    def num_warps(self) -> int:
        """As many as the threads that it needs, rounded up to a power of two."""
        return self._chosen(current_target()).num_warps

    def grid(self, *arguments: Any) -> tuple[int, ...]:
        """How many programs the PrimFunc wants for these arguments."""
        return read_grid(self.program, arguments, self.sizes(*arguments))

    def sizes(self, *arguments: Any) -> dict[str, int]:
        """The sizes and strides that the PrimFunc leaves open, read from the arrays.

        Raises
        ------
        ArgumentCountError, ArgumentTypeError, ShapeError : an array does not fit its buffer.
        """
        return read_sizes(self.program, arguments)

    def _by_any_way(self, target: Target, run: Callable[[Way], Any], arguments: Sequence[Any] | None = None) -> Any:
        """By a warp that copies alone, where the target and the program have what that takes, and the arrays, too."""
        if not self._specialises(target):
            return self._by_either_route(target, run)
        way = self._specialised_way()
        if arguments is not None:
            self.sizes(*arguments)  # what a caller did wrong is no reason against the way
            if not fit_tiles(way.plan.loads, self.program, arguments):
                return self._by_either_route(target, run)
        try:
            return run(way)
        except Exception as error:
            reason = refusal(error)
            if not reason or self._source.data.options.specialise:
                raise
            self._refuse(reason)
        return self._by_either_route(target, run)

    def _chosen(self, target: Target) -> Way:
        return self._specialised_way() if self._specialises(target) else self._way(target)

    def _specialises(self, target: Target) -> bool:
        options = self._source.data.options
        if options.specialise is False or options.route == "linked":
            return False
        has_engine = target.backend == "cuda" and target.capability == HOPPER and options.tma is not False
        if not options.specialise and not has_engine:
            return False
        if self._may_specialise is None:
            self._may_specialise = self._find_plan()
        return self._may_specialise

    def _find_plan(self) -> bool:
        """Whether the program has the form, and it is known to pay, or asked for."""
        from tle_raw.adapters.tilelang.traced import pipelined_body  # brings Triton, which adapters load without
        from tle_raw.adapters.tilelang.traced.warp_plan import find_plan

        asked = self._source.data.options.specialise
        try:
            self._plan = find_plan(self.program)
        except pipelined_body.Unfit as reason:
            if asked:
                raise UntraceableError(
                    f"no warp of `{self.program.name}` can copy alone: {reason}", hint="leave specialise= out"
                ).at(source=self._source.location) from None
            if pipelined_body.has_pipelined_products(self.program):
                self._refuse(str(reason))
            return False
        if not asked and not self._plan.pays:
            self._refuse("several blocks of its size share a multiprocessor, and overlap without it")
        return bool(asked or self._plan.pays)

    def _refuse(self, reason: str) -> None:
        self._may_specialise, self.unspecialised = False, reason

    def _specialised_way(self) -> Way:
        key = ("traced", True, "specialised")
        if key not in self._ways:
            fragment = self._declare("traced", False, planned=True)
            warps = warps_for(region_threads(self.program))
            self._ways[key] = Way(_kernel_of(fragment), fragment, warps, False, self._plan)
        return self._ways[key]

    def _by_either_route(self, target: Target, run: Callable[[Way], Any]) -> Any:
        """Try the traced route first, where the user named none and there is another."""
        if self._source.data.options.route or self.untraceable:
            return run(self._way(target))
        try:
            return run(self._way(target))
        except Exception as error:
            self.untraceable = _untraceable(error)
            if self.untraceable is None:
                raise
        return run(self._way(target))

    def _way(self, target: Target) -> Way:
        options = self._source.data.options
        route = options.route or ("linked" if self.untraceable else "traced")
        tma = route == "linked" and options.tma is not False and self._descriptors.has_any(target, self._source.text)
        key = (route, tma, target.arch if tma else "")
        if key not in self._ways:
            threads = self._descriptors.lowered(target).threads if tma else region_threads(self.program)
            fragment = self._declare(route, tma)
            self._ways[key] = Way(
                _kernel_of(fragment), fragment, warps_for(threads), tma, None, self._cluster(route, target)
            )
        return self._ways[key]

    def _launch(self, way: Way, target: Target, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        sizes = self.sizes(*arguments)
        grid = self._in_clusters(read_grid(self.program, arguments, sizes), way.cluster)
        if any(argument is None for argument in arguments):
            arguments = self._with_stand_ins(arguments)
        descriptors = [self._descriptors.find(arguments, sizes, target)] if way.takes_descriptors else []
        if way.plan is not None:
            descriptors = describe_tiles(way.plan.loads, self.program, arguments)
        arguments = crossing(self.program, arguments)
        return way.kernel[grid](*arguments, *sizes.values(), *descriptors, **{**way.options, **options})

    def _cluster(self, route: str, target: Target) -> int:
        """Of the linked route: what cannot be launched in clusters is told behind its lowering."""
        return self.program.cluster[0] if route == "linked" and target.backend == "cuda" else 1

    def _in_clusters(self, grid: tuple[int, ...], cluster: int) -> tuple[int, ...]:
        """Triton counts clusters, TileLang blocks."""
        if grid[0] % cluster:
            raise LaunchError(
                "the grid is no whole number of clusters",
                table=[Row("grid along x", f"a multiple of {cluster} (cluster_dims=)", str(grid[0]))],
            ).at(fragment=self.program.name, source=self._source.location)
        return (grid[0] // cluster, *grid[1:])

    def _with_stand_ins(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """One element, which nobody touches, for each buffer that got None."""
        import torch

        device = next((a.device for a in arguments if isinstance(a, torch.Tensor)), "cpu")
        stand_ins = {
            name: torch.empty(1, dtype=torch_dtype(self.program.buffers[name].dtype), device=device)
            for name, given in zip(self.program.order, arguments)
            if given is None and name in self.program.buffers
        }
        return tuple(stand_ins.get(name, given) for name, given in zip(self.program.order, arguments))

    def _declare(self, route: str | None, tma: bool, planned: bool = False) -> Any:
        source = self._source
        if route == "linked" and not source.data.options.route:
            route = None  # it is linked all the same, and the report says why it could not be traced
        options = {"in_grid": True, "alone": True, "route": route, "tma": tma, "pass_configs": self.pass_configs}
        options |= {"planned": True} if planned else {"unplanned": self.unspecialised}
        folder, wrapped = Path(source.location.file).parent, self.program.prim_func
        return declare_region(
            self._adapter, Declaration(source.name, None, options, source.location, folder, wrapped=wrapped)
        )


# What Triton takes a number of Python for by itself; other scalars are passed as what they are.
_USUAL = ("i1", "i32", "f32")


def _kernel_of(fragment: Any) -> Any:
    parameters = fragment.signature.parameters
    names = [p.name for p in parameters]
    header = [p.name + _annotation(p.type) for p in parameters]
    return kernel_around(fragment.symbol if fragment.symbol.isidentifier() else "kernel", header, names, fragment)


def _annotation(kind: Any) -> str:
    if isinstance(kind, Scalar) and isinstance(kind.dtype, DType) and kind.dtype.name not in _USUAL:
        return f": {kind.dtype.in_signature!r}"
    return ""


def make_whole_kernel(adapter: Adapter, source: Source) -> WholeKernel:
    """A kernel around the region, with the promise that its programs are those of its grid.

    Raises
    ------
    DialectError : tiles, block indices or descriptors come from a caller, which a whole kernel does not have.
    """
    reading = source.data
    if reading.tiles or reading.options.grid:
        hint = "declare the PrimFunc once more without tiles= and grid=, and take as_kernel() of that"
        raise without_caller(source, "tiles or block indices", hint)
    return WholeKernel(adapter, source)


def _untraceable(error: BaseException | None) -> UntraceableError | None:
    """Triton wraps what is raised while it traces."""
    while error is not None and not isinstance(error, UntraceableError):
        error = error.__cause__
    return error
