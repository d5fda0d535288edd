"""What the compiler's errors tell to do otherwise: from one plan to the next (``host_plans``)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from tle_raw.adapters.cpp.absent_members import declared_alone
from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic, in_characters, parse_diagnostics
from tle_raw.adapters.cpp.early_limits import limits_ahead
from tle_raw.adapters.cpp.host_traps import trapped
from tle_raw.adapters.cpp.installed_headers import folder_with, is_librarys, may_be_skipped
from tle_raw.adapters.cpp.lenient_statements import statement_mends
from tle_raw.adapters.cpp.mends import Mend, last_first, mended, mends
from tle_raw.adapters.cpp.unused_templates import is_of_unused, unused_bodies
from tle_raw.adapters.cuda.as_nvcc import for_nvcc
from tle_raw.adapters.cuda.host_files import ProgramFiles, decoded, own_name, wanted_name
from tle_raw.adapters.cuda.host_plans import Plan
from tle_raw.adapters.cuda.names_in_headers import all_texts, headers_of, unknown_names
from tle_raw.adapters.cuda.run_plan import left_out_names, part_for_the_device
from tle_raw.adapters.cuda.shared_objects import FILE, shared_mends
from tle_raw.adapters.cuda.torch_errors import (
    BOTH_HAVE,
    NEEDS_CLASSES,
    declarations_in_place,
    lacks_torch,
    torchs_headers,
)
from tle_raw.fragments.adapter import Source
from tle_raw.linker.processes.run_compiler import Run

MISSING = re.compile(r"'([^']+)' file not found")
_OF_THE_HOST = re.compile(
    r"reference to __(?:device|global|host)__ function|call to __device__ function from __host__ function"
)
_UNDECLARED = re.compile(r"(?:unknown type name|use of undeclared identifier|no type named) '(\w+)'")
_NO_NAMESPACE = re.compile(r"expected namespace name|use of undeclared identifier")
_USING = re.compile(r"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s*([\w:]+)\s*;")
_SHIFTS_NEGATIVE = "left shift of negative value"  # a constant since C++20, as it is to nvcc
# `settings.is_small` as a template's argument, where `settings` is a parameter: clang takes it from C++23 on.
_UNKNOWN_REFERENCE = re.compile(r"function parameter '\w+' with unknown value cannot be used in a constant expression")
# Names and words of C++20, which programs are built as that have them.
_CPP20 = """
assignable_from bind_front bit_cast bit_ceil bit_floor bit_width common_with convertible_to countl_zero countr_zero
default_initializable derived_from endian equality_comparable floating_point has_single_bit identity integral invocable
is_bounded_array_v is_constant_evaluated lerp midpoint popcount predicate ranges regular remove_cvref remove_cvref_t
same_as signed_integral source_location span ssize strong_ordering to_address totally_ordered type_identity
type_identity_t unsigned_integral
"""
_OF_CPP20 = re.compile(
    rf"no (?:member|type|template) named '(?:{'|'.join(_CPP20.split())})' in namespace 'std'"
    r"|unknown type name '(?:concept|consteval|constinit|requires)'|use of undeclared identifier 'requires'"
)
# What functions for both sides call where something is wrong.
_ENDS_PROGRAM = re.compile(r"reference to __host__ function '(?:exit|_Exit|abort)' in __host__ __device__ function")
_ENDS = "tle_raw/ends_of_programs.h"
# Handles of NVIDIA's host libraries, which structs of a program hold, and their constants.
_HANDLE = re.compile(
    r"(?:cublas|curand|cusparse|cusolver|cufft|cudnn|nccl|nvml)\w*_t"
    r"|cufft(?:Handle|Type|Result|(?:Double)?(?:Real|Complex))|curandState\w*"
    r"|(?:CUBLAS|CURAND|CUSPARSE|CUSOLVER|CUFFT|CUDNN|NCCL|NVML)_\w+"
)
# Bytes of headers that are gone through as soon as one of them has an error.
CUT_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class _Told:
    """A run that failed, and what its errors say."""

    source: Source
    files: ProgramFiles
    plan: Plan
    run: Run

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """Errors and warnings."""
        return list(parse_diagnostics(self.run.log))

    @cached_property
    def errors(self) -> list[Diagnostic]:
        return [one for one in self.diagnostics if one.is_error]

    @cached_property
    def shown(self) -> Callable[[str], str | None]:
        """What the compiler read of a file."""
        return cache(partial(_shown_text, self.source, self.files, self.plan))

    @cached_property
    def normal(self) -> list[Diagnostic]:
        """The errors with places in the user's own files."""
        return self.with_places(self.errors)

    def with_places(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        return [in_characters(_normal(self.source, one), self.shown) for one in diagnostics]

    @cached_property
    def found(self) -> tuple[Mend, ...]:
        """What to change where errors are."""
        return mends(self.normal, self.shown) or _of_statements(self)

    @cached_property
    def headers(self) -> frozenset[str]:
        """Headers with errors, which are not gone through yet."""
        own = _own_headers(self.files, self.errors)
        return frozenset((*own, *torchs_headers(self.files, self.plan, self.errors))) - self.plan.headers

    def any_says(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches the text of an error, its notes aside."""
        return any(pattern.match(error.text) for error in self.errors)

    def another(self, **changes: Any) -> Plan:
        return replace(self.plan, **changes)

    def with_mends(self, more: Iterable[Mend], **changes: Any) -> Plan:
        return self.another(mends=(*self.plan.mends, *more), **changes)


def next_plan(source: Source, files: ProgramFiles, plan: Plan, run: Run) -> Plan | None:
    """What the run's errors tell to do otherwise: the first answer of the steps below, in their order."""
    told = _Told(source, files, plan, run)
    if not plan.standard and told.any_says(_OF_CPP20):
        later = told.another(standard="c++20")
        return next_plan(source, files, later, run) or later
    for error in told.errors:
        if missing := MISSING.match(error.text):
            return _with_header(files, plan, missing[1])
    steps = _OF_ANY if plan.is_whole else (*_OF_ANY, *_OF_PARTS)
    return next((after for step in steps if (after := step(told)) is not None), None)


def _share_objects(told: _Told) -> Plan | None:
    objects = () if told.found else shared_mends(told.normal, told.shown)
    includes = tuple(dict.fromkeys((*told.plan.includes, FILE)))
    return told.with_mends(objects, includes=includes) if objects else None


def _end_the_program(told: _Told) -> Plan | None:
    """What functions for both sides call where something is wrong."""
    if _ENDS in told.plan.includes or not told.any_says(_ENDS_PROGRAM):
        return None
    return told.another(includes=(*told.plan.includes, _ENDS))


def _mend(told: _Told) -> Plan | None:
    files = own_name(told.source), *sorted(told.files.names)
    texts = {file: text for file in files if (text := told.shown(file)) is not None}
    unused = [error for error in told.normal if is_of_unused(error)]
    found = (
        told.found
        or trapped(told.normal, texts)
        or limits_ahead(told.normal, told.shown)
        or for_nvcc(unknown_names(told.errors), texts)
        or unused_bodies(unused, told.shown, wanted_name(told.source))
    )
    return told.with_mends(found) if found else None


def _take_another_standard(told: _Told) -> Plan | None:
    """Where notes say that something is no constant yet."""
    notes = [note.text for error in told.errors for note in error.notes]
    if not told.plan.standard and any(note.startswith(_SHIFTS_NEGATIVE) for note in notes):
        return told.another(standard="c++20")
    if told.plan.standard != "c++23" and any(map(_UNKNOWN_REFERENCE.match, notes)):
        return told.another(standard="c++23")
    return None


def _build_as_an_extension(told: _Told) -> Plan | None:
    if told.plan.is_extension or not told.files.takes_torch or not told.any_says(BOTH_HAVE):
        return None
    return told.another(is_extension=True)


def _defer_errors(told: _Told) -> Plan | None:
    if told.plan.is_deferred or not any(map(_OF_THE_HOST.search, all_texts(told.errors))):
        return None
    return told.another(is_deferred=True)


def _find_names(told: _Told) -> Plan | None:
    """Names that host code has, that are in a namespace which was passed over, or in a header."""
    source, files, plan, errors = told.source, told.files, told.plan, told.errors
    kept = left_out_names(source, files, plan, [name for name in unknown_names(errors) if name not in plan.kept])
    namespaces = tuple(dict.fromkeys((*plan.namespaces, *_used_namespaces(told))))
    includes = tuple(header for header in dict.fromkeys(headers_of(errors)) if header not in plan.includes)
    if not kept and namespaces == plan.namespaces and not includes:
        return None
    return told.another(kept=(*plan.kept, *kept), namespaces=namespaces, includes=(*plan.includes, *includes))


def _take_all_of_python(told: _Told) -> Plan | None:
    if told.headers or not (told.plan.is_python_light and told.files.pybind11s_headers):
        return None
    return told.another(is_python_light=False) if any(map(_is_of_pybind11, told.errors)) else None


def _declare_classes(told: _Told) -> Plan | None:
    """Handles of host libraries, and classes of torch's; headers that know them are gone through."""
    plan, errors, headers = told.plan, told.errors, told.headers
    handles = [m[1] for e in errors if (m := _UNDECLARED.match(e.text)) and _HANDLE.fullmatch(m[1])]
    handles = [name for name in dict.fromkeys(handles) if name not in plan.handles] if plan.missing else []
    # without host code most do not need the classes: that is tried first
    needs_classes = plan.headers or not headers or told.any_says(NEEDS_CLASSES)
    has_classes = plan.has_classes or (bool(needs_classes) and lacks_torch(told.files, plan, errors))
    declared = tuple(declarations_in_place(errors)) if plan.has_classes and not headers else ()
    declared = tuple(line for line in dict.fromkeys(declared) if line not in plan.declared)
    if not (handles or headers or declared or has_classes != plan.has_classes):
        return None
    return told.another(
        handles=(*plan.handles, *handles),
        headers=plan.headers | headers,
        with_members=plan.with_members and not headers,
        has_classes=has_classes,
        declared=(*plan.declared, *declared),
    )


def _leave_members_out(told: _Told) -> Plan | None:
    """Of classes, where the device's part is another without them."""
    if not told.plan.with_members:
        return None
    part = partial(part_for_the_device, told.source, told.files)
    return told.another(with_members=False) if told.plan.headers or part(False).text != part().text else None


def _leave_bodies_out(told: _Told) -> Plan | None:
    unused = unused_bodies(told.normal, told.shown, wanted_name(told.source))
    unused = unused or (declared_alone(told.normal, told.shown) if told.plan.missing else ())
    return told.with_mends(unused) if unused else None


_Step = Callable[[_Told], Plan | None]
_OF_ANY: tuple[_Step, ...] = (_share_objects, _end_the_program, _mend, _take_another_standard)
_OF_PARTS: tuple[_Step, ...] = (
    _build_as_an_extension,
    _defer_errors,
    _find_names,
    _take_all_of_python,
    _declare_classes,
    _leave_members_out,
    _leave_bodies_out,
)


def _of_statements(told: _Told) -> tuple[Mend, ...]:
    """By what warnings say, too: where an array has no constant size, its error does not tell why."""
    return last_first({mend for one in told.with_places(told.diagnostics) for mend in statement_mends(one, told.shown)})


def _normal(source: Source, error: Diagnostic) -> Diagnostic:
    """The error at a place of a file of the user's by its one name, or of the source's own text by its own lines."""
    options, _ = source.data

    def place(location: ClangLocation | None) -> ClangLocation | None:
        if location is None:
            return None
        if not options.file and location.file == source.location.file:
            return replace(location, file="", line=location.line - source.location.line + 1)
        return replace(location, file=os.path.normpath(location.file))

    notes = tuple(replace(note, location=place(note.location)) for note in error.notes)
    return replace(error, location=place(error.location), notes=notes)


def _shown_text(source: Source, files: ProgramFiles, plan: Plan, file: str) -> str | None:
    """What the compiler read of a file of the user's, up to what is blanked in it."""
    own = own_name(source)
    if file == own:
        return mended(source.text, own, plan.mends)
    if file not in files.names:
        return None
    return mended(decoded(Path(file)), file, plan.mends)


def _with_header(files: ProgramFiles, plan: Plan, header: str) -> Plan | None:
    folder = folder_with(header)
    if folder is not None and folder not in plan.folders:
        return replace(plan, folders=(*plan.folders, folder))
    if plan.is_whole or header in plan.missing:
        return None
    ways = {include.is_quoted for includes in files.includes for include in includes if include.name == header}
    if not may_be_skipped(header, is_quoted=ways == {True}):
        return None
    return replace(plan, missing=tuple(dict.fromkeys((*plan.missing, header, *_siblings(files)))))


def _siblings(files: ProgramFiles) -> Iterator[str]:
    """Other libraries' headers that nobody has: who has not the one has not the others."""
    for includes in files.includes:
        yield from (each.name for each in includes if is_librarys(each.name) and folder_with(each.name) is None)


def _own_headers(files: ProgramFiles, errors: Sequence[Diagnostic]) -> Iterator[str]:
    """The user's headers in which errors lie."""
    own = {str(path): path.stat().st_size for path in files.paths}
    named = [os.path.normpath(place.file) for error in errors for place in _places(error)]
    found = [file for file in named if file in own]
    yield from own if found and sum(own.values()) < CUT_AT_ONCE else found


def _used_namespaces(told: _Told) -> Iterator[str]:
    """What ``using namespace`` names, where it may be of a header that was passed over or replaced."""
    if not told.plan.missing and not (told.plan.is_light and told.files.takes_torch):
        return
    for error in told.normal:
        place = error.location
        text = told.shown(place.file) if place and _NO_NAMESPACE.match(error.text) else None
        if place and text is not None:
            used = _USING.search("".join(text.splitlines()[place.line - 1 : place.line]))
            yield from (used[1].removeprefix("::"),) if used else ()


def _is_of_pybind11(error: Diagnostic) -> bool:
    said = (text for told in (error, *error.notes) for text in (told.text, told.location.file if told.location else ""))
    return any("pybind11" in text for text in said)


def _places(error: Diagnostic) -> Iterator[ClangLocation]:
    yield from (place for place in (error.location, *(note.location for note in error.notes)) if place)
