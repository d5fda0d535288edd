"""The typed signature of a fragment: what crosses the boundary, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args, get_origin

from tle_raw.errors import SignatureError
from tle_raw.fragments.check_parameters import check_parameters
from tle_raw.fragments.parameter_types import (
    IN,
    INOUT,
    OUT,
    Barrier,
    Const,
    Element,
    Parameter,
    ParameterType,
    Scalar,
    Tile,
)
from tle_raw.fragments.structs import Node


@dataclass(frozen=True)
class Effect:
    effect: str
    type: ParameterType | str  # a text in MLIR's spelling is read when the parameter's name is known


class _EffectMaker:
    """``In[...]``, ``Out[...]``, ``InOut[...]``: what a call does with a parameter.

    They take a parameter type, or a type in MLIR's spelling as text: ``InOut["memref<?xf32, 3>"]``.
    """

    def __init__(self, effect: str) -> None:
        self._effect = effect

    def __getitem__(self, type_: object) -> Effect:
        if get_origin(type_) is Literal:  # FlagTree's L["..."]
            (type_,) = get_args(type_)
        if isinstance(type_, str):
            return Effect(self._effect, type_)
        type_ = Barrier() if type_ is Barrier else type_
        if not isinstance(type_, ParameterType):
            raise SignatureError(
                f"{self._effect}[...] takes a parameter type, got {type_!r}",
                hint=f'write for example {self._effect}[Tile["f32", "M"]] or {self._effect}["memref<?xf32, 3>"]',
            )
        return Effect(self._effect, type_)

    def __repr__(self) -> str:
        return f"tle_raw.{self._effect}"


In = _EffectMaker(IN)
Out = _EffectMaker(OUT)
InOut = _EffectMaker(INOUT)
# FlagTree's names.
Input = Num = In


@dataclass(frozen=True)
class StructParameter:
    """A struct that is passed by value: ``count`` parameters of the signature from ``first`` on are what it holds."""

    name: str
    type: Node
    first: int
    count: int

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class Signature:
    """Name, parameters and result of a fragment; immutable, hashed into every cache key by its text.

    ``structs`` are those parameters that a call passes together, as a tuple.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Scalar | Element | None = None
    structs: tuple[StructParameter, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(_names(self)))
        check_parameters(self.parameters)
        _check_elements(self)

    @property
    def is_elementwise(self) -> bool:
        """Whether the function is applied to each element, in registers."""
        return any(isinstance(p.type, Element) for p in self.parameters)

    @property
    def has_tiles(self) -> bool:
        """Whether any parameter is a tile."""
        return any(isinstance(p.type, Tile) for p in self.parameters)

    @property
    def passed(self) -> tuple[Parameter, ...]:
        """The parameters that a call passes: all but ``Out``."""
        return tuple(p for p in self.parameters if p.is_passed)

    @property
    def returned(self) -> tuple[Parameter, ...]:
        """The parameters that a call returns: ``Out`` and ``InOut``, in order."""
        return tuple(p for p in self.parameters if p.is_returned)

    @property
    def own(self) -> tuple[Parameter | StructParameter, ...]:
        """The parameters as the author wrote them: a struct is one."""
        found: list[Parameter | StructParameter] = []
        structs = {s.first: s for s in self.structs if s.count}
        empty = [s for s in self.structs if not s.count]
        index = 0
        while index < len(self.parameters):
            found += [s for s in empty if s.first == index]
            found.append(structs.get(index, self.parameters[index]))
            index += structs[index].count if index in structs else 1
        return (*found, *(s for s in empty if s.first == index))

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(map(str, self.own))})"
        return f"{text} -> {self.result}" if self.result else text


def _names(signature: Signature) -> list[str]:
    """Dim, dtype and constant names in the order in which the signature first shows them."""
    names: dict[str, None] = {}
    for parameter in signature.parameters:
        type_ = parameter.type
        if isinstance(type_, Const):
            names[type_.name] = None
            continue
        dims = type_.dims if isinstance(type_, Tile) else ()
        for value in (type_.dtype, *dims):  # type: ignore[attr-defined]
            if isinstance(value, str):
                names[value] = None
    if signature.result and isinstance(signature.result.dtype, str):
        names[signature.result.dtype] = None
    return list(names)


def _check_elements(signature: Signature) -> None:
    if signature.is_elementwise and signature.has_tiles:
        raise SignatureError("a fragment takes whole tiles or single elements, not both")
    outputs = len(signature.returned) + (signature.result is not None)
    if signature.is_elementwise and outputs != 1:
        raise SignatureError(
            f"an elementwise fragment gives exactly one result, this one has {outputs}",
            hint='write `-> Element["f32"]`, or make one parameter InOut',
        )
    if isinstance(signature.result, Element) and not signature.is_elementwise:
        raise SignatureError("a result is an Element only when a parameter is one")
    if signature.is_elementwise and isinstance(signature.result, Scalar):
        raise SignatureError("an elementwise fragment returns an Element, not a Scalar")
