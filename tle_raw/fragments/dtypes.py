"""Element types: one table from our names to Triton's, C++'s, LLVM's and MLIR's."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.errors import SignatureError
from tle_raw.near_names import did_you_mean


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes
    ----------
    name : our name, as in ``Tile["f32", ...]``.
    bits : storage width of a scalar register (1 for ``i1``).
    triton : name of the ``triton.language`` dtype (``tl.dtype.name``).
    cxx : type that the fragment's author writes in CUDA C++.
    llvm : type that crosses the boundary in LLVM IR as a scalar.
    header : CUDA header that defines ``cxx``, or "".
    """

    name: str
    bits: int
    triton: str
    cxx: str
    llvm: str
    header: str = ""

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return max(self.bits, 8) // 8

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer; a bool is ``i1``, and one."""
        return self.name[0] in "iu"

    @property
    def in_signature(self) -> str:
        """Triton's spelling in the signature of a kernel, where integers have our names: ``i32``, ``fp16``."""
        return self.name if self.is_integer else self.triton

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer dtype."""
        if self.name[0] == "i" and self.bits > 1:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    def __str__(self) -> str:
        return self.name


DTYPES = {
    d.name: d
    for d in (
        DType("i1", 1, "int1", "bool", "i1"),
        DType("i8", 8, "int8", "signed char", "i8"),
        DType("i16", 16, "int16", "short", "i16"),
        DType("i32", 32, "int32", "int", "i32"),
        DType("i64", 64, "int64", "long long", "i64"),
        DType("u8", 8, "uint8", "unsigned char", "i8"),
        DType("u16", 16, "uint16", "unsigned short", "i16"),
        DType("u32", 32, "uint32", "unsigned int", "i32"),
        DType("u64", 64, "uint64", "unsigned long long", "i64"),
        DType("f8e4m3", 8, "fp8e4nv", "__nv_fp8_e4m3", "i8", "cuda_fp8.h"),
        DType("f8e5m2", 8, "fp8e5", "__nv_fp8_e5m2", "i8", "cuda_fp8.h"),
        DType("f16", 16, "fp16", "__half", "half", "cuda_fp16.h"),
        DType("bf16", 16, "bf16", "__nv_bfloat16", "bfloat", "cuda_bf16.h"),
        DType("f32", 32, "fp32", "float", "float"),
        DType("f64", 64, "fp64", "double", "double"),
    )
}

# Spellings of Triton, NumPy, torch and MLIR that people will type; all mean a name of the table.
ALIASES = {
    **{d.triton: d.name for d in DTYPES.values()},
    "bool": "i1",
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float": "f32",
    "float64": "f64",
    "double": "f64",
    "float8e4nv": "f8e4m3",
    "float8e5": "f8e5m2",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "f8E4M3FN": "f8e4m3",
    "f8E5M2": "f8e5m2",
}


def parse_dtype(name: object) -> DType:
    """The dtype of a name; also takes a ``triton.language`` dtype.

    Raises
    ------
    SignatureError : the name is in no table; the hint gives the nearest names.
    """
    text = getattr(name, "name", name)
    if isinstance(text, str):
        found = DTYPES.get(ALIASES.get(text, text))
        if found:
            return found
    raise SignatureError(
        f"unknown dtype {text!r}",
        hint=did_you_mean(str(text), [*DTYPES, *ALIASES], "dtypes are " + ", ".join(DTYPES), most=3),
    )


def is_dtype_name(name: str) -> bool:
    return name in DTYPES or name in ALIASES
