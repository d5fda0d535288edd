"""Parameters of CuPy's elementwise kernels and reductions: arrays, raw arrays, and types that each call binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import Row, SignatureError, SourceLocation
from tle_raw.fragments.dtypes import DType, parse_dtype

# Names that CuPy's loops have around an operation.
INDEX, SIZE = "i", "size"


@dataclass(frozen=True)
class CupyParameter:
    """One parameter. ``dtype`` is a name, such as "T", where each call binds it; ``is_raw``: it is indexed by hand."""

    name: str
    dtype: DType | str
    is_raw: bool
    is_output: bool

    @property
    def crossing(self) -> str:
        """The C++ type at the boundary: ours."""
        return f"TLE_{self.dtype}" if isinstance(self.dtype, str) else self.dtype.cxx

    @property
    def own(self) -> str:
        """The C++ type that the operation sees: CuPy's."""
        return self.dtype if isinstance(self.dtype, str) else f"tle::cupy::type_of<{self.dtype.cxx}>::type"


def read_parameters(
    inputs: Sequence[Any], outputs: Sequence[Any], types: Any, location: SourceLocation
) -> tuple[CupyParameter, ...]:
    """CuPy's ParameterInfos, inputs first. ``types`` gives dtypes to names that stand for one: ``{"T": "f32"}``.

    Raises
    ------
    SignatureError : a type cannot cross, or a result's type follows from no argument.
    """
    if not isinstance(types, Mapping):
        raise SignatureError("types= gives dtypes to names", table=[Row("types", '{"T": "f32"}', repr(types))])
    given = {str(name): parse_dtype(dtype) for name, dtype in types.items()}
    found = [_argument(p, False, given, location) for p in inputs]
    bound = {argument.dtype for argument in found}
    for info in outputs:
        output = _argument(info, True, given, location)
        if isinstance(output.dtype, str) and not output.is_raw and output.dtype not in bound:
            raise SignatureError(
                f"the type `{output.dtype}` of the result `{output.name}` follows from no argument",
                hint=f'say it: types={{"{output.dtype}": "f32"}}',
            ).at(source=location)
        found.append(output)
    return tuple(found)


def _argument(info: Any, is_output: bool, given: Mapping[str, DType], location: SourceLocation) -> CupyParameter:
    name, kind = str(info.name), str(info.ctype)
    dtype: DType | str = given.get(kind, kind)
    if info.dtype is not None:
        written = getattr(info.dtype, "__name__", str(info.dtype))  # CuPy 13 has NumPy's class, CuPy 14 its dtype
        try:
            dtype = parse_dtype(written)
        except SignatureError:
            raise SignatureError(
                f"the argument `{name}` is of a type that cannot cross into a region",
                table=[Row(name, "a number, or a letter for one", written)],
                hint="complex numbers cross as arrays of their parts, into a RawKernel",
            ).at(source=location) from None
    return CupyParameter(name, dtype, bool(info.raw), is_output)


def type_lines(arguments: Sequence[CupyParameter]) -> list[str]:
    """The names that stand for types, as CuPy declares them: for the whole text."""
    names = dict.fromkeys(a.dtype for a in arguments if isinstance(a.dtype, str))
    return [f"typedef tle::cupy::type_of<TLE_{name}>::type {name};" for name in names]
