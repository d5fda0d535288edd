"""Reads from TileLang's host function what it passes to the kernel, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.linked.c_expressions import CASTS, c_expression
from tle_raw.adapters.tilelang.linked.descriptors import Descriptor, read_descriptors
from tle_raw.adapters.tilelang.program import variables_of
from tle_raw.adapters.tilelang.tir_types import Expression, Node, PrimFunc, Variable
from tle_raw.errors import UnsupportedFeatureError

# Kinds of an argument: a buffer's memory, a scalar of the PrimFunc's, a dim or a stride of a buffer, a TMA descriptor.
DATA, SCALAR, DIM, STRIDE, DESCRIPTOR = "data", "scalar", "dim", "stride", "descriptor"

# Fields of a packed argument that tvm_struct_get reads, by TVM's own numbers.
_DATA, _SHAPE, _STRIDES, _VALUE = 1, 2, 3, 15


class HostValueError(UnsupportedFeatureError):
    """The kernel takes what the host makes at a launch."""


def descriptors_missing(count: int) -> HostValueError:
    """For a kernel whose caller passes no TMA descriptors, where it takes some."""
    return HostValueError(
        f"the TileLang kernel takes {count} TMA descriptors, which are made at its launch",
        hint="declare the fragment with tma=True and pass fragment.descriptors(...) as its argument `tma`",
    )


@dataclass(frozen=True)
class HostArgument:
    """What a parameter of the kernel gets. ``name`` is the PrimFunc's own name of the buffer, scalar or dim."""

    kind: str
    name: str
    dtype: str


@dataclass(frozen=True)
class HostCall:
    """``extents`` maps ``blockIdx.x``, … to C++ text over ``k0``, ``k1``, …, the arguments by position.

    ``descriptors`` are the TMA descriptors among the arguments, in the order of TileLang's own list.
    """

    arguments: tuple[HostArgument, ...]
    extents: dict[str, str]
    descriptors: tuple[Descriptor, ...] = ()


@dataclass(frozen=True)
class _Origin:
    """Where a variable of the host function comes from: the n-th parameter, and which part of it."""

    part: int
    parameter: int
    index: int = -1


def read_host_call(host: Any, prim_func: PrimFunc, kernel: str, function: Any, launch: tuple[str, ...]) -> HostCall:
    """Follow the host function's variables from the packed arguments to the kernel's call.

    Raises
    ------
    UnsupportedFeatureError : the host computes something for the kernel that a region cannot compute.
    """
    from tvm import tirx

    (caller,) = host.functions.values()
    reader = _Reader(caller.params[1], prim_func)
    tirx.stmt_functor.post_order_visit(caller.body, reader.visit)
    found = [call for call in reader.calls if str(call.args[0].value) == kernel]
    if len(found) != 1:
        raise UnsupportedFeatureError(f"TileLang's host code calls `{kernel}` {len(found)} times, and a region is one")
    reader.descriptors = read_descriptors(caller, reader.name_of)
    values = list(found[0].args)[1:]
    count = len(function.params)
    arguments = [reader.argument(value, str(p.dtype)) for value, p in zip(values[:count], function.params)]
    positions = {value: i for i, value in enumerate(values[:count])}
    extents = dict(zip(launch, values[count:]))
    for variable in (v for extent in extents.values() for v in variables_of(extent)):
        if variable not in positions and reader.origin(variable):
            positions[variable] = len(arguments)
            arguments.append(reader.argument(variable, str(variable.dtype)))
    kinds = {variable: CASTS.get(str(variable.dtype)) for variable in positions}
    names = {variable: f"(({kinds[variable]})k{i})" for variable, i in positions.items() if kinds[variable]}
    texts = {axis: c_expression(extent, names) for axis, extent in extents.items() if axis.startswith("blockIdx")}
    return HostCall(tuple(arguments), texts, reader.descriptors)


@dataclass
class _Reader:
    packed: Any
    prim_func: PrimFunc
    origins: dict[Any, _Origin] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)
    descriptors: tuple[Descriptor, ...] = ()

    def visit(self, node: Node) -> None:
        from tvm import tirx

        if isinstance(node, tirx.Bind):
            origin = next(self._origins_in(node.value), None)
            if origin is not None:
                self.origins[node.var] = origin
        elif isinstance(node, tirx.Call) and node.op.name == "tirx.tvm_call_packed":
            self.calls.append(node)

    def origin(self, variable: Variable) -> _Origin | None:
        return self.origins.get(variable)

    def _origins_in(self, value: Any) -> Iterator[_Origin]:
        """What a bound value reads: a packed argument, a part of a tensor, or a variable known already."""
        from tvm import tirx

        nodes: list[Any] = []
        tirx.stmt_functor.post_order_visit(value, nodes.append)
        for node in nodes:
            if isinstance(node, tirx.BufferLoad):
                whole = self.origins.get(node.buffer.data)
                if whole and whole.part in (_SHAPE, _STRIDES):
                    yield _Origin(whole.part, whole.parameter, int(node.indices[0]))
        for node in nodes:
            if isinstance(node, tirx.Call) and node.op.name == "tirx.tvm_struct_get":
                base, index, part = node.args[0], int(node.args[1]), int(node.args[2])
                if part == _VALUE and base.same_as(self.packed):
                    yield _Origin(_VALUE, index)
                elif part in (_DATA, _SHAPE, _STRIDES) and base in self.origins:
                    yield _Origin(part, self.origins[base].parameter)
        if isinstance(value, tirx.Var) and value in self.origins:
            yield self.origins[value]

    def name_of(self, variable: Variable) -> str:
        """The PrimFunc's own name of what a variable of the host's holds."""
        return self.argument(variable, str(variable.dtype)).name

    def argument(self, value: Any, dtype: str) -> HostArgument:
        """One argument of the kernel's call."""
        origin = self.origins.get(value)
        if origin is None:
            if any(d.name == str(value) for d in self.descriptors):
                return HostArgument(DESCRIPTOR, str(value), dtype)
            raise HostValueError(
                f"TileLang's host code makes `{value}` for the kernel, which a region cannot: it is no parameter"
            )
        parameter = self.prim_func.params[origin.parameter]
        buffer: Any = self.prim_func.buffer_map.get(parameter)
        if origin.part == _SHAPE:
            return HostArgument(DIM, _name(buffer.shape[origin.index], value), dtype)
        if origin.part == _STRIDES:
            return HostArgument(STRIDE, _name(buffer.strides[origin.index], value), dtype)
        if buffer is not None:
            return HostArgument(DATA, str(buffer.name), str(buffer.dtype))
        if dtype == "handle":
            return HostArgument(DATA, str(parameter.name), dtype)
        return HostArgument(SCALAR, str(parameter.name), dtype)


def _name(expression: Expression, value: Any) -> str:
    """A size's own name: the host solves `n + 1` for what the kernel takes, `n`."""
    within = {str(variable.name) for variable in variables_of(expression)}
    own = str(getattr(value, "name", value))
    return own if own in within else str(getattr(expression, "name", expression))
