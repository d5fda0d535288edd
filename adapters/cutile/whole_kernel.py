"""``fragment.as_kernel()``: a ``@ct.kernel`` launched through Triton, with the arguments that ``ct.launch`` takes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tle_raw.adapters.common.launched_kernel import declare_region, grid_of, kernel_around, without_caller
from tle_raw.adapters.cutile.ahead_of_time import compile_ahead
from tle_raw.adapters.cutile.argument_types import ArgumentType
from tle_raw.adapters.cutile.carried_arrays import as_bytes, carried_dtype, check_dtype
from tle_raw.adapters.cutile.hints import kernel_hint
from tle_raw.adapters.cutile.host_types import Untyped, host_types
from tle_raw.adapters.cutile.overlap import overlapping
from tle_raw.adapters.cutile.parameters import FunctionParameter, item_annotations
from tle_raw.adapters.cutile.seen_launches import SeenLaunches
from tle_raw.adapters.cutile.specialise.facts import Facts
from tle_raw.adapters.cutile.tile_descriptors import adjacent_dims
from tle_raw.adapters.cutile.typed_ir import type_function
from tle_raw.adapters.cutile.ways import Ways
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, DialectError, LaunchError, Row
from tle_raw.fragments.adapter import Adapter, Declaration, Source
from tle_raw.fragments.array_arguments import array
from tle_raw.target import Target, parse_target
from tle_raw.targets.current import current_target
from tle_raw.thread_lock import ThreadLock

WARPS = 4  # Triton's own default
Multiples = tuple[tuple[str, tuple[int, ...]], ...]  # by array what its sizes are multiples of
Kind = tuple[tuple["Form", ...], tuple[tuple[str, str], ...], Multiples]  # arrays that overlap are named in pairs


class WholeKernel:
    """``whole[grid](*arguments)``, or ``whole.launch(stream, grid, arguments)`` as ``ct.launch`` has it.

    Arrays of torch or NumPy are arrays, lists of them lists, numbers scalars or constants, as the kernel's annotations
    say. Options such as ``num_warps=`` are Triton's.

    Attributes
    ----------
    num_warps : the kernel's own hint ``num_worker_warps`` where that is a number, else Triton's default.
    seen : earlier launches.
    unspecialised : why the last launch, or compilation, had no warp that copies alone; "" where it had one, or where
        the kernel has no loop with products.
    """

    def __init__(self, adapter: Adapter, declaration: Declaration, source: Source) -> None:
        self._adapter, self._declaration, self._source = adapter, declaration, source
        self._kernels: dict[Any, Any] = {}
        self._ways: dict[Any, Ways] = {}
        self._lock = ThreadLock()
        self.seen = SeenLaunches([getattr(p.annotation, "constant", False) for p in source.data.parameters])
        self.num_warps = kernel_hint(declaration.wrapped, "num_worker_warps") or WARPS
        self._blocks = kernel_hint(declaration.wrapped, "occupancy")
        self.unspecialised = ""

    def __getitem__(self, grid: int | Sequence[int]) -> _Launcher:
        return _Launcher(self, grid_of(grid))

    def launch(self, stream: Any, grid: Sequence[int], arguments: Sequence[Any], **options: Any) -> Any:
        """As ``ct.launch(stream, grid, kernel, arguments)``; a stream of torch, or None for the current one."""
        with _on(stream):
            return self[grid](*arguments, **options)

    def compile(self, arguments: Sequence[Any], target: str = "cuda:90", **options: Any) -> Any:
        """The kernel for a GPU that is not there, specialised for such arguments; their arrays may be on the host."""
        forms = [leaf for form in self._forms(arguments) for leaf in form.leaves]
        constants = [place for place, leaf in enumerate(forms) if leaf.kind == "constant"]
        options = {"num_warps": self.num_warps, **options}
        passed = self.launch_arguments(arguments)
        return self.run(
            self.ways_for(arguments),
            lambda: parse_target(target),
            options,
            arguments,
            lambda kernel, more: compile_ahead(kernel, [*passed, *more], constants, target, options),
        )

    def run(
        self,
        ways: Ways,
        target: Callable[[], Target],
        options: Mapping[str, Any],
        arguments: Sequence[Any],
        run: Callable[[Any, list[Any]], Any],
    ) -> Any:
        """``run(kernel, more_arguments)`` by the way that these arguments are launched."""
        try:
            return ways.run(target, options, arguments, run)
        finally:
            self.unspecialised = ways.unspecialised

    def kernel_for(self, arguments: Sequence[Any]) -> Any:
        """The Triton kernel for arguments of such kinds; it takes them as ``launch_arguments`` makes them.

        Raises
        ------
        ArgumentCountError, ArgumentTypeError : they do not fit the kernel's parameters.
        """
        return self.ways_for(arguments).plain()

    def ways_for(self, arguments: Sequence[Any]) -> Ways:
        """That kernel, and the one with a warp that only copies."""
        forms = tuple(self._forms(arguments))
        arrays = dict(_arrays(forms, arguments))
        kind: Kind = forms, overlapping(arrays), multiples_of_tiles(forms, arguments)
        facts = Facts(adjacent_dims(_described(forms, arguments)), kind[1], blocks=self._blocks)
        types = self._types(arguments)
        key = kind, facts, str(types), [hasattr(a, "block_shape") for a in arguments].count(True)
        with self._lock:
            if key not in self._ways:
                self._ways[key] = Ways(
                    self._source.name,
                    self._source.location,
                    lambda options, descriptors: self._kernel(kind, options, descriptors),
                    lambda: types if isinstance(types, str) else type_function(self._source.data.function, types),
                    lambda given: _described(forms, given),
                    facts,
                    self._source.data.options.specialise,
                    any(hasattr(value, "block_shape") for value in _described(forms, arguments).values()),
                )
            return self._ways[key]

    def _types(self, arguments: Sequence[Any]) -> Mapping[str, ArgumentType] | str:
        """Of the parameters, or why they cannot be told before the kernel is traced."""
        try:
            return host_types(self._source.data.parameters, arguments)
        except Untyped as reason:
            return str(reason)

    def _kernel(self, kind: Kind, options: Mapping[str, Any], descriptors: Sequence[str]) -> Any:
        key = kind, tuple(options.items()), tuple(descriptors)
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = self._make(kind, options, descriptors)
            return self._kernels[key]

    def launch_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """Tuples item by item, arrays with their sizes and strides, everything else as it is."""
        return [_crossing(leaf) for f, a in zip(self._forms(arguments), arguments) for leaf in _leaves(f, a)]

    def _forms(self, arguments: Sequence[Any]) -> list[Form]:
        parameters: tuple[FunctionParameter, ...] = self._source.data.parameters
        if len(arguments) != len(parameters):
            raise ArgumentCountError(
                f"`{self._source.name}` takes {len(parameters)} arguments, got {len(arguments)}",
                hint=f"they are {', '.join(p.name for p in parameters)}",
            ).at(fragment=self._source.name, source=self._source.location)
        return [_form(p.name, p.annotation, a) for p, a in zip(parameters, arguments)]

    def _make(
        self,
        kind: Kind,
        options: Mapping[str, Any],
        descriptors: Sequence[str],
    ) -> Any:
        """Nothing stands around the region: no barriers are due at its boundary."""
        forms, alias, multiples = kind
        leaves = [leaf for form in forms for leaf in form.leaves]
        lists = tuple(leaf.path for leaf in leaves if leaf.kind == "list")
        dtypes = {leaf.path: leaf.dtype for leaf in leaves if leaf.dtype}
        region = declare_region(
            self._adapter,
            self._declaration,
            dtypes={**self._declaration.options.get("dtypes", {}), **dtypes},
            lists=lists,
            alias=alias,
            alone=True,
            multiples=dict(multiples),
            **options,
        )
        parameters = [f"{f.name}: tl.constexpr" if f.kind == "constant" else f.name for f in leaves]
        passed = [*(form.call for form in forms), *(f"{name}={name}" for name in descriptors)]
        return kernel_around(self._source.name, [*parameters, *descriptors], passed, region)


@dataclasses.dataclass(frozen=True)
class _Launcher:
    whole: WholeKernel
    grid: tuple[int, ...]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not 1 <= len(self.grid) <= 3 or not all(isinstance(n, int) and n >= 0 for n in self.grid):
            raise LaunchError(
                "a grid is one to three numbers of blocks", table=[Row("grid", "(x, y, z)", str(self.grid))]
            )
        options = {"num_warps": self.whole.num_warps, **options}
        ways, found = self.whole.seen.find(arguments, lambda: self.whole.ways_for(arguments))
        passed = self.whole.launch_arguments(arguments) if found is None else found
        return self.whole.run(
            ways,
            current_target,
            options,
            arguments,
            lambda kernel, more: kernel[self.grid](*passed, *more, **options),
        )


def make_whole_kernel(adapter: Adapter, declaration: Declaration, source: Source) -> WholeKernel:
    """Raises
    ------
    DialectError : the fragment is no kernel, or block ids come from a caller, which a whole kernel does not have.
    """
    reading = source.data
    if not reading.is_kernel:
        raise DialectError(
            f"`{source.name}` is a function: it has no grid of its own", hint="decorate it with @ct.kernel"
        ).at(fragment=source.name, source=source.location)
    if reading.options.given_names:
        hint = "declare the kernel once more without grid=, and take as_kernel() of that"
        raise without_caller(source, "block ids", hint)
    return WholeKernel(adapter, declaration, source)


@dataclasses.dataclass(frozen=True)
class Form:
    """How an argument crosses: as a "value", a "constant", a "list" of arrays, or item by item as a "tuple".

    ``dtype`` is that of arrays which go in as bytes.
    """

    path: str
    kind: str
    items: tuple[Form, ...] = ()
    dtype: str | None = None

    @property
    def leaves(self) -> tuple[Form, ...]:
        return tuple(leaf for item in self.items for leaf in item.leaves) if self.kind == "tuple" else (self,)

    @property
    def name(self) -> str:
        """The parameter of the Triton kernel."""
        return self.path.replace("[", "__").replace("]", "")

    @property
    def call(self) -> str:
        """The argument of the region, in the Triton kernel's words."""
        return f"({''.join(i.call + ', ' for i in self.items)})" if self.kind == "tuple" else self.name


def _form(path: str, annotation: Any, argument: Any) -> Form:
    if getattr(annotation, "constant", False):
        return Form(path, "constant")
    if isinstance(argument, list):
        if not argument:
            raise ArgumentTypeError(
                f"argument `{path}` is an empty list: nothing says what its arrays are",
                table=[Row(path, "arrays", "none")],
            )
        _check_arrays(path, argument)
        dtypes = {carried_dtype(item) for item in argument}
        if len(dtypes) > 1:
            raise ArgumentTypeError(
                f"the arrays of the list `{path}` are not alike",
                table=[Row(path, "one dtype", ", ".join(sorted({str(item.dtype) for item in argument})))],
            )
        return Form(path, "list", dtype=dtypes.pop())
    if isinstance(argument, tuple):
        nodes = item_annotations(path, annotation, len(argument))
        items = [_form(f"{path}[{i}]", node, item) for i, (node, item) in enumerate(zip(nodes, argument))]
        return Form(path, "tuple", tuple(items))
    if dataclasses.is_dataclass(argument) and not _is_descriptor(argument):
        raise ArgumentTypeError(
            f"argument `{path}` is a dataclass",
            table=[Row(path, "an array, a number or a tuple", type(argument).__name__)],
            hint="pass its fields, as a tuple or one by one",
        )
    if hasattr(argument, "shape") and hasattr(argument, "dtype"):
        check_dtype(path, argument)
    kind = "constant" if argument is None or isinstance(argument, str) else "value"
    return Form(path, kind, dtype=carried_dtype(argument))


def _check_arrays(path: str, items: Sequence[Any]) -> None:
    strangers = [
        Row(f"{path}[{i}]", "an array", repr(item) if item is None else type(item).__name__)
        for i, item in enumerate(items)
        if not hasattr(item, "shape") or not hasattr(item, "dtype")
    ]
    if strangers:
        raise ArgumentTypeError(f"argument `{path}` is a list of arrays, and holds others", table=strangers)
    for i, item in enumerate(items):
        check_dtype(f"{path}[{i}]", item)


def multiples_of_tiles(forms: Sequence[Form], arguments: Sequence[Any]) -> Multiples:
    """For each array the greatest of the kernel's constants that divide its sizes: tiles are as large as constants."""
    leaves = [pair for form, a in zip(forms, arguments) for pair in zip(form.leaves, _leaves(form, a))]
    constants = {n for leaf, value in leaves if leaf.kind == "constant" for n in _integers(value)}
    tiles = sorted((n for n in constants if n > 1 and n & (n - 1) == 0), reverse=True)
    return tuple(
        (leaf.path, tuple(next((n for n in tiles if size % n == 0), 1) for size in value.shape))
        for leaf, value in leaves
        if leaf.kind == "value" and hasattr(value, "shape") and hasattr(value, "dtype")
    )


def _integers(value: Any) -> list[int]:
    """A number, or those in a tuple."""
    if isinstance(value, tuple):
        return [n for item in value for n in _integers(item)]
    return [value] if type(value) is int else []


def _arrays(forms: Sequence[Form], arguments: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Every array with its path, those of lists too."""
    for form, argument in zip(forms, arguments):
        for leaf, value in zip(form.leaves, _leaves(form, argument)):
            if leaf.kind == "list":
                yield from ((f"{leaf.path}[{i}]", item) for i, item in enumerate(value))
            elif hasattr(value, "shape") and hasattr(value, "dtype"):
                yield leaf.path, value
            elif _is_descriptor(value):
                yield leaf.path, value.base


def _described(forms: Sequence[Form], arguments: Sequence[Any]) -> dict[str, Any]:
    """Every array and every tensor descriptor with its path, but for those of lists."""
    leaves = [pair for form, a in zip(forms, arguments) for pair in zip(form.leaves, _leaves(form, a))]
    return {leaf.path: value for leaf, value in leaves if leaf.kind == "value" and hasattr(value, "shape")}


def _leaves(form: Form, argument: Any) -> list[Any]:
    if form.kind != "tuple":
        return [argument]
    return [leaf for f, item in zip(form.items, argument) for leaf in _leaves(f, item)]


def _is_descriptor(argument: Any) -> bool:
    """A tensor descriptor of Triton's, made on the host."""
    return hasattr(argument, "block_shape") and hasattr(argument, "base")


def _crossing(argument: Any) -> Any:
    if isinstance(argument, (tuple, list)):
        return tuple(map(_crossing, argument))
    if not hasattr(argument, "shape") or not hasattr(argument, "dtype"):
        return argument
    return array(as_bytes(argument) if carried_dtype(argument) else argument)


def _on(stream: Any) -> Any:
    if stream is None or not hasattr(stream, "cuda_stream"):
        return contextlib.nullcontext()
    import torch

    return torch.cuda.stream(stream)
