"""Chooses who lowers a module, and lets one do it: the order of the steps, in this process."""

from __future__ import annotations

from tle_raw.adapters.mlir import libtriton
from tle_raw.adapters.mlir.bindings import find_binding, installed
from tle_raw.adapters.mlir.device_calls import SUPPORTED
from tle_raw.adapters.mlir.functions import functions
from tle_raw.adapters.mlir.operation_names import operation_names
from tle_raw.adapters.mlir.upstream import lower
from tle_raw.adapters.mlir.upstream_functions import is_plain
from tle_raw.errors import SourceLocation, TLEError, ToolchainError

LIBTRITON = "libtriton"


def choose_route(text: str) -> str:
    """libtriton where it knows every operation, else the installed bindings.

    Raises
    ------
    ToolchainError : bindings are needed and not installed.
    """
    stranger = foreign_operation(text)
    if not stranger:
        return LIBTRITON
    if not installed():
        raise ToolchainError(
            f"`{stranger}` needs upstream MLIR: Triton's own does not have it", hint="pip install 'tle_raw[mlir]'"
        )
    return installed()[0].root


def foreign_operation(text: str) -> str:
    """The first operation that libtriton alone cannot lower, or nothing."""
    for name in operation_names(text):
        dialect = name.partition(".")[0]
        if name in ("func.func", "func.return", "func.call"):
            continue
        known = name in SUPPORTED if dialect in ("math", "gpu", "cf") else dialect in libtriton.DIALECTS
        if not known or name in libtriton.UNKNOWN:
            return name
    for function in functions(text):
        odd = len(function.results) > 1 or not all(map(is_plain, (*function.parameters, *function.results)))
        if function.container == "func.func" and odd:
            return f"func.func @{function.name}{function.type}"
    return ""


def lower_here(
    text: str, arch: str, route: str | None = None, location: SourceLocation | None = None
) -> tuple[str, str]:
    """LLVM IR and the route that made it. libtriton's diagnostics go to stderr."""
    if route is None:
        route = choose_route(text)
        if route == LIBTRITON and installed():
            try:
                return libtriton.lower(text, arch, location), route
            except (RuntimeError, TLEError):
                route = installed()[0].root
    if route == LIBTRITON:
        return libtriton.lower(text, arch, location), route
    binding = find_binding(route)
    return lower(text, arch, binding, location), binding.root


def identity() -> str:
    """One line that names everything that could lower a module here."""
    import triton

    bindings = ", ".join(f"{b.package} {b.version}" for b in installed()) or "no other MLIR bindings"
    return f"MLIR of Triton {triton.__version__}, {bindings}"


def compiler(route: str) -> str:
    """One line that names who lowers on this route."""
    import triton

    own = f"triton {triton.__version__} MLIR"
    if route == LIBTRITON:
        return own
    binding = find_binding(route)
    return f"{binding.package} {binding.version}, {own}"
