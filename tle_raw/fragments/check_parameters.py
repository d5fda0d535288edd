"""What no parameters may say, whatever language their fragment is written in."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.errors import SignatureError
from tle_raw.fragments.parameter_types import (
    IN,
    OUT,
    ROW_MAJOR,
    Barrier,
    Buffer,
    Const,
    Descriptor,
    Parameter,
    ParameterType,
    Pointer,
    Scalar,
    Tile,
    layout_of,
)


def check_parameters(parameters: Sequence[Parameter]) -> None:
    """Raises SignatureError for effects that a type does not have, and names that stand for two things."""
    for parameter in parameters:
        _check_effect(parameter)
        if isinstance(parameter.type, Descriptor):
            _check_descriptor(parameters, parameter)
    _check_names(parameters)


def _check_effect(p: Parameter) -> None:
    if isinstance(p.type, (Scalar, Const)) and p.effect != IN:
        raise SignatureError(
            f"parameter `{p.name}`: a {p.type.kind} can only be In, got {p.effect}",
            hint='return a scalar with `-> Scalar["f32"]`',
        )
    if isinstance(p.type, Barrier) and p.effect == OUT:
        raise SignatureError(
            f"parameter `{p.name}`: a barrier cannot be Out, its state counts",
            hint="write `Barrier`, or `In[Barrier]` where the function only waits",
        )
    if isinstance(p.type, Pointer) and p.effect == OUT:
        raise SignatureError(
            f"parameter `{p.name}`: a pointer cannot be Out, nothing is allocated behind it",
            hint="InOut[Pointer[...]] says that the function writes the memory behind it",
        )


def _check_descriptor(parameters: Sequence[Parameter], parameter: Parameter) -> None:
    if parameter.effect == OUT:
        raise SignatureError(
            f"parameter `{parameter.name}`: a descriptor cannot be Out, the call passes it",
            hint="InOut[Descriptor[...]] says that the function writes the array by it",
        )
    for other in parameters:
        if is_block_of(other.type, parameter.type) and layout_of(other.type) == ROW_MAJOR:
            raise SignatureError(
                f"parameter `{other.name}`: a buffer with the block of the descriptor `{parameter.name}` has the copy "
                "engine's layout, whose rows do not lie behind each other",
                hint=f"write {str(other.type)[:-1]}, AnyLayout]; other names of its dims say that it is another buffer",
            )


def is_block_of(type_: ParameterType, descriptor: ParameterType) -> bool:
    """Whether it is a buffer of the dtype and dims that a descriptor's block is declared with."""
    if not isinstance(type_, Buffer) or isinstance(type_, Barrier | Descriptor):
        return False
    return isinstance(descriptor, Descriptor) and (type_.dtype, type_.dims) == (descriptor.dtype, descriptor.dims)


def _check_names(parameters: Sequence[Parameter]) -> None:
    """A name is bound to one thing by a call."""
    dtypes, integers = set(), set()
    for p in parameters:
        if isinstance(p.type, Const):
            integers.add(p.type.name)
        elif isinstance(p.type, Tile):
            integers.update(d for d in p.type.dims if isinstance(d, str))
        if isinstance(getattr(p.type, "dtype", None), str):
            dtypes.add(p.type.dtype)  # type: ignore[attr-defined]
    if dtypes & integers:
        name = min(dtypes & integers)
        raise SignatureError(f"name `{name}` stands for a dtype in one place and for an integer in another")
