"""Compiles all pieces of a library's code: those of one source and target at once, several such lots side by side."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from tle_raw.fragments.fragment import Fragment
from tle_raw.libraries.packing.compile_code import Code, Piece, check_effects, compile_code
from tle_raw.libraries.packing.declared import declared, is_cut, symbol_of
from tle_raw.libraries.packing.kept_lots import keep_lot, kept_lot, lot_key
from tle_raw.libraries.packing.manifest import Manifest, Overload

# Pieces that one run of the compiler makes. More save little of what its start and the headers take; fewer are better
# shared among the processor's cores, and an error in one has fewer others compiled again.
LOT = 16


def compile_all(manifest: Manifest, told: Callable[[str], None]) -> dict[str, list[tuple[Overload, list[Code]]]]:
    """The code of each function, by its overloads, in the manifest's order whatever was done first.

    Raises
    ------
    TLEError : as ``compile_code``; of several errors that of the lot that comes first.
    """
    pieces = list(_pieces(manifest))
    lots = list(_lots(pieces))
    count = Counter(id(piece.overload) for piece in pieces)
    done: Counter[int] = Counter()
    made: dict[int, Code] = {}

    def compile_lot(lot: list[Piece]) -> None:
        for piece, code in zip(lot, _compiled(lot, manifest)):
            check_effects(piece, code.effects)
            made[id(piece)] = code

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [pool.submit(compile_lot, lot) for lot in lots]
        try:
            for lot, future in zip(lots, running):
                future.result()
                for piece in lot:
                    own = id(piece.overload)
                    done[own] += 1
                    if done[own] == count[own]:
                        told(f"{piece.overload.signature}: {count[own]} pieces of code")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    codes: dict[int, list[Code]] = {}
    for piece in pieces:
        codes.setdefault(id(piece.overload), []).append(made[id(piece)])
    return {f.name: [(overload, codes[id(overload)]) for overload in f.overloads] for f in manifest.functions}


def _compiled(lot: list[Piece], manifest: Manifest) -> list[Code]:
    """The code of each piece, from the cache where the lot was compiled before."""
    folder, variables = manifest.file.parent, manifest.hooks.variables
    key = lot_key(lot, folder, variables)
    codes = kept_lot(key)
    if codes is None:
        Fragment.expect_together([(each.fragment, each.bound) for each in lot], lot[0].target, with_names=True)
        codes = [compile_code(piece, folder, variables) for piece in lot]
        if not any(piece.fragment.is_stale() for piece in lot):
            keep_lot(key, manifest.name, codes)
    return codes


def _pieces(manifest: Manifest) -> Iterator[Piece]:
    for function in manifest.functions:
        for overload in function.overloads:
            fragment = declared(function, overload, _beside(manifest, overload), manifest.hooks.variables)
            for names in overload.bindings():
                for target in overload.architectures:
                    yield Piece(function, overload, fragment, names, target)


def _lots(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Pieces that one run of a compiler may make, as far as can be known here."""
    kinds: dict[object, list[Piece]] = {}
    for piece in pieces:
        kind = (piece.overload.source, piece.overload.dialect, str(piece.overload.options), str(piece.target))
        kinds.setdefault(kind, []).append(piece)
    for own in kinds.values():
        waiting = iter(own)
        while lot := list(islice(waiting, LOT)):
            yield lot


def _beside(manifest: Manifest, overload: Overload) -> list[str]:
    """The symbols that are taken of the bitcode that the overload's is in."""
    overloads = [each for function in manifest.functions for each in function.overloads if is_cut(each)]
    return [symbol_of(each) for each in overloads if each.source == overload.source]
