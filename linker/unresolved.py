"""Checks that every symbol a fragment uses will be found: a failed link would end the Python process."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path

from tle_raw.errors import Row, UnresolvedSymbolError, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.machine_code.demangle import demangle

# Functions of the CUDA device runtime that ptxas itself knows.
RUNTIME_BUILTINS = frozenset(("vprintf", "__assertfail", "malloc", "free", "__nanosleep"))
# Handled by an LLVM pass of the NVPTX backend.
REFLECTION = frozenset(("__nvvm_reflect", "__nvvm_reflect_ocl"))
DYNAMIC_PARALLELISM = (
    "cudaLaunchDevice",
    "cudaGetParameterBuffer",
    "__cudaCDP",
    "cudaCDP",
    "cudaDeviceSynchronize",
)

# Defined by libdevice, though Triton's own wrappers do not list them.
_MORE_LIBDEVICE = """
fast_sincosf float2half_rn half2float fmaf_ieee_rd fmaf_ieee_rn fmaf_ieee_ru fmaf_ieee_rz fmax fmaxf
fmin fminf frexp frexpf llmax llmin max min modf modff nan nanf norm normf remquo remquof rnorm
rnormf sincos sincosf sincospi sincospif ullmax ullmin umax umin
"""


def check_resolved(
    module: Module,
    entry: str | None = None,
    libdevice: Collection[str] | None = None,
    provided: Callable[[Collection[str]], Collection[str]] = lambda names: (),
) -> None:
    """Every declared symbol in use is an intrinsic, in libdevice, or known to ptxas.

    Parameters
    ----------
    entry : look only at what this function reaches; at everything when None.
    libdevice : names that libdevice defines; taken from the installed Triton when None.
    provided : says which of some names libraries define that will be linked.

    Raises
    ------
    UnsupportedFeatureError : dynamic parallelism.
    UnresolvedSymbolError : symbols that are defined nowhere.
    """
    graph = references(module)
    used = reachable(graph, [entry] if entry else [e.name for e in module.of_kind("define")])
    declared = [name for name in _declared(module) if name in used]
    launches = [name for name in declared if name.startswith(DYNAMIC_PARALLELISM)]
    if launches:
        raise UnsupportedFeatureError(
            f"dynamic parallelism (`{launches[0]}`) cannot work inside a Triton kernel",
            hint="do the work in the calling block, or in a kernel of its own",
        )
    in_libdevice = _libdevice_test(libdevice)
    missing = [name for name in declared if not _is_known(name, in_libdevice)]
    if missing:
        known = provided(missing)
        missing = [name for name in missing if name not in known]
    if missing:
        raise unresolved_symbols(missing, graph)


def _declared(module: Module) -> list[str]:
    functions = [entity.name for entity in module.of_kind("declare")]
    variables = [e.name for e in module.of_kind("global") if read_global(module, e).linkage == "external"]
    return functions + variables


def _is_known(name: str, in_libdevice: Callable[[str], bool]) -> bool:
    return name.startswith("llvm.") or name in RUNTIME_BUILTINS | REFLECTION or in_libdevice(name)


def _libdevice_test(names: Collection[str] | None) -> Callable[[str], bool]:
    known = libdevice_functions() if names is None else frozenset(names)
    if known:
        return known.__contains__
    return lambda name: name.startswith("__nv_")  # without a list, the reserved prefix is all there is to go by


_QUOTED_NAME = re.compile(r"""["'](__nv_\w+)["']""")


@lru_cache(maxsize=1)
def libdevice_functions() -> frozenset[str]:
    """Names that Triton's libdevice defines, read from the source of its wrappers; empty without Triton."""
    spec = importlib.util.find_spec("triton")
    places = spec.submodule_search_locations if spec else None
    for folder in places or ():
        wrappers = Path(folder, "language", "extra", "cuda", "libdevice.py")
        if wrappers.is_file():
            # Not by `ast`: fragments are compiled side by side, and two threads in Python's parser disturb each other.
            listed = set(_QUOTED_NAME.findall(wrappers.read_text()))
            return frozenset(listed | {f"__nv_{name}" for name in _MORE_LIBDEVICE.split()})
    return frozenset()


def unresolved_symbols(missing: list[str], graph: dict[str, frozenset[str]]) -> UnresolvedSymbolError:
    """The error for symbols that are declared and defined nowhere; ``graph`` says who uses them."""
    shown = [demangle(name) for name in missing]
    table = tuple(
        Row(name, "defined", f"declared only, used by {_user(symbol, graph)}")
        for symbol, name in zip(missing, shown, strict=True)
    )
    names = ", ".join(f"`{name}`" for name in shown[:5]) + (" …" if len(shown) > 5 else "")
    return UnresolvedSymbolError(
        f"{names} is defined nowhere" if len(shown) == 1 else f"{names} are defined nowhere",
        table=table,
        hint=_hint(missing, shown),
    )


def _user(symbol: str, graph: dict[str, frozenset[str]]) -> str:
    users = sorted(demangle(name) for name, named in graph.items() if symbol in named)
    return f"`{users[0]}`" if users else "nobody"


def _hint(missing: list[str], shown: list[str]) -> str:
    if any(name.startswith("__nv_") for name in missing):
        return "libdevice has no such function; see the list of CUDA math functions"
    if any(name.startswith(("cuda", "cu")) and name[-1:] != ")" for name in shown):
        return "host functions of the CUDA runtime cannot be called on the device"
    return (
        "define it in the same file, include the file that does, or name the library that has it: libraries=[…]; a "
        "declaration alone is not enough"
    )
