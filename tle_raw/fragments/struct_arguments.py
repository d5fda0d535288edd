"""Arguments of a call whose parameters are structs: each becomes the values that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.errors import ArgumentCountError, Row
from tle_raw.fragments.signature import Signature, StructParameter
from tle_raw.fragments.structs import Taker, leaves, take_apart


def expand_structs(
    signature: Signature, positional: Sequence[Any], keywords: Mapping[str, Any], taker: Taker
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the signature's flat parameters take them.

    Raises
    ------
    ArgumentCountError, ArgumentTypeError : a struct has other parts than were given for it.
    """
    if not signature.structs:
        return list(positional), dict(keywords)
    own = signature.own
    if len(positional) > len(own):
        raise ArgumentCountError(
            f"`{signature.name}` takes {len(own)} arguments, got {len(positional)}",
            table=[Row("arguments", str(len(own)), str(len(positional)))],
            hint=f"the signature is {signature}; a struct is one argument, a tuple",
        )
    expanded: list[Any] = []
    for parameter, value in zip(own, positional):
        expanded += _values(parameter, value, taker) if isinstance(parameter, StructParameter) else [value]
    named: dict[str, Any] = {}
    structs = {struct.name: struct for struct in signature.structs}
    for name, value in keywords.items():
        if name not in structs:
            named[name] = value
            continue
        held = signature.parameters[structs[name].first :][: structs[name].count]
        named |= dict(zip((p.name for p in held), _values(structs[name], value, taker), strict=True))
    return expanded, named


def _values(parameter: StructParameter, value: Any, taker: Taker) -> list[Any]:
    values = take_apart(parameter.type, value, parameter.name, taker)
    assert len(values) == sum(1 for _ in leaves(parameter.type)), "one value for each number or pointer"
    return values
