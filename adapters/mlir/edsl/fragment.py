"""From a declaration over a Python function to an MLIR module for one call."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tle_raw.adapters.mlir.edsl.binding_builder import BindingBuilder
from tle_raw.adapters.mlir.edsl.calls import edsl_function
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.outer import as_dtype, binding_root
from tle_raw.adapters.mlir.edsl.reader import Built, read_into
from tle_raw.adapters.mlir.edsl.source import Code, outer_paths, read_code
from tle_raw.adapters.mlir.edsl.text_builder import TextBuilder
from tle_raw.adapters.mlir.edsl.types import Number
from tle_raw.errors import CompilationFailed, Context, DialectError, FragmentSourceError, Row, SourceLocation, TLEError
from tle_raw.fragments.adapter import Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.knobs import knobs
from tle_raw.target import Target

TEXT = "libtriton"


@dataclass(frozen=True)
class PythonSource:
    """What a source from a function remembers: its code, that of the functions it calls, and the binding it uses."""

    code: Code
    codes: Mapping[int, Code]
    binding: str
    block: tuple[int, ...]
    route: str | None


@dataclass
class _Gathered:
    """The functions that a fragment reaches, and the constants that they take from around them."""

    codes: dict[int, Code] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    roots: dict[str, SourceLocation] = field(default_factory=dict)


def read_function(declaration: Declaration) -> Source:
    """Read a function whose body is the code, with everything that can change what becomes of it.

    Raises
    ------
    FragmentSourceError : Python does not have the function's source.
    DialectError : it has no typed signature, or uses two bindings.
    """
    function = declaration.function
    if function is None:
        raise FragmentSourceError("there is no Python function")
    if declaration.signature is None:
        raise DialectError(
            "a function of the mlir dialect names its parameters, and each has a type",
            hint='write for example def f(t: InOut[Tile["f32", "M"]])',
        )
    gathered = _Gathered()
    code = _gather(function, gathered)
    binding = _binding(gathered.roots)
    block = declaration.options.get("block")
    symbol = declaration.options.get("symbol") or declaration.options.get("extern_func_name") or function.__name__
    settings = {
        "block": str(block),
        "route": str(declaration.options.get("route")),
        "binding": f"{binding} {_version(binding)}".strip(),
        "line_info": str(knobs.line_info),
        # The code tells its lines: a failed assertion, a debugger, a profiler.
        "places": " ".join(f"{c.file}:{c.offset}" for c in gathered.codes.values()),
        **{f"constant {name}": value for name, value in gathered.constants.items()},
    }
    data = PythonSource(code, gathered.codes, binding, tuple(block or ()), declaration.options.get("route"))
    return Source(
        "mlir",
        declaration.name,
        symbol,
        "\n".join(c.text for c in gathered.codes.values()),
        code.source_location(code.tree),
        tuple(sorted(settings.items())),
        data,
    )


def build(source: Source, bound: BoundSignature, target: Target, route: str | None = None) -> Built:
    """Build the module for one bound signature.

    Parameters
    ----------
    route : "libtriton" builds text, the import name of a binding builds in that one; None takes the binding that the
        function itself uses, else text.

    Raises
    ------
    CompilationFailed : the function does not fit the dialect; the error has its line and column.
    """
    data: PythonSource = source.data
    if route == TEXT and data.binding:
        raise DialectError(
            f"`{source.name}` calls builders of {data.binding}: it is built there",
            table=[Row("route", data.binding, route)],
        )
    route = route or data.binding or TEXT
    if data.binding and route != data.binding:
        raise DialectError(f"`{source.name}` calls builders of {data.binding}, not of {route}")
    linecache.checkcache(data.code.file)
    if route == TEXT:
        builder = TextBuilder()
        seconds = read_into(builder, data.code, source.symbol, bound, target, data.codes)
        return Built(builder.text(), source.symbol, route, seconds)
    with BindingBuilder(route) as binding:
        seconds = read_into(binding, data.code, source.symbol, bound, target, data.codes)
        _verify(binding, data.code)
        return Built(binding.text(), source.symbol, route, seconds)


def prototype(source: Source | None, signature: Signature) -> str:
    """The function that the author is expected to write."""
    name = source.name if source else signature.name
    parameters = "".join(f"    {_annotated(str(p))},\n" for p in signature.parameters)
    result = f" -> {_quoted(str(signature.result))}" if signature.result else ""
    return f'@tle_raw.dialect("mlir")\ndef {name}(\n{parameters}){result}:\n    …\n'


def _annotated(parameter: str) -> str:
    name, _, annotation = parameter.partition(": ")
    return f"{name}: {_quoted(annotation)}"


def _quoted(annotation: str) -> str:
    """``Tile[f32, M]`` as it is written: the names are strings."""
    return re.sub(r"(?<=[\[ ])([A-Za-z_]\w*)(?=[,\]])", r'"\1"', annotation)


def _gather(function: Callable[..., Any], gathered: _Gathered) -> Code:
    code = gathered.codes[id(function)] = read_code(function)
    for path, value in outer_paths(code):
        called = edsl_function(value)
        if called is not None:
            if id(called) not in gathered.codes:
                _gather(called, gathered)
            continue
        root = binding_root(value)
        if root:
            gathered.roots.setdefault(root, code.source_location(None))
        constant = _constant(value)
        if constant is not None:
            gathered.constants[f"{code.name}.{path}"] = constant
    return code


def _constant(value: Any) -> str | None:
    """The text of a constant, for the key; None for what is no constant."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(_constant(item) or type(item).__name__ for item in value)})"
    if isinstance(value, (Intrinsic, Number)):
        return repr(value) if isinstance(value, Intrinsic) else str(value)
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return _constant(value.value)
    dtype = as_dtype(value)
    return str(dtype) if dtype is not None else None


def _binding(roots: Mapping[str, SourceLocation]) -> str:
    if len(roots) > 1:
        one, other = list(roots)[:2]
        raise DialectError(
            "the function uses two MLIR bindings: their objects do not mix",
            table=[Row("bindings", one, f"{one} and {other}")],
        )
    return next(iter(roots), "")


def _version(binding: str) -> str:
    try:
        return version(binding.partition(".")[0].replace("_", "-")) if binding else ""
    except PackageNotFoundError:
        return ""


def _verify(builder: BindingBuilder, code: Code) -> None:
    """What the binding's verifier says, at the Python line."""
    try:
        builder.verify()
    except TLEError:
        raise
    except Exception as error:
        diagnostics = getattr(error, "error_diagnostics", None) or []
        message = diagnostics[0].message if diagnostics else str(error)
        where = re.search(r'"(.*?)":(\d+):(\d+)', str(diagnostics[0].location)) if diagnostics else None
        location = code.source_location(None)
        if where:
            text = linecache.getline(where[1], int(where[2])).rstrip()
            location = SourceLocation(where[1], int(where[2]), int(where[3]), text)
        raise CompilationFailed(f"MLIR refuses the module: {message}", context=Context(source=location)) from None
