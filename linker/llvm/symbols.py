"""Makes a fragment's symbols its own: one visible entry, everything else internal and renamed after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.linker.llvm.functions import (
    LINKAGES,
    PREEMPTION,
    VISIBILITIES,
    FunctionType,
    read_function,
    read_global,
)
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import global_names, reachable, references
from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, encode_name, line_of

# Lists that keep symbols alive for a host that looks them up; nobody looks up a fragment's.
KEEP_ALIVE = frozenset(("llvm.used", "llvm.compiler.used", "llvm.global.annotations"))
CONSTRUCTORS = frozenset(("llvm.global_ctors", "llvm.global_dtors"))
# A variable that says so has a value that the host may set before a launch: CUDA's __constant__ and __device__ ones.
SETTABLE = "externally_initialized"
INLINING = frozenset(("alwaysinline", "noinline", "optnone"))
SEPARATOR, ENTRY_PREFIX = "$", "tle_raw_"


@dataclass(frozen=True)
class LlvmSymbol:
    """A function of a module: its name, its type, and the line of the text where it stands."""

    name: str
    type: FunctionType
    line: int


def definitions(module: Module) -> tuple[LlvmSymbol, ...]:
    """The functions that a module defines."""
    return _functions(module, "define")


def declarations(module: Module) -> tuple[LlvmSymbol, ...]:
    """The functions that a module declares only."""
    return _functions(module, "declare")


def _functions(module: Module, kind: str) -> tuple[LlvmSymbol, ...]:
    return tuple(
        LlvmSymbol(entity.name, read_function(module, entity).type, line_of(module.text, entity.start))
        for entity in module.of_kind(kind)
    )


def private_name(name: str, entry: str) -> str:
    """The name that a helper gets. The entry's name makes it unlike every name of the kernel's own module."""
    return f"{name}{SEPARATOR}{entry}"


def is_settable(module: Module, entity: Entity) -> bool:
    """Whether the host may set this variable: it is defined here, under a name of its own, and says so."""
    variable = read_global(module, entity)
    return not variable.linkage and any(token.text == SETTABLE for token in variable.tokens)


def is_settable_name(name: str) -> bool:
    """Whether a symbol of a finished kernel is such a variable of a fragment."""
    return f"{SEPARATOR}{ENTRY_PREFIX}" in name


def original_name(name: str, entry: str) -> str:
    """The inverse of ``private_name``."""
    return name.removesuffix(SEPARATOR + entry)


def privatise(module: Module, entry: str, inline: bool = True) -> Module:
    """Only ``entry`` stays visible; every other definition becomes internal and carries the entry's name.

    Variables that the host may set keep their linkage where the entry reaches them; they are renamed, too.

    Internal linkage alone is not enough: Triton makes every function internal that has the name of one in a
    linked module, so that a helper called like the kernel would take the kernel's entry away.
    Functions get ``alwaysinline``, unless their author wrote ``__noinline__``. The entry gets it always, or
    ``noinline`` where ``inline`` is False.
    """
    groups = _attribute_groups(module)
    dropped = {entity.name for entity in module.of_kind("global") if entity.name in KEEP_ALIVE}
    settable = {entity.name for entity in module.of_kind("global") if is_settable(module, entity)}
    settable &= reachable(references(module), [entry]) if settable else settable
    edits: list[Edit] = []
    for entity in module.entities:
        if entity.kind == "comdat" or (entity.kind == "global" and entity.name in dropped):
            edits.append(removal(module, entity))
        elif entity.kind == "define":
            edits += _function_edits(module, entity, entry, groups, inline)
        elif entity.kind == "global" and entity.name not in settable:
            edits += _global_edits(module, entity)
    renamed = _defined_names(module) - {entry} - dropped
    edits += _renamings(module, renamed, entry, dropped)
    return module.edited(edits)


def internalise(module: Module, kept: Collection[str]) -> Module:
    """Only ``kept`` functions, and variables that the host may set, stay visible; names stay.

    Functions get ``alwaysinline``, unless their author wrote ``__noinline__``.
    """
    groups = _attribute_groups(module)
    edits: list[Edit] = []
    for entity in module.entities:
        if entity.kind == "comdat" or (entity.kind == "global" and entity.name in KEEP_ALIVE):
            edits.append(removal(module, entity))
        elif entity.kind == "define" and entity.name not in kept:
            edits += _function_edits(module, entity, "", groups, True)
        elif entity.kind == "global" and not is_settable(module, entity):
            edits += _global_edits(module, entity)
    return module.edited(edits)


def refuse_unlinkable(module: Module) -> None:
    """Refuse what cannot be linked: constructors would never run, file-scope asm may clash.

    Raises
    ------
    UnsupportedFeatureError : file-scope asm, ifuncs, or global variables with constructors.
    """
    for entity in module.entities:
        if entity.kind == "global" and entity.name in CONSTRUCTORS:
            raise UnsupportedFeatureError(
                "a device variable of this fragment needs a constructor, which nobody would run",
                hint="give the variable a constant initialiser, or initialise it inside the function",
            )
        if entity.kind == "module":
            raise UnsupportedFeatureError(
                "file-scope asm cannot be linked into a kernel", hint="put the asm statement into a function"
            )
        if entity.kind == "global" and read_global(module, entity).kind == "ifunc":
            raise UnsupportedFeatureError(f"`{entity.name}` is an ifunc, which no GPU can resolve")


def _defined_names(module: Module) -> set[str]:
    functions = {entity.name for entity in module.of_kind("define")}
    variables = {e.name for e in module.of_kind("global") if read_global(module, e).is_definition}
    return functions | {name for name in variables if not name.startswith("llvm.")}


def _attribute_groups(module: Module) -> dict[str, frozenset[str]]:
    """Words of every attribute group: ``#0`` to {"noinline", "nounwind"}."""
    groups = {}
    for entity in module.of_kind("attributes"):
        tokens = module.header(entity)
        groups[tokens[1].text] = frozenset(token.text for token in tokens if token.kind == "word")
    return groups


def _function_edits(
    module: Module, entity: Entity, entry: str, groups: dict[str, frozenset[str]], inline: bool
) -> Iterator[Edit]:
    function = read_function(module, entity)
    inherited = frozenset().union(*(groups.get(group, frozenset()) for group in function.groups))
    own = inherited | {token.text for token in function.after if token.kind == "word"}
    is_entry = entity.name == entry
    yield from _linkage_edits(function.before, "" if is_entry else "internal")
    yield from _comdat_edits(list(function.after))
    if is_entry:
        wanted = "alwaysinline" if inline else "noinline"
        if own & (INLINING - {wanted}):
            yield from _without_inlining(module, function.after, wanted)
        elif wanted not in own:
            yield _added_attribute(function.after, entity, wanted)
    elif not own & INLINING:
        yield _added_attribute(function.after, entity, "alwaysinline")


def _linkage_edits(before: tuple[Token, ...], wanted: str) -> Iterator[Edit]:
    """Replace linkage and visibility after the first token (``define``, or the ``=`` of a global)."""
    words = [token for token in before if token.kind == "word"]
    linkage = next((token.text for token in words if token.text in LINKAGES), "")
    if wanted and linkage in ("internal", "private"):
        return
    for index, token in enumerate(before):
        if token.kind == "word" and token.text in LINKAGES | VISIBILITIES | PREEMPTION:
            yield Edit(before[index - 1].end, token.end, "")
    if wanted:
        yield Edit(before[0].end, before[0].end, f" {wanted}")


def _comdat_edits(tokens: list[Token]) -> Iterator[Edit]:
    """Drop ``comdat`` or ``comdat($name)``, and the comma before it that a global has."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 and token.kind == "word" and token.text == "comdat":
            last = tokens[index + 3] if tokens[index + 1 : index + 2] and tokens[index + 1].text == "(" else token
            comma = index > 0 and tokens[index - 1].text == ","
            yield Edit(tokens[index - 1].start if comma else token.start, last.end, "")


# An attribute stands before section, align, metadata and the body, all of which may follow it.
_AFTER_ATTRIBUTES = frozenset(("section", "partition", "comdat", "align", "gc", "personality"))


def _added_attribute(after: tuple[Token, ...], entity: Entity, wanted: str) -> Edit:
    """Insert an attribute right of the parameters, ``unnamed_addr`` and ``addrspace``."""
    for token in after:
        if token.text in _AFTER_ATTRIBUTES or token.kind == "!" or token.kind == "#":
            return Edit(token.start, token.start, f"{wanted} ")
    return Edit(entity.body, entity.body, f"{wanted} ")


def _without_inlining(module: Module, after: tuple[Token, ...], wanted: str) -> Iterator[Edit]:
    """Give the entry an attribute group of its own: helpers share its groups and keep their words."""
    bodies = {tokens[1].text: tokens for tokens in map(module.header, module.of_kind("attributes"))}
    words = [wanted]
    for token in after:
        if token.kind == "#":
            words += _words_without_inlining(module, bodies.get(token.text, []))
            yield Edit(token.start, token.end, "")
        elif token.kind == "word" and token.text in INLINING:
            yield Edit(token.start, token.end, "")
    group = "#" + str(1 + max((int(name[1:]) for name in bodies if name[1:].isdecimal()), default=-1))
    place = next(t for t in after if t.kind == "#" or t.text in INLINING).start
    yield Edit(place, place, f"{group} ")
    end = len(module.text)
    yield Edit(end, end, f"\nattributes {group} = {{ {' '.join(words)} }}\n")


def _words_without_inlining(module: Module, group: list[Token]) -> Iterator[str]:
    """The text between a group's braces, inlining words cut out."""
    if not group:
        return
    start = group[3].end  # attributes #0 = {
    for token in group[4:]:
        if token.text in INLINING or token is group[-1]:
            words = module.text[start : token.start].strip()
            if words:
                yield words
            start = token.end


def _global_edits(module: Module, entity: Entity) -> Iterator[Edit]:
    variable = read_global(module, entity)
    if not variable.is_definition or entity.name.startswith("llvm."):
        return
    tokens = list(variable.tokens)
    kind = next(i for i, token in enumerate(tokens) if token.text == variable.kind)
    yield from _linkage_edits(tuple(tokens[1:kind]), "internal")
    yield from _comdat_edits(tokens[kind:])


def _renamings(module: Module, renamed: set[str], entry: str, dropped: set[str]) -> Iterator[Edit]:
    for entity in module.entities:
        if entity.kind == "global" and entity.name in dropped:
            continue
        for name, start, end in global_names(module.text, entity.start, entity.end):
            if name in renamed:
                yield Edit(start, end, encode_name("@", private_name(name, entry)))
