"""Names that nobody declares, and the headers that programs get them from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import Diagnostic

_NO_NAME = re.compile(
    r"(?:use of undeclared identifier|no template named|no member named|unknown type name"
    r"|no matching function for call to|no function template matches function template specialization) '([A-Za-z_]\w*)'"
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


def all_texts(errors: Sequence[Diagnostic]) -> Iterator[str]:
    """What the errors and their notes say."""
    yield from (told.text for error in errors for told in (error, *error.notes))


def unknown_names(errors: Sequence[Diagnostic]) -> tuple[str, ...]:
    """The names that a text says and nobody declares."""
    return tuple(dict.fromkeys(match[1] for error in errors if (match := _NO_NAME.match(error.text))))


def headers_of(errors: Sequence[Diagnostic]) -> Iterator[str]:
    """The headers that declare what the errors miss."""
    yield from (header for text in all_texts(errors) for name, header in _TAKEN if re.search(name, text))
    names = {match[1] for error in errors if (match := _OF_STD.match(error.text))}
    yield from (header for header, named in _STD_HEADERS.items() if names.intersection(named.split()))
