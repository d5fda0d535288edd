"""From a C prototype to the signature of a fragment, and the check of one against the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from tle_raw.adapters.cpp.prototypes import CxxType, Prototype
from tle_raw.adapters.cpp.spelling import expected_type
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.errors import Context, Row, SignatureError, SignatureMismatchError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.signature import IN, INOUT, Parameter, Pointer, Scalar, Signature

# The dtype of memory of which nothing is known.
BYTE = "u8"
_FETCHES = {
    "cudaTextureObject_t": "textures", "cudaSurfaceObject_t": "surfaces", "texture": "textures", "surface": "surfaces",
}  # fmt: skip


def parameter_names(prototype: Prototype, callee: Callee) -> tuple[str, ...]:
    """As the author wrote them; ``arg0`` and so on where a macro or nobody gave a name."""
    written = callee.function.parameters if callee.function else ()
    names = [p.name for p in written] if len(written) == len(prototype.parameters) else [""] * len(prototype.parameters)
    return tuple(name if name.isidentifier() else f"arg{i}" for i, name in enumerate(names))


def signature_of_prototype(
    name: str, prototype: Prototype, callee: Callee, grid: Mapping[str, int | str], location: SourceLocation
) -> Signature:
    """Pointers become ``InOut[Pointer]``, or ``Pointer`` where they are const, numbers ``Scalar``.

    What a ``void*`` or a pointer to a struct points to is bytes.

    Integers that give block indices (``grid``) come behind the function's own parameters.

    Raises
    ------
    SignatureError, UnsupportedFeatureError : a type that cannot cross; the error names the parameter and its line.
    """
    parameters = []
    for index, (own, type_) in enumerate(zip(parameter_names(prototype, callee), prototype.parameters)):
        kind = Pointer if type_.pointee else Scalar
        dtype = DTYPES[BYTE] if _is_opaque(type_) and "*" not in type_.pointee else type_.dtype
        if dtype is None or _fetched(callee, index):
            raise _no_port(own, type_, callee, index, location)
        effect = INOUT if type_.pointee and not type_.is_const else IN
        parameters.append(Parameter(own, kind(dtype), effect))
    taken = {p.name for p in parameters}
    for given in dict.fromkeys(v for v in grid.values() if isinstance(v, str)):
        if given in taken:
            raise SignatureError(
                f"grid= gives the name `{given}` to a block index, which is a parameter of `{callee.name}`",
                hint="choose another",
                context=Context(source=location),
            )
        parameters.append(Parameter(given, Scalar(DTYPES["i32"])))
    return Signature(name, tuple(parameters), _result(prototype, callee, location))


def opaque_parameters(prototype: Prototype, callee: Callee) -> tuple[str, ...]:
    """The pointers to what has no dtype: structs, ``void``, pointers."""
    return tuple(n for n, t in zip(parameter_names(prototype, callee), prototype.parameters) if _is_opaque(t))


def _is_opaque(type_: CxxType) -> bool:
    return bool(type_.pointee) and type_.dtype is None


def _result(prototype: Prototype, callee: Callee, location: SourceLocation) -> Scalar | None:
    if prototype.result.text == "void":
        return None
    dtype = None if prototype.result.pointee else prototype.result.dtype
    if dtype is None:
        raise SignatureError(
            f"`{callee.name}` returns `{prototype.result.text}`, which cannot leave a region",
            table=[Row("result", "a number, or void", prototype.result.text)],
            context=Context(source=_location(callee, location)),
        )
    return Scalar(dtype)


def _no_port(name: str, type_: CxxType, callee: Callee, index: int, location: SourceLocation) -> SignatureError:
    where = Context(source=_location(callee, location))
    written, fetch = _written(callee, index), _fetched(callee, index)
    if fetch:
        raise UnsupportedFeatureError(
            f"the parameter `{name}` of `{callee.name}` is of {fetch}, which only a launch of CUDA's own can bind",
            table=[Row(name, "a pointer or a number", written)],
            hint="read the memory through a pointer: __ldg() takes the same cache",
            context=where,
        )
    return SignatureError(
        f"the parameter `{name}` of `{callee.name}` is of a type that cannot cross into a region",
        table=[Row(name, "a number, or a pointer to numbers", written or type_.text)],
        hint=_hint(type_),
        context=where,
    )


def _hint(type_: CxxType) -> str:
    if "*" in type_.pointee or "&" in type_.text:
        return "pass each array as a pointer of its own"
    return "pass its fields one by one"


def _fetched(callee: Callee, index: int) -> str:
    """The word for a texture or a surface, which are plain numbers for C++."""
    words = _written(callee, index).replace("<", " ").split()
    return next((what for word, what in _FETCHES.items() if word in words), "")


def _written(callee: Callee, index: int) -> str:
    parameters = callee.function.parameters if callee.function else ()
    return parameters[index].type if index < len(parameters) else ""


def _location(callee: Callee, location: SourceLocation) -> SourceLocation:
    return location_of(callee.function) if callee.function else location


def check_prototype(
    bound: BoundSignature,
    passed: Sequence[BoundParameter],
    prototype: Prototype,
    callee: Callee,
    location: SourceLocation,
) -> None:
    """A kernel's parameters must be those that the signature passes, one by one.

    Raises
    ------
    SignatureMismatchError : with a row for each parameter.
    """
    names = parameter_names(prototype, callee)
    rows, fits = [], True
    for index, (port, type_) in enumerate(zip_longest(passed, prototype.parameters)):
        what = port.name if port else names[index]
        if port is not None and type_ is not None and _fits(port, type_):
            rows.append(Row(what, type_.text, type_.text))
            continue
        fits = False
        rows.append(Row(what, expected_type(port) if port else "(nothing)", type_.text if type_ else "(nothing)"))
    if bound.result is not None:
        fits = False
        rows.append(Row("result", bound.result.cxx, "void"))
    if not fits:
        raise SignatureMismatchError(
            f"the __global__ function `{callee.name}` does not fit the signature",
            table=rows,
            hint="leave the signature out: it is read from the function",
            context=Context(source=_location(callee, location)),
        )


def _fits(port: BoundParameter, type_: CxxType) -> bool:
    if port.kind == POINTER and _is_opaque(type_):
        return port.dtype == DTYPES[BYTE]
    if port.kind == ELEMENT or port.is_memref or port.dtype != type_.dtype:
        return False
    return bool(type_.pointee) == (port.kind in (TILE, POINTER))
