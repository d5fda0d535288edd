"""Operations of the TLE dialect as values, and whether they are what their definitions say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tle_raw.errors import RegionError, Row
from tle_raw.flir.dialect.definitions import (
    BY_NAME,
    CALL,
    DICTIONARY,
    DSL_REGION,
    EXTRACT_DESCRIPTOR,
    PACK,
    STRING,
    STRINGS,
    SYMBOL,
    UNIT,
    UNPACK,
    YIELD,
    Definition,
    Slot,
)


@dataclass(frozen=True)
class SsaValue:
    """An SSA value: its name with ``%``, and its type's text."""

    name: str
    type: str


class SymbolName(str):
    """The name of a function, without ``@``."""


AttributeValue = str | bool | Sequence[str] | Mapping[str, object]


@dataclass(frozen=True)
class TleOperation:
    """One operation. ``arguments`` and ``body`` are those of its one block, ``location`` is ``loc(...)`` or nothing."""

    definition: Definition
    operands: tuple[SsaValue, ...] = ()
    results: tuple[SsaValue, ...] = ()
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    arguments: tuple[SsaValue, ...] = ()
    body: tuple[TleOperation, ...] = ()
    location: str = ""


def element_of(type_: str) -> str:
    """The element type of a tensor or memref; a scalar's own type."""
    if ">" not in type_:
        return type_
    shaped = re.fullmatch(r"(?:tensor|memref)<(?:\d+x)*(.*?)(?:, (?:3|#.*))?>", type_)
    return shaped[1] if shaped else type_


def verify(operation: TleOperation) -> TleOperation:
    """Check an operation and its body against the definitions; gives it back.

    Raises
    ------
    RegionError : what the definition says and what the operation is.
    """
    definition = operation.definition
    if BY_NAME.get(definition.full_name) is not definition:
        raise RegionError(f"`{definition.full_name}` is no operation of the TLE dialect", hint=", ".join(BY_NAME))
    for what, slots, values in (
        ("operand", definition.operands, operation.operands),
        ("result", definition.results, operation.results),
    ):
        _verify_values(definition, what, slots, values)
    _verify_attributes(definition, operation.attributes)
    if not definition.region and (operation.body or operation.arguments):
        raise _wrong(definition, "regions", "none", "one")
    if definition is DSL_REGION:
        _verify_region(operation)
    elif definition in (PACK, UNPACK):
        _verify_shape(operation)
    elif definition is EXTRACT_DESCRIPTOR:
        _verify_descriptor(operation)
    return operation


def _wrong(definition: Definition, what: str, expected: object, got: object) -> RegionError:
    return RegionError(
        f"`{definition.full_name}` is not what its definition says", table=[Row(what, str(expected), str(got))]
    )


def _verify_values(definition: Definition, what: str, slots: Sequence[Slot], values: Sequence[SsaValue]) -> None:
    variadic = any(slot.variadic for slot in slots)
    if len(values) < len(slots) - variadic or (len(values) > len(slots) and not variadic):
        raise _wrong(definition, f"{what}s", f"{len(slots) - variadic}{' or more' if variadic else ''}", len(values))
    for index, value in enumerate(values):
        slot = slots[min(index, len(slots) - 1)]
        if not slot.type.holds(value.type):
            raise _wrong(definition, f"{what} `{slot.name}`", slot.type.doc, value.type)


_KINDS = {STRING: str, SYMBOL: SymbolName, STRINGS: (tuple, list), DICTIONARY: Mapping, UNIT: bool}


def _verify_attributes(definition: Definition, attributes: Mapping[str, AttributeValue]) -> None:
    known = definition.by_name
    for name in attributes:
        if name not in known:
            raise _wrong(definition, "attributes", ", ".join(known) or "none", name)
    for name, attribute in known.items():
        if name not in attributes:
            if not attribute.optional:
                raise _wrong(definition, f"attribute `{name}`", attribute.kind, "nothing")
        elif not isinstance(attributes[name], _KINDS[attribute.kind]):  # type: ignore[arg-type]
            raise _wrong(definition, f"attribute `{name}`", attribute.kind, repr(attributes[name]))


def _verify_shape(operation: TleOperation) -> None:
    (source,), (result,) = operation.operands, operation.results
    if _inside(source.type) != _inside(result.type):
        raise _wrong(operation.definition, "result", f"the shape and elements of {source.type}", result.type)


def _inside(type_: str) -> str:
    return type_.partition("<")[2].rstrip(">").partition(",")[0]


def _verify_descriptor(operation: TleOperation) -> None:
    parts = 3 + 2 * _inside(operation.operands[0].type).count("x")
    if len(operation.results) != parts:
        raise _wrong(operation.definition, "results", parts, len(operation.results))


def _verify_region(region: TleOperation) -> None:
    definition, elementwise = region.definition, bool(region.attributes.get("elementwise"))
    types = [element_of(o.type) if elementwise else o.type for o in region.operands]
    if [a.type for a in region.arguments] != types:
        raise _wrong(
            definition, "block arguments", ", ".join(types) or "none", ", ".join(a.type for a in region.arguments)
        )
    effects = tuple(cast(Sequence[str], region.attributes["effects"]))
    if len(effects) != len(types) or any(e not in ("In", "InOut", "Out") for e in effects):
        raise _wrong(definition, "effects", f"{len(types)} of In, InOut, Out", ", ".join(effects))
    if [op.definition is YIELD for op in region.body] != [False] * (len(region.body) - 1) + [True]:
        raise _wrong(definition, "the body", "ends with its one tle.yield", "does not")
    calls = [op.attributes["callee"] for op in region.body if op.definition is CALL]
    if calls != [region.attributes["function"]]:
        raise _wrong(definition, "calls", f"one, of @{region.attributes['function']}", ", ".join(map(str, calls)))
    _verify_body(region)
    results = [element_of(r.type) if elementwise else r.type for r in region.results]
    yielded = [v.type for v in region.body[-1].operands]
    if yielded != results:
        raise _wrong(definition, "yielded", ", ".join(results) or "nothing", ", ".join(yielded) or "nothing")


def _verify_body(region: TleOperation) -> None:
    """Each operation by itself, and that it uses only what stands before it in the region."""
    known = {a.name: a.type for a in region.arguments}
    for operation in region.body:
        if operation.definition is DSL_REGION:
            raise _wrong(region.definition, "the body", "no other region", "tle.dsl_region")
        verify(operation)
        for operand in operation.operands:
            if known.get(operand.name) != operand.type:
                raise _wrong(operation.definition, operand.name, "a value of this region", "another")
        known |= {r.name: r.type for r in operation.results}
