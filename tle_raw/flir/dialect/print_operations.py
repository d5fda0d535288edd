"""Print operations of the TLE dialect: in their own readable form, and in the generic form that all of MLIR reads.

::

    <results> = tle.<name> <positional attributes> <operands> {<other attributes>} : <operand types> -> <result types>

A region's operands stand beside its block arguments, and its body follows in braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tle_raw.flir.dialect.operations import AttributeValue, SsaValue, SymbolName, TleOperation
from tle_raw.linker.llvm.escaped import escaped

STEP = "  "


def custom_form(operation: TleOperation, indent: str = "") -> list[str]:
    """The lines of an operation in its readable form."""
    return list(_custom(operation, indent))


def generic_form(operation: TleOperation, indent: str = "") -> list[str]:
    """The lines of an operation as MLIR prints one that it does not know."""
    return list(_generic(operation, indent))


def _custom(operation: TleOperation, indent: str) -> Iterator[str]:
    definition, attributes = operation.definition, operation.attributes
    known = definition.by_name
    words = [definition.full_name, *(_attribute(attributes[n]) for n in attributes if known[n].positional)]
    if definition.region:
        pairs = zip(operation.arguments, operation.operands)
        words.append(f"({', '.join(f'{a.name} = {o.name}' for a, o in pairs)})")
    elif operation.operands:
        words.append(_names(operation.operands))
    others = {n: v for n, v in attributes.items() if not known[n].positional}
    if others:
        words.append(_dictionary(others))
    types = [", ".join(v.type for v in values) for values in (operation.operands, operation.results)]
    if any(types):
        arrow = " -> " if all(types) else "-> " if types[1] and definition.operands else ""
        words.append(f": {types[0]}{arrow}{types[1]}")
    head = _defined(operation.results) + " ".join(words)
    if not definition.region:
        yield indent + head + operation.location
        return
    yield f"{indent}{head} {{"
    for inner in operation.body:
        yield from _custom(inner, indent + STEP)
    yield f"{indent}}}{operation.location}"


def _generic(operation: TleOperation, indent: str) -> Iterator[str]:
    head = f'{indent}{_defined(operation.results)}"{operation.definition.full_name}"({_names(operation.operands)})'
    attributes = f" {_dictionary(operation.attributes)}" if operation.attributes else ""
    inputs = ", ".join(v.type for v in operation.operands)
    outputs = ", ".join(v.type for v in operation.results)
    tail = f"{attributes} : ({inputs}) -> ({outputs}){operation.location}"
    if not operation.definition.region:
        yield head + tail
        return
    yield f"{head} ({{"
    yield f"{indent}^bb0({', '.join(f'{a.name}: {a.type}' for a in operation.arguments)}):"
    for inner in operation.body:
        yield from _generic(inner, indent + STEP)
    yield f"{indent}}}){tail}"


def _names(values: Sequence[SsaValue]) -> str:
    return ", ".join(v.name for v in values)


def _defined(results: Sequence[SsaValue]) -> str:
    return f"{_names(results)} = " if results else ""


def _dictionary(attributes: Mapping[str, object]) -> str:
    return f"{{{', '.join(n if v is True else f'{n} = {_attribute(v)}' for n, v in attributes.items())}}}"  # type: ignore[arg-type]


def _attribute(value: AttributeValue | int) -> str:
    if isinstance(value, SymbolName):
        return f"@{value}" if re.fullmatch(r"[A-Za-z_][\w$.]*", value) else f"@{_string(value)}"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    return _dictionary(value) if isinstance(value, Mapping) else f"[{', '.join(map(_string, value))}]"


def _string(text: str) -> str:
    return f'"{escaped(text.encode())}"'
