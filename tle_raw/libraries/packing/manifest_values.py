"""The values of a manifest's keys: names, architectures, signatures, effects, and what is packed of each name."""

from __future__ import annotations

import keyword
import re

from tle_raw.errors import SignatureError, TLEError
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.signature import Signature
from tle_raw.libraries.packing.checked_table import Table
from tle_raw.libraries.packing.manifest import ModuleHooks, Value
from tle_raw.libraries.signature_text import read_signature
from tle_raw.target import TARGETS, Target, parse_target

EFFECTS = ("reads", "writes", "barrier")
MOST_COMBINATIONS = 4096
_HOOK = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def read_identifier(table: Table, key: str) -> str:
    name = table.need(key, str)
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or not name.isascii():
        raise table.error(key, "a Python identifier that does not begin with _", repr(name))
    return name


def read_architectures(table: Table) -> tuple[Target, ...] | None:
    texts = table.texts("architectures")
    if texts is None:
        return None
    targets: list[Target] = []
    for number, text in enumerate(texts):
        key = f"architectures.{number}"
        try:
            target = parse_target(text)
        except TLEError as error:
            raise table.error(key, TARGETS, repr(text), error.hint if TARGETS not in error.hint else "") from None
        if target.backend not in ("cpu", "cuda"):
            raise table.error(key, TARGETS, repr(text))
        if target in targets:
            raise table.error(key, "each architecture once", repr(text))
        targets.append(target)
    if not targets:
        raise table.error("architectures", "one or more", "none")
    return tuple(targets)


def read_hooks(library: Table) -> ModuleHooks:
    table = library.table("module")
    if table is None:
        return ModuleHooks()
    table.check_keys(("setup", "teardown", "variables"))
    for key in table.values.keys() & {"setup", "teardown"}:
        if not _HOOK.fullmatch(table.need(key, str)):
            raise table.error(key, "package.module:function", repr(table.values[key]))
    variables = tuple(table.texts("variables") or ())
    return ModuleHooks(table.get("setup", str) or "", table.get("teardown", str) or "", variables)


def signature_of_key(name: str, table: Table) -> Signature:
    text = table.need("signature", str)
    try:
        return read_signature(name, text)
    except SignatureError as error:
        place = table.document.location((*table.path, "signature"))
        key = "signature"
        raise table.error(
            key, "a signature", text, error.hint, message=f"the signature of `{name}` is wrong: {error.message}"
        ).at(source=place) from None


def read_effects(table: Table) -> frozenset[str]:
    texts = table.texts("effects") or []
    for number, text in enumerate(texts):
        if text not in EFFECTS:
            raise table.error(f"effects.{number}", f"one of {', '.join(EFFECTS)}", repr(text))
    return frozenset(texts)


def read_block(table: Table) -> tuple[int, ...]:
    value = table.values["block"]
    dims = value if isinstance(value, list) else [value]
    good = all(isinstance(d, int) and not isinstance(d, bool) and 1 <= d <= 1024 for d in dims)
    if not good or not 1 <= len(dims) <= 3:
        raise table.error("block", "1 to 3 integers, 1 to 1024", repr(value))
    return tuple(dims)


def read_values(signature: Signature, tables: list[Table]) -> dict[str, tuple[Value, ...]]:
    table = next((t for t in tables if "values" in t.values), None)
    given = table.table("values") if table else None
    found: dict[str, tuple[Value, ...]] = {}
    dtypes = {getattr(p.type, "dtype", None) for p in signature.parameters} | {getattr(signature.result, "dtype", None)}
    if given:
        for key in given.values:
            if key not in signature.names:
                names = ", ".join(signature.names) or "nothing"
                raise given.error(
                    key,
                    f"names of the signature: {names}",
                    key,
                    message=f"the signature of `{signature.name}` has no name `{key}`",
                )
    for name in signature.names:
        if given is None or name not in given.values:
            raise (given or tables[0]).error(
                name if given else "values", f"values for {name}", "nothing", hint=f'write values = {{ {name} = […] }}',
                message=f"nothing says for which values of `{name}` the function `{signature.name}` is packed",
            )  # fmt: skip
        found[name] = tuple(
            _value(given, name, number, item, name in dtypes) for number, item in enumerate(given.need(name, list))
        )
        if not found[name] or len(set(found[name])) != len(found[name]):
            raise given.error(name, "one or more values, each once", repr(given.values[name]))
    count = 1
    for values in found.values():
        count *= len(values)
    if count > MOST_COMBINATIONS and given:
        raise given.error("", f"at most {MOST_COMBINATIONS} combinations", str(count), message="too many values")
    return found


def _value(table: Table, name: str, number: int, item: object, is_dtype: bool) -> Value:
    if is_dtype:
        try:
            return parse_dtype(item if isinstance(item, str) else repr(item))
        except SignatureError as error:
            raise table.error(f"{name}.{number}", "a dtype", repr(item), error.hint) from None
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    raise table.error(f"{name}.{number}", "an integer", repr(item))
