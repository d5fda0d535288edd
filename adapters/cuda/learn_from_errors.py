"""What the compiler's errors tell to do otherwise: from one plan to the next (``host_plans``)."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.cpp.absent_members import declared_alone
from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic, in_characters, parse_diagnostics
from tle_raw.adapters.cpp.early_limits import limits_ahead
from tle_raw.adapters.cpp.host_traps import trapped
from tle_raw.adapters.cpp.installed_headers import folder_with, is_librarys, may_be_skipped
from tle_raw.adapters.cpp.lenient_statements import statement_mends
from tle_raw.adapters.cpp.mends import Mend, mended, mends
from tle_raw.adapters.cpp.unused_templates import is_of_unused, unused_bodies
from tle_raw.adapters.cuda.as_nvcc import for_nvcc
from tle_raw.adapters.cuda.host_files import TORCH, ProgramFiles, decoded, own_name, wanted_name
from tle_raw.adapters.cuda.host_plans import Plan
from tle_raw.adapters.cuda.run_plan import left_out_names, part_for_the_device
from tle_raw.adapters.cuda.shared_objects import FILE, shared_mends
from tle_raw.adapters.cuda.torch_host_headers import LIGHT_TORCH
from tle_raw.fragments.adapter import Source
from tle_raw.linker.processes.run_compiler import Run

MISSING = re.compile(r"'([^']+)' file not found")
_OF_THE_HOST = re.compile(
    r"reference to __(?:device|global|host)__ function|call to __device__ function from __host__ function"
)
_UNDECLARED = re.compile(r"(?:unknown type name|use of undeclared identifier|no type named) '(\w+)'")
_NO_NAME = re.compile(
    r"(?:use of undeclared identifier|no template named|no member named|unknown type name"
    r"|no matching function for call to|no function template matches function template specialization) '([A-Za-z_]\w*)'"
)
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
BEFORE_THRUST_3 = "tle_raw/thrust_before_3.h"
OF_THRUST_2 = re.compile(r"\bthrust\s*::\s*(?:unary|binary)_function\b")
# Names that programs get through other headers, and those that CUB and Thrust had before version 3, CUDA before 13.
_TAKEN = (
    (r"(?:unknown type name|undeclared identifier) '(?:__)?half", "cuda_fp16.h"),
    (r"(?:unknown type name|undeclared identifier) '(?:__)?nv_bfloat16", "cuda_bf16.h"),
    (
        r"no (?:member|type) named '(?:Sum|Max|Min|Equality|Inequality|Difference|Division)' in namespace 'cub'",
        "tle_raw/cub_before_3.h",
    ),
    (
        r"no (?:member|type|template) named '(?:unary|binary)_function' in namespace 'thrust'",
        BEFORE_THRUST_3,
    ),
    (r"no member named '\w+' in 'cudaDeviceProp'", "tle_raw/cuda_before_13.h"),
    (r"call to '__shfl(?:_up|_down|_xor)?' is ambiguous", "tle_raw/small_shuffles.h"),
    (r"unknown type name '_Bool'", "tle_raw/c_bool.h"),
    (r"integer value -?\d+ is outside the valid range of values .* for the enumeration", "tle_raw/boost_before_1_81.h"),
)
# What functions for both sides call where something is wrong.
_ENDS_PROGRAM = re.compile(r"reference to __host__ function '(?:exit|_Exit|abort)' in __host__ __device__ function")
_ENDS = "tle_raw/ends_of_programs.h"
# Names of std that programs get along with nvcc's beginning of every unit, or with another compiler's headers.
_OF_STD = re.compile(r"no (?:member|type|template) named '(\w+)' in namespace 'std'")
_STD_HEADERS = {
    "algorithm": "all_of any_of copy fill find max max_element min min_element reverse sort swap_ranges transform",
    "array": "array",
    "cmath": "abs ceil exp floor isfinite isinf isnan log max pow round sqrt tanh",
    "cstdint": "int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t",
    "cstring": "memcpy memset strcmp strlen",
    "functional": "bind function greater hash less minus multiplies plus ref",
    "iostream": "cerr cout endl",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "numeric": "accumulate iota",
    "optional": "nullopt optional",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "string": "getline stoi string to_string",
    "tuple": "get make_tuple tie tuple",
    "type_traits": "conditional conditional_t enable_if enable_if_t is_same is_same_v",
    "unordered_map": "unordered_map",
    "utility": "forward make_pair move pair swap",
    "vector": "vector",
}
# Torch's numbers turn into CUDA's and into `float`, so that both have an operator for them. Torch's builds of
# extensions leave CUDA's out, by these macros.
_BOTH_HAVE = re.compile(r"use of overloaded operator '[^']+' is ambiguous .*'(?:const )?(?:\w+::)*(?:Half|BFloat16)\b")
# What no leaving out of host functions mends.
_NEEDS_CLASSES = re.compile(
    r"(?:(?:field|base class) has incomplete type|implicit instantiation of undefined template) '(?:at|c10|torch)::"
    r"|no (?:type|template) named '\w+' in namespace '(?:at|c10|torch)\b"
)
_OF_TORCH = re.compile(r"\b(?:at|c10|torch)::")
# What of torch's namespaces nobody declares, and what is declared in its place.
_OF_TORCHS_NAMESPACES = re.compile(
    r"no (type|member|template) named '(\w+)' in namespace '((?:at|c10|torch)(?:::\w+)*)'"
)
_IN_PLACE = {
    "type": "namespace {1} {{ struct {0} : ::tle_raw::torch::Any {{ using Any::Any; }}; }}",
    "template": "namespace {1} {{ template <class...> struct {0} : ::tle_raw::torch::Any {{ using Any::Any; }}; }}",
    "member": "namespace {1} {{ template <class... T> ::tle_raw::torch::Result {0}(TLE_RAW_ANY); }}",
}
# Handles of NVIDIA's host libraries, which structs of a program hold, and their constants.
_HANDLE = re.compile(
    r"(?:cublas|curand|cusparse|cusolver|cufft|cudnn|nccl|nvml)\w*_t"
    r"|cufft(?:Handle|Type|Result|(?:Double)?(?:Real|Complex))|curandState\w*"
    r"|(?:CUBLAS|CURAND|CUSPARSE|CUSOLVER|CUFFT|CUDNN|NCCL|NVML)_\w+"
)
# Bytes of headers that are gone through as soon as one of them has an error.
CUT_AT_ONCE = 1_000_000


def next_plan(source: Source, files: ProgramFiles, plan: Plan, run: Run) -> Plan | None:
    """What the run's errors tell to do otherwise."""
    errors = [d for d in parse_diagnostics(run.log) if d.is_error]
    if not plan.standard and any(_OF_CPP20.match(error.text) for error in errors):
        later = replace(plan, standard="c++20")
        return next_plan(source, files, later, run) or later
    for error in errors:
        missing = MISSING.match(error.text)
        if missing:
            return _with_header(files, plan, missing[1])
    shown = functools.cache(functools.partial(_shown_text, source, files, plan))
    normal = [in_characters(_normal(source, error), shown) for error in errors]
    found = mends(normal, shown) or _of_statements(source, shown, run)
    if not found and (objects := shared_mends(normal, shown)):
        includes = tuple(dict.fromkeys((*plan.includes, FILE)))
        return replace(plan, mends=(*plan.mends, *objects), includes=includes)
    if _ENDS not in plan.includes and any(_ENDS_PROGRAM.match(error.text) for error in errors):
        return replace(plan, includes=(*plan.includes, _ENDS))
    texts = {file: text for file in (own_name(source), *sorted(files.names)) if (text := shown(file)) is not None}
    found = (
        found
        or trapped(normal, texts)
        or limits_ahead(normal, shown)
        or for_nvcc(_unknown_names(errors), texts)
        or unused_bodies([error for error in normal if is_of_unused(error)], shown, wanted_name(source))
    )
    if found:
        return replace(plan, mends=(*plan.mends, *found))
    notes = [note.text for error in errors for note in error.notes]
    if not plan.standard and any(note.startswith(_SHIFTS_NEGATIVE) for note in notes):
        return replace(plan, standard="c++20")
    if plan.standard != "c++23" and any(map(_UNKNOWN_REFERENCE.match, notes)):
        return replace(plan, standard="c++23")
    if plan.is_whole:
        return None
    if not plan.is_extension and files.takes_torch and any(_BOTH_HAVE.match(error.text) for error in errors):
        return replace(plan, is_extension=True)
    if not plan.is_deferred and any(map(_OF_THE_HOST.search, _texts(errors))):
        return replace(plan, is_deferred=True)
    kept = left_out_names(source, files, plan, [name for name in _unknown_names(errors) if name not in plan.kept])
    namespaces = tuple(dict.fromkeys((*plan.namespaces, *_used_namespaces(source, files, plan, errors))))
    wanted = (header for text in _texts(errors) for name, header in _TAKEN if re.search(name, text))
    includes = tuple(h for h in dict.fromkeys((*wanted, *_std_headers(errors))) if h not in plan.includes)
    if kept or namespaces != plan.namespaces or includes:
        more = (*plan.includes, *includes)
        return replace(plan, kept=(*plan.kept, *kept), namespaces=namespaces, includes=more)
    handles = [m[1] for e in errors if (m := _UNDECLARED.match(e.text)) and _HANDLE.fullmatch(m[1])]
    handles = handles if plan.missing else []
    handles = [name for name in dict.fromkeys(handles) if name not in plan.handles]
    headers = frozenset((*_own_headers(files, errors), *_torchs_headers(files, plan, errors))) - plan.headers
    if not headers and plan.is_python_light and files.pybind11s_headers and any(map(_is_of_pybind11, errors)):
        return replace(plan, is_python_light=False)
    # without host code most do not need the classes: that is tried first
    needs_classes = plan.headers or not headers or any(_NEEDS_CLASSES.match(error.text) for error in errors)
    has_classes = plan.has_classes or (bool(needs_classes) and _lacks_torch(files, plan, errors))
    declared = tuple(_declarations(errors)) if plan.has_classes and not headers else ()
    declared = tuple(line for line in dict.fromkeys(declared) if line not in plan.declared)
    if handles or headers or declared or has_classes != plan.has_classes:
        return replace(
            plan,
            handles=(*plan.handles, *handles),
            headers=plan.headers | headers,
            with_members=plan.with_members and not headers,
            has_classes=has_classes,
            declared=(*plan.declared, *declared),
        )
    has_members = plan.with_members and (
        plan.headers or part_for_the_device(source, files, False).text != part_for_the_device(source, files).text
    )
    if has_members:
        return replace(plan, with_members=False)
    unused = unused_bodies(normal, shown, wanted_name(source)) or (plan.missing and declared_alone(normal, shown))
    return replace(plan, mends=(*plan.mends, *unused)) if unused else None


def _of_statements(source: Source, shown: Callable[[str], str | None], run: Run) -> tuple[Mend, ...]:
    """By what warnings say, too: where an array has no constant size, its error does not tell why."""
    told = [in_characters(_normal(source, one), shown) for one in parse_diagnostics(run.log)]
    found = {m for one in told for m in statement_mends(one, shown)}
    return tuple(sorted(found, key=lambda mend: (mend.file, -mend.line, -mend.column)))


def _texts(errors: Sequence[Diagnostic]) -> Iterator[str]:
    """What the errors and their notes say."""
    yield from (told.text for error in errors for told in (error, *error.notes))


def _lacks_torch(files: ProgramFiles, plan: Plan, errors: Sequence[Diagnostic]) -> bool:
    """Whether an error is of torch's classes, or lies in its headers, while its numbers alone stand in for it."""
    if not plan.is_light or not files.takes_torch:
        return False
    folder = folder_with(TORCH)
    places = ((told.text, told.location) for error in errors for told in (error, *error.notes))
    return any(
        _OF_TORCH.search(text)
        or (place and folder and any(map(Path(place.file).is_relative_to, (folder, LIGHT_TORCH))))
        for text, place in places
    )


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


def _torchs_headers(files: ProgramFiles, plan: Plan, errors: Sequence[Diagnostic]) -> Iterator[str]:
    """Headers of torch's whose host code knows torch's classes, which are only declared."""
    folder = folder_with(TORCH) if plan.is_light and files.takes_torch else None
    places = (Path(error.location.file) for error in errors if error.location)
    yield from (os.path.normpath(place) for place in places if folder and place.is_relative_to(folder))


def _declarations(errors: Sequence[Diagnostic]) -> Iterator[str]:
    """Of names that host code has, in the place of torch's own declarations.

    None is of use in device code, where it is a host's function, or a class with virtual ones.
    """
    for error in errors:
        if found := _OF_TORCHS_NAMESPACES.match(error.text):
            yield _IN_PLACE[found[1]].format(found[2], found[3])


def _unknown_names(errors: Sequence[Diagnostic]) -> tuple[str, ...]:
    """The names that a text says and nobody declares."""
    return tuple(dict.fromkeys(match[1] for error in errors if (match := _NO_NAME.match(error.text))))


def _used_namespaces(source: Source, files: ProgramFiles, plan: Plan, errors: Sequence[Diagnostic]) -> Iterator[str]:
    """What ``using namespace`` names, where it may be of a header that was passed over or replaced."""
    if not plan.missing and not (plan.is_light and files.takes_torch):
        return
    for error in errors:
        place = _normal(source, error).location
        text = _shown_text(source, files, plan, place.file) if place and _NO_NAMESPACE.match(error.text) else None
        if place and text is not None:
            used = _USING.search("".join(text.splitlines()[place.line - 1 : place.line]))
            yield from (used[1].removeprefix("::"),) if used else ()


def _std_headers(errors: Sequence[Diagnostic]) -> Iterator[str]:
    names = {match[1] for error in errors if (match := _OF_STD.match(error.text))}
    yield from (header for header, named in _STD_HEADERS.items() if names.intersection(named.split()))


def _is_of_pybind11(error: Diagnostic) -> bool:
    said = (text for told in (error, *error.notes) for text in (told.text, told.location.file if told.location else ""))
    return any("pybind11" in text for text in said)


def _places(error: Diagnostic) -> Iterator[ClangLocation]:
    yield from (place for place in (error.location, *(note.location for note in error.notes)) if place)
