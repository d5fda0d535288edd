"""Writes the C++ function that a signature asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.cpp.spelling import tile_type
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import (
    ANY_LAYOUT,
    Barrier,
    Const,
    Descriptor,
    Element,
    Parameter,
    Pointer,
    Tile,
    layout_of,
)
from tle_raw.fragments.signature import Signature


def prototype_text(name: str, signature: Signature) -> str:
    """Both forms, compilable: with tle::tile, and with plain pointers."""
    return "\n".join(_lines(name, signature)) + "\n"


def _lines(name: str, signature: Signature) -> Iterator[str]:
    used = {p.type.dtype for p in signature.parameters if hasattr(p.type, "dtype")}
    used |= {signature.result.dtype} if signature.result else set()
    for header in sorted({d.header for d in used if isinstance(d, DType) and d.header}):
        yield f"#include <{header}>"
    any_layout = any(_takes_any_layout(p) for p in signature.parameters)
    yield f"#include <tle_raw/{'buffer' if any_layout else 'tile'}.h>"
    if any(isinstance(p.type, Barrier) for p in signature.parameters):
        yield "#include <tle_raw/barrier.h>"
    if any(isinstance(p.type, Descriptor) for p in signature.parameters):
        yield "#include <tle_raw/descriptor.h>"
    yield ""
    for parameter in signature.parameters:
        note = _note(parameter)
        if note:
            yield f"// {note}"
    dtype_names = {d for d in used if isinstance(d, str)}
    template = [f"{'class' if n in dtype_names else 'int'} {n}" for n in signature.names]
    template += ["class Layout"] if any_layout else []
    if template:
        yield f"template <{', '.join(template)}>"
    yield f"__device__ {_result(signature, '{}')} {name}({_parameters(signature, '{}', tiles=True)}) {{"
    yield from _body(signature)
    yield "}"
    if any_layout:  # a plain pointer does not know where the elements lie
        return
    yield ""
    yield "#if 0  // or, with plain pointers (names of the signature are macros: TLE_" + (
        f"{signature.names[0]}, ...):" if signature.names else "...):"
    )
    parameters = _parameters(signature, "TLE_{}", tiles=False)
    yield f'extern "C" __device__ {_result(signature, "TLE_{}")} {name}({parameters}) {{'
    yield from _body(signature)
    yield "}"
    yield "#endif"


def _body(signature: Signature) -> Iterator[str]:
    if signature.result:
        yield "  return {};"


def _result(signature: Signature, name: str) -> str:
    return _cxx(signature.result.dtype, name) if signature.result else "void"


def _cxx(dtype: DType | str, name: str) -> str:
    """A dtype's C++ type; a name is a template parameter or a macro."""
    return dtype.cxx if isinstance(dtype, DType) else name.format(dtype)


def _parameters(signature: Signature, name: str, tiles: bool) -> str:
    crossing = [p for p in signature.parameters if not isinstance(p.type, Const)]
    return ", ".join(text for p in crossing for text in _parameter(p, name, tiles))


def _parameter(parameter: Parameter, name: str, tiles: bool) -> Iterator[str]:
    type_ = parameter.type
    if not (isinstance(type_, Tile) and type_.spelling):
        yield f"{_type(parameter, name, tiles)} {parameter.name}"
        return
    # A memref is taken apart, as MLIR does it.
    pointer = f"{_cxx(type_.dtype, name)}*"
    yield from (f"{pointer} {parameter.name}_{part}" for part in ("allocated", "aligned"))
    axes = range(len(type_.dims))
    numbers = ("offset", *(f"size{i}" for i in axes), *(f"stride{i}" for i in axes))
    yield from (f"long long {parameter.name}_{part}" for part in numbers)


def _type(parameter: Parameter, name: str, tiles: bool) -> str:
    type_ = parameter.type
    if isinstance(type_, Barrier):
        return "tle::barrier"
    cxx = _cxx(type_.dtype, name)  # type: ignore[attr-defined]
    if isinstance(type_, Tile):
        dims = [dim if isinstance(dim, int) else name.format(dim) for dim in type_.dims]
        if isinstance(type_, Descriptor):
            return f"tle::descriptor<{', '.join([cxx, *map(str, dims)])}>"
        if _takes_any_layout(parameter):
            return f"tle::buffer<{', '.join([cxx, 'Layout', *map(str, dims)])}>"
        return tile_type(cxx, dims) if tiles else f"{cxx}*"
    if isinstance(type_, Pointer):
        return f"const {cxx}*" if parameter.effect == "In" else f"{cxx}*"
    if isinstance(type_, Element) and parameter.effect != "In":
        return f"{cxx}&"
    return cxx


def _takes_any_layout(parameter: Parameter) -> bool:
    return layout_of(parameter.type) == ANY_LAYOUT


def _note(parameter: Parameter) -> str:
    type_ = parameter.type
    if isinstance(type_, Barrier):
        does = "waited for" if parameter.effect == "In" else "waited for and arrived at"
        return f"{parameter.name}: a barrier of the kernel, {does} by the threads that say so"
    if isinstance(type_, Descriptor):
        shape = " x ".join(map(str, type_.dims))
        return f"{parameter.name}: a tensor descriptor of the kernel, which copies blocks of {shape} elements"
    if isinstance(type_, Tile):
        what = {"In": "read", "Out": "written", "InOut": "read and written"}[parameter.effect]
        shape = " x ".join(map(str, type_.dims))
        order = "in a layout that the call gives" if _takes_any_layout(parameter) else "row-major"
        return f"{parameter.name}: {shape} elements in shared memory, {order}, {what} by the whole block"
    if isinstance(type_, Pointer):
        return f"{parameter.name}: global memory"
    if isinstance(type_, Element):
        return f"{parameter.name}: one element; the function is called once for each"
    if isinstance(type_, Const):
        return f"{type_.name}: a compile-time integer"
    return ""
