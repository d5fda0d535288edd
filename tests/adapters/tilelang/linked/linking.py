"""A fragment of a PrimFunc by the linked route alone, whatever route the dialect would choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tle_raw.adapters.tilelang.linked import Linkable, compile_linked, compiler_identity, lower
from tle_raw.adapters.tilelang.linked.host_call import DATA
from tle_raw.errors import SourceLocation
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import POINTER, SCALAR, BoundParameter, BoundSignature
from tle_raw.fragments.declare import declare
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.parameter_types import Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature
from tle_raw.target import Target


class LinkedAdapter:
    """The dialect, for tests: ``prim_func``, ``places`` and ``pass_configs`` are its options."""

    name = "tilelang-linked"

    def read(self, declaration: Declaration) -> Source:
        data = Linkable(**declaration.options)
        text = f"{data.prim_func.script()}\n{sorted(data.places.items())}\n{data.pass_configs}"
        return Source(self.name, declaration.name, declaration.name, text, declaration.location, (), data)

    def files(self, source: Source) -> tuple[Path, ...]:
        return ()

    def compiler_identity(self) -> str:
        return compiler_identity()

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        return compile_linked(source, bound, target)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        return ""


def linked(prim_func: Any, places: dict[str, int | str] | None = None, **pass_configs: Any) -> Fragment:
    """A fragment whose parameters are in the PrimFunc's order, then its dims, then the block indices that are given."""
    places = places or {}
    name = str(prim_func.attrs["global_symbol"])
    parameters, dims = [], {}
    for variable in prim_func.params:
        buffer = prim_func.buffer_map.get(variable)
        if buffer is None:
            parameters.append(Parameter(str(variable.name), Scalar[str(variable.dtype)]))
            continue
        parameters.append(Parameter(str(buffer.name), Pointer[str(buffer.dtype)], "InOut"))
        dims |= {str(d.name): d for d in (*buffer.shape, *buffer.strides) if hasattr(d, "name")}
    parameters += [Parameter(dim, Scalar[str(v.dtype)]) for dim, v in dims.items()]
    parameters += [Parameter(p, Scalar["i32"]) for p in places.values() if isinstance(p, str)]
    options = {"prim_func": prim_func, "places": places, "pass_configs": pass_configs}
    declaration = Declaration(
        name, Signature(name, tuple(parameters)), options, SourceLocation(__file__, 1), Path(__file__).parent
    )
    return declare(LinkedAdapter(), declaration)


def bound_of(prim_func: Any, arch: str = "sm_90a") -> tuple[Source, BoundSignature]:
    """What a region of a PrimFunc is bound to, in the kernel's own order."""
    name = str(prim_func.attrs["global_symbol"])
    parameters = [
        BoundParameter(a.name, POINTER if a.kind == DATA else SCALAR, "InOut", parse_dtype(a.dtype))
        for a in lower(prim_func, arch).arguments
    ]
    source = Source("tilelang", name, name, "", SourceLocation(__file__, 1), (), Linkable(prim_func))
    return source, BoundSignature(name, tuple(parameters))
