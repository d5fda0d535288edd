"""From MLIR text to device LLVM IR, by libtriton alone or by the installed bindings of upstream MLIR."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tle_raw.adapters.mlir import routes
from tle_raw.adapters.mlir.child import lower_in_child
from tle_raw.adapters.mlir.functions import functions
from tle_raw.adapters.mlir.operation_names import operation_names
from tle_raw.adapters.mlir.symbols import choose_function
from tle_raw.adapters.mlir.unwrap import unwrap
from tle_raw.errors import Context, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.mlir.tokens import line_of


@dataclass(frozen=True)
class Lowered:
    """Device LLVM IR, the route that made it ("libtriton", or a binding's name), and who took part in it."""

    llvm_ir: str
    route: str
    seconds: float
    compiler: str


def lower(
    text: str,
    symbol: str,
    *,
    arch: str,
    trusted: bool = False,
    route: str | None = None,
    location: SourceLocation | None = None,
) -> Lowered:
    """Lower the module that holds the function ``symbol`` to LLVM IR for NVPTX, readable by the running Triton.

    Parameters
    ----------
    text : MLIR in generic or custom form.
    arch : the GPU, such as "sm_90a".
    trusted : the text is our own, and is lowered in this process. Other text is lowered in a child process, so that
        an assertion of LLVM ends that one.
    location : where the text's first line stands: the code then knows its lines, for profilers, failed assertions and
    the
        CPU. A text that has locations of its own keeps them.
    route : "libtriton" or a binding's name; None takes libtriton where the operations allow it.

    Raises
    ------
    SymbolError : no function of that name, or several.
    CompilationFailed : MLIR refuses the module; the error has its diagnostic and the line in ``text``.
    ToolchainError : the operations need the bindings of upstream MLIR, and there are none.
    UnsupportedFeatureError : an operation that cannot run in a region.
    """
    start = time.perf_counter()
    if trusted:
        try:
            llvm_ir, taken = routes.lower_here(text, arch, route, location)
        except RuntimeError:  # libtriton: its diagnostics are on stderr, which only a child's can be caught
            llvm_ir, taken = lower_in_child(text, arch, route, location)
    else:
        _refuse_hosts_operations(text)
        function = choose_function(symbol, functions(text), SourceLocation("", 1), text)
        llvm_ir, taken = lower_in_child(unwrap(text, function), arch, route, location)
    return Lowered(llvm_ir, taken, time.perf_counter() - start, routes.compiler(taken))


# What only a kernel launch, or a host, could do.
_HOSTS = frozenset(
    f"gpu.{name}"
    for name in (
        "alloc", "dealloc", "dynamic_shared_memory", "host_register", "launch", "launch_func", "memcpy", "memset",
        "wait",
    )
)  # fmt: skip


def _refuse_hosts_operations(text: str) -> None:
    for name, position in operation_names(text).items():
        if name in _HOSTS:
            location = SourceLocation("", line_of(text, position))
            what = "shared memory is static in a region" if "shared" in name else "a region runs inside a kernel"
            raise UnsupportedFeatureError(f"`{name}` cannot work here: {what}", context=Context(source=location))
