"""Reads a PrimFunc: its buffers, its scalars, its one ``T.Kernel`` and that kernel's body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang.locations import location_of
from tle_raw.adapters.tilelang.tir_types import Expression, Node, PrimFunc, Variable
from tle_raw.errors import FragmentSourceError, Row, UnsupportedFeatureError

_FOREIGN = {
    "AMD GPUs": ("tl.tvm_mfma", "tl.tvm_rdna", "tl.ds_read_tr", "tirx.hip."),
    "Apple GPUs": ("tl.cooperative_tensor", "tirx.metal.", "tirx.simdgroup", "tirx.make_filled_simdgroup"),
    "Ascend processors": ("tl.ascend_", "tl.simd.", "tl.tileop.ascend"),
}
BLOCK_TAGS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")


@dataclass(frozen=True)
class Axis:
    """One index of ``T.Kernel(...) as (bx, by)``: its variable and the extent of the grid along it."""

    name: str
    tag: str
    variable: Variable
    extent: Any


@dataclass(frozen=True)
class Program:
    """A PrimFunc taken apart.

    Attributes
    ----------
    buffers : the global buffers by name, in the order of the parameters; ``scalars`` the scalar parameters.
    order : the names of all parameters as the user wrote them.
    dims : variables in the shapes and strides of the buffers that are no parameters, by name.
    grid : the axes in the order x, y, z; ``threads`` the block that ``T.Kernel`` asks for.
    body : the statements inside ``T.Kernel``; ``locals`` the buffers that they allocate.
    annotations : what the body's block carries: layouts, safe values.
    """

    name: str
    prim_func: PrimFunc
    order: tuple[str, ...]
    buffers: dict[str, Any]
    scalars: dict[str, Any]
    dims: dict[str, Any]
    grid: tuple[Axis, ...]
    threads: tuple[int, ...]
    body: Any
    locals: tuple[Any, ...]
    annotations: dict[str, Any]

    @property
    def cluster(self) -> tuple[int, ...]:
        """How many blocks along x, y, z are launched as a cluster."""
        return tuple(int(n) for n in self.annotations.get("cluster_dims", (1, 1, 1)))


def read_program(prim_func: PrimFunc) -> Program:
    """Take a PrimFunc apart.

    Raises
    ------
    FragmentSourceError : it holds no ``T.Kernel``, or several. UnsupportedFeatureError : it holds code for the host.
    """
    prim_func = _with_own_names(prim_func)
    buffers: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    order: list[str] = []
    for parameter in prim_func.params:
        buffer = prim_func.buffer_map.get(parameter, None)
        name = str(buffer.name if buffer is not None else parameter.name)
        order.append(name)
        (buffers if buffer is not None else scalars)[name] = buffer if buffer is not None else parameter
    _check_kernels(prim_func)
    _check_hardware(prim_func)
    grid, block = _launch(prim_func.body)
    annotations = {str(k): v for k, v in dict(block.annotations).items()}
    threads = tuple(int(n) for n in annotations.get("tl.launch_threads", ()))
    name = str(prim_func.attrs["global_symbol"]) if "global_symbol" in prim_func.attrs else "main"
    dims = _dims(buffers.values(), scalars.values())
    return Program(
        name,
        prim_func,
        tuple(order),
        buffers,
        scalars,
        dims,
        tuple(grid),
        threads,
        block.body,
        tuple(block.alloc_buffers),
        annotations,
    )


def _with_own_names(prim_func: PrimFunc) -> PrimFunc:
    """Scalars that share a name: TileLang calls a parameter as what it is assigned to in the body."""
    from tvm import tirx
    from tvm.tirx.stmt_functor import substitute

    taken: list[str] = []
    other: dict[Any, Any] = {}
    for parameter in prim_func.params:
        buffer = prim_func.buffer_map.get(parameter, None)
        name = word = str(buffer.name if buffer is not None else parameter.name)
        number = 1
        while word in taken:
            number += 1
            word = f"{name}_{number}"
        taken.append(word)
        if word != name and buffer is None:
            other[parameter] = tirx.Var(word, parameter.dtype)
    if not other:
        return prim_func
    parameters = [other.get(p, p) for p in prim_func.params]
    body = substitute(prim_func.body, other)
    attributes = (prim_func.ret_type, prim_func.buffer_map, prim_func.attrs, prim_func.span)
    made: PrimFunc = tirx.PrimFunc(parameters, body, *attributes)
    return made


def _dims(buffers: Any, scalars: Any) -> dict[str, Any]:
    known = list(scalars)
    found: dict[str, Any] = {}
    for buffer in buffers:
        for extent in (*buffer.shape, *buffer.strides):
            for variable in variables_of(extent):
                if not any(variable.same_as(k) for k in (*known, *found.values())):
                    found[str(variable.name)] = variable
    return found


def variables_of(expression: Expression) -> list[Any]:
    """The variables that an expression reads."""
    from tvm.tirx import Var
    from tvm.tirx.stmt_functor import post_order_visit

    if isinstance(expression, int):
        return []
    found: list[Any] = []
    post_order_visit(expression, lambda node: found.append(node) if isinstance(node, Var) else None)
    return found


def _check_kernels(prim_func: PrimFunc) -> None:
    kernels = kernels_of(prim_func.body)
    if not kernels:
        raise FragmentSourceError(
            "the PrimFunc holds no T.Kernel, so nothing of it runs on a device",
            table=[Row("T.Kernel", "1", "0")],
            hint="put the body under `with T.Kernel(..., threads=128) as bx:`",
        )
    if len(kernels) > 1:
        places = [location_of(kernel) for kernel in kernels]
        lines = " and ".join(str(location.line) for location in places if location is not None)
        error = FragmentSourceError(
            "the PrimFunc holds several T.Kernels: they are launches of their own",
            table=[Row("T.Kernel", "1", f"{len(kernels)}" + (f", in lines {lines}" if lines else ""))],
            hint="tle_raw.adapters.tilelang.split_kernels(prim_func) makes a PrimFunc of each",
        )
        raise error.at(source=places[1])


def kernels_of(body: Any) -> list[Any]:
    """The outermost loop of each T.Kernel."""
    return [node for node in _nodes(body) if _tag(node) == BLOCK_TAGS[0]]


def _check_hardware(prim_func: PrimFunc) -> None:
    """Operations of other makers' processors have no meaning on any target of ours."""
    for node in _nodes(prim_func.body):
        if not hasattr(node, "value") or type(node).__name__ not in ("Evaluate", "BufferStore", "Bind"):
            continue
        for call in (n for n in _nodes(node.value) if type(n).__name__ == "Call"):
            name = str(getattr(call.op, "name", ""))
            maker = next((m for m, starts in _FOREIGN.items() if name.startswith(starts)), None)
            if maker is not None:
                error = UnsupportedFeatureError(
                    f"the operation {name} belongs to {maker}", hint="kernels for NVIDIA GPUs become regions"
                )
                error.at(source=location_of(node))
                raise error


def _nodes(body: Any) -> list[Any]:
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(body, found.append)
    return found


def _tag(node: Node) -> str:
    if type(node).__name__ != "For" or node.thread_binding is None:
        return ""
    return str(node.thread_binding.thread_tag)


def _launch(body: Any) -> tuple[list[Axis], Any]:
    """The grid's loops, one in the other, down to the block that holds the kernel's body."""
    grid: list[Axis] = []
    node = body
    while True:
        kind = type(node).__name__
        if kind == "SBlockRealize":
            if str(node.block.name_hint) == "tilelang_root":
                return grid, node.block
            node = node.block
        elif kind == "SBlock":
            node = node.body
        elif _tag(node) in BLOCK_TAGS:
            grid.append(Axis(str(node.loop_var.name), _tag(node), node.loop_var, node.extent))
            node = node.body
        elif kind == "SeqStmt":
            node = _only_kernel(node, bool(grid))
        elif kind == "AttrStmt":
            node = node.body
        else:
            raise _host_code(node)


def _only_kernel(sequence: Any, inside: bool) -> Any:
    """A launch starts with the thread's indices; before a launch stand assumptions at the most."""
    rest = [s for s in sequence.seq if not _is_thread_index(s) and not _is_assumption(s)]
    if len(rest) == 1:
        return rest[0]
    outside = next(s for s in rest if type(s).__name__ not in ("SBlockRealize", "For"))
    raise _host_code(outside) if not inside else FragmentSourceError("the body of T.Kernel cannot be found")


def _is_thread_index(statement: Node) -> bool:
    return type(statement).__name__ == "Bind" and is_call(statement.value, "tl.launch_thread_idx")


def _is_assumption(statement: Node) -> bool:
    """``T.assume(n > 0)``, which TileLang's own lowering makes use of."""
    return type(statement).__name__ == "Evaluate" and is_call(statement.value, "tirx.assume")


def is_call(expression: Expression, name: str) -> bool:
    return type(expression).__name__ == "Call" and str(getattr(expression.op, "name", "")) == name


def _host_code(statement: Node) -> UnsupportedFeatureError:
    error = UnsupportedFeatureError(
        f"the PrimFunc holds code for the host ({type(statement).__name__}) beside its T.Kernel",
        hint="compute it before the launch and pass it as a scalar",
    )
    error.at(source=location_of(statement))
    return error


def statements(node: Node) -> Iterator[Any]:
    """The statements of a sequence, flat."""
    if type(node).__name__ == "SeqStmt":
        for inner in node.seq:
            yield from statements(inner)
    else:
        yield node
