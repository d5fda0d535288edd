"""Lots that were compiled before: a pack that was cut off goes on where it stopped, and one after an edit compiles
only what that concerns.

A lot is kept whole. What numbers stand in a function's LLVM IR depends on what its compiler was given beside it, and
packing twice gives the same bytes.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tle_raw.fragments.compilation import same_files
from tle_raw.fragments.kept import kept_if_wanted
from tle_raw.identity import digest
from tle_raw.libraries.packing.compile_code import Code, Piece
from tle_raw.registry import find_target
from tle_raw.store import LOTS


def lot_key(lot: Sequence[Piece], folder: Path, variables: Collection[str]) -> str:
    """Digest of all that can change the code of these pieces: sources, headers, compiler, this package, values.

    ``folder`` is the manifest's: of files, code tells where they stand from there.
    """
    return digest(*(part for piece in lot for part in _parts(piece, folder)), *variables)[:40]


def kept_lot(key: str) -> list[Code] | None:
    """The code of each piece, or None where the lot has to be compiled."""
    store = kept_if_wanted(LOTS)
    entry = store.load(key) if store else None
    if entry is None:
        return None
    codes = [_from_json(each) for each in json.loads(zlib.decompress(entry.data))]
    return codes if all(same_files(code.missed) for code in codes) else None


def keep_lot(key: str, library: str, codes: Sequence[Code]) -> None:
    """Keep what was compiled."""
    store = kept_if_wanted(LOTS)
    if store:
        data = zlib.compress(json.dumps([_to_json(code) for code in codes]).encode(), 1)
        store.save(key, data, {"name": library, "created": time.time()}, flush=False)


def _parts(piece: Piece, folder: Path) -> tuple[object, ...]:
    files = (os.path.relpath(file, folder) for file in piece.fragment.files)
    settings = find_target(piece.target.backend).settings()
    return piece.fragment.cache_key, piece.function.name, piece.bound.to_json(), piece.target, settings, *files


def _to_json(code: Code) -> dict[str, Any]:
    effects = None if code.effects is None else sorted(code.effects)
    return {**vars(code), "facts": dict(code.facts), "effects": effects, "missed": dict(code.missed)}


def _from_json(written: dict[str, Any]) -> Code:
    effects = None if written["effects"] is None else frozenset(written["effects"])
    return Code(**{**written, "effects": effects, "fitted": tuple(written["fitted"])})
