"""Which C++ types are numbers, and which are memory of numbers.

A class of 16 or 8 bits may be a number, too: ``c10::Half``, ``cutlass::bfloat16_t``, a program's own ``half_t``.
"""

from __future__ import annotations

import re

from tle_raw.adapters.cpp.spelling import SAME
from tle_raw.fragments.dtypes import DTYPES, DType

_DTYPES = {
    spelled: dtype for dtype in DTYPES.values() for spelled in (dtype.cxx, *SAME.get(dtype.name, "").split(", "))
}
_DTYPES["_Bool"] = DTYPES["i1"]  # as clang's dumps have it
_DTYPES |= {"wchar_t": DTYPES["i32"], "char16_t": DTYPES["u16"], "char32_t": DTYPES["u32"]}
# CUDA's vectors of numbers, and complex numbers: memory that holds them is memory of their numbers.
_COMPLEX = re.compile(r"(?:\w+::)*complex<(float|double)>")
_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)[1234](?:_\w+)?")
# By the last part of the name, in small letters, and the size in bytes. Kinds of fp8 that no GPU has are none of them.
_CLASSES = (
    (2, re.compile(r"_*(?:nv_)?(?:bfloat16|bf16|bfloat)(?:_t)?"), "bf16"),
    (2, re.compile(r"_*(?:half|float16|fp16|f16)(?:_t)?"), "f16"),
    (1, re.compile(r"_*(?:nv_)?(?:fp8_|float8_?|float_|f8_?)?e4m3(?:fn)?(?:_t)?"), "f8e4m3"),
    (1, re.compile(r"_*(?:nv_)?(?:fp8_|float8_?|float_|f8_?)?e5m2(?:_t)?"), "f8e5m2"),
)
_ARRAY = re.compile(r"(.*?)(?:\[\d*\])+")


def number_dtype(spelled: str) -> DType | None:
    """The dtype of a C++ type as written, or None."""
    return _DTYPES.get(spelled)


def parts_dtype(spelled: str) -> DType | None:
    """The dtype of the numbers that ``float4`` or ``pycuda::complex<float>`` is made of, or None."""
    is_complex = _COMPLEX.fullmatch(spelled.replace(" ", ""))
    if is_complex:
        return _DTYPES[is_complex[1]]
    match = _VECTOR.fullmatch(spelled)
    if match is None:
        return None
    base = {"longlong": "long long", "char": "signed char"}.get(match[2], match[2])
    return _DTYPES["unsigned " + base.replace("signed ", "")] if match[1] else _DTYPES[base]


def class_dtype(name: str, size: int = 0) -> DType | None:
    """The dtype of a class that is one number, by its name and its size in bytes; 0 is a size that nobody knows."""
    last = name.rpartition("::")[2].lower()
    return next((DTYPES[d] for bytes_, spelled, d in _CLASSES if size in (0, bytes_) and spelled.fullmatch(last)), None)


def memory_dtype(pointee: str, size: int = 0) -> DType | None:
    """The dtype of the numbers behind a pointer: of numbers, of vectors, of static arrays of them; or None."""
    array = _ARRAY.fullmatch(pointee)
    if array:
        return memory_dtype(array[1].strip())
    return number_dtype(pointee) or parts_dtype(pointee) or class_dtype(pointee, size)
