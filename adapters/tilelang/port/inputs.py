"""Lines that make random arguments for a PrimFunc, of the shapes, strides and dtypes that it wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.tilelang.port.python_text import expression, tuple_text
from tle_raw.adapters.tilelang.program import Program, variables_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Variable
from tle_raw.fragments.signature import Signature

SIZE = 512  # of what is left open
DTYPES = {
    "i1": "bool", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64",
    **{f"{letter}{bits}": f"{sign}int{bits}" for letter, sign in (("i", ""), ("u", "u")) for bits in (8, 16, 32, 64)},
}  # fmt: skip
_RANGES = {"i8": "-8, 8", "u8": "0, 16", "i16": "-8, 8"}  # wider integers may be indices
_INDICES = "  # they may be indices: put your own"


def input_lines(program: Program, signature: Signature, spelled: Mapping[str, str]) -> list[str]:
    """The body of a function with the parameter ``device``; a line for each argument."""
    types: dict[str, Any] = {p.name: p.type for p in signature.parameters}
    sizes = sizes_left_open(program)
    lines = [f"    {spelled[name]} = {SIZE}" for name, v in program.dims.items() if not _is_stride(program, v)]
    for name in program.order:
        dtype = types[name].dtype.name
        if name in program.buffers:
            value = _tensor(program, program.buffers[name], dtype, sizes, spelled)
        else:
            value = "1" if dtype.startswith(("i", "u")) else "0.5"
        note = _INDICES if "randint(0, 2" in value and dtype != "i1" else ""
        lines.append(f"    {spelled[name]} = {value}{note}")
    return lines


def sizes_left_open(program: Program) -> dict[Any, int]:
    return dict.fromkeys(program.dims.values(), SIZE)


def _tensor(program: Program, buffer: Buffer, dtype: str, sizes: Mapping[Any, int], spelled: Mapping[str, str]) -> str:
    names = {**program.dims, **program.scalars}

    def name_of(variable: Variable) -> str | None:
        return next((spelled[n] for n, v in names.items() if v.same_as(variable) and n in program.dims), None)

    numbers = [number_of(extent, sizes) for extent in buffer.shape]
    words = [expression(extent, name_of) for extent in buffer.shape]
    shape = tuple_text([word or str(number) for word, number in zip(words, numbers)])
    value = _random(dtype, shape)
    strides = _strides(program, buffer, numbers, sizes)
    if strides is None:
        return value
    return f"torch.empty_strided({shape}, {strides}, dtype=torch.{DTYPES[dtype]}, device=device).copy_({value})"


def _random(dtype: str, shape: str) -> str:
    kind = f"torch.{DTYPES[dtype]}"
    if dtype == "f32":
        return f"torch.randn({shape}, device=device)"
    if dtype == "f64":
        return f"torch.randn({shape}, dtype={kind}, device=device)"
    if dtype.startswith(("f", "bf")):
        return f"torch.randn({shape}, device=device).to({kind})"
    if dtype in ("i1", "u16", "u32", "u64"):
        return f"torch.randint(0, 2, {shape}, device=device).to({kind})"
    return f"torch.randint({_RANGES.get(dtype, '0, 2')}, {shape}, dtype={kind}, device=device)"


def _strides(program: Program, buffer: Buffer, numbers: list[int], sizes: Mapping[Any, int]) -> str | None:
    """None for rows one after the other, which an open stride can be, too."""
    if not len(buffer.strides):
        return None
    plain = [1] * len(numbers)
    for dim in reversed(range(len(numbers) - 1)):
        plain[dim] = plain[dim + 1] * numbers[dim + 1]
    opens = [any(v.same_as(s) and _is_stride(program, v) for v in program.dims.values()) for s in buffer.strides]
    wanted = [p if is_open else number_of(s, sizes) for s, p, is_open in zip(buffer.strides, plain, opens)]
    return None if wanted == plain else tuple_text([str(s) for s in wanted])


def _is_stride(program: Program, variable: Variable) -> bool:
    """Whether an open number is a stride only, and no size."""
    shapes = [v for buffer in program.buffers.values() for extent in buffer.shape for v in variables_of(extent)]
    return not any(v.same_as(variable) for v in shapes)


def number_of(extent: Any, sizes: Mapping[Any, int]) -> int:
    from tvm import arith
    from tvm.tirx.stmt_functor import substitute

    if isinstance(extent, int):
        return extent
    found = arith.Analyzer().simplify(substitute(extent, dict(sizes)) if sizes else extent)
    return int(getattr(found, "value", SIZE))
