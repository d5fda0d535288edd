"""The TLE dialect for upstream MLIR: IRDL text, which bindings with ``irdl.load_dialects`` register.

IRDL has no variadic operands of different types, so the dialect is declared as one region uses it. It cannot say either
that an operation ends a block, or that a memref lies in shared memory: ``operations.verify`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.flir.dialect.definitions import ANY, IRDL_ATTRIBUTES, NAME, OPERATIONS, Attribute, Definition, Slot
from tle_raw.flir.dialect.operations import SsaValue, TleOperation


def irdl_text(region: TleOperation) -> str:
    """A module that declares the dialect for one ``tle.dsl_region``."""
    uses = {operation.definition.name: operation for operation in (region, *region.body)}
    lines = (line for d in OPERATIONS if d.name in uses for line in _operation(d, uses[d.name]))
    return "\n".join([f"irdl.dialect @{NAME} {{", *lines, "}"]) + "\n"


def _operation(definition: Definition, use: TleOperation) -> Iterator[str]:
    yield f"  irdl.operation @{definition.name} {{"
    yield from _slots("operands", definition.operands, use.operands)
    yield from _slots("results", definition.results, use.results)
    # Optional attributes cannot be declared; they are allowed.
    yield from _attributes([a for a in definition.attributes if not a.optional])
    if definition.region:
        yield "    %body = irdl.region"
        yield "    irdl.regions(body: %body)"
    yield "  }"


def _slots(kind: str, slots: Sequence[Slot], values: Sequence[SsaValue]) -> Iterator[str]:
    items = []
    for slot in slots:
        spread = slot.variadic and slot.type is ANY
        names = [f"{slot.name}_{i}" for i in range(len(values))] if spread else [slot.name]
        for name in names:
            yield f"    %{kind}_{name} = {slot.type.irdl}"
            items.append(f"{name}: {'variadic ' if slot.variadic and not spread else ''}%{kind}_{name}")
    if items:
        yield f"    irdl.{kind}({', '.join(items)})"


def _attributes(attributes: Sequence[Attribute]) -> Iterator[str]:
    for attribute in attributes:
        yield f"    %attribute_{attribute.name} = {IRDL_ATTRIBUTES[attribute.kind]}"
    if attributes:
        items = ", ".join(f'"{a.name}" = %attribute_{a.name}' for a in attributes)
        yield f"    irdl.attributes {{ {items} }}"
