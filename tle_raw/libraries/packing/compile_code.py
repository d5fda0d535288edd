"""Compiles one overload for one combination of values and one target: a piece of a library's code."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tle_raw.errors import ManifestError, Row, TLEError
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.binding import bind_names
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compilation import missed_files, older_llvm
from tle_raw.fragments.fragment import Fragment
from tle_raw.identity import entry_name
from tle_raw.libraries.architecture import is_specific
from tle_raw.libraries.code_key import code_key
from tle_raw.libraries.fitted import fitted_to_json
from tle_raw.libraries.packing.cut import cut_to
from tle_raw.libraries.packing.effects import found_effects
from tle_raw.libraries.packing.manifest import Function, Overload, Value
from tle_raw.libraries.packing.places import without_places
from tle_raw.linker.llvm.normalise import has_newer_spellings
from tle_raw.linker.prepare import LinkableModule
from tle_raw.registry import find_target
from tle_raw.target import Target


@dataclass(frozen=True)
class Piece:
    """What is compiled: an overload of a function for one combination of values and one target."""

    function: Function
    overload: Overload
    fragment: Fragment
    names: Mapping[str, Value]
    target: Target

    @cached_property
    def bound(self) -> BoundSignature:
        """The signature with its names bound."""
        return bind_names(self.overload.signature, dict(self.names))


@dataclass(frozen=True)
class Code:
    """One piece: its text, and what a library's index says of it. ``effects`` is None where nobody looked.

    ``fitted`` are the texts that kernels link: see ``libraries/fitted.py``. ``missed`` are digests of files that only
    the compiler could name.
    """

    text: str
    compiler: str
    facts: Mapping[str, Any]
    effects: frozenset[str] | None
    fitted: tuple[str, ...] = ()
    missed: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Named by the content: equal pieces are one file."""
        return f"{hashlib.sha256(self.text.encode()).hexdigest()[:24]}.ll"

    def to_json(self) -> dict[str, Any]:
        """The entry of ``functions/<name>.json``."""
        return {**self.facts, "file": self.file, "sha256": hashlib.sha256(self.text.encode()).hexdigest()}


def compile_code(piece: Piece, folder: Path, variables: Collection[str] = ()) -> Code:
    """Compile, and check what came out: the types of its entry, and its symbols.

    Code does not say where ``folder`` stands, and keeps these ``variables``.

    Raises
    ------
    TLEError : the function is missing or takes other types, or does not compile.
    """
    name, bound, target = piece.function.name, piece.bound, piece.target
    try:
        output = piece.fragment.compiler_output(bound, target)
        missed = missed_files(output, piece.fragment.files)
        cut = cut_to(output.text, output.entry, variables)
        text, entry = _renamed(without_places(cut, folder), name, output.entry)
        facts = {**_facts(output, bound, target), "entry": entry}
        packed = replace(output, text=text, entry=entry, host_variables=tuple(variables))
        if target.backend != "cuda":
            find_target(target.backend).prepare(packed, bound, inline=True, older_llvm=older_llvm())
            return Code(text, output.compiler, facts, None, missed=missed)
        newer = _prepared(packed, bound, False)
        older = _prepared(packed, bound, True) if has_newer_spellings(text) else newer
        effects = found_effects(newer)
    except TLEError as error:
        raise error.at(fragment=name, source=piece.overload.location) from None
    facts |= {"fitted": fitted_to_json(older, newer, bound)}
    return Code(text, output.compiler, facts, effects, (older.text, newer.text), missed)


def _prepared(output: CompilerOutput, bound: BoundSignature, older: bool) -> LinkableModule:
    return find_target("cuda").prepare(output, bound, inline=True, older_llvm=older)


def _renamed(text: str, name: str, entry: str) -> tuple[str, str]:
    """The entry named by the code: an adapter's name for it tells also where its source stood."""
    new = entry_name(name, [text.replace(entry, "entry")])
    return text.replace(entry, new), new


def _facts(output: CompilerOutput, bound: BoundSignature, target: Target) -> dict[str, Any]:
    return {
        "key": code_key(bound),
        "target": str(target),
        "dynamic_shared": output.dynamic_shared,
        "block": list(output.block),
        "register_limit": output.register_limit,
        "exclusive": output.exclusive,
        "specific": target.backend == "cuda" and is_specific(output.text),
    }


def check_effects(piece: Piece, found: frozenset[str] | None) -> None:
    """Compare what the code may do with what the manifest says.

    Raises
    ------
    ManifestError : it does more.
    """
    overload, name = piece.overload, piece.function.name
    more = sorted((found or frozenset()) - (overload.effects if overload.effects is not None else found or frozenset()))
    if more:
        raise ManifestError(
            f"{overload.location}: `{name}` does more than its effects say: {', '.join(more)}",
            table=[Row("effects", ", ".join(sorted(overload.effects or ())) or "none", ", ".join(sorted(found or ())))],
            hint="add them to `effects`, or leave the key out",
        ).at(fragment=name, source=overload.location)
