"""From a C prototype to the signature of a fragment, and the check of one against the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tle_raw.adapters.cpp.prototypes import CxxType, Prototype, is_function
from tle_raw.adapters.cpp.spelling import expected_type
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.errors import Context, Row, SignatureError, SignatureMismatchError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.parameter_types import IN, INOUT, Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature, StructParameter
from tle_raw.fragments.structs import Leaf, Number, leaves

# The dtype of memory of which nothing is known.
BYTE = "u8"
_NULL = ("std::nullptr_t", "nullptr_t")
# Objects of textures and surfaces are numbers, for C++ and for a launch. References to them went with CUDA 12.
_REFERENCES = {"texture": "textures", "surface": "surfaces"}


def parameter_names(prototype: Prototype, callee: Callee) -> tuple[str, ...]:
    """As the author wrote them; ``arg0`` and so on where a macro or nobody gave a name."""
    written = callee.function.parameters if callee.function else ()
    names = [p.name for p in written] if len(written) == len(prototype.parameters) else [""] * len(prototype.parameters)
    return tuple(name if name.isidentifier() else f"arg{i}" for i, name in enumerate(names))


@dataclass(frozen=True)
class Slot:
    """What crosses: a parameter, or one number or pointer of a struct that is passed by value.

    ``parameter`` is the place of the function's own parameter, ``offset`` the bytes from its begin. ``in_struct``: that
    parameter is a struct or a class.
    """

    name: str
    text: str
    dtype: DType | None
    is_pointer: bool = False
    is_const: bool = False
    is_opaque: bool = False
    parameter: int = 0
    offset: int = 0
    in_struct: bool = False


def slots(prototype: Prototype, callee: Callee) -> tuple[Slot, ...]:
    """All that crosses, in order."""
    names = parameter_names(prototype, callee)
    taken = set(names)
    found: list[Slot] = []
    for index, (name, type_) in enumerate(zip(names, prototype.parameters)):
        if isinstance(type_.struct, Number):
            found.append(Slot(name, type_.text, type_.struct.dtype, parameter=index, in_struct=True))
        elif type_.struct is not None:
            found += [_leaf_slot(leaf, name, index, taken) for leaf in leaves(type_.struct)]
        else:
            dtype = DTYPES[BYTE] if _is_opaque(type_) else type_.dtype
            is_pointer = bool(type_.pointee) or type_.text in _NULL
            found.append(Slot(name, type_.text, dtype, is_pointer, type_.is_const, _is_opaque(type_), index))
    return tuple(found)


def _leaf_slot(leaf: Leaf, name: str, index: int, taken: set[str]) -> Slot:
    own = f"{name}_{'_'.join(leaf.path)}"
    while own in taken:
        own += "_"
    taken.add(own)
    if isinstance(leaf.type, Number):
        return Slot(own, leaf.type.dtype.cxx, leaf.type.dtype, False, False, False, index, leaf.offset, True)
    kind = leaf.type
    return Slot(own, str(kind), kind.dtype, True, kind.is_const, kind.is_opaque, index, leaf.offset, True)


def signature_of_prototype(
    name: str, prototype: Prototype, callee: Callee, grid: Mapping[str, int | str], location: SourceLocation
) -> Signature:
    """Pointers become ``InOut[Pointer]``, or ``Pointer`` where they are const, numbers ``Scalar``.

    What a ``void*`` or a pointer to a struct points to is anything: ``Pointer["void"]``. A struct that is passed by
    value becomes all that it holds, and is passed as a tuple.

    Integers that give block indices (``grid``) come behind the function's own parameters.

    Raises
    ------
    SignatureError, UnsupportedFeatureError : a type that cannot cross; the error names the parameter and its line.
    """
    names = parameter_names(prototype, callee)
    parameters: list[Parameter] = []
    structs: list[StructParameter] = []
    for index, (own, type_) in enumerate(zip(names, prototype.parameters)):
        if (type_.dtype is None and type_.struct is None and not _is_opaque(type_)) or _fetched(callee, index):
            raise _no_port(own, type_, callee, index, location)
    found = slots(prototype, callee)
    for index, (own, type_) in enumerate(zip(names, prototype.parameters)):
        crossing = [slot for slot in found if slot.parameter == index]
        if type_.struct is not None and not isinstance(type_.struct, Number):
            structs.append(StructParameter(own, type_.struct, len(parameters), len(crossing)))
        parameters += [_parameter(slot) for slot in crossing]
    taken = {p.name for p in parameters}
    for given in dict.fromkeys(v for v in grid.values() if isinstance(v, str)):
        if given in taken:
            raise SignatureError(
                f"grid= gives the name `{given}` to a block index, which is a parameter of `{callee.name}`",
                hint="choose another",
                context=Context(source=location),
            )
        parameters.append(Parameter(given, Scalar(DTYPES["i32"])))
    return Signature(name, tuple(parameters), _result(prototype, callee, location), tuple(structs))


def _parameter(slot: Slot) -> Parameter:
    assert slot.dtype is not None
    if not slot.is_pointer:
        return Parameter(slot.name, Scalar(slot.dtype))
    return Parameter(slot.name, Pointer(slot.dtype, is_opaque=slot.is_opaque), IN if slot.is_const else INOUT)


def opaque_parameters(prototype: Prototype, callee: Callee) -> tuple[str, ...]:
    """The pointers to what has no dtype: structs, ``void``, pointers."""
    return tuple(slot.name for slot in slots(prototype, callee) if slot.is_opaque)


def _is_opaque(type_: CxxType) -> bool:
    if type_.text in _NULL:
        return True
    return bool(type_.pointee) and type_.dtype is None and not is_function(type_.pointee)


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
            f"the parameter `{name}` of `{callee.name}` is a reference to {fetch}, which CUDA has had no more since "
            f"version 12",
            table=[Row(name, "a pointer, a number, or an object", written)],
            hint=f"take the object: cuda{fetch[:-1].title()}Object_t {name}",
            context=where,
        )
    reason = f": it has {type_.unknown}" if type_.unknown else ""
    return SignatureError(
        f"the parameter `{name}` of `{callee.name}` is of a type that cannot cross into a region{reason}",
        table=[Row(name, "a number, a pointer to memory, or a struct of those", _both(written, type_.text))],
        hint=_hint(type_),
        context=where,
    )


def _both(written: str, text: str) -> str:
    """A type as it is, and as it is written where that is another text."""
    return f"{text} (written {written})" if written and written.replace(" ", "") != text.replace(" ", "") else text


def _hint(type_: CxxType) -> str:
    if is_function(type_.pointee):
        return "the function must be known at compile time: make it a template parameter"
    return "write a __global__ function that takes numbers and pointers, makes the object of them and calls this one"


def _fetched(callee: Callee, index: int) -> str:
    """The word for a reference to a texture or a surface."""
    words = _written(callee, index).replace("<", " ").split()
    return next((what for word, what in _REFERENCES.items() if word in words), "")


def _written(callee: Callee, index: int) -> str:
    parameters = callee.function.parameters if callee.function else ()
    return parameters[index].type if index < len(parameters) else ""


def _location(callee: Callee, location: SourceLocation) -> SourceLocation:
    return location_of(callee.function) if callee.function else location


def check_prototype(
    bound: BoundSignature,
    passed: Sequence[BoundParameter],
    taken: Sequence[Slot],
    callee: Callee,
    location: SourceLocation,
) -> None:
    """A kernel's parameters must be those that the signature passes, one by one.

    Raises
    ------
    SignatureMismatchError : with a row for each parameter.
    """
    rows, fits = [], True
    for port, slot in zip_longest(passed, taken):
        what = port.name if port else slot.name
        if port is not None and slot is not None and _fits(port, slot):
            rows.append(Row(what, slot.text, slot.text))
            continue
        fits = False
        rows.append(Row(what, expected_type(port) if port else "(nothing)", slot.text if slot else "(nothing)"))
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


def _fits(port: BoundParameter, slot: Slot) -> bool:
    if port.kind == POINTER and slot.is_opaque:
        return port.dtype == DTYPES[BYTE]
    if port.kind == ELEMENT or port.is_memref or port.dtype != slot.dtype:
        return False
    return slot.is_pointer == (port.kind in (TILE, POINTER))
