"""Reads a manifest: every key checked, every error with its line."""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tle_raw.errors import Context, ManifestError, Row, SignatureError, SourceLocation, TLEError
from tle_raw.fragments.dialects import SUFFIXES
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.signature import Signature
from tle_raw.libraries.packing.checked_table import Document, Table
from tle_raw.libraries.packing.manifest import FORMAT, Function, Manifest, ModuleHooks, Overload, Value
from tle_raw.libraries.packing.toml_lines import key_lines
from tle_raw.libraries.signature_text import read_signature
from tle_raw.registry import adapter_names
from tle_raw.target import TARGETS, Target, parse_target

EFFECTS = ("reads", "writes", "barrier")
DEFAULT_ARCHITECTURES = ("cpu", "cuda:80", "cuda:90")
MOST_COMBINATIONS = 4096
LIBRARY_KEYS = ("name", "version", "summary", "architectures", "source", "dialect", "options", "module")
OVERLOAD_KEYS = (
    "signature", "symbol", "source", "dialect", "options", "effects", "block", "values", "architectures",
)  # fmt: skip
FUNCTION_KEYS = ("name", "doc", *OVERLOAD_KEYS, "overload")
# Options that a manifest has keys of its own for, or that are no function's.
_OWN_OPTIONS = ("file", "source", "symbol", "extern_func_name", "block", "inline", "ordered")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")
_HOOK = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_PACKAGE = "package:"


def read_manifest(file: Path) -> Manifest:
    """Read and check a manifest; sources are looked for, not read.

    Raises
    ------
    ManifestError : it cannot be read, or something in it is wrong.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"the manifest {file} cannot be read: {error}") from None
    return manifest_of_text(text, file)


def manifest_of_text(text: str, file: Path) -> Manifest:
    """``read_manifest`` of a text that stands in ``file``."""
    text = text.replace("\r\n", "\n")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line = int(place[1]) if place else max(1, len(text.splitlines()))
        location = SourceLocation(str(file), line, int(place[2]) if place else 0, text.splitlines()[line - 1 : line][0] if text else "")
        raise ManifestError(f"{location}: this is no TOML: {error}", context=Context(source=location)) from None
    top = Table(Document(file.absolute(), text, key_lines(text)), (), values)
    _check_format(top)
    top.check_keys(("format", "library", "function"))
    library = top.table("library")
    if library is None:
        raise top.error("library", "a table", "nothing", message="the table [library] is missing")
    return _Reader(library).manifest(top)


def _check_format(top: Table) -> None:
    given = top.need("format", int)
    if given > FORMAT:
        raise top.error(
            "format", f"{FORMAT} or less", str(given), hint="update tle_raw: this manifest was written for a newer one",
            message=f"the manifest has format {given}, and this tle_raw reads up to {FORMAT}",
        )  # fmt: skip
    if given < 1:
        raise top.error("format", f"1 to {FORMAT}", str(given))


class _Reader:
    def __init__(self, library: Table) -> None:
        library.check_keys(LIBRARY_KEYS)
        self.library = library
        self.folder = library.document.file.parent
        self.architectures = _architectures(library) or tuple(map(parse_target, DEFAULT_ARCHITECTURES))

    def manifest(self, top: Table) -> Manifest:
        library = self.library
        name = _identifier(library, "name")
        version = library.need("version", str)
        if not _VERSION.fullmatch(version):
            raise library.error("version", 'a version, such as "1.2.0"', repr(version))
        summary = library.get("summary", str) or ""
        if "\n" in summary:
            raise library.error("summary", "one line", f"{summary.count(chr(10)) + 1} lines")
        functions: list[Function] = []
        for table in top.tables("function"):
            function = self._function(table)
            first = next((f for f in functions if f.name == function.name), None)
            if first is not None:
                raise table.error(
                    "name", "a name of its own", f"`{function.name}`, as in line {first.location.line}",
                    hint="make them overloads of one function: [[function.overload]]",
                    message=f"two functions are called `{function.name}`",
                )  # fmt: skip
            functions.append(function)
        if not functions:
            raise top.error("function", "one or more tables", "nothing", message="the manifest has no [[function]]")
        hooks = _hooks(library)
        return Manifest(library.document.file, name, version, summary, self.architectures, hooks, tuple(functions))

    def _function(self, table: Table) -> Function:
        table.check_keys(FUNCTION_KEYS)
        name = _identifier(table, "name")
        doc = (table.get("doc", str) or "").strip()
        own = list(table.tables("overload"))
        if own and "signature" in table.values:
            raise table.error(
                "signature", "nothing beside overloads", "a signature", hint="put it into a [[function.overload]]"
            )
        for each in own:
            each.check_keys(OVERLOAD_KEYS)
        overloads = tuple(self._overload(name, each, table) for each in own or [table])
        for index, overload in enumerate(overloads):
            if any(_same_types(overload, other) for other in overloads[:index]):
                raise (own or [table])[index].error(
                    "signature", "other types than the overloads before it", str(overload.signature),
                    message=f"two overloads of `{name}` take the same",
                )  # fmt: skip
        return Function(name, doc, overloads, table.document.location((*table.path, "name")))

    def _overload(self, name: str, own: Table, function: Table) -> Overload:
        tables = [own] if own is function else [own, function]
        signature = _signature(name, own)
        source, dialect = self._source(tables)
        symbol = next((s for t in tables if (s := t.get("symbol", str)) is not None), name)
        if not symbol.strip():
            raise own.error("symbol", "a function's name", repr(symbol))
        effects = next((_effects(t) for t in tables if "effects" in t.values), None)
        block = next((_block(t) for t in tables if "block" in t.values), ())
        architectures = next((a for t in tables if (a := self._fewer(t)) is not None), self.architectures)
        return Overload(
            signature, symbol, source, dialect, self._options(tables), effects, block, _values(signature, tables),
            architectures, own.document.location((*own.path, "signature")),
        )  # fmt: skip

    def _source(self, tables: list[Table]) -> tuple[Path, str]:
        table = next((t for t in [*tables, self.library] if "source" in t.values), None)
        if table is None:
            raise tables[0].error("source", "a file", "nothing", hint="give it here, or once as library.source")
        written = table.need("source", str)
        path = self._path(table, written)
        if not path.is_file():
            raise table.error("source", "a file that exists", str(path), message=f"the source {written!r} is missing")
        given = next((t for t in [*tables, self.library] if "dialect" in t.values), None)
        dialect = given.need("dialect", str) if given else SUFFIXES.get(path.suffix, "")
        if given and dialect not in adapter_names():
            raise given.error("dialect", f"one of {', '.join(adapter_names())}", repr(dialect))
        if not dialect:
            raise table.error("source", f"a file with one of {', '.join(SUFFIXES)}", repr(written), 'add dialect = "cuda"')
        return path, dialect

    def _path(self, table: Table, written: str) -> Path:
        if not written or "\0" in written:
            raise table.error("source", "a path", repr(written))
        if not written.startswith(_PACKAGE):
            return (self.folder / written).absolute()
        package, _, rest = written.removeprefix(_PACKAGE).partition("/")
        try:
            spec = find_spec(package) if package else None
        except (ImportError, ValueError):
            spec = None
        folders = [Path(f) for f in spec.submodule_search_locations or ()] if spec else []
        if not folders or not rest:
            raise table.error("source", "package:NAME/FILE of an installed package", repr(written), f"pip install {package}")
        return next((f / rest for f in folders if (f / rest).is_file()), folders[0] / rest)

    def _options(self, tables: list[Table]) -> Mapping[str, Any]:
        options: dict[str, Any] = {}
        for table in [self.library, *reversed(tables)]:
            given = table.table("options")
            for key, value in (given.values if given else {}).items():
                if key in _OWN_OPTIONS:
                    raise given.error(key, "no option of a manifest", key, message=f"options cannot hold `{key}`")  # type: ignore[union-attr]
                options[key] = _added(options.get(key), value)
        return options

    def _fewer(self, table: Table) -> tuple[Target, ...] | None:
        own = _architectures(table)
        if own is None:
            return None
        more = [str(t) for t in own if t not in self.architectures]
        if more:
            allowed = ", ".join(map(str, self.architectures))
            raise table.error("architectures", f"some of the library's: {allowed}", ", ".join(more))
        return own


def _added(before: Any, value: Any) -> Any:
    if isinstance(before, dict) and isinstance(value, dict):
        return before | value
    return [*before, *value] if isinstance(before, list) and isinstance(value, list) else value


def _identifier(table: Table, key: str) -> str:
    name = table.need(key, str)
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or not name.isascii():
        raise table.error(key, "a Python identifier that does not begin with _", repr(name))
    return name


def _architectures(table: Table) -> tuple[Target, ...] | None:
    texts = table.texts("architectures")
    if texts is None:
        return None
    targets: list[Target] = []
    for number, text in enumerate(texts):
        try:
            target = parse_target(text)
        except TLEError:
            target = Target("")
        if target.backend not in ("cpu", "cuda") or target in targets:
            raise table.error(f"architectures.{number}", f"{TARGETS}, each once", repr(text))
        targets.append(target)
    if not targets:
        raise table.error("architectures", "one or more", "none")
    return tuple(targets)


def _hooks(library: Table) -> ModuleHooks:
    table = library.table("module")
    if table is None:
        return ModuleHooks()
    table.check_keys(("setup", "teardown"))
    for key in table.values:
        if not _HOOK.fullmatch(table.need(key, str)):
            raise table.error(key, "package.module:function", repr(table.values[key]))
    return ModuleHooks(table.get("setup", str) or "", table.get("teardown", str) or "")


def _signature(name: str, table: Table) -> Signature:
    text = table.need("signature", str)
    try:
        return read_signature(name, text)
    except SignatureError as error:
        place = table.document.location((*table.path, "signature"))
        key = "signature"
        raise table.error(
            key, "a signature", text, error.hint, message=f"the signature of `{name}` is wrong: {error.message}"
        ).at(source=place) from None


def _effects(table: Table) -> frozenset[str]:
    texts = table.texts("effects") or []
    for number, text in enumerate(texts):
        if text not in EFFECTS:
            raise table.error(f"effects.{number}", f"one of {', '.join(EFFECTS)}", repr(text))
    return frozenset(texts)


def _block(table: Table) -> tuple[int, ...]:
    value = table.values["block"]
    dims = value if isinstance(value, list) else [value]
    good = all(isinstance(d, int) and not isinstance(d, bool) and 1 <= d <= 1024 for d in dims)
    if not good or not 1 <= len(dims) <= 3:
        raise table.error("block", "1 to 3 integers, 1 to 1024", repr(value))
    return tuple(dims)


def _values(signature: Signature, tables: list[Table]) -> dict[str, tuple[Value, ...]]:
    table = next((t for t in tables if "values" in t.values), None)
    given = table.table("values") if table else None
    found: dict[str, tuple[Value, ...]] = {}
    dtypes = {getattr(p.type, "dtype", None) for p in signature.parameters} | {getattr(signature.result, "dtype", None)}
    if given:
        for key in given.values:
            if key not in signature.names:
                names = ", ".join(signature.names) or "nothing"
                raise given.error(key, f"names of the signature: {names}", key, message=f"the signature has no name `{key}`")
    for name in signature.names:
        if given is None or name not in given.values:
            raise (given or tables[0]).error(
                name if given else "values", f"values for {name}", "nothing", hint=f'write values = {{ {name} = […] }}',
                message=f"nothing says which values of `{name}` are packed",
            )  # fmt: skip
        found[name] = tuple(_value(given, name, number, item, name in dtypes) for number, item in enumerate(given.need(name, list)))
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


def _same_types(one: Overload, other: Overload) -> bool:
    """Whether no call could tell them apart."""
    types = [[(str(p.type), p.effect) for p in each.signature.parameters] for each in (one, other)]
    return types[0] == types[1] and one.values == other.values


__all__ = ["DEFAULT_ARCHITECTURES", "EFFECTS", "Row", "manifest_of_text", "read_manifest"]
