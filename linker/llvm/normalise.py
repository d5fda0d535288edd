"""Removes from a fragment's LLVM IR what keeps it from being linked with a Triton kernel and inlined."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, tokenize

# O3 inlines a function only into one of the same cpu and features; Triton's kernels carry none of these.
# Everything else that clang writes ("frame-pointer", "no-trapping-math", uwtable) does not stand in the way.
BLOCKING_ATTRIBUTES = frozenset(('"target-cpu"', '"target-features"', '"tune-cpu"'))
# Kernels of the fragment's file must not become kernels of the linked module.
DROPPED_METADATA = frozenset(("llvm.ident", "nvvm.annotations", "nvvmir.version", "llvm.commandline"))
DEBUG_METADATA = frozenset(("llvm.dbg.cu",))
DEBUG_FLAG = '"Debug Info Version"'
# Triton's own kind. A unit of another kind (clang's -O3 -gline-tables-only gives DebugDirectivesOnly) that is
# inlined into such a kernel ends the process in an assertion of LLVM's DWARF writer, on Triton 3.6 and 3.9.
EMISSION_KIND = "LineTablesOnly"

# Each stands on a line of its own.
_RECORD = re.compile(r"^[ \t]*(?:#dbg_\w+\(|(?:tail )?call void @llvm\.dbg\.)[^\n]*\n", re.MULTILINE)
_RETAINED = re.compile(r", retainedNodes: (?:!\d+|!\{[^}]*\})")

# clang 22 writes these; the LLVM of Triton 3.6 knows none of them, later ones know the older form too.
NEWER_ATTRIBUTES = frozenset(("nocreateundeforpoison",))
NEWER_MEMORY = re.compile(r"target_mem\d+")
OLDER_INTRINSICS = {"llvm.nvvm.ex2.approx.ftz.f32": "llvm.nvvm.ex2.approx.ftz.f"}
# Where none of them can stand; a name in quotes may be any.
_NEWER = re.compile("|".join([*NEWER_ATTRIBUTES, NEWER_MEMORY.pattern, *map(re.escape, OLDER_INTRINSICS), '@"']))


def normalise(module: Module, keep_debug_info: bool = True, older_llvm: bool = False) -> Module:
    """A module that links: no module flags that clash with Triton's, no ident, no target attributes.

    Target triple and data layout stay: Triton replaces both on every version.

    Parameters
    ----------
    keep_debug_info : keep the ``!dbg`` places and the flag without which LLVM would strip them.
    older_llvm : rewrite spellings of clang 22 for the LLVM inside Triton 3.6.
    """
    edits = list(_metadata_edits(module, keep_debug_info))
    for entity in module.of_kind("attributes"):
        edits += _attribute_edits(module.header(entity))
    if keep_debug_info:
        edits += _variable_records(module)
    if older_llvm:
        edits += _older_spellings(module)
    if not keep_debug_info:
        edits += _debug_places(module)
    return module.edited(edits)


def has_newer_spellings(text: str) -> bool:
    """Whether ``older_llvm`` may make a difference."""
    return _NEWER.search(text) is not None


def _metadata_edits(module: Module, keep_debug_info: bool) -> Iterator[Edit]:
    dropped = DROPPED_METADATA if keep_debug_info else DROPPED_METADATA | DEBUG_METADATA
    nodes = {entity.name: entity for entity in module.of_kind("metadata")}
    for entity in nodes.values():
        if entity.name in dropped:
            yield removal(module, entity)
        elif entity.name == "llvm.module.flags":
            yield _flags_edit(module, entity, nodes if keep_debug_info else {})
        elif "DICompileUnit" in module.source(entity):
            yield from _emission_edit(module, entity)


def _variable_records(module: Module) -> Iterator[Edit]:
    """Drop what is known of local variables: LLVM's DWARF writer ends the process over it in line tables."""
    if "#dbg_" in module.text or "@llvm.dbg." in module.text:
        for entity in module.of_kind("define"):
            for match in _RECORD.finditer(module.text, entity.body, entity.end):
                yield Edit(match.start(), match.end(), "")
    for entity in module.of_kind("metadata"):
        if "DISubprogram(" in module.text[entity.start : entity.end]:
            found = _RETAINED.search(module.text, entity.start, entity.end)
            if found:
                yield Edit(found.start(), found.end(), "")


def _emission_edit(module: Module, unit: Entity) -> Iterator[Edit]:
    tokens = module.header(unit)
    for key, value in zip(tokens, tokens[2:], strict=False):
        if key.kind == "word" and key.text == "emissionKind":
            yield Edit(value.start, value.end, EMISSION_KIND)


def _flags_edit(module: Module, flags: Entity, nodes: dict[str, Entity]) -> Edit:
    """Keep the debug-info version only: the other flags say "override" and so do Triton's."""
    kept = [
        token.text
        for token in module.header(flags)[2:]
        if token.kind == "!" and token.name in nodes and DEBUG_FLAG in module.source(nodes[token.name])
    ]
    if not kept:
        return removal(module, flags)
    return Edit(flags.start, flags.end, f"!llvm.module.flags = !{{{', '.join(kept)}}}")


def _attribute_edits(tokens: list[Token]) -> Iterator[Edit]:
    """Drop ``"key"="value"`` pairs, each with the space before it."""
    for index, token in enumerate(tokens):
        if token.text in BLOCKING_ATTRIBUTES:
            has_value = index + 1 < len(tokens) and tokens[index + 1].text == "="
            yield Edit(tokens[index - 1].end, tokens[index + 2].end if has_value else token.end, "")


def _older_spellings(module: Module) -> Iterator[Edit]:
    for entity in module.of_kind("define", "declare", "attributes"):
        if not _NEWER.search(module.text, entity.start, entity.end):
            continue
        tokens = list(tokenize(module.text, entity.start, entity.end))
        for index, token in enumerate(tokens):
            if token.kind == "word" and token.text in NEWER_ATTRIBUTES:
                yield Edit(tokens[index - 1].end, token.end, "")
            elif token.text == "memory" and tokens[index + 1 : index + 2] and tokens[index + 1].text == "(":
                yield from _memory_edit(tokens, index)
            elif token.kind == "@" and token.name in OLDER_INTRINSICS:
                yield Edit(token.start, token.end, "@" + OLDER_INTRINSICS[token.name])


def _memory_edit(tokens: list[Token], index: int) -> Iterator[Edit]:
    """Rewrite ``memory(read, target_mem0: none)``; what an older LLVM cannot say is dropped."""
    inside = list(takewhile(lambda token: token.text != ")", tokens[index + 2 :]))
    if not any(NEWER_MEMORY.fullmatch(token.text) for token in inside):
        return
    effects = [effect.split(":") for effect in "".join(token.text for token in inside).split(",")]
    newer = [effect for effect in effects if NEWER_MEMORY.fullmatch(effect[0])]
    older = [": ".join(effect) for effect in effects if effect not in newer]
    end = tokens[index + 2 + len(inside)].end
    if all(effect[-1] == "none" for effect in newer):
        yield Edit(tokens[index].start, end, f"memory({', '.join(older) or 'none'})")
    else:
        yield Edit(tokens[index - 1].end, end, "")


def _debug_places(module: Module) -> Iterator[Edit]:
    """Drop ``!dbg !7`` and debug records: without its version LLVM would warn about each module."""
    for entity in module.of_kind("define", "declare", "global"):
        if not any(module.text.find(word, entity.start, entity.end) >= 0 for word in ("!dbg", "#dbg_")):
            continue  # most kernels for a CPU: to read their words is a sixth of their compilation
        tokens = list(tokenize(module.text, entity.start, entity.end))
        for index, token in enumerate(tokens):
            if token.kind == "!" and token.text == "!dbg":
                first = tokens[index - 1]
                yield Edit(first.start if first.text == "," else first.end, tokens[index + 1].end, "")
            elif token.kind == "#" and token.text.startswith("#dbg_"):
                yield Edit(token.start, _end_of_group(tokens, index + 1), "")


def _end_of_group(tokens: list[Token], index: int) -> int:
    depth = 0
    while True:
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if depth == 0:
            return tokens[index].end
        index += 1


def removal(module: Module, entity: Entity) -> Edit:
    """The edit that drops an entity and the rest of its line."""
    end = entity.end
    if module.text.startswith("\n", end):
        end += 1
    return Edit(entity.start, end, "")
