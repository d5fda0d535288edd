"""MLIR's spellings of parameter types, as annotations and function types have them: ``memref<?xf32, 3>``.

======================== =============================================================================================
spelling                 parameter type
======================== =============================================================================================
``memref<?x64xf32, 3>``  a tile in shared memory; each ``?`` is a dim that the call binds, named ``<parameter>_<axis>``;
                         with ``strided<[?, ?], offset: ?>`` the function reads its strides, which are a tile's
``!llvm.ptr<1>``         a pointer to global memory; the call binds its dtype, named ``<parameter>_T``
``!llvm.ptr``            likewise, and the function takes it as a generic pointer
``i32``, ``f16``, …      a scalar; ``index`` is an i64; ``ui32`` is a u32
======================== =============================================================================================

The author's own text stays on the type, as ``spelling``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tle_raw.errors import Row, SignatureError
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.parameter_types import MAX_RANK, ParameterType, Pointer, Scalar, Tile

# Names of element types in MLIR; its plain integers have no sign.
_DTYPES = {
    **{name: DTYPES[name] for name in ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")},
    **{f"s{name}": DTYPES[name] for name in ("i8", "i16", "i32", "i64")},
    **{f"ui{bits}": DTYPES[f"u{bits}"] for bits in (8, 16, 32, 64)},
    "f8E4M3FN": DTYPES["f8e4m3"],
    "f8E5M2": DTYPES["f8e5m2"],
}
INDEX = "index"
_SHARED = re.compile(r"3(\s*:\s*i\d+)?|#gpu\.address_space<workgroup>")
_SHAPE = re.compile(r"((?:(?:\?|\d+)\s*x\s*)*)(.*)", re.DOTALL)
_STRIDED = re.compile(r"strided<\[([^\]]*)\](?:\s*,\s*offset\s*:\s*(\?|\d+))?>")


def parameter_type(text: str, name: str) -> ParameterType:
    """The type of the parameter ``name`` that is spelled ``text`` in MLIR.

    Raises
    ------
    SignatureError : no such type, or none that can cross into a region; the hint names one that can.
    """
    spelling = text.strip()
    if spelling.startswith("memref<"):
        return _tile(spelling, name)
    if spelling.startswith("!llvm.ptr"):
        return _pointer(spelling, name)
    if spelling == INDEX:
        return replace(Scalar(DTYPES["i64"]), spelling=spelling)
    if spelling in _DTYPES:
        return replace(Scalar(_DTYPES[spelling]), spelling=spelling)
    raise SignatureError(f"parameter `{name}`: no region takes the MLIR type `{spelling}`", hint=_hint(spelling))


def element_type(dtype: DType) -> str:
    """MLIR's name of a dtype, as Triton and LLVM use it: integers without a sign."""
    return f"i{dtype.bits}" if dtype.is_integer else next(n for n, known in _DTYPES.items() if known == dtype)


def memref_type(dtype: DType, dims: tuple[int, ...]) -> str:
    """The memref of a tile whose dims are known."""
    return f"memref<{''.join(f'{dim}x' for dim in dims)}{element_type(dtype)}, 3>"


def _hint(spelling: str) -> str:
    if spelling.startswith("tensor<"):
        return 'a tile crosses as a memref in shared memory: "memref<?xf32, 3>"'
    if spelling.startswith("vector<"):
        return "a vector does not cross: pass a tile, and read the vector from it"
    if spelling.startswith("!"):
        return 'pointers to global memory are "!llvm.ptr<1>"'
    return 'write a type such as "memref<?xf32, 3>", "!llvm.ptr<1>", "f32" or "index"'


def _pointer(spelling: str, name: str) -> Pointer:
    space = re.fullmatch(r"!llvm\.ptr(?:\s*<\s*(\d+)\s*>)?", spelling)
    if not space:
        raise SignatureError(
            f"parameter `{name}`: `{spelling}` is no pointer type of MLIR", hint='write "!llvm.ptr<1>"'
        )
    if space[1] not in (None, "0", "1"):
        raise SignatureError(
            f"parameter `{name}`: a pointer crosses to global memory only",
            table=[Row("address space", "1 (global)", f"{space[1]}{' (shared)' if space[1] == '3' else ''}")],
            hint='a tile in shared memory has a shape: write "memref<?xf32, 3>"' if space[1] == "3" else "",
        )
    return Pointer(f"{name}_T", spelling)


def _tile(spelling: str, name: str) -> Tile:
    inside = spelling[len("memref<") : -1]
    parts = _split(inside) if spelling.endswith(">") else []
    if not parts:
        raise SignatureError(f"parameter `{name}`: `{spelling}` is no memref", hint='write "memref<?xf32, 3>"')
    shape, element = _shape(parts[0], name, spelling)
    layouts, spaces = _layouts_and_spaces(parts[1:])
    if len(spaces) != 1 or not _SHARED.fullmatch(spaces[0]):
        raise SignatureError(
            f"parameter `{name}`: a memref crosses in shared memory, memory space 3",
            table=[Row("memory space", "3", ", ".join(spaces) or "none")],
            hint=f'write "memref<{", ".join([parts[0], *layouts, "3"])}>"; global memory crosses as "!llvm.ptr<1>"',
        )
    dims = tuple(f"{name}_{axis}" if dim == "?" else int(dim) for axis, dim in enumerate(shape))
    for layout in layouts:
        _check_layout(layout, dims, name, f'"memref<{parts[0]}, {spaces[0]}>"')
    try:
        tile = Tile.__class_getitem__((element, *dims))
    except SignatureError as e:
        raise SignatureError(f"parameter `{name}`, `{spelling}`: {e.message}") from e
    return replace(tile, spelling=spelling)


def _shape(text: str, name: str, spelling: str) -> tuple[list[str], DType]:
    match = _SHAPE.fullmatch(text)
    assert match is not None  # both parts may be empty
    shape = [dim.strip() for dim in match[1].split("x") if dim.strip()]
    element = match[2].strip()
    if element.startswith("*x"):
        raise SignatureError(
            f"parameter `{name}`: `{spelling}` says nothing of its rank",
            hint='write one `?` a dim: "memref<?x?xf32, 3>"',
        )
    if element not in _DTYPES:
        raise SignatureError(
            f"parameter `{name}`: `{element}` is no element type of a tile",
            hint="element types are " + ", ".join(n for n in _DTYPES if not n.startswith(("si", "ui"))),
        )
    if not 1 <= len(shape) <= MAX_RANK:
        raise SignatureError(
            f"parameter `{name}`: a tile has 1 to {MAX_RANK} dims, `{spelling}` has {len(shape)}",
            hint=f'one value crosses as "{element}"' if not shape else "",
        )
    return shape, _DTYPES[element]


def _layouts_and_spaces(parts: list[str]) -> tuple[list[str], list[str]]:
    layouts = [p for p in parts if p.startswith(("strided<", "affine_map<"))]
    return layouts, [p for p in parts if p not in layouts]


def _check_layout(layout: str, dims: tuple[str | int, ...], name: str, without: str) -> None:
    """Only the layout that a tile has anyway, row-major, contiguous, from the first element on; `?` stands for any."""
    hint = f"a tile is row-major and contiguous: write {without}"
    strided = _STRIDED.fullmatch(layout)
    if not strided:
        raise SignatureError(f"parameter `{name}`: the layout `{layout}` cannot be a tile's", hint=hint)
    strides, offset = [s.strip() for s in strided[1].split(",")], strided[2] or "0"
    expected = ["1"]
    for dim in reversed(dims[1:]):
        expected.insert(0, str(int(expected[0]) * dim) if expected[0] != "?" and isinstance(dim, int) else "?")
    fits = len(strides) == len(expected) and all(s == "?" or s == e for s, e in zip(strides, expected))
    if not fits or offset not in ("0", "?"):
        raise SignatureError(
            f"parameter `{name}`: a tile has other strides",
            table=[Row("strides", ", ".join(expected), ", ".join(strides)), Row("offset", "0", offset)],
            hint=hint,
        )


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets; nothing where the brackets do not fit."""
    parts, depth = [""], 0
    for character in text.replace("->", "\0"):
        depth += (character in "<([{") - (character in ">)]}")
        if depth < 0:
            return []
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.replace("\0", "->").strip() for part in parts] if depth == 0 else []
