"""``fragment.as_kernel(block=…)``: a ``__global__`` function launched through Triton, over the caller's grid."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tle_raw.adapters.common.begin_cluster import CPU, begin_cluster
from tle_raw.adapters.common.block_options import read_cluster, read_shared
from tle_raw.adapters.common.compile_ahead import compile_ahead
from tle_raw.adapters.common.kernel_text import kernel_of_text
from tle_raw.adapters.common.launch_arguments import check_arguments
from tle_raw.adapters.common.launch_blocks import Block, read_launch_block, read_launch_blocks, warps_of
from tle_raw.adapters.common.launched_kernel import declare_region, grid_of, without_caller
from tle_raw.adapters.common.measured_blocks import CHOICE, choose_fastest
from tle_raw.errors import DialectError, LaunchError, Row, TLEError
from tle_raw.fragments.adapter import Adapter, Declaration, Source
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.options import known_options, wrong_type
from tle_raw.fragments.parameter_types import Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature, StructParameter
from tle_raw.target import Target, parse_target
from tle_raw.targets.current import current_target

OPTIONS = ("block", "shared", "key")
CLUSTER = "cluster"  # of dialects whose kernels know of clusters
# Names that Triton's launches and the text below use themselves.
_TAKEN = frozenset(
    ("grid", "warmup", "num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "stream", "tl", "region", CHOICE)
)

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Any]


class GlobalKernel:
    """Call it with the function's own arguments and ``grid=``, or as ``kernel[grid](…)``.

    Arguments are arrays of torch or NumPy, and numbers. The dtypes must be those of the pointers, signed or not.

    Attributes
    ----------
    blocks : the block, or the blocks of which the fastest is chosen for each value of the arguments ``key``.
    cluster : how many blocks along x are launched as a cluster.
    signature : the function's parameters.
    """

    def __init__(
        self,
        adapter: Adapter,
        declaration: Declaration,
        source: Source,
        options: Mapping[str, Any],
        opaque: Collection[str] = (),
        any_size: bool = False,
    ) -> None:
        given = known_options("cuda kernel", options, (*OPTIONS, CLUSTER) if any_size else OPTIONS, {})
        self._adapter, self._declaration, self._source, self._opaque = adapter, declaration, source, opaque
        signature = declaration.signature or source.signature
        assert signature is not None
        self.signature: Signature = signature
        self._any_size, self.cluster = any_size, read_cluster(given.get(CLUSTER, 1))
        self.blocks = read_launch_blocks(given.get("block", declaration.options.get("block")), any_size)
        self.key = _key(given.get("key", ()), self.signature)
        self._shared = given.get("shared", declaration.options.get("shared", 0))
        self._kernels: dict[tuple[Block, ...], Any] = {}

    def __call__(self, *arguments: Any, grid: Grid, block: Sequence[int] | int | None = None, **options: Any) -> Any:
        """Launch.

        Parameters
        ----------
        grid : how many blocks along x, y and z, or a function that gets ``{"block": (x, y, z)}`` and gives that.
        block : another block than that of ``as_kernel``. ``options`` are Triton's own.
        """
        blocks = self._blocks(block)
        passed = check_arguments(self.signature, arguments, self._source, self._opaque)
        target = current_target()
        options = self._with_warps(blocks, options, target)
        return self._kernel(blocks)[self._grid_of(grid, blocks, target)](*passed, **options)

    def warmup(self, *arguments: Any, grid: Grid = 1, block: Sequence[int] | int | None = None, **options: Any) -> Any:
        """Compile for these arguments and launch nothing: the compiled kernel, or a list of them for several blocks.

        ``tle_raw.variable`` sets variables in it before the first launch.
        """
        blocks = self._blocks(block)
        passed = check_arguments(self.signature, arguments, self._source, self._opaque)
        target = current_target()
        launch = {"grid": self._grid_of(grid, blocks, target), **self._with_warps(blocks, options, target)}
        return self._kernel(blocks).warmup(*passed, **launch)

    def _blocks(self, block: Sequence[int] | int | None) -> tuple[Block, ...]:
        try:
            blocks = (read_launch_block(block, self._any_size),) if block is not None else self.blocks
        except TLEError as error:
            raise error.at(fragment=self._source.name, source=self._source.location) from None
        if not blocks:
            raise LaunchError(
                f"nobody says how many threads a block of `{self._source.name}` has",
                table=[Row("block", "a shape such as (16, 16, 1)", "nothing")],
                hint="give it to as_kernel(block=…), or to this call",
            )
        return blocks

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return functools.partial(self, grid=grid)

    @property
    def kernel(self) -> Any:
        """The ``@triton.jit`` function; with several blocks its autotuner."""
        return self._kernel(self.blocks)

    def compile(
        self, target: str | Target = "cuda:90", block: Sequence[int] | int | None = None, **options: Any
    ) -> Any:
        """Compile without a launch, and without a GPU, for one block: Triton's compiled kernel."""
        chosen = self._blocks(block)[0]
        renamed = Signature(
            self.signature.name, tuple(replace(p, name=_safe(p.name)) for p in self.signature.parameters)
        )
        wanted = parse_target(target)
        return compile_ahead(self._kernel((chosen,)), renamed, wanted, self._with_warps((chosen,), options, wanted))

    def _kernel(self, blocks: tuple[Block, ...]) -> Any:
        if blocks not in self._kernels:
            regions = [self._region(block) for block in blocks]
            kernel = _jit(self.signature, regions, self.cluster)
            self._kernels[blocks] = kernel if len(blocks) == 1 else self._tuned(kernel, blocks)
        return self._kernels[blocks]

    def _region(self, block: Block) -> Any:
        shared = self._shared(block) if callable(self._shared) else self._shared
        options = {"block": block, "shared": read_shared(shared), "grid": None}
        options |= {"whole": True} if self._any_size else {}
        options |= {CLUSTER: self.cluster} if self.cluster > 1 else {}
        return declare_region(self._adapter, self._declaration, **options)

    def _with_warps(self, blocks: tuple[Block, ...], options: Mapping[str, Any], target: Target) -> dict[str, Any]:
        """An autotuner knows the warps of its blocks itself."""
        clusters = {"num_ctas": self.cluster} if self.cluster > 1 and target.backend != CPU else {}
        return {**({} if len(blocks) > 1 else {"num_warps": warps_of(blocks[0])}), **clusters, **options}

    def _grid_of(self, grid: Grid, blocks: tuple[Block, ...], target: Target) -> Any:
        if not callable(grid):
            return self._in_clusters(grid_of(grid), target)
        function = grid

        def chosen(meta: Mapping[str, Any]) -> tuple[int, ...]:
            return self._in_clusters(grid_of(function({**meta, "block": blocks[meta.get(CHOICE, 0)]})), target)

        return chosen

    def _in_clusters(self, grid: tuple[int, ...], target: Target) -> tuple[int, ...]:
        """Triton counts clusters for GPUs, CUDA blocks."""
        if grid and grid[0] % self.cluster:
            raise LaunchError(
                "the grid is no whole number of clusters",
                table=[Row("grid along x", f"a multiple of {self.cluster} (cluster=)", str(grid[0]))],
            ).at(fragment=self._source.name, source=self._source.location)
        return (grid[0] // self.cluster, *grid[1:]) if grid and target.backend != CPU else grid

    def _tuned(self, kernel: Any, blocks: tuple[Block, ...]) -> Any:
        written = [_safe(p.name) for p in self.signature.parameters if isinstance(p.type, Pointer) and p.effect != "In"]
        return choose_fastest(kernel, blocks, [_safe(name) for name in self.key], written)


def _jit(signature: Signature, regions: Sequence[Any], cluster: int) -> Any:
    name = _safe(signature.name)
    parameters = [_parameter(p) for p in signature.parameters]
    passed = ", ".join(_passed_own(signature, p) for p in signature.own)
    lines = [f"    begin_cluster({cluster})"] if cluster > 1 else []
    for index in range(len(regions)):
        if len(regions) > 1:
            lines.append(f"    {'if' if index == 0 else 'elif'} {CHOICE} == {index}:")
        lines.append(f"{'        ' if len(regions) > 1 else '    '}region_{index}({passed})")
    parameters += [f"{CHOICE}: tl.constexpr"] if len(regions) > 1 else []
    text = "\n".join([f"def {name}({', '.join(parameters)}):", *lines, ""])
    scope = {f"region_{i}": region for i, region in enumerate(regions)} | {"begin_cluster": begin_cluster}
    return kernel_of_text(name, text, scope, [region.cache_key for region in regions], _held(signature))


def _held(signature: Signature) -> list[str]:
    """What structs hold: so many values that a kernel for each that is 1 or a multiple of 16 would be too many."""
    return [_safe(p.name) for s in signature.structs for p in signature.parameters[s.first : s.first + s.count]]


def _passed_own(signature: Signature, own: Parameter | StructParameter) -> str:
    if isinstance(own, Parameter):
        return _passed(own)
    return f"({' '.join(f'{_passed(p)},' for p in signature.parameters[own.first : own.first + own.count])})"


def _safe(name: str) -> str:
    """C++ names may be Python's keywords: ``in``."""
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN or name.startswith("region_") else name


def _parameter(parameter: Parameter) -> str:
    """Numbers have the function's own types, whatever Triton would make of a Python number."""
    if isinstance(parameter.type, Pointer):
        return _safe(parameter.name)
    dtype: Any = parameter.type.dtype  # type: ignore[attr-defined]
    return f'{_safe(parameter.name)}: "{dtype.in_signature}"'


def _passed(parameter: Parameter) -> str:
    """Arrays of signed integers are memory of unsigned ones, too: ``check_arguments`` has looked at them."""
    name = _safe(parameter.name)
    dtype: Any = parameter.type.dtype  # type: ignore[attr-defined]
    if isinstance(parameter.type, Pointer) and dtype.is_integer:
        return f"{name}.to(tl.pointer_type(tl.{dtype.triton}), bitcast=True)"
    return name


def _key(value: Any, signature: Signature) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    known = [p.name for p in signature.parameters]
    for name in names:
        if name not in known:
            raise wrong_type("key", f"names of {', '.join(known)}", name)
    return names


def make_whole_kernel(
    adapter: Adapter,
    declaration: Declaration,
    source: Source,
    options: Mapping[str, Any],
    is_kernel: bool,
    opaque: Collection[str] = (),
    any_size: bool = False,
) -> GlobalKernel:
    """A kernel around the region. ``opaque`` are the names of the pointers that may point to anything.

    ``any_size``: the dialect can let threads stand idle, so that a block need not be whole warps.

    Raises
    ------
    DialectError : it is no ``__global__`` function, or it takes what a launch cannot give.
    """
    try:
        if not is_kernel:
            raise DialectError(
                f"`{source.name}` is no whole kernel: as_kernel() launches __global__ functions",
                hint="call it in a @triton.jit kernel",
            )
        signature = declaration.signature or source.signature
        if signature is None or not all(map(_can_be_launched, signature.parameters)):
            raise DialectError(
                f"`{source.name}` is no whole kernel: a launch passes pointers and numbers, of dtypes that are known",
                hint="leave the signature out of its declaration: it is read from the function",
            )
        if declaration.options.get("grid"):
            hint = "declare the fragment once more without grid=, and take as_kernel() of that"
            raise without_caller(source, "block indices", hint)
        return GlobalKernel(adapter, declaration, source, options, opaque, any_size)
    except TLEError as error:
        raise error.at(fragment=source.name, source=source.location) from None


def _can_be_launched(parameter: Parameter) -> bool:
    return isinstance(parameter.type, (Pointer, Scalar)) and isinstance(parameter.type.dtype, DType)
