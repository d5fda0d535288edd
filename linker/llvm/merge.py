"""Joins two modules' texts into one: what one declares and the other defines becomes one symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tle_raw.errors import AbiError, DuplicateSymbolError, Row
from tle_raw.linker.llvm.functions import LlvmFunction, read_function, read_global
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, encode_name, tokenize
from tle_raw.linker.machine_code.demangle import demangle

# Of these several modules may have one each, and any will do.
_MERGED = frozenset(("weak", "linkonce", "weak_odr", "linkonce_odr", "available_externally", "common"))
_OWN = frozenset(("internal", "private"))
# How a value crosses: where caller and function differ in these, the value does not arrive.
_CROSSING = ("byval", "sret", "inreg", "inalloca", "byref", "preallocated")
_KEPT_LISTS = frozenset(("llvm.dbg.cu", "llvm.module.flags"))
_PLAIN = frozenset(("ccc", "spir_func", "ptx_device"))


def merge(main: Module, other: Module, tag: str) -> Module:
    """One module of both.

    Parameters
    ----------
    main : normalised already, as ``other`` is.
    tag : what makes the names of ``other``'s own symbols, types and groups unlike all others.

    Raises
    ------
    DuplicateSymbolError : both define a symbol. AbiError : one calls a function of the other with another type.
    """
    first, second = _named(main), _named(other)
    edits_main: list[Edit] = []
    edits: list[Edit] = []
    own = {name for name, entity in second.items() if _linkage(other, entity) in _OWN}
    for name in (first.keys() & second.keys()) - own:
        if _linkage(main, first[name]) in _OWN:
            continue
        keep_first = _chosen(main, first[name], other, second[name])
        if keep_first:
            edits.append(removal(other, second[name]))
        else:
            edits_main.append(removal(main, first[name]))
    hidden = {name for name, entity in first.items() if _linkage(main, entity) in _OWN} & second.keys() - own
    if hidden:
        raise DuplicateSymbolError(
            f"`{sorted(hidden)[0]}` is the name of a function of the caller's own, and of one that is linked",
            hint="rename one of the two",
        )
    lists = {entity.name for entity in main.of_kind("metadata")} & _KEPT_LISTS
    names = _type_names(main, other, tag)
    removed = {edit.start for edit in edits}
    for entity in other.entities:
        if entity.start in removed:
            continue
        if entity.kind in ("target", "source_filename", "comdat", "summary"):
            edits.append(removal(other, entity))
        elif entity.kind == "metadata" and not entity.name.isdecimal() and entity.name in lists:
            edits_main += _joined_list(main, other, entity, tag)
            edits.append(removal(other, entity))
        elif entity.kind == "type" and names.get(entity.name) == entity.name:
            edits.append(removal(other, entity))
        else:
            edits += _renamed(other, entity, names, own, tag)
    return main.edited(edits_main).with_text("\n" + other.edited(edits).text)


def _named(module: Module) -> dict[str, Entity]:
    """Functions, LLVM's own among them, and variables; ``llvm.used`` and its like are lists that each module has."""
    entities = module.of_kind("define", "declare", "global")
    return {e.name: e for e in entities if e.kind == "declare" or not e.name.startswith("llvm.")}


def _linkage(module: Module, entity: Entity) -> str:
    if entity.kind == "global":
        return read_global(module, entity).linkage
    words = [t.text for t in read_function(module, entity).before if t.kind == "word"]
    return next((word for word in words if word in _OWN | _MERGED), "")


def _is_declared(module: Module, entity: Entity) -> bool:
    return entity.kind == "declare" or (entity.kind == "global" and not read_global(module, entity).is_definition)


def _chosen(main: Module, first: Entity, other: Module, second: Entity) -> bool:
    """Whether the first of two entities of one name is kept."""
    if "global" not in (first.kind, second.kind):
        _check_types(main, first, other, second)
    elif first.kind != second.kind:
        raise DuplicateSymbolError(f"`{first.name}` is a function in one module and a variable in another")
    if _is_declared(other, second):
        return True
    if _is_declared(main, first):
        return False
    if _linkage(main, first) in _MERGED:
        return _linkage(other, second) in _MERGED
    if _linkage(other, second) in _MERGED:
        return True
    raise DuplicateSymbolError(
        f"two modules define `{demangle(first.name)}`",
        hint="rename one, make one of them static, or leave one of the libraries out",
    )


def _check_types(main: Module, first: Entity, other: Module, second: Entity) -> None:
    one, two = read_function(main, first), read_function(other, second)
    rows = [Row("type", str(one.type), str(two.type))]
    rows.append(Row("calling convention", _convention(one), _convention(two)))
    rows.append(Row("values in memory", _crossing(main, first), _crossing(other, second)))
    if any(row.differs for row in rows):
        raise AbiError(
            f"`{demangle(first.name)}` is not what its caller declares",
            table=tuple(rows),
            hint="declare it as it is defined: LLVM would be silent and call it with the wrong values",
        )


def _convention(function: LlvmFunction) -> str:
    words = [t.text for t in function.before if t.kind == "word"]
    found = next((w for w in words if w.endswith("cc") or w in ("cc", "spir_func", "ptx_device")), "ccc")
    return "ccc" if found in _PLAIN else found


def _crossing(module: Module, entity: Entity) -> str:
    return " ".join(token.text for token in module.header(entity) if token.text in _CROSSING) or "none"


def _type_names(main: Module, other: Module, tag: str) -> dict[str, str]:
    """New names for the types of ``other``; a type that both have alike keeps its own."""
    known = {entity.name: " ".join(t.text for t in main.header(entity)) for entity in main.of_kind("type")}
    found: dict[str, str] = {}
    for entity in other.of_kind("type"):
        body = " ".join(token.text for token in other.header(entity))
        is_same = known.get(entity.name) == body and "%" not in body.partition("=")[2]
        found[entity.name] = entity.name if is_same else f"{entity.name}.{tag}"
    return found


def _joined_list(main: Module, other: Module, entity: Entity, tag: str) -> Iterator[Edit]:
    """Compile units of both; of the flags, which say the version of debug information, the first will do."""
    if entity.name != "llvm.dbg.cu":
        return
    mine = next(e for e in main.of_kind("metadata") if e.name == entity.name)
    units = [_metadata_name(t, tag) for t in other.header(entity)[2:] if t.kind == "!" and t.name[:1].isdecimal()]
    end = main.text.rindex("}", mine.start, mine.end)
    yield Edit(end, end, "".join(f", {unit}" for unit in units))


def _metadata_name(token: Token, tag: str) -> str:
    return f"!{_number(tag)}{int(token.name):08d}"


def _number(tag: str) -> int:
    """Metadata and attribute groups have numbers for names: those of each module begin with one of its own."""
    return int("".join(c for c in tag if c.isdecimal()) or 0) + 1


def _renamed(module: Module, entity: Entity, types: Mapping[str, str], own: set[str], tag: str) -> Iterator[Edit]:
    for token in tokenize(module.text, entity.start, entity.end):
        if token.kind == "@" and token.name in own:
            yield Edit(token.start, token.end, encode_name("@", f"{token.name}.{tag}"))
        elif token.kind == "%" and token.name in types:
            yield Edit(token.start, token.end, encode_name("%", types[token.name]))
        elif token.kind == "#" and token.text[1:].isdecimal():
            yield Edit(token.start, token.end, f"#{_number(tag)}{int(token.text[1:]):06d}")
        elif token.kind == "!" and token.name.isdecimal():
            yield Edit(token.start, token.end, _metadata_name(token, tag))
