"""Find the hints of a kernel in its Triton IR, note them there, and let their handlers edit it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import HintWarning, SourceLocation, TLEError
from tle_raw.flir.hints.checked import CheckedHandler
from tle_raw.flir.hints.comments import Hint
from tle_raw.flir.hints.handler import find_handler, known_hints, passed_over
from tle_raw.flir.hints.operation import LOOPS, HintedModule, HintedOperation
from tle_raw.flir.hints.places import HintedFile, HintedPlace
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import location_of, quoted, unescape
from tle_raw.near_names import did_you_mean

NOTE = "tle.hint"  # on an operation
_MARKER = "tt.extern_elementwise"
FORM = "a hint is written `#@hint: name` or `#@hint: name=value, other`"
_WARNED: set[tuple[str, int, str]] = set()
_LOOKED_FOR: set[str] = set()  # names of hints that packages may offer too


@dataclass(frozen=True)
class HintRecord:
    """What became of one hint, as the kernel's metadata keeps it.

    Attributes
    ----------
    first, last : the lines of the source whose operations it is for.
    reason : why it has no effect; "" where it was taken.
    proof : see ``HintHandler``.
    """

    hint: str
    file: str
    line: int
    text: str
    first: int
    last: int
    reason: str
    proof: str


@dataclass
class _Found:
    """One hint at one of its calls or loops, and the operations there that it is for."""

    place: HintedPlace
    handler: CheckedHandler
    operations: list[int]


def apply_hints(module: HintedModule, files: dict[str, HintedFile]) -> list[HintRecord]:
    """Edit the lines of a module in place.

    Returns
    -------
    What became of each hint of the functions that the module holds.
    """
    lines, target = module.lines, module.machine.target
    places, covered = _operations(module, files)
    found: list[_Found] = []
    records: list[HintRecord] = []
    for place, numbers in places.items():
        handler = _handler_of(place.hint)
        if handler is None:
            records.append(_record(place, None, _unknown(place.hint), target))
        elif wanted := handler.expected():
            _warn(place.hint, f"the hint `{place.hint}` takes {wanted}")
            records.append(_record(place, handler, f"its value should be {wanted}", target))
        else:
            operations = handler.operations()
            here = [n for n in numbers if generic_name(lines[n]) in operations]
            found.append(_Found(place, handler, here))
    # Loops first: how many stages one has counts for the loads in it.
    for each in sorted(found, key=lambda each: not each.place.is_loop):
        reasons = [_apply(HintedOperation(module, n), each) for n in each.operations]
        if each.operations:
            reason = "" if not all(reasons) else reasons[0]
            records.append(_record(each.place, each.handler, reason, target))
    return [*_without_repetition(records), *_unmet(files, covered, records)]


def _apply(operation: HintedOperation, found: _Found) -> str:
    told = operation.attribute(NOTE)
    text = ", ".join([*([unescape(told)] if told else []), str(found.place.hint)])
    targets = found.handler.targets()
    if operation.machine.target not in targets:
        reason = f"it means something on {' and '.join(targets)}, not on {operation.machine.target}"
    else:
        reason = found.handler.apply(operation)
    if operation.name != _MARKER:  # which has the form that its reader knows, and says its hint itself
        operation.set_attributes({NOTE: quoted(text)})
    return reason


def _operations(
    module: HintedModule, files: dict[str, HintedFile]
) -> tuple[dict[HintedPlace, list[int]], dict[str, set[int]]]:
    """The lines of the operations at each call and loop with a hint; and the lines of each file that the module has."""
    locations = Locations(module.lines)
    places: dict[HintedPlace, list[int]] = {}
    covered: dict[str, set[int]] = {file: set() for file in files}
    known: dict[str, Any] = {}
    for number, line in enumerate(module.lines):
        name = generic_name(line)
        if not name:
            continue
        text = location_of(module.lines[module.last_line(number)])
        where = known.setdefault(text, locations.source_location(text) if text else None)
        if where is None or where.file not in files:
            continue
        covered[where.file].add(where.line)
        for place in files[where.file].places(where.line, where.column, name in LOOPS):
            places.setdefault(place, []).append(number)
    return places, covered


def _unmet(
    files: dict[str, HintedFile], covered: dict[str, set[int]], records: Iterable[HintRecord]
) -> list[HintRecord]:
    """The hints within the kernel's functions that no operation of theirs was found for."""
    met = {(record.file, record.line, record.hint) for record in records}
    missed = []
    for file, placed in files.items():
        traced = {placed.function_around(line) for line in covered[file]} - {None}
        for hint in placed.hints():
            if (file, hint.line, str(hint)) not in met and placed.function_around(hint.line) in traced:
                missed.append(_missed(hint))
    return missed


def _said(operation: str) -> str:
    """An operation's name as those know it who write kernels."""
    if operation == "tt.extern_elementwise":
        return "call of a fragment"
    return operation.removeprefix("tt.").replace("scf.", "loop ")


def _missed(hint: Hint) -> HintRecord:
    handler = _handler_of(hint)
    if handler is None:
        reason = _unknown(hint)
    else:
        wanted = " or ".join(map(_said, handler.operations()))
        reason = f"no operation that it is for ({wanted}) comes from its line"
    return HintRecord(str(hint), hint.file, hint.line, hint.text, hint.line, hint.line, reason, "")


def _handler_of(hint: Hint) -> CheckedHandler | None:
    """None where nobody knows the hint."""
    try:
        handler = find_handler(hint.name) if hint.name else None
    except TLEError as error:
        raise error.at(call_site=SourceLocation(hint.file, hint.line, 0, hint.text)) from error.__cause__
    if handler is not None and hint.name not in _LOOKED_FOR:
        _LOOKED_FOR.add(hint.name)
        if others := passed_over(hint.name):
            _warn(hint, f"the hint `{hint.name}` is one of tle_raw's own: that of {' and '.join(others)} is not used")
    return CheckedHandler(hint, handler) if handler else None


def _unknown(hint: Hint) -> str:
    if not hint.name:
        _warn(hint, f"`{hint.value}` is no hint: {FORM}")
        return FORM
    known = known_hints()
    tail = did_you_mean(hint.name, known, f"known hints: {', '.join(known)}", most=2)
    _warn(hint, f"unknown hint `{hint.name}`: {tail}")
    return f"nobody knows it: {tail}"


def _warn(hint: Hint, message: str) -> None:
    """Once for each hint of a process."""
    key = hint.file, hint.line, str(hint)
    if key not in _WARNED:
        _WARNED.add(key)
        where = f"{hint.file}:{hint.line}\n    {hint.text.strip()}"
        warnings.warn(HintWarning(f"{message}\n  {where}"), stacklevel=2)


def _record(place: HintedPlace, handler: CheckedHandler | None, reason: str, target: str) -> HintRecord:
    hint = place.hint
    proof = handler.proof(target) if handler is not None and not reason else ""
    return HintRecord(str(hint), hint.file, hint.line, hint.text, place.first, place.last, reason, proof)


def _without_repetition(records: Iterable[HintRecord]) -> list[HintRecord]:
    """One of each hint: that which had an effect, if any had."""
    best: dict[tuple[str, int, str], HintRecord] = {}
    for record in records:
        key = record.file, record.line, record.hint
        if key not in best or (best[key].reason and not record.reason):
            best[key] = record
    return list(best.values())
