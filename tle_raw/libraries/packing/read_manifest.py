"""Reads a manifest: every key checked, every error with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tle_raw.errors import Context, ManifestError, Row, SourceLocation
from tle_raw.fragments.dialects import SUFFIXES
from tle_raw.libraries.packing.checked_table import Document, Table
from tle_raw.libraries.packing.manifest import FORMAT, Function, Manifest, Overload
from tle_raw.libraries.packing.manifest_values import (
    read_architectures,
    read_block,
    read_effects,
    read_hooks,
    read_identifier,
    read_values,
    signature_of_key,
)
from tle_raw.libraries.packing.toml_lines import key_lines
from tle_raw.registry import adapter_names
from tle_raw.target import Target, parse_target

DEFAULT_ARCHITECTURES = ("cpu", "cuda:80", "cuda:90")
LIBRARY_KEYS = ("name", "version", "summary", "architectures", "source", "dialect", "options", "libraries", "module")
OVERLOAD_KEYS = (
    "signature", "symbol", "source", "dialect", "options", "libraries", "effects", "block", "values", "architectures",
)  # fmt: skip
FUNCTION_KEYS = ("name", "doc", *OVERLOAD_KEYS, "overload")
# Options that a manifest has keys of its own for, or that are no function's.
_OWN_OPTIONS = ("libraries", "file", "source", "symbol", "extern_func_name", "block", "inline", "ordered")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")
_PACKAGE = "package:"


def read_manifest(file: Path) -> Manifest:
    """Read and check a manifest; sources are looked for, not read.

    Raises
    ------
    ManifestError : it cannot be read, or something in it is wrong.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ManifestError(f"the manifest {file} cannot be read: {error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = SourceLocation(str(file), line, 0, data.splitlines()[line - 1].decode("utf-8", "backslashreplace"))
        raise ManifestError(
            f"{place}: the manifest is no UTF-8 text",
            table=[Row(f"byte {error.start + 1}", "UTF-8", f"0x{data[error.start]:02x}: {error.reason}")],
            context=Context(source=place),
        ) from None
    return manifest_of_text(text, file)


def manifest_of_text(text: str, file: Path) -> Manifest:
    """``read_manifest`` of a text that stands in ``file``."""
    text = text.replace("\r\n", "\n")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line = int(place[1]) if place else max(1, len(text.splitlines()))
        location = SourceLocation(
            str(file), line, int(place[2]) if place else 0, text.splitlines()[line - 1 : line][0] if text else ""
        )
        raise ManifestError(f"{location}: this is no TOML: {error}", context=Context(source=location)) from None
    except (RecursionError, ValueError) as error:  # brackets in thousands of brackets, a number of 5,000 digits
        location = SourceLocation(str(file), 1)
        raise ManifestError(
            f"{location}: this TOML cannot be read: {error}", context=Context(source=location)
        ) from None
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
        self.architectures = read_architectures(library) or tuple(map(parse_target, DEFAULT_ARCHITECTURES))

    def manifest(self, top: Table) -> Manifest:
        library = self.library
        name = read_identifier(library, "name")
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
        hooks = read_hooks(library)
        return Manifest(library.document.file, name, version, summary, self.architectures, hooks, tuple(functions))

    def _function(self, table: Table) -> Function:
        table.check_keys(FUNCTION_KEYS)
        name = read_identifier(table, "name")
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
            if any(_covers(other, overload) for other in overloads[:index]):
                raise (own or [table])[index].error(
                    "signature", "other types than the overloads before it", str(overload.signature),
                    message=f"an overload of `{name}` before it takes the same",
                )  # fmt: skip
        return Function(name, doc, overloads, table.document.location((*table.path, "name")))

    def _overload(self, name: str, own: Table, function: Table) -> Overload:
        tables = [own] if own is function else [own, function]
        signature = signature_of_key(name, own)
        source, dialect = self._source(tables)
        symbol = next((s for t in tables if (s := t.get("symbol", str)) is not None), name)
        if not symbol.strip():
            raise own.error("symbol", "a function's name", repr(symbol))
        effects = next((read_effects(t) for t in tables if "effects" in t.values), None)
        block = next((read_block(t) for t in tables if "block" in t.values), ())
        architectures = next((a for t in tables if (a := self._fewer(t)) is not None), self.architectures)
        return Overload(
            signature, symbol, source, dialect, self._options(tables), self._libraries(tables), effects, block,
            read_values(signature, tables), architectures, own.document.location((*own.path, "signature")),
        )  # fmt: skip

    def _source(self, tables: list[Table]) -> tuple[Path, str]:
        table = next((t for t in [*tables, self.library] if "source" in t.values), None)
        if table is None:
            raise tables[0].error("source", "a file", "nothing", hint="give it here, or once as library.source")
        written = table.need("source", str)
        path = self._path(table, written)
        if not path.is_file():
            raise table.error(
                "source", "a file that exists", str(path), _of_package(written),
                message=f"the source {written!r} is missing",
            )  # fmt: skip
        given = next((t for t in [*tables, self.library] if "dialect" in t.values), None)
        dialect = given.need("dialect", str) if given else SUFFIXES.get(path.suffix, "")
        if given and dialect not in adapter_names():
            raise given.error("dialect", f"one of {', '.join(adapter_names())}", repr(dialect))
        if not dialect:
            raise table.error(
                "source", f"a file with one of {', '.join(SUFFIXES)}", repr(written), 'add dialect = "cuda"'
            )
        return path, dialect

    def _libraries(self, tables: list[Table]) -> tuple[Path, ...]:
        table = next((t for t in [*tables, self.library] if "libraries" in t.values), None)
        found: list[Path] = []
        for number, written in enumerate(table.texts("libraries") or ()) if table else ():
            path = self._path(table, written)  # type: ignore[arg-type]
            if not path.is_file():
                raise table.error(f"libraries.{number}", "a file that exists", str(path))  # type: ignore[union-attr]
            found.append(path)
        return tuple(found)

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
            raise table.error(
                "source", "package:NAME/FILE of an installed package", repr(written), f"pip install {package}"
            )
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
        own = read_architectures(table)
        if own is None:
            return None
        more = [str(t) for t in own if t not in self.architectures]
        if more:
            allowed = ", ".join(map(str, self.architectures))
            raise table.error("architectures", f"some of the library's: {allowed}", ", ".join(more))
        return own


def _of_package(written: str) -> str:
    """What to do about a file that is missing."""
    if not written.startswith(_PACKAGE):
        return ""
    package = written.removeprefix(_PACKAGE).partition("/")[0]
    return f"`{package}` is installed without this file: another package brings it, or another version has it elsewhere"


def _added(before: Any, value: Any) -> Any:
    if isinstance(before, dict) and isinstance(value, dict):
        return before | value
    return [*before, *value] if isinstance(before, list) and isinstance(value, list) else value


def _covers(one: Overload, later: Overload) -> bool:
    """Whether no call comes to the later one."""
    types = [[(str(p.type), p.effect) for p in each.signature.parameters] for each in (one, later)]
    return types[0] == types[1] and all(set(later.values[name]) <= set(one.values[name]) for name in later.values)
