"""Parts of large headers that no text of a program names are not read: half of what CUB's headers cost.

``cub/block/block_reduce.cuh`` takes clang 2.4 s of processor time. A sixth of that is CUDA's arithmetic of small
floats, which CCCL wraps for programs that use them; textures are a tenth, and so are those PTX instructions of
``cuda/ptx`` that CCCL itself does not use. Without them it takes 1.5 s (zig's clang 21, CCCL 3.0). C++'s special
functions, which no GPU's code can call, are another twentieth. Macros leave them out: CCCL's own for the small floats,
the guards of the other headers. A release that knows no such guard reads the header as ever, and what does not compile
so is compiled with all of them (``Plan.is_lean``).

CCCL before 3.1 chooses wrongly without both kinds of 16-bit floats: ``cub::ThreadReduce`` takes integers for packed
floats and ends in ``assert(false)``. There ``__half`` stays, and the bodies of its functions alone are left out: code
that calls one after all is compiled again with them (``with_halfs_bodies``).

CCCL's headers for blocks take in the host's strings and streams, for errors that no GPU's code throws and for iterators
of the host's. Programs that include nothing else, and name neither, go without: another sixth.

Those of CCCL 3.0 take in much of libcu++ beside, which no block's code uses: functions of functions with tuples and the
host's allocators, mathematics, arrays of several dimensions, Thrust's iterators to say what an iterator's value is not.
Programs that name nothing of these libraries but operators read what CUB itself uses: a third less again. CCCL 3.1 and
later take in less, and use it.

Thrust's algorithms for the device are CUB's, of which kernels call none: in a kernel Thrust computes one element after
the other. Programs whose host code sorts by Thrust take its headers without CUB's, as for a machine without GPUs: 5.9 s
for 9.9 of a file with ``thrust/sort.h`` and torch's headers.

Code may ask which types there are (``_CCCL_HAS_NVBF16()``) and be compiled as something else where they are missing. So
nothing is left out where the texts do not show their names: where words are pasted, or files unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SMALL_FLOATS = re.compile(r"half|bfloat|bf16|fp16|fp8|f16|float16|float8|e4m3|e5m2|fp4|fp6", re.IGNORECASE)
_TEXTURES = re.compile(r"tex(?:1D|2D|3D|Cube|ture|_)|surf(?:1D|2D|3D|Cube|ace|_)|TexObj", re.IGNORECASE)
_SPECIAL = re.compile(r"bessel|beta|ellint|expint|hermite|laguerre|legendre|neumann|riemann|sph_")
_LARGE = re.compile(r"(?:cub|cuda|thrust)/|cooperative_groups")
_PTX = re.compile(r"\bptx\b")
_PASTED = re.compile(r"##|%:%:")
_GOES_ON = re.compile(r"\\[^\S\n]*\n")  # a line, and maybe a word, on the next one
_WITHOUT_SMALL_FLOATS = ("CCCL_DISABLE_FP16_SUPPORT", "CCCL_DISABLE_BF16_SUPPORT", "CCCL_DISABLE_NVFP8_SUPPORT")
_RIGHT_WITHOUT_HALF = (3, 1)
_HALFS_BODIES = "__CUDA_FP16_HPP__"
_WITH_HALF = (*_WITHOUT_SMALL_FLOATS[1:], _HALFS_BODIES)
_LACKS_BODY = re.compile(r"^declare [^@\n]*@\"?_Z[^(\n]*half", re.MULTILINE | re.IGNORECASE)
# The headers of operators that CUB's for blocks take in themselves are no others.
_OF_BLOCKS = re.compile(r"(?:cub/(?:block|warp|thread)|tle_raw)/|cuda/(?:std/)?functional$")
_STREAMS = re.compile(r"(?<!cuda::)\bstd::|string|stream|exception|_error\b|out_of_range")
# Guards of libstdc++'s, and the macro by which our own `stdexcept` stands for its.
_WITHOUT_STREAMS = ("_STREAM_ITERATOR_H", "_STREAMBUF_ITERATOR_H", "TLE_RAW_WITHOUT_STRINGS")
# What programs say of libcu++ and of Thrust, but for operators and types that CUB's headers for blocks use, too.
# Structured bindings among it: libcu++ says how `float2` is taken apart.
_CUBS = (
    r"(?:std\s*::\s*)?(?:maximum|minimum|plus|minus|multiplies|divides|modulus|negate|equal_to|not_equal_to|greater|"
    r"greater_equal|less|less_equal|logical_and|logical_or|logical_not|bit_and|bit_or|bit_xor|bit_not|numeric_limits|"
    r"u?int(?:8|16|32|64)_t|size_t)\b"
)
_LIBRARIES = re.compile(
    rf"\bcuda\s*::(?!\s*{_CUBS})|(?<!cuda::)\b(?:std|thrust)\s*::|\bauto[\s&]*\[|\b_(?:LIBCUDACXX|CUDA)_|"
    r"\bnamespace\s+(?:\w+\s*=\s*)?(?:::\s*)?(?:std|cuda|thrust)\b"
)
_TAKES_IN_LIBCUDACXX = (3, 0)
_FUNCTIONS = (
    "BIND", "BIND_BACK", "BIND_FRONT", "COMPOSE", "DEFAULT_SEARCHER", "FUNCTION", "HASH", "NOT_FN", "PERFECT_FORWARD",
)  # fmt: skip
_BULK_PTX = (
    "CLUSTERLAUNCHCONTROL", "CP_ASYNC_BULK", "CP_ASYNC_BULK_TENSOR", "CP_REDUCE_ASYNC_BULK",
    "CP_REDUCE_ASYNC_BULK_TENSOR", "FENCE", "MBARRIER_ARRIVE", "MBARRIER_WAIT", "RED_ASYNC",
)  # fmt: skip
# With this macro our own `mdspan` and `discard_iterator.h` stand for CCCL's: the folder `of_blocks` is in front of it.
OF_BLOCKS = "TLE_RAW_OF_BLOCKS"
_WITHOUT_LIBCUDACXX = (
    OF_BLOCKS,
    *(f"_LIBCUDACXX___FUNCTIONAL_{name}_H" for name in _FUNCTIONS),
    *(f"_CUDA_PTX_{name}_H_" for name in _BULK_PTX),
    "_LIBCUDACXX___TUPLE_VECTOR_TYPES_H", "_LIBCUDACXX___MEMORY_BUILTIN_NEW_ALLOCATOR_H",
    "_LIBCUDACXX___UTILITY_CMP_H", "_LIBCUDACXX___CMATH_ILOG", "_CUDA_STD_CMATH", "_CUDA_STD_SPAN",
    "_CUDA___FUNCTIONAL_ADDRESS_STABILITY_H", "_CUDA___GET_DEVICE_ADDRESS_H",
)  # fmt: skip
_SURFACE_READS = re.compile(r"surf(?:1D|2D|3D|Cubemap)\w*read|surf.*##|##.*(?:surf|Dread)")
# Clang's functions that read a surface are pure for its optimiser, which then answers from before the kernel's writes.
_ORDERED_SURFACES = ("TLE_RAW_ORDERED_SURFACES",)
_WITHOUT_TEXTURES = ("__CLANG_CUDA_TEXTURE_INTRINSICS_H__",)
_WITHOUT_SPECIAL = ("_GLIBCXX_BITS_SPECFUN_H",)
_THRUST = re.compile(r"thrust/(?!system/cuda\b)")
# What is of Thrust's own way of choosing, of its parts for CUDA, or of CUB, which these take in.
_CUDAS_THRUST = re.compile(
    r"\bTHRUST_DEVICE_SYSTEM|thrust/system/cuda\b|thrust::(?:system::)?cuda\b|\bcuda_cub\b|\bcub\b|\bCUB_"
)
_WITHOUT_ALGORITHMS = ("THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP",)
# Those of cuda/ptx that cost most, as far as no header of CCCL's includes them for itself.
_WITHOUT_PTX = tuple(
    f"_CUDA_PTX_{name}_H_"
    for name in (
        "LD", "ST", "MULTIMEM_LD_REDUCE", "MULTIMEM_RED", "MULTIMEM_ST", "TENSORMAP_REPLACE", "TCGEN05_ALLOC",
        "TCGEN05_COMMIT", "TCGEN05_CP", "TCGEN05_LD", "TCGEN05_MMA", "TCGEN05_MMA_WS", "TCGEN05_SHIFT", "TCGEN05_ST",
    )
)  # fmt: skip


def lean_defines(
    texts: Iterable[str], includes: Iterable[str], cccl: tuple[int, ...], are_all: bool = True
) -> tuple[str, ...]:
    """Macros that leave out what none of the texts names: those of a program, and everything it is compiled with.

    ``includes`` are the headers that the program names, "" for those that only the preprocessor knows. What no header
    of its takes in stays as it is: programs without large headers share what is precompiled, whatever numbers they
    name. ``cccl`` is the release of CCCL's headers, () for one that is not known. ``are_all`` says that the program has
    no other texts, but for the toolkit's.
    """
    includes, texts = tuple(includes), tuple(_GOES_ON.sub("", text) for text in texts)
    found: list[tuple[re.Pattern[str], tuple[str, ...]]] = [(_TEXTURES, _WITHOUT_TEXTURES)]
    if are_all and all(includes) and any(map(_LARGE.match, includes)) and not any(map(_PASTED.search, texts)):
        small = _WITHOUT_SMALL_FLOATS if cccl >= _RIGHT_WITHOUT_HALF else _WITH_HALF
        found += [(_SMALL_FLOATS, small), (_PTX, _WITHOUT_PTX), (_SPECIAL, _WITHOUT_SPECIAL)]
        found += _of_blocks(cccl) if all(map(_OF_BLOCKS.match, includes)) else []
    found += [(_CUDAS_THRUST, _WITHOUT_ALGORITHMS)] if any(map(_THRUST.match, includes)) else []
    return tuple(name for named, names in found if not any(map(named.search, texts)) for name in names)


def _of_blocks(cccl: tuple[int, ...]) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """What programs that take in CUB's headers for blocks alone go without where they do not name it."""
    takes_libcudacxx = cccl[:2] == _TAKES_IN_LIBCUDACXX
    return [(_STREAMS, _WITHOUT_STREAMS), *([(_LIBRARIES, _WITHOUT_LIBCUDACXX)] if takes_libcudacxx else [])]


def with_small_floats(defines: tuple[str, ...]) -> tuple[str, ...]:
    """The same for a program to which somebody else gives small floats, as types of its templates."""
    return tuple(name for name in defines if name not in (*_WITHOUT_SMALL_FLOATS, _HALFS_BODIES))


def with_halfs_bodies(defines: tuple[str, ...], made: str) -> tuple[str, ...]:
    """The same where what the compiler made by them calls functions of halves that have no body."""
    if _HALFS_BODIES not in defines or not _LACKS_BODY.search(made):
        return defines
    return tuple(name for name in defines if name != _HALFS_BODIES)


def surface_defines(texts: Iterable[str]) -> tuple[str, ...]:
    """The macro by which surfaces are read and written in the order of the text, for texts that read them."""
    return _ORDERED_SURFACES if any(_SURFACE_READS.search(_GOES_ON.sub("", text)) for text in texts) else ()


def is_of_textures(name: str) -> bool:
    """Whether a text is about what a program without textures leaves out."""
    return bool(_TEXTURES.search(name))


def reaches_the_programs_headers(defines: Iterable[str]) -> bool:
    """Whether more is left out than the textures that CUDA's own beginning of every unit has."""
    return any(name not in _WITHOUT_TEXTURES for name in defines)
